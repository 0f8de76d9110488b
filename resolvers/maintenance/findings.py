"""Results of a check: suspects in the scan, and findings after a second look."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from datastore.client.writes import Check, Delete, Put, Write


class Kind(StrEnum):
    """Kinds of findings, in the order of their repair: later ones depend on earlier ones."""

    UNDECODABLE = "undecodable"
    INDEX_KEYS = "index-keys"
    LISTING = "listing"
    EXPIRED = "expired"
    ORPHAN = "orphan"
    MISSING = "missing"
    GUARD = "guard"
    LIST = "list"
    MARK = "mark"
    UNPURGED = "unpurged"
    COUNTER = "counter"
    DERIVED = "derived"
    FEED = "feed"


MEANINGS = {
    Kind.UNDECODABLE: "items that cannot be read",
    Kind.INDEX_KEYS: "items whose index keys differ from their fields",
    Kind.LISTING: "records in a list in which they should not be, or missing in one",
    Kind.EXPIRED: "items that should have expired days ago",
    Kind.ORPHAN: "records whose owner or other end is gone",
    Kind.MISSING: "records without another one that they name",
    Kind.GUARD: "unique values without a guard, and guards without a value",
    Kind.LIST: "lists in records that differ from the items they repeat",
    Kind.MARK: "works that are not hidden or shown with their account",
    Kind.UNPURGED: "deleted records that no job will purge",
    Kind.COUNTER: "counts that differ from the items they count",
    Kind.DERIVED: "rankings and other derived items that differ from their source",
    Kind.FEED: "entries of home feeds that differ from the posts of the followed users",
}


class Suspect(NamedTuple):
    """A place where the scan saw a difference. A second look decides."""

    kind: Kind
    rule: str
    pk: str
    sk: str


class Found(NamedTuple):
    """A difference that a look at the current items shows."""

    what: str
    """What is wrong: two looks must agree on it."""
    writes: Sequence[Write] | None = None
    """The repair, as one transaction with conditions. None if only a person can decide."""
    advice: str = ""
    """What to do about it if there is no repair."""
    ids: frozenset[str] = frozenset()
    """IDs of the records concerned: a job that is about to work on one of them excuses the difference."""

    @property
    def repair(self) -> str:
        """The repair in words."""
        return "; ".join(_described(write) for write in self.writes or () if not isinstance(write, Check))


def _described(write: Write) -> str:
    place = f"{write.key.entity.__name__} {write.key.pk} / {write.key.sk}"
    if isinstance(write, Put):
        return f"put {place}"
    if isinstance(write, Delete):
        return f"delete {place}"
    if isinstance(write, Check):
        return f"check {place}"
    added = [f"{name} {amount:+}" for name, amount in write.add.items()]
    return f"update {place}: {', '.join([*added, *write.set, *write.remove, *write.raw])}"


class Busy(Exception):
    """The items changed during the look: it means nothing, and is repeated."""
