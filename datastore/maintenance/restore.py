"""Restores a backup, or an export of AWS, into an empty table, or one owner's items where they are absent."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b

from msgspec import Raw

from datastore.client.errors import TableMissing
from datastore.client.table import Table
from datastore.maintenance.changed_places import LEFT_OUT
from datastore.maintenance.export_format import CheckedFile, DamagedBackup, items_in
from datastore.maintenance.locations import Location
from datastore.maintenance.manifest import DataFile, Manifest, newer_entities
from datastore.maintenance.operations import SEEN_WITHIN, Operation
from datastore.maintenance.progress import Progress, Silent
from datastore.maintenance.raw_items import Digest, Place, RawItems, canonical, head_of, is_expired
from datastore.maintenance.segments import SEGMENTS, MaintenanceScan, Positions, ScannedPage

ITEMS_AT_ONCE = 500
PUTS_AT_ONCE = 32
EXAMPLES = 5

Wanted = Callable[[bytes], bool]


class NotEmpty(Exception):
    """The table has items that the restore could overwrite."""


class RestoreFailed(Exception):
    """The table differs from the backup after the restore."""


@dataclass
class Outcome:
    """Numbers of items that a restore has written, or would write."""

    items: int = 0
    written: int = 0
    identical: int = 0
    kept: int = 0
    """Items that exist with other content, and were left as they are."""
    examples: list[str] = field(default_factory=list)
    write_units: float = 0.0


class Restore:
    """One restore. `wanted` selects items of the backup; without it, all of them are restored."""

    def __init__(
        self,
        table: Table,
        source: Location,
        *,
        wanted: Wanted | None = None,
        progress: Progress | None = None,
        segments: int = SEGMENTS,
    ) -> None:
        self._table = table
        self._source = source
        self.select(wanted)
        self._segments = segments
        self._progress = progress or Silent()
        self._items = RawItems(table)
        self._moment = time.time()
        self.manifest = Manifest.read(source)

    def select(self, wanted: Wanted | None) -> None:
        self._wanted = wanted

    def items(self) -> Iterator[bytes]:
        """Yields all items of the backup."""
        for file in self.manifest.files:
            yield from self._read(file)

    def verify(self, moment: float = 0.0) -> Digest:
        """Reads the whole backup. Raises DamagedBackup if a checksum or a number of items is wrong.

        Returns the digest of its items, without those that have expired by a moment: DynamoDB may delete them any time.
        """
        if newer := newer_entities(self.manifest):
            raise DamagedBackup("a newer Heartwood wrote this backup; restore it with that one:\n" + "\n".join(newer))
        digest = Digest()
        self._progress.phase("verifying the backup", self.manifest.items)
        for file in self.manifest.files:
            line = 0
            try:
                for item in self._read(file):
                    line += 1
                    if not is_expired(item, moment):
                        digest.add(item)
            except ValueError as error:
                raise DamagedBackup(f"{file.path} is damaged after line {line}: {error}") from error
            self._progress.add(file.items)
        return digest

    def _read(self, file: DataFile) -> Iterator[bytes]:
        """Yields the items of a file. Raises DamagedBackup at its end, or before, if the file was changed."""
        number = 0
        try:
            opened = self._source.open(file.path)
        except OSError as error:
            raise DamagedBackup(f"{file.path} is missing: {error}") from error
        with closing(opened):
            checked = CheckedFile(opened)
            for item in items_in(checked, file.path):  # type: ignore[arg-type]
                number += 1
                yield item
            if checked.md5 != file.md5:
                raise DamagedBackup(f"{file.path} was changed: its MD5 checksum is {checked.md5}, not {file.md5}")
        if number != file.items:
            raise DamagedBackup(f"{file.path} has {number} items, and the manifest says {file.items}")

    async def into_empty(self, *, overwrite: bool = False) -> Outcome:
        """Writes all items, in a table that is empty or that an interrupted restore has begun to fill.

        While it lasts, servers refuse to write to the table. `overwrite` replaces items with the same keys.
        """
        digest = await asyncio.to_thread(self.verify, self._moment)
        operation = await self._operation(overwrite=overwrite)
        try:
            outcome = await self._write_all(operation)
            await self._compare(digest, may_have_more=overwrite)
        except RestoreFailed:
            # The next run writes all files again.
            await operation.move_to({})
            raise
        finally:
            await operation.release()
        await operation.end()
        return outcome

    async def _write_all(self, operation: Operation) -> Outcome:
        """Writes the files that no earlier run has written."""
        done = set(operation.position.get("files", ()))
        outcome = Outcome()
        self._progress.phase("writing", self.manifest.items)
        for file in self.manifest.files:
            outcome.items += file.items
            if file.path in done:
                self._progress.add(file.items)
                continue
            for some in _chunks(self._read(file)):
                await self._items.write(some)
                outcome.written += len(some)
                self._progress.add(len(some), f"{self._items.write_units:,.0f} write units")
            done.add(file.path)
            await operation.move_to({"files": sorted(done)})
        outcome.write_units = self._items.write_units
        return outcome

    async def where_absent(self, *, overwrite: bool = False, dry_run: bool = False) -> Outcome:
        """Writes the wanted items that do not exist. Those that do are kept, unless `overwrite` replaces them."""
        await asyncio.to_thread(self.verify)
        outcome = Outcome()
        self._progress.phase("comparing" if dry_run else "writing", self.manifest.items)
        for file in self.manifest.files:
            for some in _chunks(self._read(file)):
                self._progress.add(len(some))
                if wanted := [item for item in some if self._wanted is None or self._wanted(item)]:
                    await self._take(wanted, outcome, overwrite=overwrite, dry_run=dry_run)
        outcome.write_units = self._items.write_units
        return outcome

    async def _take(self, items: list[bytes], outcome: Outcome, *, overwrite: bool, dry_run: bool) -> None:
        outcome.items += len(items)
        by_place = {head_of(item).place: item for item in items}
        found = await self._items.get([*by_place])
        absent = [item for place, item in by_place.items() if place not in found]
        others = [place for place in found if canonical(found[place]) != canonical(by_place[place])]
        outcome.identical += len(found) - len(others)
        if overwrite:
            absent += [by_place[place] for place in others]
        else:
            outcome.kept += len(others)
            outcome.examples = [*outcome.examples, *(" ".join(place) for place in others)][:EXAMPLES]
        if dry_run:
            outcome.written += len(absent)
        elif overwrite:
            await self._items.write(absent)
            outcome.written += len(absent)
        else:
            for start in range(0, len(absent), PUTS_AT_ONCE):
                puts = absent[start : start + PUTS_AT_ONCE]
                # The condition is for items that were written since they were looked for.
                written = await asyncio.gather(*map(self._items.put_if_absent, puts))
                outcome.written += sum(written)
                outcome.kept += len(puts) - sum(written)
        if not dry_run:
            await self._verify_written([place for place, item in by_place.items() if not self._expired(item)])

    def _expired(self, item: Raw | bytes) -> bool:
        return is_expired(item, self._moment)

    async def _verify_written(self, places: list[Place]) -> None:
        found = await self._items.get(places)
        if missing := [place for place in places if place not in found]:
            raise RestoreFailed(f"{len(missing)} items are not in the table after they were written: {missing[:3]}")

    async def _operation(self, *, overwrite: bool) -> Operation:
        """Returns the operation of this restore, which may have been interrupted. Raises NotEmpty."""
        names = "".join(f"{file.path} {file.md5}\n" for file in self.manifest.files)
        operation_id = f"RESTORE-{blake2b(names.encode(), digest_size=12).hexdigest()}"
        operation = await Operation.resume(self._table, operation_id)
        if operation is None:
            if not overwrite and not await is_empty(self._table):
                raise NotEmpty(
                    f"the table {self._table.name} is not empty. Restore into a new table (TABLE_NAME=…), or replace "
                    "the items that the backup has, and keep all others, with --overwrite"
                )
            operation = await Operation.begin(self._table, "a backup is being restored", operation_id)
        else:
            self._progress.say("going on with a restore that was interrupted")
        await operation.pause_writes(0 if not overwrite else SEEN_WITHIN)
        return operation

    async def _compare(self, digest: Digest, *, may_have_more: bool) -> None:
        """Reads the whole table, and compares it to the backup. Raises RestoreFailed."""
        if may_have_more:
            await self._compare_each()
            return
        found = Digest()
        self._progress.phase("comparing the table to the backup", digest.items)

        async def add(page: ScannedPage) -> None:
            for item in page.items:
                if head_of(item).kind not in LEFT_OUT and not self._expired(item):
                    found.add(item)
            self._progress.add(len(page.items))

        await MaintenanceScan(self._table, Positions(self._segments), consistent=True).run(add)
        if (found.items, found.total) != (digest.items, digest.total):
            raise RestoreFailed(
                f"the table has {found.items:,} items with the digest {found.text}, and the backup {digest.items:,} "
                f"with {digest.text}; run the same command again"
            )

    async def _compare_each(self) -> None:
        self._progress.phase("comparing the table to the backup", self.manifest.items)
        for file in self.manifest.files:
            for some in _chunks(item for item in self._read(file) if not self._expired(item)):
                found = await self._items.get([head_of(item).place for item in some])
                if any(canonical(found.get(head_of(item).place, b"{}")) != canonical(item) for item in some):
                    raise RestoreFailed(f"items of {file.path} differ in the table; run the same command again")
                self._progress.add(len(some))


class _Found(Exception):
    """The table has an item."""


async def is_empty(table: Table) -> bool:
    """Returns True if a table has no items, except about processes that ran on it, or does not exist."""

    async def look(page: ScannedPage) -> None:
        if any(head_of(item).kind not in LEFT_OUT for item in page.items):
            raise _Found

    try:
        await MaintenanceScan(table, Positions(1), page_items=10, consistent=True).run(look)
    except _Found:
        return False
    except TableMissing:
        pass
    return True


def _chunks(items: Iterator[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    for item in items:
        some.append(item)
        if len(some) == ITEMS_AT_ONCE:
            yield some
            some = []
    if some:
        yield some
