"""Key templates with named holes, and the Key and Range values that edges return."""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from string import Formatter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from datastore.client.errors import InvalidKey
from datastore.model.generated_code import define

if TYPE_CHECKING:
    from datastore.model.entity import Entity

E = TypeVar("E", bound="Entity")

MAX_PARTITION_BYTES = 2048
MAX_SORT_BYTES = 1024
# Room for the longest value in a partition key, besides its other parts.
LONGEST_VALUE = 1500
# Keys that an entity keeps, and the longest value among them: a few hundred kilobytes.
KEYS_KEPT = 1_000
LONGEST_KEPT = 64
SCORES = 4_000_000_000
LAST_CHARACTER = "\U0010ffff"
EMPTY = "a value is empty; it needs at least one character"
TOO_LONG = "a value is too long; send a shorter one"

# Makes a NamedTuple in a third of the time of its constructor, which is a function in Python.
new_tuple = tuple.__new__

unsafe = re.compile(r"[#\x00-\x1f\x7f-\x9f\ud800-\udfff]").search


def safe(hole: str, value: object) -> str:
    """Returns the value as key text. Raises InvalidKey for text that could collide with the key of another record."""
    if isinstance(value, Enum):
        value = value.value
    text = value if isinstance(value, str) else format(value)
    if not text:
        raise InvalidKey(f"{hole} is empty; it needs at least one character", EMPTY)
    if unsafe(text):
        why = f"{text[:40]!r} may not contain '#' or control characters"
        raise InvalidKey(f"{hole} {why}", f"the value {why}")
    return text


def indexable(text: str | None) -> str | None:
    """Returns the text if it can be part of a partition key, else None: then the record is not in the index."""
    return text if text and not unsafe(text) and len(text.encode()) <= LONGEST_VALUE else None


def _shard(number: int) -> str:
    """Returns no suffix for shard 0, `#0` for shard 1 and so on, because shard 0 is the original partition."""
    return f"#{number - 1}" if number else ""


def _place(choice: Enum) -> str:
    """Returns the position of an enum value, from 0, so that keys sort in the order of declaration."""
    return str([*type(choice)].index(choice))


def _score(number: int) -> str:
    """Returns text that sorts like the numbers, including negative ones."""
    if abs(number) >= SCORES:
        why = f"{number} is out of range: its absolute value must be less than {SCORES:,}"
        raise InvalidKey(f"the score {why}", f"the number {why}")
    return f"{number + SCORES:010d}"


FORMATS: dict[str, Callable[[Any], str]] = {"shard": _shard, "place": _place, "score": _score}


class Template:
    """A key template such as `COMMENT#{created_at}#{comment_id}`. Takes Python's format specs and `FORMATS`."""

    def __init__(self, text: str, limit: int) -> None:
        self.text = text
        self.limit = limit
        self._parts = [(literal, hole, spec) for literal, hole, spec, _ in Formatter().parse(text)]
        self.holes = tuple(hole for _, hole, _ in self._parts if hole)
        if any(segment.count("{") > 1 for segment in text.split("#")):
            raise TypeError(f"the key {text} has two holes without a # between them, so keys would be ambiguous")
        self.fill = self._filler()

    def _fill(self, values: Mapping[str, Any]) -> str:
        text, missing = self._write(values)
        if missing:
            raise InvalidKey(f"the key {self.text} needs {missing}")
        return text

    def prefix(self, values: Mapping[str, Any]) -> str:
        """Returns the text up to the first hole without a value: the prefix of all keys with these values."""
        if self.holes and self.holes[0] not in values:
            return self._parts[0][0]
        return self._write(values)[0]

    def _write(self, values: Mapping[str, Any]) -> tuple[str, str | None]:
        """Returns the text up to the first hole without a value, and the name of that hole."""
        text, missing = "", None
        for literal, hole, spec in self._parts:
            text += literal
            if hole:
                value = values.get(hole)
                if value is None:
                    missing = hole
                    break
                text += FORMATS[spec](value) if spec in FORMATS else safe(hole, format(value, spec) if spec else value)
        if len(text) * 4 > self.limit and len(text.encode()) > self.limit:
            raise InvalidKey(f"the key {text[:40]!r}… is over {self.limit} bytes", TOO_LONG)
        return text, missing

    def _filler(self) -> Callable[[Mapping[str, Any]], str]:
        """Generates `fill` for this template, because a query creates hundreds of keys."""
        lines = [f"    {hole} = values.get({hole!r})" for hole in self.holes]
        answer = f"    return f{self.text!r} if {self.plain} else slowly(values)"
        source = "\n".join(["def fill(values):", *lines, answer])
        names: dict[str, Any] = {"slowly": self._fill, "unsafe": unsafe}
        fill: Callable[[Mapping[str, Any]], str] = define("fill", source, names, purpose=f"fill {self.text}")
        return fill

    @property
    def plain(self) -> str:
        """Code that is true if the holes, as variables, contain text that needs no checks.

        If it is true, the key is the template as an f-string. If not, `fill` decides.
        """
        if any(spec for _, _, spec in self._parts):
            return "False"
        if not self.holes:
            return "True"
        # isalnum() is much faster on bytes than on text.
        test = "{0}.__class__ is str and ({0}.isascii() and {0}.encode().isalnum() or {0} and not unsafe({0}))"
        length = " + ".join(f"len({hole})" for hole in self.holes)
        room = self.limit // 4 - len(self.text)
        return " and ".join([*(test.format(hole) for hole in self.holes), f"{length} < {room}"])

    def values(self, text: str) -> dict[str, str]:
        """Returns the values in a key, as text. Values do not contain `#`, so segments are unambiguous."""
        holes = {}
        for segment, written in zip(self.text.split("#"), text.split("#"), strict=True):
            before, hole, rest = segment.partition("{")
            if hole:
                holes[rest.rstrip("}")] = written.removeprefix(before)
        return holes

    def overlaps(self, other: "Template") -> bool:
        """Returns True if both templates can produce the same key. Compares segments: values do not contain `#`."""
        mine, theirs = self.text.split("#"), other.text.split("#")
        return len(mine) == len(theirs) and all(map(_segments_overlap, mine, theirs))


def _segments_overlap(one: str, other: str) -> bool:
    (before, hole, _), (other_before, other_hole, _) = one.partition("{"), other.partition("{")
    if hole and other_hole:
        return before.startswith(other_before) or other_before.startswith(before)
    if hole:
        return other.startswith(before) and other != before
    if other_hole:
        return one.startswith(other_before) and one != other_before
    return one == other


class Key(NamedTuple, Generic[E]):
    """Key of a record of entity E."""

    entity: type[E]
    pk: str
    sk: str

    @property
    def values(self) -> dict[str, str]:
        """The values in the key, as text."""
        own = self.entity.indexes[None]
        return own.pk.values(self.pk) | own.sk.values(self.sk)


def key_maker(pk: Template, sk: Template, slowly: Callable[..., Key[Any]]) -> Callable[..., Key[Any]]:
    """Generates a function that returns the key for the values of the holes.

    The keys of one value, such as a user's, are made again and again. So the latest are kept, which also saves the
    hashes of their texts.
    """
    holes = list(dict.fromkeys((*pk.holes, *sk.holes)))
    parameters = ", ".join(["entity", *(["*"] if holes else []), *(f"{hole}=None" for hole in holes)])
    made = f"new(Key, (entity, f{pk.text!r}, f{sk.text!r}))"
    slow = f"slowly(entity, {', '.join(f'{hole}={hole}' for hole in holes)})"
    lines = [f"def key({parameters}):"]
    if len(holes) == 1:
        (hole,) = holes
        lines += [
            f"    if {hole}.__class__ is str and (kept := known.get({hole})) is not None:",
            "        return kept",
            f"    if {pk.plain} and {sk.plain}:",
            f"        made = {made}",
            f"        if len({hole}) <= {LONGEST_KEPT}:",
            f"            keep({hole}, made)",
            "        return made",
        ]
    else:
        lines += [f"    if {pk.plain} and {sk.plain}:", f"        return {made}"]
    known: dict[str, Key[Any]] = {}

    def keep(value: str, key: Key[Any]) -> None:
        if len(known) >= KEYS_KEPT:
            known.clear()
        known[value] = key

    names: dict[str, Any] = {"new": new_tuple, "Key": Key, "unsafe": unsafe, "slowly": slowly}
    names |= {"known": known, "keep": keep}
    source = "\n".join([*lines, f"    return {slow}"])
    key: Callable[..., Key[Any]] = define("key", source, names, purpose=f"key {pk.text} {sk.text}")
    return key


class Range(NamedTuple, Generic[E]):
    """An ordered range of records of entity E in one partition of the table or of an index."""

    entity: type[E]
    index_name: str | None
    pk: str
    prefix: str
    low: str | None = None
    high: str | None = None
    descending: bool = False

    def between(self, low: str | None, high: str | None) -> "Range[E]":
        """Restricts the sort key after the prefix to `low` through `high`, which excludes longer keys."""
        return self._replace(low=low, high=high)

    def starting_with(self, text: str) -> "Range[E]":
        """Restricts the sort key to those that go on with this text after the prefix."""
        return self._replace(prefix=self.prefix + text)

    def newest_first(self) -> "Range[E]":
        return self.directed(descending=True)

    def directed(self, *, descending: bool) -> "Range[E]":
        return Range(*self[:6], descending)

    @property
    def bounds(self) -> tuple[str, str] | None:
        """First and last sort key, or None if the prefix suffices."""
        if self.low is None and self.high is None:
            return None
        return self.prefix + (self.low or ""), self.prefix + (LAST_CHARACTER if self.high is None else self.high)
