"""Lists that are kept ready: links in one range stand for the newest records, and older ones are merged.

The list has two parts. Above its floor, it is the links, merged with the ranges that have no links. Up to the floor, it
is a merge of all ranges, which is determined only if a page needs it. Positions are those of `loaders.merge`, so a
cursor stays valid whichever way its list is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.positions import Position
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.merge import READS_A_PAGE, Heads, Merge, Stream, read_merged, stream
from loaders.needs import Step
from loaders.pages import Found, HonestPage, Keeps, nodes_of
from loaders.viewer import Viewer
from loaders.visibility import seen_at

E = TypeVar("E", bound=Entity)


class Links(NamedTuple, Generic[E]):
    """A range of links to records, in the order of the records.

    `to` returns the key of a record, and `position_of` the position of a link or a record in the list. `start` returns
    the position in the range that belongs to a position in the list. `counts` is true for links that belong to it.
    """

    within: Range[Any]
    to: Callable[[Any], Key[E]]
    position_of: Callable[[Any], Position]
    start: Callable[[Position], Position]
    counts: Callable[[Any], bool]


class Older(NamedTuple, Generic[E]):
    """The records up to `floor`, a sort key of the merged ranges."""

    floor: str
    merge: Callable[[], Step[Merge[E]]]


class Copied(NamedTuple, Generic[E]):
    """The links, the ranges that are merged with them, and what is older. `identity` binds cursors to the list."""

    links: Links[E]
    ranges: tuple[Range[E], ...]
    older: Older[E] | None
    identity: str

    def position_of(self, record: Entity) -> Position:
        return self.links.position_of(record)


@dataclass
class _LinkStream(Stream[Any]):
    links: Links[Any] | None = None

    def place(self, record: Any) -> tuple[str, str, Any] | None:
        if self.links is None or not self.links.counts(record):
            return None
        sort_key, partition, *_ = self.links.position_of(record)
        return sort_key, partition, record


def read_copied(
    listed: Copied[Any],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    keeps: Keeps | None = None,
) -> Step[HonestPage]:
    """Returns `size` visible records after a position, in the order of the list."""
    older = listed.older
    in_older = older is not None and after is not None and after[0] <= older.floor
    if older is None or (backward and after is not None and not in_older):
        return (yield from _read_links(listed, size, viewer, after, backward=backward, keeps=keeps))
    if not backward and in_older:
        return (yield from _read_older(older, size, viewer, after, backward=False, keeps=keeps))
    first, second = (_read_older, _read_links) if backward else (_read_links, _read_older)
    sources: dict[Any, Any] = {_read_older: older, _read_links: listed}
    page: HonestPage = yield from first(sources[first], size, viewer, after, backward=backward, keeps=keeps)
    if page.more:
        return page
    missing = size - len(page.records)
    rest: HonestPage = yield from second(sources[second], max(missing, 1), viewer, None, backward=backward, keeps=keeps)
    if missing == 0:
        return page._replace(more=rest.more or bool(rest.records))
    one, other = (rest, page) if backward else (page, rest)
    return rest._replace(records=[*one.records, *other.records], nodes=[*one.nodes, *other.nodes])


def _read_older(
    older: Older[Any], size: int, viewer: Viewer, after: Position | None, *, backward: bool, keeps: Keeps | None
) -> Step[HonestPage]:
    merge = yield from older.merge()
    ranges = tuple(within.between(within.low, older.floor.removeprefix(within.prefix)) for within in merge.ranges)
    bounded = merge._replace(ranges=ranges)
    return (yield from read_merged(bounded, size, viewer, after, backward=backward, keeps=keeps))


def _read_links(
    listed: Copied[Any], size: int, viewer: Viewer, after: Position | None, *, backward: bool, keeps: Keeps | None
) -> Step[HonestPage]:
    links, ranges = listed.links, listed.ranges
    above = listed.older.floor if listed.older else None
    downward = links.within.descending != backward
    start = links.start(after) if after else None
    streams: list[Stream[Any]] = [_LinkStream(_above(links.within, above), start, None, links=links)]
    streams += [stream(_above(within, above), after, downward=downward) for within in ranges]
    heads = Heads(streams, downward=downward, backward=backward)
    found, last = Found(), None
    for _ in range(READS_A_PAGE):
        # Links are small, and no range should be read twice for a page, so all are read in full.
        taken = yield from heads.take(size + 1 - len(found.records), size + 1)
        records = yield from _records_of(taken, links, viewer)
        found.add(*(yield from nodes_of(records, viewer, None, keeps)))
        last = taken[-1] if taken else last
        if len(found.records) > size or heads.is_empty:
            break
    resume = listed.position_of(last) if last is not None and not heads.is_empty else None
    return HonestPage.of(found, size, resume, backward=backward)


def _above(within: Range[Any], floor: str | None) -> Range[Any]:
    """Returns the part of a range whose sort keys neither are the floor nor are below it, nor go on after it with #."""
    if floor is None:
        return within
    return within.between(floor.removeprefix(within.prefix) + "$", within.high)


def _records_of(taken: list[Any], links: Links[Any], viewer: Viewer) -> Step[list[Any]]:
    """Replaces links with visible records, and leaves out those whose records are missing or hidden."""
    kind = links.within.entity
    keys = [links.to(each) for each in taken if each.__class__ is kind]
    targets = iter((yield from seen_at(keys, viewer, leave_out_damaged=True)) if keys else ())
    records = [next(targets) if each.__class__ is kind else each for each in taken]
    return [record for record in records if record is not None]
