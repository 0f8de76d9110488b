"""The check of a table after a restore: `heartwood check`, in a process of its own."""

import asyncio
import os
import sys
from importlib.util import find_spec

from datastore.local.settings import TableSettings
from datastore.maintenance.connections import Reached

# By name: it belongs to a layer above this one.
CHECK = "schema.http.check_command"


async def check_table(where: Reached, settings: TableSettings) -> int:
    """Runs `heartwood check` if this version has it. Returns its exit status: 0 if the table is consistent."""
    if find_spec(CHECK) is None:
        return 0
    own = {"TABLE_NAME": where.table_name, "DATA_DIR": str(settings.data_dir), "CHANGES": settings.changes}
    if where.place.endpoint:
        own["DYNAMODB_ENDPOINT"] = where.place.endpoint
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", "check", "--from-start"), env={**os.environ, **own}
    )
    return await process.wait()
