"""Rewrites items of old versions as the current one, and knows which versions are left.

An item is rewritten on condition that no attribute has changed since it was read, so a concurrent change always wins.
Progress is in the table: any server, or the command, goes on where another one stopped.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import orjson

from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem, DatastoreError
from datastore.client.table import Table
from datastore.client.writes import KEY_ATTRIBUTES, Update, index_keys, unchanged
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.records import Migration, MigrationStatus, SchemaState
from datastore.maintenance.segments import MaintenanceScan, Positions, ScannedPage
from datastore.model.codec import JSON, AttributeValue, Item
from datastore.model.entity import FORMER_NAMES, REGISTRY, Entity, decode, entity_name, loaded
from datastore.model.keys import Key
from datastore.model.patterns import INDEXES
from datastore.model.times import now

TIME_FOR_ONE = 60.0
ATTEMPTS = 10
AT_ONCE = 8
STORED_EVERY = 0.5
# An update of an item with its indexes, more or less.
UNITS_OF_A_WRITE = 2
STATE = Migration.key()

READ, OLD, REWRITTEN, LEFT, OLDEST = "read", "old", "rewritten", "left", "oldest"


class UpgradeMissing(DatastoreError):
    """This server cannot read what the table may hold."""


class Paused(Exception):
    """An operator has paused the migration."""


def is_old(item: Item) -> bool:
    """True if an item of a known entity has an old version or an old name of its entity."""
    entity = REGISTRY.get(entity_name(item))
    if entity is None:
        return False
    return version_of(item) < entity.schema_version or item["entityType"]["S"] in FORMER_NAMES


def version_of(item: Item) -> int:
    """Returns the stored version. Items from before there were versions have the first."""
    text = item.get("schemaVersion", {}).get("N", "1")
    return int(text) if text.isdigit() else 1


class Migrating:
    """One run of the migration, up to the end of the table, to `ends_at`, or until it is paused."""

    def __init__(
        self,
        table: Table,
        migration: Migration,
        *,
        ends_at: float = float("inf"),
        told: Callable[[Migration], None] = lambda _: None,
    ) -> None:
        self._table = table
        self.migration = migration
        self._rate = ReadRate(migration.rate)
        self._ends_at = ends_at
        self._told = told
        counts = cast(dict[str, dict[str, int]], migration.counts)
        self._counts = {name: Counter(some) for name, some in counts.items()}
        self._stored_at = time.monotonic()
        stored = cast(dict[str, Any] | None, migration.positions)
        positions = Positions.from_json(stored) if stored else Positions(segments=1)
        self._scan = MaintenanceScan(table, positions, self._rate)

    async def run(self) -> Migration:
        """Rewrites old items. Returns the migration: it is done, or goes on later."""
        if self.migration.status is not MigrationStatus.RUNNING:
            return self.migration
        try:
            await self._scan.run(self._handle)
        except Paused:
            return self.migration
        await confirm(self._table, {name: counts[OLDEST] for name, counts in self._counts.items() if counts[LEFT]})
        await self._store(MigrationStatus.DONE)
        return self.migration

    async def _handle(self, page: ScannedPage) -> None:
        # All pages before this one are done, and the positions are behind them.
        if time.monotonic() - self._stored_at > STORED_EVERY:
            self._stored_at = time.monotonic()
            await self._store(MigrationStatus.RUNNING)
            if time.monotonic() > self._ends_at:
                raise Paused
        old: list[Item] = []
        for text in page.items:
            try:
                item = loaded(text)
            except CorruptItem:
                continue
            name = entity_name(item)
            counts = self._counts.setdefault(name, Counter())
            counts[READ] += 1
            if is_old(item):
                counts[OLD] += 1
                old.append(item)
        for start in range(0, len(old), AT_ONCE):
            await asyncio.gather(*map(self._rewrite, old[start : start + AT_ONCE]))

    async def _rewrite(self, item: Item) -> None:
        counts = self._counts[entity_name(item)]
        await self._rate.take(UNITS_OF_A_WRITE)
        if await rewrite(self._table.using(Usage.lasting(TIME_FOR_ONE, is_patient=True)), item):
            counts[REWRITTEN] += 1
            return
        counts[OLDEST] = min(version_of(item), counts[OLDEST] or version_of(item))
        counts[LEFT] += 1

    async def _store(self, status: MigrationStatus) -> None:
        """Stores the progress. Raises Paused if an operator has paused it, or begun another one."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE, is_patient=True))
        found = await table.get(STATE, consistent=True)
        if found is None or found.created_at != self.migration.created_at:
            raise Paused
        self._rate.per_second = found.rate
        paused = found.status is MigrationStatus.PAUSED and status is MigrationStatus.RUNNING
        counts = {name: dict(some) for name, some in self._counts.items()}
        self.migration = found.changed(
            status=found.status if paused else status,
            positions=JSON(self._scan.positions.as_json()),
            counts=JSON(counts),
        )
        try:
            await table.transact(Update.of(found, self.migration, when=unchanged(found.encode())))
        except Conflict:
            self._stored_at = 0.0
        self._told(self.migration)
        if paused:
            raise Paused


async def rewrite(table: Table, item: Item) -> bool:
    """Rewrites an old item as it would be written today. Returns False if it cannot be read."""
    key: Key[Any] = Key(REGISTRY[entity_name(item)], item["PK"]["S"], item["SK"]["S"])
    found: Item | None = item
    for _ in range(ATTEMPTS):
        if found is None or not is_old(found):
            return True
        try:
            write = _rewritten(key, found)
        except (CorruptItem, DatastoreError):
            return False
        try:
            await table.transact(write)
            return True
        except Conflict:
            found = await table.stored_item(key)
    return False


def _rewritten(key: Key[Any], item: Item) -> Update:
    """Returns the update. Attributes that no upgrade knows stay as they are: other programs may have written them."""
    after = decode(item).encode()
    ours = {*key.entity.known_attributes, *(f"{name}{part}" for name in INDEXES for part in KEY_ATTRIBUTES)}
    raw: dict[str, AttributeValue | None]
    raw = {name: value for name, value in after.items() if item.get(name) != value and name not in KEY_ATTRIBUTES}
    raw |= {name: None for name in item if name in ours and name not in after}
    return Update(key, raw=raw, when=unchanged(item), index_keys=(index_keys(item), index_keys(after)))


async def begin(table: Table, rate: float | None, *, again: bool = False) -> Migration:
    """Begins a migration, or returns the one that is under way. `again` begins another one after it is done."""
    found = await table.get(STATE, consistent=True)
    versions = {name: entity.schema_version for name, entity in REGISTRY.items()}
    is_same = found is not None and cast(dict[str, int], found.versions) == versions
    if found is not None and is_same and not (again and found.status is MigrationStatus.DONE):
        if found.status is MigrationStatus.DONE:
            return found
        changed = found.changed(status=MigrationStatus.RUNNING, rate=rate if rate is not None else found.rate)
        await table.transact(Update.of(found, changed, when=unchanged(found.encode())))
        return changed
    begun = Migration(status=MigrationStatus.RUNNING, versions=JSON(versions), rate=rate, counts=JSON({}))
    await table.put(begun)
    return begun


async def pause(table: Table) -> Migration | None:
    """Pauses the migration. Returns it, or None if none is under way."""
    found = await table.get(STATE, consistent=True)
    if found is None or found.status is not MigrationStatus.RUNNING:
        return None
    await table.update(Update(STATE, set={"status": MigrationStatus.PAUSED}))
    return found


async def confirm(table: Table, left: Mapping[str, int]) -> None:
    """Stores the oldest version of each entity that may be left: the current one unless `left` has another."""
    states = [
        SchemaState(entity_name=name, oldest=left.get(name, entity.schema_version), confirmed_at=now())
        for name, entity in sorted(REGISTRY.items())
    ]
    await table.using(Usage.lasting(TIME_FOR_ONE, is_patient=True)).batch_write(puts=states)


async def check_upgrades(table: Table, entities: Iterable[type[Entity]] = ()) -> None:
    """Raises UpgradeMissing if the table may hold versions that this server cannot read.

    Reads nothing as long as all upgrades are there.
    """
    lacking = [entity for entity in [*REGISTRY.values(), *entities] if entity.oldest_version > 1]
    if not lacking:
        return
    states = await table.get_many([SchemaState.key(entity_name=entity.__name__) for entity in lacking], consistent=True)
    for entity in lacking:
        state = states[SchemaState.key(entity_name=entity.__name__)]
        if isinstance(state, DatastoreError):
            raise state
        oldest = cast(SchemaState, state).oldest if state else 1
        if oldest < entity.oldest_version:
            if state is None and await _is_empty(table):
                await confirm(table, {})
                return
            raise UpgradeMissing(
                f"the table may hold a {entity.__name__} of version {oldest}, and this server reads versions "
                f"{entity.oldest_version} to {entity.schema_version} only: put the removed upgrades back, run "
                "`heartwood migrate`, and remove them once it reports that no old items are left"
            )


async def _is_empty(table: Table) -> bool:
    """Returns True for a table without items, which holds no old ones."""

    class Found(Exception):
        pass

    async def handle(page: ScannedPage) -> None:
        if any(orjson.loads(memoryview(item)) for item in page.items):
            raise Found

    try:
        await MaintenanceScan(table, Positions(segments=1), page_items=1).run(handle)
    except Found:
        return False
    return True
