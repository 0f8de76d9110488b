"""Relay connections over ranges: keyset cursors, both directions, a page deep in a list as cheap as the first."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
import strawberry

from datastore.entity import Entity
from datastore.keys import Range
from datastore.table import Position, position_of
from loaders.loaders import Loaders
from loaders.pages import HonestPage, read_page
from schema.cursors import Cursors
from schema.errors import BadInput

DEFAULT_SIZE = 20
MAX_SIZE = 100

T = TypeVar("T")


@dataclass(frozen=True)
class Paging:
    """The four arguments of a connection, checked."""

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
    """What a connection field resolves to; the GraphQL types below read from it."""

    page: HonestPage[Any]
    within: Range[Any]
    paging: Paging
    binding: bytes
    cursors: Cursors

    def cursor_of(self, record: Entity) -> str:
        return self.cursors.write(self.binding, position_of(self.within, record))

    @property
    def nodes(self) -> Any:
        return self.page.records

    @property
    def edges(self) -> list["EdgeOf"]:
        return [EdgeOf(self, record) for record in self.page.records]

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
    """One record of a page."""

    page: PageOf
    node: Entity

    @property
    def cursor(self) -> str:
        return self.page.cursor_of(self.node)


@strawberry.type(description="Where a page is in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether there is more after this page.")
    has_previous_page: bool = strawberry.field(description="Whether there is more before this page.")
    start_cursor: str | None = strawberry.field(description="The cursor to page backward from.")
    end_cursor: str | None = strawberry.field(description="The cursor to page forward from.")


@strawberry.type(description="One place in a list.")
class Edge(Generic[T]):
    cursor: str = strawberry.field(description="Points at this place, for `after` and `before`.")
    node: T = strawberry.field(description="What is at this place.")


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="The places of this page, in order.")
    nodes: list[T] = strawberry.field(description="What is at those places, without the cursors.")
    page_info: PageInfo = strawberry.field(description="Where this page is in the list.")


def binding_of(field: str, within: Range[Any], arguments: dict[str, Any]) -> bytes:
    return orjson.dumps(
        [field, within.index_name, within.pk, within.prefix, within.low, within.high, arguments], default=str
    )


async def connect(
    loaders: Loaders, cursors: Cursors, field: str, within: Range[Any], paging: Paging, arguments: dict[str, Any]
) -> PageOf:
    binding = binding_of(field, within, arguments)
    position: Position | None = cursors.read(binding, paging.cursor) if paging.cursor is not None else None
    page = await read_page(loaders, within, paging.size, position, backward=paging.backward)
    return PageOf(page, within, paging, binding, cursors)
