"""Pagination over visible records: dropped records are made up for, and `more` is true only if there is more to see.

Records are dropped if the viewer may not see them, or if a filter without an index rejects them (`loaders.filtered`).
"""

from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from datastore.client.positions import Position
from datastore.client.table import Page, RangeRead
from datastore.model.keys import Key, Range, new_tuple
from loaders.needs import Pages, Step
from loaders.viewer import Viewer
from loaders.visibility import seen, seen_at

READS_A_PAGE = 10
REFILL = 100
WHOLE_PAGE = 1_000
FEW = 5

Target = Callable[[Any], Key[Any]]


class OfTargets(NamedTuple):
    """A filter of links by their targets."""

    keeps: Callable[[Any], bool]


Keeps = Callable[[Any], bool] | OfTargets


class HonestPage(NamedTuple):
    """Records of a list, in its own order, and the node of each: the record itself, or the target of a link.

    `more` is true if there are visible records beyond, in the direction of reading. `resume` is set if so many records
    were dropped that the read budget ran out: the next page starts there.
    """

    records: Sequence[Any]
    nodes: Sequence[Any]
    more: bool
    resume: Position | None = None

    @classmethod
    def of(cls, found: "Found", size: int, resume: Position | None, *, backward: bool) -> "HonestPage":
        """Returns the first `size` records; `resume` is where reading stopped, None at the end of the list."""
        full = len(found.records) > size
        part = slice(size - 1 if full else None, None, -1) if backward else slice(size)
        records = found.records[part]
        nodes = records if found.nodes is found.records else found.nodes[part]
        return new_tuple(cls, (records, nodes, full or resume is not None, None if full else resume))


class Found:
    """Visible records among those read so far, and their nodes: the same list, unless it is one of links."""

    def __init__(self) -> None:
        self.records: Sequence[Any] = ()
        self.nodes: Sequence[Any] = ()

    def add(self, records: Sequence[Any], nodes: Sequence[Any]) -> None:
        """Adds records and their nodes; a node of None is hidden."""
        shown = [node for node in nodes if node is not None]
        if records is nodes:
            self.add_visible(shown)
            return
        if len(shown) < len(nodes):
            records = [record for record, node in zip(records, nodes, strict=True) if node is not None]
        self.records = [*self.records, *records]
        self.nodes = [*self.nodes, *shown]

    def add_visible(self, records: Sequence[Any]) -> None:
        """Adds records that are nodes themselves, and all visible."""
        self.records = self.nodes = [*self.records, *records] if self.records else records


def nodes_of(
    records: list[Any], viewer: Viewer, to: Target | None, keeps: Keeps | None = None
) -> Step[tuple[list[Any], list[Any]]]:
    """Returns the records and their nodes, with None in place of hidden ones and of those that `keeps` rejects.

    If they are their own nodes, and nothing is hidden, it returns the same list.
    """
    visible = yield from seen(records, viewer)
    if keeps is not None and not isinstance(keeps, OfTargets):
        visible = [record if record is not None and keeps(record) else None for record in visible]
    if to is None:
        return visible, visible
    targets = [None if link is None else to(link) for link in visible]
    nodes = yield from seen_at(targets, viewer, leave_out_damaged=True)
    if isinstance(keeps, OfTargets):
        nodes = [node if node is not None and keeps.keeps(node) else None for node in nodes]
    return visible, nodes


def read_pages(
    lists: Sequence[Range[Any]],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    to: Target | None = None,
    keeps: Keeps | None = None,
) -> Step[list[HonestPage]]:
    """Returns `size` records of each list after a position. Reads one more, to know if there is a next page."""
    found = [Found() for _ in lists]
    ends: list[Position | None] = [after for _ in lists]
    unfinished: Sequence[int] = range(len(lists))
    for attempt in range(READS_A_PAGE):
        limit = size + 1 if attempt == 0 else REFILL
        reads = [new_tuple(RangeRead, (lists[at], limit, ends[at], backward)) for at in unfinished]
        pages: list[Page[Any]] = yield Pages(reads)
        read = [*chain.from_iterable([page.records for page in pages])]
        records, nodes = yield from nodes_of(read, viewer, to, keeps)
        start = 0
        for at, page in zip(unfinished, pages, strict=True):
            ends[at] = page.more
            if nodes is read:
                found[at].add_visible(page.records)
                continue
            end = start + len(page.records)
            mine = records[start:end]
            found[at].add(mine, mine if nodes is records else nodes[start:end])
            start = end
        unfinished = [at for at in unfinished if ends[at] is not None and len(found[at].records) <= size]
        if not unfinished:
            break
    return [HonestPage.of(each, size, end, backward=backward) for each, end in zip(found, ends, strict=True)]


def first_of(lists: Sequence[Range[Any]], viewer: Viewer) -> Step[list[Any]]:
    """Returns the first visible record of each range, for indexes that lead to one record, besides expired ones.

    Raises CorruptItem if the only ones are damaged.
    """
    pages: list[Page[Any]] = yield Pages([RangeRead(within, FEW) for within in lists])
    visible = iter((yield from seen([record for page in pages for record in page.records], viewer)))
    shown = [[*islice(visible, len(page.records))] for page in pages]
    found = [next((record for record in records if record is not None), None) for records in shown]
    for page, record in zip(pages, found, strict=True):
        if record is None and page.damaged:
            raise page.damaged[0]
    return found


def whole(within: Range[Any]) -> Step[list[Any]]:
    """Returns all stored records of a range that is known to be small."""
    records: list[Any] = []
    after: Position | None = None
    while True:
        (page,) = yield Pages([RangeRead(within, WHOLE_PAGE, after)])
        records += page.records
        after = page.more
        if after is None:
            return records
