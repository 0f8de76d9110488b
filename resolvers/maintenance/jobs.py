"""Background jobs of maintenance."""

import time

from datastore.maintenance.migrating import STATE, Migrating
from datastore.maintenance.records import MigrationStatus
from loaders.request import Loaders
from resolvers.background.jobs import job, queued

# A job goes on for this long, and then queues the next one: a server that stops does not wait for it.
SECONDS_AT_ONCE = 300.0


@job
async def migrate_items(load: Loaders) -> None:
    """Rewrites items of old versions, as far as it comes, until the migration is done or paused."""
    found = await load.table.get(STATE, consistent=True)
    if found is None or found.status is not MigrationStatus.RUNNING:
        return
    after = await Migrating(load.table, found, ends_at=time.monotonic() + SECONDS_AT_ONCE).run()
    if after.status is MigrationStatus.RUNNING:
        await load.write(queued(migrate_items))
