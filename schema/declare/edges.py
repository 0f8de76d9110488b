"""Declares the fields of a type: each names the resolver function that returns the keys it reads.

An edge resolves its field for all parents of a level at once, as a step (`loaders.needs`). The compiled executor runs
these steps side by side; in graphql-core's, every parent's field is a step on its own.
"""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import isgenerator
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, Union

import strawberry
from strawberry.types import Info

from datastore.client.errors import CorruptItem
from datastore.model.codec import camel
from datastore.model.decoding import UNREAD
from datastore.model.entity import Entity, Field
from datastore.model.keys import Key, Range
from loaders.filtered import Filtered
from loaders.linked import Linked
from loaders.needs import Items, Step, Together
from loaders.pages import first_of
from loaders.sharded_counts import Total, summed
from loaders.viewer import Viewer
from loaders.visibility import seen, seen_at
from resolvers.core.access import Access, access_of
from schema.declare.connections import ORDER, Carried, Paging, Source, connect, connection_type
from schema.declare.context import RequestContext
from schema.declare.directives import SemanticNonNull, access_directives
from schema.declare.hints import may_be_none
from schema.declare.names_read import names_in
from schema.declare.scalars import scalar_type
from schema.declare.signatures import Signature
from schema.execution.weights import FILTER_NAMES, FILTERS, WEIGHTS

Resolver = Callable[..., Any]
Given = Mapping[str, Any]
Only = Callable[[Any, Viewer], bool]
Counting = Callable[[Any], int | Total] | str
Listing = Source | Filtered[Any] | Linked[Any] | Step[Any] | None

# Under this name a Strawberry field knows the edge it was made from.
EDGE = "edge"


class Edge:
    """A declared field, made once its coordinate (`Post.author`) and its type are known."""

    coordinate: str
    is_command = False
    reads = True
    """A field that reads may fail. It is nullable, so that its error leaves its neighbors alone."""

    def __init__(self, function: Resolver, description: str | None = None, access: Access | None = None) -> None:
        self.signature = Signature(function)
        self.access = access or self.signature.access
        said = self.access.describe(is_command=self.is_command)
        self.description = " ".join(filter(None, [description or self.signature.description, said]))
        self.parameters = [*self.signature.arguments.values()]

    @cached_property
    def names_read(self) -> frozenset[str]:
        """The names of the fields that it may read of records."""
        return names_in([self])

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        """The field's value for each of the parents."""
        raise NotImplementedError

    def field(self, coordinate: str, graphql_type: Any) -> Any:
        """The field for Strawberry, whose resolver serves graphql-core's executor."""
        self.coordinate = coordinate
        return self._make(graphql_type)

    def _make(self, graphql_type: Any) -> Any:
        async def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
            (value,) = await info.context.load.run(self.resolve([root], info.context, given))
            return value

        return self._field(resolve, graphql_type)

    def _field(self, resolve: Any, graphql_type: Any) -> Any:
        if self.signature.constrained:
            named = ", ".join(self.signature.constrained)
            raise TypeError(f"{self.coordinate} has constraints ({named}), which only commands validate: remove them")
        parameters = [parameter("root", Any), parameter("info", Info), *self.parameters]
        resolve.__signature__ = inspect.Signature(parameters)
        directives = access_directives(self.access)
        if self.reads and not may_be_none(graphql_type):
            directives.append(SemanticNonNull())
            graphql_type = Union[graphql_type, None]  # noqa: UP007
        return strawberry.field(
            resolver=resolve,
            description=self.description,
            graphql_type=graphql_type,
            metadata={EDGE: self},
            directives=directives,
        )

    def _function(self, context: RequestContext, given: Given) -> Callable[[Any], Any]:
        return self.signature.bind(context, self.signature.read(given))


class Derived(Edge):
    reads = False
    code: tuple[str, Mapping[str, Any]] | None = None
    """Code of the value of a record `r`, and the names in it: the same as the function without its call.

    The value needs no coercion. The code may assign to `v`.
    """

    def _make(self, graphql_type: Any) -> Any:
        def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
            return self.function(info.context, given)(root)

        return self._field(resolve, graphql_type)

    def of(self, type_name: str) -> "Derived":  # noqa: ARG002
        """The same, specialized for one type."""
        return self

    def function(self, context: RequestContext, given: Given) -> Callable[[Any], Any]:
        """Returns the function from a parent to its value."""
        return self._function(context, given)


class One(Edge):
    def __init__(self, function: Resolver, only: Callable[..., bool] | None) -> None:
        super().__init__(function)
        self.only = only

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        viewer = context.viewer
        targets = [*map(self._function(context, given), parents)]
        if isinstance(targets[0], Range):
            found = yield from first_of(targets, viewer)
        else:
            found = yield from seen_at(targets, viewer)
        only = self.only
        return found if only is None else [record if record and only(record, viewer) else None for record in found]


class Exists(Edge):
    """A damaged record exists, too."""

    def _make(self, graphql_type: Any) -> Any:
        _weigh(self.coordinate, 1)
        return super()._make(graphql_type)

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        found = yield Items([*map(self._function(context, given), parents)], or_damage=True)
        return [record is not None for record in found]


class Absent(Exists):
    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        keys = [*map(self._function(context, given), parents)]
        found = yield Items(keys, or_damage=True)
        return [key is not None and not _is_there(record) for key, record in zip(keys, found, strict=True)]


def _is_there(record: Entity | CorruptItem | None) -> bool:
    """False for an expired record, which DynamoDB takes up to days to remove. True for a damaged one."""
    if isinstance(record, CorruptItem):
        return True
    return record is not None and (record.expires_at is None or record.expires_at > time.time())


class Computed(Edge):
    """One step per parent, run concurrently. One that fails has its error in its place."""

    def __init__(self, function: Resolver, weight: int) -> None:
        super().__init__(function)
        self._weight = weight

    def _make(self, graphql_type: Any) -> Any:
        _weigh(self.coordinate, self._weight)
        return super()._make(graphql_type)

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        found: Sequence[Any] = yield Together([*map(self._function(context, given), parents)], or_error=True)
        return found


class Count(Edge):
    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        return (yield from summed([*map(self._function(context, given), parents)]))


class Heavy(Edge):
    """A stored field that list reads omit; null if `only(record, viewer)` is False."""

    def __init__(self, name: str, description: str, only: Callable[..., bool] | None = None) -> None:
        super().__init__(
            lambda record: record.own_key if getattr(record, name) is UNREAD else None,
            description,
            access_of(only) if only else None,
        )
        self.name = name
        self._only = only

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        only, viewer = self._only, context.viewer
        shown = [record if only is None or only(record, viewer) else None for record in parents]
        unread = self._function(context, given)
        stored = yield Items([None if record is None else unread(record) for record in shown])
        # It is read later than the list, and may no longer be visible.
        found = yield from seen(stored, viewer)
        values = []
        for record, whole in zip(shown, found, strict=True):
            value = getattr(record, self.name, None)
            values.append(getattr(whole, self.name, None) if value is UNREAD else value)
        return values


class Listed(Edge):
    """A connection; its coordinate is part of its cursors."""

    connection: Any
    """The type of the field, once that is made."""

    def __init__(
        self,
        function: Resolver,
        *,
        to: Resolver | None = None,
        count: Counting | None = None,
        carried: Mapping[str, Carried] = MappingProxyType({}),
        weight: int = 0,
        links: bool = False,
    ) -> None:
        super().__init__(function)
        self.to = to
        self.count = count
        self.carried = carried
        self.links = links
        self._weight = weight
        self.parameters += _paging_parameters()

    def _make(self, graphql_type: Any) -> Any:
        _weigh(self.coordinate, self._weight)
        carried = {
            name: Derived(_carrier(attribute), description).field(name, scalar_type(hint))
            for name, (hint, attribute, description) in self.carried.items()
        }
        if self.signature.unindexed:
            FILTERS[_field_of(self.coordinate)] = self.signature.unindexed
            FILTER_NAMES.update(self.signature.unindexed)
        total = self._total() if self.count else None
        self.connection = connection_type(self.coordinate, graphql_type, carried, total)
        return super()._make(self.connection)

    def _total(self) -> Any:
        """The field with the stored count, which is about the whole list."""
        count: Any = attrgetter(self.count) if isinstance(self.count, str) else self.count
        description = "Number of items in the whole list."
        if not self.signature.arguments.keys() - {ORDER}:
            return Count(lambda page: count(page.parent), description).field("totalCount", int)
        function = lambda page: None if page.is_narrowed else count(page.parent)  # noqa: E731
        return Count(function, f"{description} Null if it is filtered.").field("totalCount", int | None)

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        given = dict(given)
        paging = Paging.of(*(given.pop(name, None) for name in ("first", "after", "last", "before")))
        arguments = self.signature.read(given)
        sources = [*map(self.signature.bind(context, arguments), parents)]
        if isgenerator(sources[0]):
            sources = yield Together(sources)
        return (yield from connect(context, (self.coordinate, arguments), parents, sources, paging, self.to))


def one(function: Callable[..., Key[Any] | Range[Any] | None], *, only: Only | None = None) -> Any:
    """The record at a key, or the first of a range; null if there is none or `only(record, viewer)` is False."""
    return One(function, only)


def exists(function: Callable[..., Key[Any] | None]) -> Any:
    """True if there is a record at a key."""
    return Exists(function)


def absent(function: Callable[..., Key[Any] | None]) -> Any:
    """True if there is no record at a key; False if the function returns no key."""
    return Absent(function)


def heavy(field: Field, *, only: Only) -> Any:
    """A private stored field that list reads omit; null unless `only(record, viewer)` is True.

    `only` has the `@access` of the field.
    """
    return Heavy(field.name, field.description, only)


def computed(function: Callable[..., Step[Any]], *, weight: int = 0) -> Any:
    """A value that takes more than a key to find: the function is a step, and checks visibility itself.

    `weight` is its cost, if that is more than a record.
    """
    return Computed(function, weight)


def total(function: Callable[..., int | Total]) -> Any:
    """A count, including its sharded counters."""
    return Count(function)


def many(function: Callable[..., Listing], *, count: Counting | None = None, weight: int = 0) -> Any:
    """A connection over a range, over several merged into one list, or over the result of a step.

    `count` returns the number of items in the whole list, or names the stored field that has it; `weight` is the cost
    of a page, if that is more than its records.
    """
    return Listed(function, count=count, weight=weight)


def linked(
    function: Callable[..., Listing],
    to: Callable[[Any], Key[Any] | None] | None,
    *,
    count: Counting | None = None,
    **carried: Carried,
) -> Any:
    """A connection over a range of links to their targets; its edges carry attributes of the links.

    `to` returns the key of a link's target; None if the function itself returns targets, as `Ranked` and `Linked` do.
    """
    return Listed(function, to=to, count=count, carried=carried, links=True)


def derived(function: Resolver) -> Any:
    """A value computed from the record and the viewer, without reading."""
    return Derived(function)


def _weigh(coordinate: str, weight: int) -> None:
    if weight:
        WEIGHTS[_field_of(coordinate)] = weight


def _field_of(coordinate: str) -> tuple[str, str]:
    owner, _, name = coordinate.partition(".")
    return owner, camel(name)


def _carrier(attribute: str) -> Resolver:
    return lambda edge: getattr(edge.record, attribute)


def parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)


def _paging_parameters() -> list[inspect.Parameter]:
    described: dict[str, tuple[Any, str]] = {
        "first": (int | None, "Page size, 1–100. Defaults to 20."),
        "after": (str | None, "Returns items after this cursor."),
        "last": (int | None, "Page size from the end of the list, 1–100."),
        "before": (str | None, "Returns items before this cursor."),
    }
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[hint, strawberry.argument(description=description)],
            default=strawberry.UNSET,
        )
        for name, (hint, description) in described.items()
    ]
