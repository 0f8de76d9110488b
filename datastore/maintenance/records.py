"""Records of maintenance: what repairs have set aside, and which old shapes are left."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, field
from datastore.model.enums import Choice
from datastore.model.ownership import nobody
from datastore.model.times import Time


class SetAside(
    Entity,
    pk="SETASIDE",
    sk="{set_aside_at}#{aside_id}",
    owner=nobody("operators look at it after a repair; it expires after 30 days"),
    logged=False,
):
    """An item that a repair has deleted, as it was stored. Kept for 30 days."""

    set_aside_at: Time = field("Time of the repair.")
    aside_id: str = field("Permanent identifier.")
    reason: str = field("Why it was deleted.")
    item: str = field("The item, as DynamoDB's JSON.", compressed=True)


class SchemaState(
    Entity,
    pk="SCHEMA",
    sk="ENTITY#{entity_name}",
    owner=nobody("it holds a number"),
    logged=False,
):
    """The oldest version of an entity that may be stored. Servers without its upgrades refuse to start."""

    entity_name: str = field("Name of the entity.")
    oldest: int = field("Lowest `schemaVersion` that may be stored.")
    confirmed_at: Time = field("Time of the migration that found nothing older.")


class MigrationStatus(Choice):
    """Status of the migration."""

    RUNNING = "RUNNING", "Under way, or waiting for a server to go on with it."
    PAUSED = "PAUSED", "An operator has paused it."
    DONE = "DONE", "At the end of the table."


class Migration(Entity, pk="MIGRATION", sk="MIGRATION", owner=nobody("it only holds a progress"), logged=False):
    """The progress of the migration that rewrites old items."""

    status: MigrationStatus = field("Status.")
    versions: JSON = field("Version of each entity that items are rewritten to.")
    positions: JSON | None = field("How far the table has been read. None at the beginning.", default=None)
    rate: float | None = field("Read and write units per second. None if unlimited.", default=None)
    counts: JSON = field("For each entity, how many items were read, old and rewritten, and what is left.")
