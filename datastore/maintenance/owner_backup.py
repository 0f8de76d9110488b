"""Backs up the items of one owner, found by queries: no scan, so no rate limit is needed."""

import shutil
from pathlib import Path

from datastore.client.table import Table
from datastore.maintenance.data_files import DataFiles
from datastore.maintenance.locations import Location
from datastore.maintenance.manifest import Manifest, schema_versions
from datastore.maintenance.owned_items import OwnedItems, Owner
from datastore.maintenance.progress import Progress
from datastore.maintenance.raw_items import RawItems
from datastore.model.times import now

ITEMS_AT_ONCE = 500


class NothingFound(Exception):
    """The owner has no items."""


async def back_up_owner(
    table: Table, to: Location, work: Path, owner: Owner, progress: Progress
) -> tuple[str, Manifest]:
    """Writes a backup of one owner's items. Returns its name and its manifest."""
    began_at = now()
    name = f"{table.name}-{owner.kind}-{began_at[:19].replace(':', '-')}Z"
    items = RawItems(table)
    shutil.rmtree(work, ignore_errors=True)
    files = DataFiles(work / "parts")
    some: list[bytes] = []
    progress.phase(f"reading the items of the {owner.kind} {owner.owner_id}")
    try:
        async for item in OwnedItems(items, owner).find():
            some.append(item)
            if len(some) == ITEMS_AT_ONCE:
                files.commit(0, await files.append(0, some))
                progress.add(len(some))
                some = []
        if some:
            files.commit(0, await files.append(0, some))
        if not files.items:
            raise NothingFound(f"there is no {owner.kind} {owner.owner_id}; --{owner.kind} takes its ID in the table")

        details = {
            "owner": {"kind": owner.kind, "id": owner.owner_id},
            "schemaVersions": schema_versions(),
            "consistency": {"asOf": began_at, "isExact": False},
            "readUnits": round(items.read_units, 1),
        }
        data = files.finish({}, 1, work / "data")
        manifest = Manifest(tuple(data), table.name, began_at, now(), began_at, details)
        target = to.within(name)
        for file in manifest.files:
            target.take(work / file.path, file.path)
        manifest.write(target, name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return name, manifest
