"""Declares subscriptions: each sends what is added to a list that a connection serves already.

The field of a subscription is executed like that of a query. A run either opens the list, or answers for one change.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import isgenerator
from typing import Annotated, Any, Generic, TypeVar, get_args

import strawberry

from datastore.accounts import User
from datastore.changes.change import Change
from datastore.client.positions import Position
from datastore.model.codec import camel
from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key
from loaders.appends import Growing
from loaders.needs import Items, Step, Together
from loaders.visibility import seen_at
from resolvers.core.access import Access, unauthenticated
from resolvers.core.problems import ProblemCode, not_found, noun_of, refused
from schema.declare.connections import ORDER, SEARCH, Connection, binding_of, edge_type
from schema.declare.context import RequestContext
from schema.declare.cursors import Bookmark, LogPosition, Resumption
from schema.declare.edges import Edge, Given, Listed
from schema.declare.ids import key_of
from schema.declare.signatures import SHORT_PAGES

T = TypeVar("T")

AFTER = "after"
QUERY = "Query"


class Addition(Generic[T]):
    """Declares in a schema class that a field sends what is added to a list of Ts. The value is such an addition."""

    def __init__(self, record: Entity, node: Entity, cursor: str) -> None:
        self.record = record
        self.node = node
        self.cursor = cursor


@dataclass
class Opening:
    """A run that finds the list and, by the argument `after`, where to go on."""

    reads_cursor: bool = True
    growing: Growing | None = None
    position: Position | None = None
    bookmark: Bookmark | None = None


@dataclass
class Arrival:
    """A run for one change, and what it finds: the list, and the record. That is None if it is gone, hidden or skipped.

    Without `skips`, every visible record is sent.
    """

    change: Change
    log: LogPosition
    resumption: Resumption | None = None
    skips: Callable[[Growing, Any], bool] | None = None
    growing: Growing | None = None
    record: Any = None


class Appended(Edge):
    """The additions to a list. Of a record's list, the argument is the ID of that record."""

    def __init__(self, listed: Any, *, of_viewer: bool, at: str) -> None:
        self.listed = listed
        self._id_name = ""
        self.of_viewer = of_viewer
        self.at = at
        super().__init__(listed.signature.function if isinstance(listed, Listed) else _no_list)
        # The order of a list does not matter for what is added to it, and the search index tells of no additions.
        self._fixed = {
            name: argument.default
            for name, argument in self.signature.arguments.items()
            if name == ORDER and argument.default is not strawberry.UNSET
        }
        self.parameters = [_without_pages(each) for each in self.parameters if each.name not in (ORDER, SEARCH)]

    def field(self, coordinate: str, graphql_type: Any) -> Any:  # noqa: ARG002
        owner, _, name = self.listed.coordinate.partition(".")
        self.entity: type[Entity] | None = None if owner == QUERY else REGISTRY[owner]
        shown = f"{owner}.{camel(name)}"
        # Without a relation to the record, the list is an error, not null.
        self.access = Access(self.access.requires)
        required = self.access.describe(is_command=False)
        self.description = " ".join(filter(None, [f"Items as they are added to `{shown}`.", required]))
        self.parameters = [*self._parent_parameter(), *self.parameters, _after(shown)]
        return super().field(coordinate, edge_type(self.listed.connection))

    def _parent_parameter(self) -> list[inspect.Parameter]:
        if self.entity is None or self.of_viewer:
            return []
        described = f"ID of the {noun_of(self.entity)}."
        name = f"{noun_of(self.entity).replace(' ', '_')}_id"
        self._id_name = name
        return [_parameter(name, strawberry.ID, camel(name), described)]

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        self.access.check(context.viewer)
        listening, given = context.listening, dict(given)
        after = given.pop(AFTER, None)
        key = self._parent_key(context, given)
        arguments = self._fixed | self.signature.read(given)
        if isinstance(listening, Arrival):
            found = yield Together([self._arrived(listening, key, arguments, context)])
            return [found[0]] * len(parents)
        growing = yield from self._growing(key, arguments, context)
        assert isinstance(listening, Opening)
        listening.growing = growing
        if after and listening.reads_cursor:
            binding = binding_of((self.listed.coordinate, arguments), growing.source)
            listening.position, listening.bookmark = context.cursors.resume(binding, after)
        return [None] * len(parents)

    def _parent_key(self, context: RequestContext, given: dict[str, Any]) -> Key[Any] | None:
        if self.entity is None:
            return None
        if not self.of_viewer:
            return key_of(self.entity, given.pop(self._id_name))
        if context.viewer.user_id is None:
            raise unauthenticated()
        return User.key(user_id=context.viewer.user_id)

    def _growing(self, key: Key[Any] | None, arguments: dict[str, Any], context: RequestContext) -> Step[Growing]:
        """Returns the list. Raises Refused if the viewer may not see it, or no longer."""
        of_parent = self.signature.bind(context, arguments)
        parent = None
        if key is not None:
            (parent,) = yield from seen_at([key], context.viewer)
            if parent is None:
                raise not_found(key)
        source = of_parent(parent)
        if isgenerator(source):
            source = yield from source
        if source is None:
            raise refused(ProblemCode.FORBIDDEN, "you may not see this list; subscribe to one that you may see")
        return Growing.of(source, self.listed.to, self.at)

    def _arrived(
        self, arrival: Arrival, key: Key[Any] | None, arguments: dict[str, Any], context: RequestContext
    ) -> Step[Addition[Any] | None]:
        # One read for both.
        yield Items([key, arrival.change.key], or_damage=True)
        growing = arrival.growing = yield from self._growing(key, arguments, context)
        added = yield from growing.read(arrival.change, context.viewer)
        if added is None or (arrival.skips and arrival.skips(growing, added.record)):
            return None
        arrival.record = added.record
        binding = binding_of((self.listed.coordinate, arguments), growing.source)
        bookmark = Bookmark(arrival.log, getattr(added.record, self.at), arrival.resumption)
        cursor = context.cursors.write(binding, growing.position_of(added.record), bookmark)
        return Addition(added.record, added.node, cursor)


def appended(listed: Connection[T] | None, *, of_viewer: bool = False, at: str = "created_at") -> Addition[T]:
    """A subscription to what is added to the list of a connection: `appended(Post.comments)`.

    Its arguments are the ID of the record that has the list, the filters of the list, and `after`. `of_viewer` is for
    lists of the viewer's own account. `at` is the field with the time at which a record joins the list.
    """
    made: Any = Appended(listed, of_viewer=of_viewer, at=at)
    return made  # type: ignore[no-any-return]


def _no_list() -> None:
    """Stands for the function of a list until the check of declarations reports that there is none."""


def _without_pages(given: inspect.Parameter) -> inspect.Parameter:
    """Returns a filter of a list without what its description says about pages."""
    hint, argument = get_args(given.annotation)
    description = argument.description
    for text in SHORT_PAGES.values():
        description = description.removesuffix(f" {text}")
    return given.replace(annotation=Annotated[hint, strawberry.argument(name=argument.name, description=description)])


def _after(shown: str) -> inspect.Parameter:
    described = (
        f"Sends what was added after this cursor first: the last `cursor` that you received, or one of `{shown}`. "
        "Without it, the subscription begins now."
    )
    return _parameter(AFTER, str | None, AFTER, described, default=strawberry.UNSET)


def _parameter(name: str, hint: Any, shown_as: str, description: str, **default: Any) -> inspect.Parameter:
    annotation = Annotated[hint, strawberry.argument(name=shown_as, description=description)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, **default)
