"""The backups at a location: which there are, and which are old enough to be deleted."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from datastore.maintenance.export_format import DamagedBackup
from datastore.maintenance.locations import SUMMARY, Location
from datastore.maintenance.manifest import Manifest

# The name of a whole backup, with the time at which it began.
NAME = re.compile(r"(?P<table>.+)-(?P<began>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)Z")


class StoredBackup(NamedTuple):
    """A finished backup. `manifest` is None if it cannot be read."""

    name: str
    manifest: Manifest | None


def finished(at: Location) -> list[StoredBackup]:
    """Returns the finished backups, the oldest first."""
    found = []
    for name in at.folders():
        place = at.within(name)
        if not place.has(SUMMARY):
            continue
        try:
            found.append(StoredBackup(name, Manifest.read(place)))
        except DamagedBackup:
            found.append(StoredBackup(name, None))
    return sorted(found, key=lambda each: (each.manifest.began_at if each.manifest else "", each.name))


def began(name: str, table_name: str) -> datetime | None:
    """Returns when the whole backup of a table with this name began, or None if it is another folder."""
    match = NAME.fullmatch(name)
    if match is None or match["table"] != table_name:
        return None
    return datetime.strptime(match["began"], "%Y-%m-%dT%H-%M-%S").replace(tzinfo=UTC)


def prune(at: Location, table_name: str, keep: timedelta, now: datetime) -> list[str]:
    """Deletes whole backups of a table that are older than this. The latest is kept. Returns the deleted names."""
    times = {name: moment for name in at.folders() if (moment := began(name, table_name))}
    whole = sorted(name for name in times if at.within(name).has(SUMMARY))
    old = [name for name in times if times[name] < now - keep and name != (whole[-1] if whole else None)]
    for name in sorted(old):
        at.within(name).delete()
    return sorted(old)
