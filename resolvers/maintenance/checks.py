"""The form of a check: its notes on each record during the scan, its suspects, and its second look."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from datastore.maintenance.work_file import SEPARATOR, WorkFile
from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look

Rows = defaultdict[str, list[tuple[Any, ...]]]
"""Rows for the work file, by table."""
Notes = Mapping[type[Entity], Sequence[Callable[[Any, Rows], None]]]


class Scanned(NamedTuple):
    """The notes of a finished scan, and a way to look at current items."""

    work: WorkFile
    look: Callable[[], Look]


class Check(Protocol):
    """A check of one kind. Tables and indexes are SQL, for its notes in the work file."""

    @property
    def kinds(self) -> Sequence[Kind]: ...
    @property
    def tables(self) -> Sequence[str]: ...
    @property
    def indexes(self) -> Sequence[str]: ...

    def notes(self) -> Notes:
        """Returns what to note of records, by entity."""

    def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        """Yields what the notes do not agree on."""

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        """Looks at the current items. Returns None if nothing is wrong, or if it is something else."""


def joined(key: Key[Any]) -> str:
    return f"{key.pk}{SEPARATOR}{key.sk}"


def split(text: str) -> tuple[str, str]:
    pk, _, sk = text.partition(SEPARATOR)
    return pk, sk
