"""Background jobs, stored in the table so that they survive a crash."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody
from datastore.model.times import Time


class Job(Entity, pk="JOBS", sk="{due_at}#{job_id}", owner=nobody("a job is deleted when it is done")):
    """A background job with a due time. Deleted when it is done."""

    job_id: str = field("Permanent identifier.")
    due_at: Time = field("Earliest time to run.")
    kind: str = field("Name of the function to run.")
    subject: JSON = field("Arguments of the function.")
    leased_until: int = field("Unix time at which the lease of a server expires.", default=0)
    attempts: int = field("Number of failed attempts.", default=0)
