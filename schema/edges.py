"""How the fields of a type are declared: each names the resolver function that says which keys it reads."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Annotated, Any

import strawberry
from strawberry.types import Info

from datastore.codec import camel
from datastore.entity import Entity
from datastore.keys import Range
from loaders.loaders import Total
from resolvers.problems import Problem, ProblemCode, Refused
from schema.connections import Carried, Paging, connect, connection_type
from schema.errors import BadInput
from schema.ids import global_id
from schema.limits import WEIGHTS
from schema.signatures import Signature

Resolver = Callable[..., Any]
Build = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Edge:
    """A field to be: made once the type it belongs to, its name there and its own type are known."""

    build: Build

    def field(self, coordinate: str, graphql_type: Any) -> Any:
        return self.build(coordinate, graphql_type)


def one(function: Resolver, *, only: Callable[..., bool] | None = None) -> Any:
    """The record at a key, or the first of a range; null where there is none or `only(record, viewer)` says no."""
    signature = Signature(function)

    async def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
        load = info.context.load
        target = signature.call(root, info.context, given)
        if target is None:
            return None
        record = await (load.first(target) if isinstance(target, Range) else load.one(target))
        return record if record is None or only is None or only(record, load.viewer) else None

    return Edge(lambda _, graphql_type: _field(resolve, signature, graphql_type))


def exists(function: Resolver) -> Any:
    """Whether there is something at a key."""
    signature = Signature(function)

    async def resolve(root: Any, info: Info[Any, Any], **given: Any) -> bool:
        target = signature.call(root, info.context, given)
        return target is not None and await info.context.load.stored(target) is not None

    return Edge(lambda _, graphql_type: _field(resolve, signature, graphql_type))


def total(function: Resolver) -> Any:
    """A count, and what other items add to it."""
    signature = Signature(function)

    def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
        counted: Total = signature.call(root, info.context, given)
        return info.context.load.total(counted) if counted.shares else counted.base

    return Edge(lambda _, graphql_type: _field(resolve, signature, graphql_type))


def many(function: Resolver, *, count: Resolver | None = None, weight: int = 0) -> Any:
    """A connection over a range, or over several merged into one list.

    `count` tells how many there are in all; `weight`, what a page costs to read where that is more than its records.
    """
    return _connection(function, None, count, {}, weight)


def linked(function: Resolver, to: Resolver, *, count: Resolver | None = None, **carried: Carried) -> Any:
    """A connection over a range of links to what these lead to; the edges carry attributes of the links."""
    return _connection(function, to, count, carried)


def _connection(
    function: Resolver, to: Resolver | None, count: Resolver | None, carried: dict[str, Carried], weight: int = 0
) -> Any:
    signature = Signature(function)

    def build(coordinate: str, graphql_type: Any) -> Any:
        if weight:
            owner, _, name = coordinate.partition(".")
            WEIGHTS[owner, camel(name)] = weight

        async def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
            context = info.context
            paging = Paging.of(*(given.pop(name, None) for name in ("first", "after", "last", "before")))
            source = signature.call(root, context, given)
            if isawaitable(source):
                source = await source
            if source is None:
                return None
            page = await connect(context, coordinate, source, paging, signature.read(given), to)
            page.count = count(root) if count else None
            return page

        resulting = connection_type(coordinate, graphql_type, carried, counted=count is not None)
        return _field(resolve, signature, resulting, paged=True)

    return Edge(build)


def derived(function: Resolver) -> Any:
    """A value that follows from the record and who asks; nothing is read for it."""
    signature = Signature(function)

    def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
        return signature.call(root, info.context, given)

    return Edge(lambda _, graphql_type: _field(resolve, signature, graphql_type))


def command(function: Resolver) -> Any:
    """A mutation: one `input` made of the function's arguments, one payload with its result and the problems."""
    signature = Signature(function)
    name = "".join(part.capitalize() for part in function.__name__.split("_"))

    def build(_: str, payload: Any) -> Any:
        async def resolve(info: Info[Any, Any], **given: Any) -> Any:
            try:
                arguments = signature.read(vars(given["input"])) if "input" in given else {}
                result = await signature.function(info.context, **arguments)
            except Refused as refusal:
                return payload(problems=list(refusal.problems))
            except BadInput as error:
                path = ("input", error.argument) if error.argument else ()
                return payload(problems=[Problem(ProblemCode.INVALID, error.message, path)])
            return payload(problems=[], **_named(result, payload))

        parameters = [_parameter("info", Info)]
        if signature.arguments:
            given_as = strawberry.argument(description="What it needs to know.")
            parameters.append(_parameter("input", Annotated[signature.input_type(f"{name}Input"), given_as]))
        resolve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        # It may be null, so that an accident in one command does not hide what the others did.
        return strawberry.field(resolver=resolve, description=signature.description, graphql_type=payload | None)

    return Edge(build)


def _named(result: Any, payload: type) -> dict[str, Any]:
    """Several results by their names; a single one under the payload's only name for it. An id stands for a record."""
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        named: dict[str, Any] = result._asdict()
        return {name: _id_of(value) if name.endswith("_id") else value for name, value in named.items()}
    (name,) = payload.__annotations__.keys() - {"problems"}
    return {name: result}


def _id_of(value: Any) -> Any:
    return global_id(value) if isinstance(value, Entity) else value


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)


def _paging_parameters() -> list[inspect.Parameter]:
    described: dict[str, tuple[Any, str]] = {
        "first": (int | None, "How many from the beginning, or behind `after`: 1 to 100, 20 unless told."),
        "after": (str | None, "Begin behind this cursor."),
        "last": (int | None, "How many from the end, or before `before`: 1 to 100."),
        "before": (str | None, "End before this cursor."),
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


def _field(resolve: Any, signature: Signature, graphql_type: Any, *, paged: bool = False) -> Any:
    resolve.__signature__ = inspect.Signature(
        [
            _parameter("root", Any),
            _parameter("info", Info),
            *signature.arguments.values(),
            *(_paging_parameters() if paged else []),
        ]
    )
    return strawberry.field(resolver=resolve, description=signature.description, graphql_type=graphql_type)
