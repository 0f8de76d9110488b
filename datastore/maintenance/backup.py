"""Backs up the whole table: a scan, and then again everything that has changed since the scan began.

The backup has every item as it was when the last of these rounds was read, not as the scan met it. It goes on where it
was interrupted: each page that is read is kept in the work folder.
"""

import asyncio
import contextlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.maintenance.changed_places import (
    LEFT_OUT,
    READ_LAST,
    ChangedPlaces,
    LogExpired,
    LogPosition,
    items_of_the_log,
)
from datastore.maintenance.data_files import DataFiles, Written
from datastore.maintenance.locations import Location
from datastore.maintenance.manifest import Manifest, schema_versions
from datastore.maintenance.operations import SEEN_WITHIN, Operation
from datastore.maintenance.progress import Progress, Silent
from datastore.maintenance.raw_items import Place, RawItems, head_of
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.segments import SEGMENTS, MaintenanceScan, Positions, ScannedPage
from datastore.model.times import now

STATE = "progress.json"
SAVED_EVERY = 1.0
# A round reads what changed during the one before it. After these, a busy table is as close as it gets.
ROUNDS = 8
ITEMS_AT_ONCE = 500


class CannotResume(Exception):
    """There is nothing to go on with; the message says what to do."""


@dataclass(frozen=True)
class BackupOptions:
    """Choices of the operator."""

    segments: int = SEGMENTS
    read_units: float | None = None
    pause_writes: bool = False
    """Pauses the servers' writes for the last round, so that the backup is of exactly one moment."""
    is_alone: bool = False
    """True if no other process can write to the table, so that there are no changes to follow."""


class Backup:
    """One backup of the whole table. `work` is a folder on this machine, for what is not finished."""

    def __init__(
        self,
        table: Table,
        to: Location,
        work: Path,
        options: BackupOptions | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._table = table
        self._to = to
        self._work = work
        self._options = options or BackupOptions()
        self._progress = progress or Silent()
        self._items = RawItems(table)
        self._rate = ReadRate(self._options.read_units)
        self._saved_at = 0.0
        self._uncommitted: dict[int, Written] = {}

    async def run(self) -> Manifest:
        """Begins a backup, or goes on with the one in the work folder. Returns its manifest."""
        state = self._stored() or await self._begun()
        self._name: str = state["name"]
        self._began_at: str = state["beganAt"]
        self._operation = await self._resumed(state["operation"])
        self._changed = ChangedPlaces(self._table, LogPosition.from_json(state["log"]))
        self._files = DataFiles.from_json(self._work / "parts", state["files"])
        self._state = state
        scan = MaintenanceScan(self._table, Positions.from_json(state["scan"]), self._rate)
        self._progress.phase("reading the table", await self._expected_items())
        self._progress.add(scan.positions.items)
        await scan.run(self._take, lambda segment: self._moved(segment, scan.positions))
        self._save(scan.positions)
        last_writer, consistency = await self._rounds(scan.positions.segments)
        files = await asyncio.to_thread(self._files.finish, last_writer, scan.positions.segments, self._work / "data")
        manifest = Manifest(
            tuple(files),
            self._table.name,
            self._began_at,
            now(),
            consistency["asOf"],
            {
                "owner": None,
                "schemaVersions": schema_versions(),
                "consistency": consistency,
                "readUnits": round(scan.positions.read_units + self._items.read_units, 1),
            },
        )
        await asyncio.to_thread(self._deliver, manifest)
        await self._operation.end()
        shutil.rmtree(self._work)
        return manifest

    @property
    def name(self) -> str:
        return self._name

    def _stored(self) -> dict[str, Any] | None:
        with contextlib.suppress(FileNotFoundError):
            state: dict[str, Any] = orjson.loads((self._work / STATE).read_bytes())
            if state["tableName"] != self._table.name:
                raise CannotResume(f"{self._work} has a backup of {state['tableName']}; choose another folder")
            return state
        return None

    async def _begun(self) -> dict[str, Any]:
        (self._work / "parts").mkdir(parents=True, exist_ok=True, mode=0o700)
        # Even if no server is running: one that is started after an interruption has to log everything.
        operation = await Operation.begin(self._table, "a backup ends", logs_everything=True)
        if not self._options.is_alone:
            await asyncio.sleep(SEEN_WITHIN)
        changed = await ChangedPlaces.from_now(self._table)
        began_at = now()
        state = {
            "name": f"{self._table.name}-{began_at[:19].replace(':', '-')}Z",
            "tableName": self._table.name,
            "beganAt": began_at,
            "operation": operation.record.operation_id,
            "log": changed.position.as_json(),
            "scan": Positions(self._options.segments).as_json(),
            "files": {},
        }
        self._write_state(state)
        return state

    async def _resumed(self, operation_id: str) -> Operation:
        operation = await Operation.resume(self._table, operation_id)
        if operation is None:
            raise CannotResume(
                f"the backup in {self._work} began more than a day ago, and changes since are no longer known; delete "
                "that folder and begin again, with a higher --read-units"
            )
        return operation

    async def _take(self, page: ScannedPage) -> None:
        kept = [item for item in page.items if head_of(item).kind not in LEFT_OUT | READ_LAST]
        if kept:
            self._uncommitted[page.segment] = await self._files.append(page.segment, kept)
        self._progress.add(len(page.items))

    def _moved(self, segment: int, positions: Positions) -> None:
        if written := self._uncommitted.pop(segment, None):
            self._files.commit(segment, written)
        if time.monotonic() - self._saved_at > SAVED_EVERY:
            self._save(positions)
            self._saved_at = time.monotonic()

    def _save(self, positions: Positions) -> None:
        self._state |= {"scan": positions.as_json(), "files": self._files.as_json()}
        self._write_state(self._state)

    def _write_state(self, state: dict[str, Any]) -> None:
        new = self._work / f"{STATE}.new"
        with new.open("wb") as file:
            file.write(orjson.dumps(state))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._work / STATE)

    async def _rounds(self, first: int) -> tuple[dict[Place, int], dict[str, Any]]:
        """Reads again what has changed. Returns the last round that has each item, and what the backup is of."""
        last_writer: dict[Place, int] = {}
        pauses_writes = self._options.pause_writes and not self._options.is_alone
        self._progress.phase("reading what changed meanwhile")
        try:
            for number in range(first, first + ROUNDS):
                is_last = number == first + ROUNDS - 1
                if pauses_writes and number == first + 1:
                    await self._operation.pause_writes()
                if self._operation.is_over:
                    raise LogExpired("the backup took more than a day; begin again, with a higher --read-units")
                began, as_of = time.monotonic(), now()
                places = await self._changed.next()
                if places:
                    await self._write_again(places, number, last_writer)
                seconds = time.monotonic() - began
                if not places or is_last:
                    break
            log = await items_of_the_log(self._items)
            await self._write(log, number)
        finally:
            if pauses_writes:
                await self._operation.resume_writes()
        spread = round(seconds, 3) if places else 0.0
        # A stream tells of changes later than of writes, so the log may lag behind the table without a trace.
        is_exact = not places and (self._options.is_alone or self._table.recorder is not None)
        return last_writer, {"asOf": as_of, "isExact": is_exact, "secondsOfLastRound": spread}

    async def _write_again(self, places: set[Place], number: int, last_writer: dict[Place, int]) -> None:
        ordered = sorted(places)
        for start in range(0, len(ordered), ITEMS_AT_ONCE):
            some = ordered[start : start + ITEMS_AT_ONCE]
            found = await self._items.get(some)
            await self._write([item for item in found.values() if head_of(item).kind not in LEFT_OUT], number)
            # What no longer exists is in no file then.
            last_writer |= dict.fromkeys(some, number)
            self._progress.add(len(some))

    async def _write(self, items: list[bytes], number: int) -> None:
        if items:
            self._files.commit(number, await self._files.append(number, items))

    async def _expected_items(self) -> int | None:
        request = {"TableName": self._table.name}
        answer = await self._table.transport.call("DescribeTable", request, Usage.lasting(30, is_patient=True))
        return answer["Table"].get("ItemCount") or None

    def _deliver(self, manifest: Manifest) -> None:
        target = self._to.within(self._name)
        for file in manifest.files:
            target.take(self._work / file.path, file.path)
        manifest.write(target, self._name)
