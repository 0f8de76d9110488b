"""Merges several ranges into one list, and reads no more of each range than it needs.

Records are ordered by sort key, then by partition, then in the order of DynamoDB. A position holds the sort key, the
partition and the record. After a position, the ranges of earlier partitions continue after the sort key, those of
later partitions at the sort key, and the range of the same partition after the record. Therefore new records, and
ranges that are added or removed, do not change the order after a position.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.positions import Position, position_of
from datastore.client.table import Page, RangeRead
from datastore.model.entity import Entity
from datastore.model.keys import Range
from loaders import pages as single
from loaders.needs import Pages, Step, Together
from loaders.pages import REFILL, Found, HonestPage, Keeps, Target, nodes_of, read_pages
from loaders.viewer import Viewer

E = TypeVar("E", bound=Entity)

READS_A_PAGE = 20


class Merge(NamedTuple, Generic[E]):
    """Ranges of one entity, in one direction, that are read as one list.

    `identity` binds cursors to the list, since its ranges may change.
    """

    ranges: tuple[Range[E], ...]
    identity: str

    def position_of(self, record: Entity) -> Position:
        index = record.indexes[self.ranges[0].index_name]
        key = record.own_key
        return index.sk.fill(record.__dict__), index.pk.fill(record.__dict__), key.pk, key.sk


@dataclass
class Stream(Generic[E]):
    """One range, read ahead: sort keys, partitions and records, the next one last."""

    within: Range[E]
    after: Position | None
    behind: str | None  # records with this sort key were returned before
    ahead: list[tuple[str, str, E]] = field(default_factory=list)
    ended: bool = False

    def read_on(self, limit: int, *, backward: bool) -> Step[None]:
        while not self.ahead and not self.ended:
            pages: list[Page[E]] = yield Pages([RangeRead(self.within, limit, self.after, backward)])
            (page,) = pages
            self.ahead = [placed for record in reversed(page.records) if (placed := self.place(record)) is not None]
            self.after, self.ended = page.more, page.more is None

    def place(self, record: E) -> tuple[str, str, E] | None:
        """Returns a record with its place in the list; None if the list does not have it here."""
        sort_key = position_of(self.within, record)[-1]
        return None if sort_key == self.behind else (sort_key, self.within.pk, record)


class Heads(Generic[E]):
    """The next record of every stream, in the order of the list."""

    def __init__(self, streams: Sequence[Stream[E]], *, downward: bool, backward: bool) -> None:
        self._streams = streams
        self._next = -1 if downward else 0
        self._backward = backward
        self._sorted: list[tuple[str, str, int]] = []
        self._unread = [*range(len(streams))]

    def take(self, wanted: int, limit: int) -> Step[list[E]]:
        """Returns up to `wanted` records. Reads only the ranges that may hold the next one."""
        taken: list[E] = []
        while len(taken) < wanted:
            if self._unread:
                yield from self._read_on(limit)
            if not self._sorted:
                break
            _, _, place = self._sorted.pop(self._next)
            taken.append(self._streams[place].ahead.pop()[-1])
            self._line_up(place)
            limit = wanted - len(taken)
        return taken

    @property
    def is_empty(self) -> bool:
        return not self._sorted and not self._unread

    def _read_on(self, limit: int) -> Step[None]:
        places, self._unread = self._unread, []
        yield Together([self._streams[place].read_on(limit, backward=self._backward) for place in places])
        for place in places:
            self._line_up(place)

    def _line_up(self, place: int) -> None:
        stream = self._streams[place]
        if stream.ahead:
            sort_key, partition, _ = stream.ahead[-1]
            insort(self._sorted, (sort_key, partition, place))
        elif not stream.ended:
            self._unread.append(place)


def read_merged(
    merge: Merge[Any],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    to: Target | None = None,
    keeps: Keeps | None = None,
) -> Step[HonestPage]:
    """Returns `size` visible records after a position, in the order of the list."""
    if len(merge.ranges) == 1 and (after is None or after[1] == merge.ranges[0].pk):
        return (yield from _read_only_one(merge.ranges[0], size, viewer, after, backward=backward, to=to, keeps=keeps))
    downward = bool(merge.ranges) and merge.ranges[0].descending != backward
    streams = [stream(within, after, downward=downward) for within in merge.ranges]
    heads = Heads(streams, downward=downward, backward=backward)
    # A few of each at first: a single range rarely fills the page, and most of what is read should be used.
    limit = max(2, min(size + 1, 2 * (size + 1) // max(1, len(streams)) + 1))
    found = Found()
    last: Entity | None = None
    for attempt in range(READS_A_PAGE if keeps is None else single.READS_A_PAGE):
        # A filter may drop almost everything, so a small page must not read in small steps.
        wanted = size + 1 - len(found.records) if keeps is None or attempt == 0 else REFILL
        records = yield from heads.take(wanted, limit)
        found.add(*(yield from nodes_of(records, viewer, to, keeps)))
        last, limit = records[-1] if records else last, size + 1
        if len(found.records) > size or heads.is_empty:
            break
    resume = merge.position_of(last) if last is not None and not heads.is_empty else None
    return HonestPage.of(found, size, resume, backward=backward)


def _read_only_one(
    within: Range[Any],
    size: int,
    viewer: Viewer,
    after: Position | None,
    *,
    backward: bool,
    to: Target | None,
    keeps: Keeps | None,
) -> Step[HonestPage]:
    """Reads a list of one range like that range, with the positions of the list."""
    start = _position_in(within, after) if after else None
    (page,) = yield from read_pages([within], size, viewer, start, backward=backward, to=to, keeps=keeps)
    if page.resume is None:
        return page
    pk, sk, *index_sk = page.resume
    return page._replace(resume=(index_sk[0] if index_sk else sk, within.pk, pk, sk))


def _position_in(within: Range[Any], position: Position) -> Position:
    sort_key, _, pk, sk = position
    return (pk, sk, sort_key) if within.index_name else (pk, sk)


def stream(within: Range[E], after: Position | None, *, downward: bool) -> Stream[E]:
    """Returns the part of a range after a position of the list."""
    if after is None:
        return Stream(within, None, None)
    sort_key, partition, *_ = after
    if within.pk == partition:
        return Stream(within, _position_in(within, after), None)
    # Starts at the sort key. The order of partitions decides if records with this very key were returned before.
    here = sort_key.removeprefix(within.prefix)
    bounded = within.between(within.low, here) if downward else within.between(here, within.high)
    given_out = (within.pk > partition) if downward else (within.pk < partition)
    return Stream(bounded, None, sort_key if given_out else None)
