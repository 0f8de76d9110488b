"""A work file: what a pass over the whole table has collected, in SQLite, so that it needs little memory and resumes.

Tables have no indexes while they grow. SQLite sorts on disk when one is created afterwards.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from datastore.client.table import Table
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.segments import SEGMENTS, MaintenanceScan, Positions, ScannedPage
from datastore.model.codec import Item
from datastore.model.responses import PLACES

__all__ = ["SEGMENTS", "NotThisTable", "Positions", "WorkFile", "scan_into"]

# Time between two commits: a crash repeats as much.
SECONDS_A_COMMIT = 0.5
CACHE_KILOBYTES = 16_384
SEPARATOR = "\x00"


class NotThisTable(Exception):
    """The work file belongs to another table or another kind of work."""


class WorkFile:
    """A SQLite file with named progress. What `commit` has written survives kill -9."""

    def __init__(self, path: Path, purpose: str, tables: Iterable[str] = (), *, from_start: bool = False) -> None:
        """Opens a file, or creates it. `from_start` begins a new one in its place, if it is a work file."""
        self.path = path
        tables = [*tables]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._open(purpose, tables)
        if from_start and self.was_there:
            self.delete()
            self._open(purpose, tables)
        if self.get("purpose") != purpose:
            was = self.get("purpose")
            self.close()
            raise NotThisTable(
                f"{path} has the progress of `{was}`, not of `{purpose}`; begin from the start, or name another file"
            )

    def _open(self, purpose: str, tables: Iterable[str]) -> None:
        try:
            self.db = sqlite3.connect(self.path, isolation_level=None)
            # The operating system keeps what a killed process has written; only a power failure may lose the file.
            self.db.execute("PRAGMA synchronous = OFF")
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
            self.db.execute("BEGIN")
            self.db.execute("CREATE TABLE IF NOT EXISTS progress (name TEXT PRIMARY KEY, value TEXT)")
            for definition in tables:
                self.db.execute(f"CREATE TABLE IF NOT EXISTS {definition}")
            self.was_there = self.get("purpose") is not None
        except sqlite3.DatabaseError as error:
            raise NotThisTable(f"{self.path} is not a work file ({error}); name another file") from None
        if not self.was_there:
            self.set("purpose", purpose)
        self.commit()

    def get(self, name: str) -> Any:
        row = self.db.execute("SELECT value FROM progress WHERE name = ?", (name,)).fetchone()
        return orjson.loads(row[0]) if row else None

    def set(self, name: str, value: Any) -> None:
        self.db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (name, orjson.dumps(value).decode()))

    def add(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self.db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608  names of our own

    def rows(self, query: str, *values: Any) -> Iterable[Any]:
        """Yields the rows of a query, one at a time."""
        return self.db.execute(query, values)

    def run(self, statement: str, *values: Any) -> None:
        self.db.execute(statement, values)

    def commit(self) -> None:
        self.db.execute("COMMIT")
        self.db.execute("BEGIN")

    def close(self) -> None:
        self.db.execute("COMMIT")
        self.db.close()

    def delete(self) -> None:
        """Closes and deletes the file, once all is done."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


Note = Callable[[list[Item | tuple[str, str]]], None]
"""Takes the items of a page; a damaged one, which is no JSON, is its key."""


async def scan_into(
    work: WorkFile,
    table: Table,
    note: Note,
    *,
    segments: int,
    rate: ReadRate | None = None,
    told: Callable[[Positions], None] = lambda _: None,
) -> Positions:
    """Gives each item of the table to `note` once, across crashes, and returns how much was read.

    What `note` writes to the work file is committed together with the positions behind it.
    """
    stored = work.get("positions")
    scan = MaintenanceScan(table, Positions.from_json(stored) if stored else Positions(segments=segments), rate)
    committed_at = 0.0

    async def handle(page: ScannedPage) -> None:
        nonlocal committed_at
        # All pages before this one are done, and the positions are behind them.
        if time.monotonic() - committed_at > SECONDS_A_COMMIT:
            work.set("positions", scan.positions.as_json())
            work.commit()
            committed_at = time.monotonic()
            told(scan.positions)
        note([_parsed(text) for text in page.items])

    await scan.run(handle)
    work.set("positions", scan.positions.as_json())
    work.commit()
    told(scan.positions)
    return scan.positions


def _parsed(text: Any) -> Item | tuple[str, str]:
    try:
        item: Item = orjson.loads(memoryview(text))
        return item
    except ValueError:
        place = PLACES.decode(text)
        return place.PK.S, place.SK.S
