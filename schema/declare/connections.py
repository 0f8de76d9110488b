"""Relay connections over ranges: keyset cursors, both directions, a page deep in a list as cheap as the first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, get_args

import orjson
import strawberry

from datastore.client.positions import Position, position_of
from datastore.model.codec import optional
from datastore.model.entity import Entity
from datastore.model.keys import Range
from loaders.copied import Copied, read_copied
from loaders.filtered import Filtered
from loaders.linked import Linked
from loaders.merge import Merge, read_merged
from loaders.needs import Step, Together
from loaders.numbered import Numbered, read_numbered
from loaders.pages import HonestPage, Target, read_pages
from loaders.ranked import Ranked, read_ranked
from loaders.searched import Searched, read_searched
from loaders.viewer import Viewer
from schema.declare.context import RequestContext
from schema.declare.cursors import Cursors
from schema.declare.errors import BadInput
from schema.declare.object_types import object_type

DEFAULT_SIZE = 20
MAX_SIZE = 100

T = TypeVar("T")

Source = Range[Any] | Merge[Any] | Copied[Any] | Numbered[Any] | Ranked[Any] | Searched[Any]

ORDER = "order_by"
"""The argument that selects the order of a list. All others narrow it."""
SEARCH = "search"
"""The argument that lets the search index answer, in an order of its own."""

# Readers of lists other than ranges and merged ones.
READERS: dict[type, Callable[..., Step[HonestPage]]] = {
    Copied: read_copied,
    Numbered: read_numbered,
    Ranked: read_ranked,
    Searched: read_searched,
}

Asked = tuple[str, Mapping[str, Any]]
"""The coordinate of a connection, and its arguments except those of paging."""


@dataclass(frozen=True)
class Paging:
    """The four paging arguments of a connection, validated."""

    size: int
    cursor: str | None
    backward: bool

    @classmethod
    def of(cls, first: int | None, after: str | None, last: int | None, before: str | None) -> "Paging":
        if first is not None and last is not None:
            raise BadInput("give `first` or `last`, not both")
        if after is not None and before is not None:
            raise BadInput("give `after` or `before`, not both")
        backward = last is not None or before is not None
        if backward and (first is not None or after is not None):
            raise BadInput("`first` goes with `after`, and `last` goes with `before`")
        name, size = ("last", last) if backward else ("first", first)
        if size is not None and not 1 <= size <= MAX_SIZE:
            raise BadInput(f"`{name}` is {size}; it goes from 1 to {MAX_SIZE}. For more, page with cursors")
        return cls(DEFAULT_SIZE if size is None else size, before if backward else after, backward)


@dataclass
class PageOf:
    """The value of a connection field; the GraphQL types below read from it."""

    parent: Any
    source: Source
    paging: Paging
    page: HonestPage
    asked: Asked
    cursors: Cursors

    @cached_property
    def binding(self) -> bytes:
        return binding_of(self.asked, self.source)

    @property
    def is_narrowed(self) -> bool:
        """True if an argument restricts the list to a part of it."""
        return any(value is not None for name, value in self.asked[1].items() if name != ORDER)

    def cursor_of(self, record: Entity) -> str:
        source = self.source
        position = position_of(source, record) if isinstance(source, Range) else source.position_of(record)
        return self.cursors.write(self.binding, position)

    @property
    def nodes(self) -> Sequence[Entity]:
        return self.page.nodes

    @property
    def edges(self) -> list["EdgeOf"]:
        return [EdgeOf(self, record, node) for record, node in zip(self.page.records, self.page.nodes, strict=True)]

    @property
    def page_info(self) -> "PageOf":
        return self

    @property
    def has_next_page(self) -> bool:
        return self.paging.cursor is not None if self.paging.backward else self.page.more

    @property
    def has_previous_page(self) -> bool:
        return self.page.more if self.paging.backward else self.paging.cursor is not None

    @property
    def start_cursor(self) -> str | None:
        return self._boundary(0, resumes=self.paging.backward)

    @property
    def end_cursor(self) -> str | None:
        return self._boundary(-1, resumes=not self.paging.backward)

    def _boundary(self, place: int, *, resumes: bool) -> str | None:
        if resumes and self.page.resume is not None:
            return self.cursors.write(self.binding, self.page.resume)
        return self.cursor_of(self.page.records[place]) if self.page.records else None


@dataclass
class EdgeOf:
    """One edge of a page: the listed record, and its target if it is a link."""

    page: PageOf
    record: Entity
    node: Entity

    @property
    def cursor(self) -> str:
        return self.page.cursor_of(self.record)


@strawberry.type(description="Information about a page of a connection.")
class PageInfo:
    has_next_page: bool = strawberry.field(
        description="True if there are items after this page, even if this page is not full."
    )
    has_previous_page: bool = strawberry.field(description="True if there are items before this page.")
    start_cursor: str | None = strawberry.field(description="Cursor for `before`, to read the previous page.")
    end_cursor: str | None = strawberry.field(description="Cursor for `after`, to read the next page.")


class Connection(Generic[T]):
    """Declares in a schema class that a field is a connection to Ts; `connection_type` makes its types."""


class Carried(NamedTuple):
    """An attribute of a link, as a field of the edge."""

    hint: Any
    attribute: str
    description: str


_PLAIN: dict[type, type] = {}
_EDGES: dict[Any, type] = {}


def connection_type(coordinate: str, hint: Any, carried: dict[str, Any], total: Any) -> Any:
    """The type of a connection field: shared by all lists of a node type, unless it has carried fields or a total."""
    declared, may_be_null = optional(hint)
    (node,) = get_args(declared)
    if carried or total:
        owner, _, name = coordinate.partition(".")
        made = make_types(f"{owner}{name.title().replace('_', '')}", node, carried, {"total_count": total})
    else:
        if node not in _PLAIN:
            _PLAIN[node] = make_types(node.__name__, node, carried, {})
        made = _PLAIN[node]
    return made | None if may_be_null else made


def make_types(name: str, node: Any, carried: dict[str, Any], about: dict[str, Any], called: str | None = None) -> Any:
    """Makes the types of a connection and its edges. `about` are fields of the connection."""
    called = called or node.__name__
    edge = _make_type(
        f"{name}Edge",
        f"An edge of a connection to {called}.",
        cursor=_plain_field(str, "Cursor of this edge, for `after` and `before`."),
        node=_plain_field(node, f"The {called}."),
        **carried,
    )
    made = _make_type(
        f"{name}Connection",
        f"A page of a connection to {called}.",
        edges=_plain_field(list[edge], "Edges of this page, in order."),  # type: ignore[valid-type]
        nodes=_plain_field(list[node], "Nodes of this page, without their cursors."),
        page_info=_plain_field(PageInfo, "Position of this page in the list."),
        **{name: field for name, field in about.items() if field},
    )
    _EDGES[made] = edge
    return made


def edge_type(connection: Any) -> type:
    """Returns the type of the edges of a connection."""
    return _EDGES[optional(connection)[0]]


def _make_type(name: str, description: str, **fields: Any) -> type:
    return object_type(type(name, (), {}), fields, description)


def _plain_field(hint: Any, description: str) -> Any:
    return strawberry.field(graphql_type=hint, description=description)


def binding_of(asked: Asked, source: Source) -> bytes:
    """Everything that identifies a list. The values of its filters are among the arguments."""
    identity: Any = source[1:6] if isinstance(source, Range) else source.identity
    field, arguments = asked
    return orjson.dumps([field, identity, arguments], default=str)


def connect(
    context: RequestContext,
    asked: Asked,
    parents: Sequence[Any],
    sources: Sequence[Any],
    paging: Paging,
    to: Target | None,
) -> Step[list[PageOf | None]]:
    """A page of each parent's list, or None if it has no list. A cursor is valid for one list only."""
    after: Position | None = None
    lists = [_unfiltered(source) for source in sources]
    if paging.cursor is not None:
        for listed in lists:
            if listed is not None:
                after = context.cursors.read(binding_of(asked, listed), paging.cursor)
    pages = yield from _read(sources, paging, context.viewer, after, to)
    return [
        None if listed is None else PageOf(parent, listed, paging, next(pages), asked, context.cursors)
        for parent, listed in zip(parents, lists, strict=True)
    ]


def _unfiltered(source: Any) -> Any:
    return source.source if isinstance(source, Filtered | Linked) else source


def _read(
    sources: Sequence[Any], paging: Paging, viewer: Viewer, after: Position | None, to: Target | None
) -> Step[Iterator[HonestPage]]:
    lists = [source for source in sources if source is not None]
    if len(lists) == 1:
        return iter([(yield from _read_one(lists[0], paging, viewer, after, to))])
    if all(isinstance(listed, Range) for listed in lists):
        return iter((yield from read_pages(lists, paging.size, viewer, after, backward=paging.backward, to=to)))
    return iter((yield Together([_read_one(listed, paging, viewer, after, to) for listed in lists])))


def _read_one(
    listed: Any, paging: Paging, viewer: Viewer, after: Position | None, to: Target | None
) -> Step[HonestPage]:
    if isinstance(listed, Linked):
        listed, to = listed
    source, keeps = listed if isinstance(listed, Filtered) else (listed, None)
    if isinstance(source, Range):
        only = read_pages([source], paging.size, viewer, after, backward=paging.backward, to=to, keeps=keeps)
        (page,) = yield from only
        return page
    if isinstance(source, Merge):
        merged = read_merged(source, paging.size, viewer, after, backward=paging.backward, to=to, keeps=keeps)
        return (yield from merged)
    reader = READERS[type(source)]
    return (yield from reader(source, paging.size, viewer, after, backward=paging.backward, keeps=keeps))
