"""Declares lookups: one field per type that finds a record by any of its unique values, such as `user(by: {…})`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args

import strawberry
from typing_extensions import Doc

from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.needs import Step
from resolvers.core.access import EVERYONE, Access, access_of
from resolvers.core.problems import noun_of
from schema.declare.context import RequestContext
from schema.declare.directives import access_directives
from schema.declare.edges import Computed, Edge, Given, One, Only, Resolver
from schema.declare.errors import BadInput
from schema.declare.hints import generic, members, result_of
from schema.declare.ids import is_global_id

ID, DATABASE_ID = "id", "database_id"


class Lookup(Edge):
    """The record at the one value that is given. Each way is an edge with one argument, which is a field of `by`."""

    def __init__(self, ways: Sequence[Resolver], only: Mapping[str, Only], otherwise: Resolver | None) -> None:
        self.entity = _found_by(ways[0])
        functions = [_by_id(self.entity), *ways]
        declared = {access_of(way) for way in ways}
        access = declared.pop() if len(declared) == 1 else EVERYONE
        found = f"The {noun_of(self.entity)} with this unique value, or null."
        super().__init__(otherwise or functions[0], inspect.getdoc(otherwise) if otherwise else found, access)
        self.ways: dict[str, Edge] = {}
        self.otherwise = None if otherwise is None else One(otherwise, None)
        for function in functions:
            edge: Edge = One(function, None) if generic(_returned(function), Key, Range) else Computed(function, 0)
            (name,) = edge.signature.arguments
            self.ways[name] = One(function, only[name]) if name in only else edge
        self.parameters = [self._parameter(required=otherwise is None)]

    @property
    def all_ways(self) -> list[Edge]:
        return [*self.ways.values(), *([self.otherwise] if self.otherwise else [])]

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        self.access.check(context.viewer)
        by = given.get("by")
        if by is None or by is strawberry.UNSET:
            assert self.otherwise is not None
            return (yield from self.otherwise.resolve(parents, context, {}))
        ((name, value),) = ((name, value) for name, value in vars(by).items() if value is not strawberry.UNSET)
        if name == DATABASE_ID and is_global_id(value):
            raise BadInput(f"{value[:60]!r} is an id, not a databaseId; look it up with `by: {{id: …}}`")
        return (yield from self.ways[name].resolve(parents, context, {name: value}))

    def _parameter(self, *, required: bool) -> inspect.Parameter:
        described = strawberry.argument(description="Exactly one of the fields.")
        by: Any = _input_type(self.entity, self.ways, self.access)
        return inspect.Parameter(
            "by",
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[by if required else by | None, described],
            **({} if required else {"default": strawberry.UNSET}),
        )


def lookup(*ways: Resolver, only: Mapping[str, Only] | None = None, otherwise: Resolver | None = None) -> Any:
    """A record by its ID, or by one of these ways: functions of one argument, whose names are the fields of `by`.

    `only[name](record, viewer)` decides who may find a record in the way with this argument. `otherwise` returns the
    key of the record if `by` is omitted. What all ways declare with `@access` is true for the field, also by its ID.
    """
    return Lookup(ways, only or {}, otherwise)


def _input_type(entity: type[Entity], ways: Mapping[str, Edge], access: Access) -> type:
    """`access` is that of all ways. What only one of them declares is said at its field."""
    body: dict[str, Any] = {"__annotations__": {}}
    for name, edge in ways.items():
        hint, argument = get_args(edge.signature.arguments[name].annotation)
        own = edge.access if edge.access != access else EVERYONE
        body[name] = strawberry.field(
            name=argument.name,
            description=" ".join(filter(None, [argument.description, own.describe(is_command=False)])),
            default=strawberry.UNSET,
            directives=access_directives(own),
        )
        body["__annotations__"][name] = hint | None
    description = f"A unique value by which to look up the {noun_of(entity)}: exactly one field."
    made: type = strawberry.input(type(f"{entity.__name__}By", (), body), one_of=True, description=description)
    return made


def _by_id(entity: type[Entity]) -> Resolver:
    def by_id(*, id: Key[Any]) -> Key[Any]:
        return id

    of_entity: Any = Key[entity]  # type: ignore[valid-type]
    by_id.__annotations__ = {"id": Annotated[of_entity, Doc("Global ID (`id`).")], "return": of_entity}
    return by_id


def _found_by(function: Resolver) -> type[Entity]:
    (found,) = generic(_returned(function), Key, Range) or members(result_of(_returned(function)))
    entity: type[Entity] = found
    return entity


def _returned(function: Callable[..., Any]) -> Any:
    return inspect.get_annotations(function, eval_str=True)["return"]
