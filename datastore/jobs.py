"""Background jobs, stored in the table so that they survive a crash."""

from zlib import crc32

from datastore.model.codec import JSON
from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody
from datastore.model.times import Time


class Job(
    Entity,
    pk="JOBS{partition:shard}",
    sk="{due_at}#{job_id}",
    owner=nobody("a job is deleted when it is done"),
    logged=False,
):
    """A background job with a due time. Deleted when it is done."""

    job_id: str = field("Permanent identifier.")
    due_at: Time = field("Earliest time to run.")
    partition: int = field("Partition of the queue, from 0, so that many jobs do not share one.", default=0)
    kind: str = field("Name of the function to run.")
    subject: JSON = field("Arguments of the function.")
    leased_until: int = field("Unix time at which the lease of a server expires.", default=0, private=True)
    leased_by: str | None = field("Identifier of the run that holds the lease.", default=None, private=True)
    attempts: int = field("Number of failed attempts.", default=0)


JOB_PARTITIONS = 4


def partition_of(job_id: str) -> int:
    """Returns the partition of a job. Jobs with the same ID and due time are one job."""
    return crc32(job_id.encode()) % JOB_PARTITIONS


class DeadJob(
    Entity,
    pk="DEADJOBS",
    sk="{died_at}#{job_id}",
    owner=nobody("operators retry or cancel it: `heartwood jobs`"),
    logged=False,
):
    """A job that failed permanently. Kept until an operator retries or drops it."""

    job_id: str = field("Identifier of the job.")
    died_at: Time = field("Time at which it was given up.")
    error: str = field("The last error.")
    attempts: int = field("Number of failed attempts.", default=0)
    kind: str | None = field("Name of the function. Null if the job could not be decoded.", default=None)
    subject: JSON | None = field("Arguments of the function.", default=None)
    item: str | None = field(
        "The stored item of a job that could not be decoded, as JSON.", default=None, compressed=True
    )
