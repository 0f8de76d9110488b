"""Differences between two JSON values."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

import orjson

from datastore.model.codec import JSON
from datastore.model.entity import Value, field
from datastore.model.enums import Choice

MOST = 1_000
MATCHED_AT_MOST = 200
# Pairs of elements that all matching of a diff may compare: ten lists of 200, or some 50 ms at worst.
PAIRS = 400_000
NOTHING: Any = object()


class ContentChangeKind(Choice):
    """Kind of change."""

    ADDED = "ADDED", "A value was added."
    REMOVED = "REMOVED", "The value was removed."
    CHANGED = "CHANGED", "The value was changed."


class ContentChange(Value):
    """A difference between two versions."""

    kind: ContentChangeKind = field("Kind of change.")
    path: list[str] = field("Path of names and list positions from 0: in the new value, or in the old one if removed.")
    old: JSON | None = field("Old value.", default=None)
    new: JSON | None = field("New value.", default=None)


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[ContentChange]:
    """Returns the differences by path, or by top-level name if there are too many to read."""
    found = list(islice(_Comparison().changes((), old, new), MOST + 1))
    if len(found) <= MOST:
        return found
    return [_change((name,), old[name], new[name]) for name in old if _text(old[name]) != _text(new[name])]


def _change(path: tuple[str, ...], old: Any, new: Any) -> ContentChange:
    kind = (
        ContentChangeKind.ADDED
        if old is NOTHING
        else ContentChangeKind.REMOVED
        if new is NOTHING
        else ContentChangeKind.CHANGED
    )
    before, after = (None if value is NOTHING else JSON(value) for value in (old, new))
    return ContentChange(kind=kind, path=list(path), old=before, new=after)


class _Comparison:
    """One diff, whose effort is bounded: matching is quadratic, and lists may be in lists."""

    def __init__(self) -> None:
        self._pairs = PAIRS

    def changes(self, path: tuple[str, ...], old: Any, new: Any) -> Iterator[ContentChange]:
        if old is NOTHING or new is NOTHING:
            yield _change(path, old, new)
        elif _text(old) == _text(new):
            return
        elif isinstance(old, dict) and isinstance(new, dict):
            for key in [*old, *(key for key in new if key not in old)]:
                yield from self.changes((*path, key), old.get(key, NOTHING), new.get(key, NOTHING))
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._list_changes(path, old, new)
        else:
            yield _change(path, old, new)

    def _list_changes(self, path: tuple[str, ...], old: list[Any], new: list[Any]) -> Iterator[ContentChange]:
        """Matches unchanged elements first, so that an insertion is one change wherever it is."""
        before, after = [_text(each) for each in old], [_text(each) for each in new]
        for start, end, new_start, new_end in self._differing(before, after):
            both = min(end - start, new_end - new_start)
            for place in range(both):
                yield from self.changes((*path, str(new_start + place)), old[start + place], new[new_start + place])
            for place in range(start + both, end):
                yield _change((*path, str(place)), old[place], NOTHING)
            for place in range(new_start + both, new_end):
                yield _change((*path, str(place)), NOTHING, new[place])

    def _differing(self, old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
        """Yields differing ranges. Only short lists are matched, and only so many."""
        shorter = min(len(old), len(new))
        start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
        rest = shorter - start
        end = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
        old, new = old[start : len(old) - end], new[start : len(new) - end]
        pairs = len(old) * len(new)
        if max(len(old), len(new)) > MATCHED_AT_MOST or pairs > self._pairs:
            yield start, start + len(old), start, start + len(new)
            return
        self._pairs -= pairs
        for kind, at, to, new_at, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind != "equal":
                yield start + at, start + to, start + new_at, start + new_to


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
