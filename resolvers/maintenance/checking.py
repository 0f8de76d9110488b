"""Checks the whole table while servers use it: a scan, a comparison of its notes, and looks at what they disagree on.

The scan reads items at different times, so most of what its notes disagree on has changed meanwhile. Only what two
strongly consistent looks, some seconds apart, agree on is reported, and only if no pending work is about to change it.
Notes and progress are in a work file: the check needs little memory, and goes on where it was killed.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from datastore.client.errors import Conflict, CorruptItem, DatastoreError
from datastore.client.table import Table
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.work_file import SEGMENTS, Positions, WorkFile, scan_into
from datastore.model.codec import Item
from resolvers.background.tools import Tools
from resolvers.maintenance.all_checks import all_checks
from resolvers.maintenance.checks import Check, Rows, Scanned, joined
from resolvers.maintenance.findings import Busy, Found, Kind, Suspect
from resolvers.maintenance.item_checks import examined
from resolvers.maintenance.looking import Look, key_in
from resolvers.maintenance.pending import Pending
from resolvers.maintenance.reference_checks import unique_writes

AT_ONCE = 8
ROUNDS = 6
# Indexes have everything by then, and processors and jobs have gone on.
PAUSE = 5.0
REPAIR_ATTEMPTS = 5

NEW, SEEN, CONFIRMED, REPAIRED, UNSETTLED = "new", "seen", "confirmed", "repaired", "unsettled"
SUSPECTS = (
    "suspects (place INTEGER, kind TEXT, rule TEXT, pk TEXT, sk TEXT, state TEXT, what TEXT, advice TEXT, "
    "repair TEXT, UNIQUE (kind, rule, pk, sk))"
)
ORDER = [*Kind]


@dataclass
class Pace:
    """The pace of a check: parallel reads, rate and pauses."""

    segments: int = SEGMENTS
    rate: ReadRate | None = None
    pause: float = PAUSE
    rounds: int = ROUNDS
    told: Callable[[str, int], None] = field(default=lambda _, __: None)
    """Is told the phase, and the number of items or suspects that are done."""


class Checking:
    """One check of the whole table, in a work file that belongs to it."""

    def __init__(self, table: Table, tools: Tools, work: WorkFile, pace: Pace | None = None) -> None:
        self.table = table
        self.work = work
        self.pace = pace or Pace()
        self._tools = tools
        self._checks = all_checks()
        self._by_kind = {kind: check for check in self._checks for kind in check.kinds}
        self._notes: dict[type, list[Callable[[Any, Rows], None]]] = defaultdict(list)
        for check in self._checks:
            for entity, notes in check.notes().items():
                self._notes[entity].extend(notes)

    @staticmethod
    def tables() -> list[str]:
        """Returns the tables of a work file."""
        return [SUSPECTS, *(table for check in all_checks() for table in check.tables)]

    async def run(self) -> Positions:
        """Finds everything that is wrong, or goes on with it. `findings` has the result."""
        positions = await scan_into(
            self.work,
            self.table,
            self._note,
            segments=self.pace.segments,
            rate=self.pace.rate,
            told=lambda positions: self.pace.told("read", positions.items),
        )
        for check in self._checks:
            await self._suspect(check)
        await self._confirm()
        return positions

    def _note(self, items: list[Item | tuple[str, str]]) -> None:
        """Takes the notes of all checks on a page."""
        rows: Rows = defaultdict(list)
        suspects: list[Suspect] = []
        for item in items:
            if isinstance(item, tuple):
                suspects.append(Suspect(Kind.UNDECODABLE, "", *item))
                continue
            rows["keys"].append((joined(key_in(item)),))
            record, faults = examined(item)
            suspects += [Suspect(kind, "", item["PK"]["S"], item["SK"]["S"]) for kind in faults]
            if record is not None and Kind.EXPIRED not in faults:
                for note in self._notes.get(type(record), ()):
                    note(record, rows)
        for table, some in rows.items():
            self.work.add(table, some)
        for suspect in suspects:
            self._add(suspect)

    def _add(self, suspect: Suspect) -> None:
        place = ORDER.index(suspect.kind)
        statement = "INSERT OR IGNORE INTO suspects VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)"
        self.work.run(statement, place, *suspect, NEW)

    async def _suspect(self, check: Check) -> None:
        """Compares the notes of a check, once."""
        done = f"suspected by {type(check).__name__}"
        if self.work.get(done):
            return
        self.pace.told("compare", 0)
        for index in check.indexes:
            self.work.run(f"CREATE INDEX IF NOT EXISTS {index}")
        async for suspect in check.suspects(Scanned(self.work, self._look)):
            self._add(suspect)
        self.work.set(done, value=True)
        self.work.commit()

    def _look(self) -> Look:
        return Look(self.table, self._tools)

    async def _confirm(self) -> None:
        """Looks at suspects until two looks in a row agree, or they turn out to be right."""
        for _ in range(self.pace.rounds):
            state = NEW if self._count(NEW) else SEEN
            if not self._count(state):
                return
            if state == SEEN:
                await asyncio.sleep(self.pace.pause)
            pending = await Pending.at(self._look())
            async for some in self._suspects(state):
                await asyncio.gather(*(self._look_at(suspect, before, pending) for suspect, before in some))
                self.work.commit()
        self.work.run("UPDATE suspects SET state = ? WHERE state IN (?, ?)", UNSETTLED, NEW, SEEN)
        self.work.commit()

    async def _look_at(self, suspect: Suspect, before: str | None, pending: Pending) -> None:
        try:
            found = await self._found(suspect)
        except Busy:
            self._set(suspect, SEEN, None)
            return
        if found is None:
            self.work.run("DELETE FROM suspects WHERE (kind, rule, pk, sk) = (?, ?, ?, ?)", *suspect)
        elif pending.excuses(suspect.kind, found):
            self._set(suspect, SEEN, None)
        else:
            self._set(suspect, CONFIRMED if found.what == before else SEEN, found)

    async def _found(self, suspect: Suspect) -> Found | None:
        try:
            return await self._by_kind[suspect.kind].look(self._look(), suspect)
        except CorruptItem as error:
            if suspect.kind is Kind.UNDECODABLE:
                return Found(str(error)[:300], None, "it is not even JSON; restore it from a backup")
            # That item is a finding of its own.
            return None

    async def _suspects(self, state: str) -> AsyncIterator[list[tuple[Suspect, str | None]]]:
        """Yields suspects in the order of repairs, some at a time, so that the file can be changed meanwhile."""
        query = """
            SELECT rowid, kind, rule, pk, sk, what FROM suspects
            WHERE state = ? AND place = ? AND rowid > ? ORDER BY rowid LIMIT ?"""
        for place in range(len(ORDER)):
            last = -1
            while rows := [*self.work.rows(query, state, place, last, AT_ONCE)]:
                last = rows[-1][0]
                yield [(Suspect(Kind(kind), rule, pk, sk), what) for _, kind, rule, pk, sk, what in rows]

    def _set(self, suspect: Suspect, state: str, found: Found | None) -> None:
        what, advice = (found.what, found.advice) if found else (None, None)
        repair = found.repair if found and found.writes is not None else None
        statement = (
            "UPDATE suspects SET state = ?, what = ?, advice = ?, repair = ? WHERE (kind, rule, pk, sk) = (?, ?, ?, ?)"
        )
        self.work.run(statement, state, what, advice, repair, *suspect)

    def _count(self, state: str) -> int:
        (row,) = self.work.rows("SELECT COUNT(*) FROM suspects WHERE state = ?", state)
        return int(row[0])

    async def repair(self) -> int:
        """Repairs what is confirmed, each finding in one transaction. Returns the number of repairs."""
        done = 0
        async for some in self._suspects(CONFIRMED):
            for suspect, what in some:
                done += await self._repair(suspect, what)
                self.work.commit()
                self.pace.told("repair", done)
        return done

    async def _repair(self, suspect: Suspect, what: str | None) -> bool:
        for _ in range(REPAIR_ATTEMPTS):
            try:
                found = await self._found(suspect)
                if found is None:
                    # Another repair, or a request, has put it right.
                    self._set(suspect, REPAIRED, Found(what or "", []))
                    return True
                if found.writes is None:
                    return False
                await self._look().table.transact(*unique_writes(found.writes))
            except (Busy, Conflict):
                continue
            except DatastoreError as error:
                self._set(suspect, CONFIRMED, Found(what or "", None, f"the repair failed: {error!s:.200}"))
                return False
            self._set(suspect, REPAIRED, found)
            return True
        return False

    def findings(self) -> Iterable[dict[str, Any]]:
        """Yields what was found, by kind."""
        query = f"""
            SELECT kind, pk, sk, state, what, advice, repair FROM suspects
            WHERE state IN ('{CONFIRMED}', '{REPAIRED}') ORDER BY place, rowid"""  # noqa: S608
        for kind, pk, sk, state, what, advice, repair in self.work.rows(query):
            yield {
                "kind": kind,
                "pk": pk,
                "sk": sk,
                "state": state,
                "what": what,
                "repair": repair,
                "advice": advice or None,
            }

    def totals(self) -> dict[str, dict[str, int]]:
        """Returns the number of findings by kind and state."""
        totals: dict[str, dict[str, int]] = {}
        query = "SELECT kind, state, COUNT(*) FROM suspects GROUP BY place, kind, state ORDER BY place"
        for kind, state, count in self.work.rows(query):
            totals.setdefault(kind, {})[state] = count
        return totals
