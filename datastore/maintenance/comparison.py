"""Compares two tables item by item, in both directions, while both may be in use."""

from dataclasses import dataclass, field

from datastore.maintenance.changed_places import LEFT_OUT, READ_LAST
from datastore.maintenance.progress import Progress
from datastore.maintenance.raw_items import Place, RawItems, canonical, head_of
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.segments import MaintenanceScan, Positions, ScannedPage

NOT_COMPARED = LEFT_OUT | READ_LAST


@dataclass
class Differences:
    """Items that differ, or that only one of both tables has."""

    compared: int = 0
    places: set[Place] = field(default_factory=set)


async def compare(source: RawItems, target: RawItems, rate: ReadRate, segments: int, progress: Progress) -> Differences:
    """Reads both tables. The log is left out: each table has its own as long as servers use it."""
    found = Differences()

    async def in_target(page: ScannedPage) -> None:
        items = {head_of(item).place: item for item in page.items if head_of(item).kind not in NOT_COMPARED}
        others = await target.get([*items])
        found.places |= {
            place for place, item in items.items() if place not in others or canonical(others[place]) != canonical(item)
        }
        found.compared += len(items)
        progress.add(len(page.items))

    async def in_source(page: ScannedPage) -> None:
        places = [head_of(item).place for item in page.items if head_of(item).kind not in NOT_COMPARED]
        there = await source.get(places)
        found.places |= {place for place in places if place not in there}
        progress.add(len(page.items))

    await MaintenanceScan(source.table, Positions(segments), rate, consistent=True).run(in_target)
    await MaintenanceScan(target.table, Positions(segments), consistent=True).run(in_source)
    return found


async def still_different(source: RawItems, target: RawItems, places: set[Place]) -> set[Place]:
    """Returns the items among these that differ now."""
    ordered = sorted(places)
    here, there = await source.get(ordered), await target.get(ordered)
    return {
        place
        for place in ordered
        if (place in here) != (place in there) or (place in here and canonical(here[place]) != canonical(there[place]))
    }
