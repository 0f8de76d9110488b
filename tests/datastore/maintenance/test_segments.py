"""The scan of the whole table, for maintenance."""

from collections import Counter

import orjson
import pytest

from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.segments import MaintenanceScan, Positions, every_item
from tests.datastore.library import essay, user

pytestmark = pytest.mark.usefixtures("library_registered")


async def people(table, number):
    records = [user(f"p{index:04d}") for index in range(number)]
    await table.batch_write(puts=records)
    table.usage.calls.clear()
    return {record.own_key.pk for record in records}


class Seen:
    """Takes pages, and fails at the page with a number."""

    def __init__(self, fail_at=None):
        self.keys = Counter()
        self.pages = []
        self.fail_at = fail_at

    async def __call__(self, page):
        if len(self.pages) + 1 == self.fail_at:
            raise OSError("the disk is full")
        self.pages.append((page.segment, len(page.items)))
        self.keys.update(orjson.loads(memoryview(item))["PK"]["S"] for item in page.items)


@pytest.mark.engine_contract
@pytest.mark.parametrize("segments", [1, 4])
async def test_every_item_is_read_once(table, segments):
    written = await people(table, 60)
    seen = Seen()
    done = await MaintenanceScan(table, Positions(segments), page_items=7).run(seen)
    assert seen.keys == Counter(written)
    assert (done.items, done.is_at_the_end, done.after) == (60, True, {})
    assert table.usage.calls == {"Scan": len(seen.pages)}
    assert max(size for _, size in seen.pages) == 7
    assert {segment for segment, _ in seen.pages} == set(range(segments))


async def test_pages_hold_a_megabyte_unless_the_rate_is_limited(table):
    for name in ("ash", "birch", "cedar"):
        await table.put(essay(name, text="x" * 390_000))
    table.usage.calls.clear()
    assert len([item async for item in every_item(table)]) == 3
    assert table.usage.calls == {"Scan": 2}


@pytest.mark.engine_contract
async def test_a_scan_goes_on_where_another_ended(table):
    written = await people(table, 60)
    first = Seen(fail_at=4)
    scan = MaintenanceScan(table, Positions(3), page_items=5)
    with pytest.raises(OSError, match="the disk is full"):
        await scan.run(first)
    assert sum(first.keys.values()) == scan.positions.items < 60
    stored = orjson.dumps(scan.positions.as_json())
    second = Seen()
    resumed = MaintenanceScan(table, Positions.from_json(orjson.loads(stored)), page_items=5)
    done = await resumed.run(second)
    assert first.keys + second.keys == Counter(written)
    assert (done.items, done.is_at_the_end) == (60, True)


async def test_a_finished_scan_reads_nothing_more(table):
    await people(table, 3)
    done = await MaintenanceScan(table).run(Seen())
    table.usage.calls.clear()
    await MaintenanceScan(table, done).run(Seen())
    assert table.usage.calls == {}


async def test_the_rate_limits_the_size_of_pages_and_their_number(table, engine_name):
    """An item of 9 KB takes 1.5 units of an eventually consistent read: 6 units are 4 items."""
    if engine_name == "moto":
        pytest.skip("moto does not count read units")
    for index in range(30):
        await table.put(essay(f"e{index}", text=f"{index:04d}" * 2_250))
    slept = []
    now = 0.0

    async def sleep(seconds):
        nonlocal now
        slept.append(seconds)
        now += seconds

    seen = Seen()
    done = await MaintenanceScan(table, Positions(1), ReadRate(6, clock=lambda: now, sleep=sleep)).run(seen)
    assert done.items == 30
    # Every second has its six units, except the first, before the size of an item is known.
    assert done.read_units / (sum(slept) + 1) == pytest.approx(6, rel=0.35)
    assert max(size for _, size in seen.pages[1:]) <= 6


@pytest.mark.parametrize("segments", [0, 1_001])
async def test_a_number_of_segments_that_dynamodb_does_not_know_is_refused(table, segments):
    with pytest.raises(ValueError, match="must be 1 to 1000"):
        MaintenanceScan(table, Positions(segments))
