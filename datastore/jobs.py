"""Work that goes on after the answer was sent, kept in the table so that a crash only delays it."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, field
from datastore.model.times import Time


class Job(Entity, pk="JOBS", sk="{due_at}#{job_id}"):
    """Something to do at or after a time; gone once it is done."""

    job_id: str = field("The permanent identifier.")
    due_at: Time = field("Not before this time.")
    kind: str = field("The name of the function that does it.")
    subject: JSON = field("What that function is given.")
    leased_until: int = field("The second until which a server is at it.", default=0)
    attempts: int = field("How often it was begun.", default=0)
