"""How the fields of a type are declared: each names the resolver function that says which keys it reads."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import strawberry
from strawberry.types import Info

from datastore.keys import Range
from resolvers.problems import Refused
from schema.connections import Paging, connect
from schema.signatures import Signature

Resolver = Callable[..., Any]


@dataclass(frozen=True)
class Edge:
    """A field to be: `build` makes it once the type it belongs to and its own GraphQL type are known."""

    signature: Signature
    build: Callable[["Edge", str, Any], Any]
    only: Callable[..., bool] | None = None

    def field(self, coordinate: str, graphql_type: Any) -> Any:
        return self.build(self, coordinate, graphql_type)


def one(function: Resolver, *, only: Callable[..., bool] | None = None) -> Any:
    """The record at a key, or the first of a range; null where there is none or `only(record, viewer)` says no."""
    return Edge(Signature(function), _build_one, only)


def many(function: Resolver) -> Any:
    """A connection over a range."""
    return Edge(Signature(function), _build_many)


def derived(function: Resolver) -> Any:
    """A value that follows from the record and who asks; nothing is read for it."""
    return Edge(Signature(function), _build_derived)


def command(function: Resolver) -> Any:
    """A mutation: one `input` made of the function's arguments, one payload with its result and the problems."""
    return Edge(Signature(function), _build_command)


def _build_one(edge: Edge, coordinate: str, graphql_type: Any) -> Any:
    async def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
        load = info.context.load
        target = edge.signature.call(root, load.viewer, given)
        if target is None:
            return None
        record = await (load.first(target) if isinstance(target, Range) else load.one(target))
        return record if record is None or edge.only is None or edge.only(record, load.viewer) else None

    return _field(resolve, edge.signature, graphql_type)


def _build_many(edge: Edge, coordinate: str, graphql_type: Any) -> Any:
    async def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
        context = info.context
        paging = Paging.of(*(given.pop(name, None) for name in ("first", "after", "last", "before")))
        within = edge.signature.call(root, context.viewer, given)
        return await connect(context.load, context.cursors, coordinate, within, paging, edge.signature.read(given))

    return _field(resolve, edge.signature, graphql_type, paged=True)


def _build_derived(edge: Edge, coordinate: str, graphql_type: Any) -> Any:
    def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
        return edge.signature.call(root, info.context.viewer, given)

    return _field(resolve, edge.signature, graphql_type)


def _build_command(edge: Edge, coordinate: str, payload: Any) -> Any:
    signature = edge.signature
    name = "".join(part.capitalize() for part in signature.function.__name__.split("_"))

    async def resolve(info: Info[Any, Any], **given: Any) -> Any:
        arguments = signature.read(vars(given["input"])) if "input" in given else {}
        try:
            result = await signature.function(info.context, **arguments)
        except Refused as refusal:
            return payload(problems=list(refusal.problems))
        return payload(problems=[], **_named(result, payload))

    resolve.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("info", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Info),
            *([_input_parameter(signature, f"{name}Input")] if signature.arguments else []),
        ]
    )
    return strawberry.field(resolver=resolve, description=signature.description, graphql_type=payload)


def _input_parameter(signature: Signature, name: str) -> inspect.Parameter:
    annotation = signature.input_type(name)
    return inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)


def _named(result: Any, payload: type) -> dict[str, Any]:
    """Several results by their names; a single one under the payload's only name for it."""
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        named: dict[str, Any] = result._asdict()
        return named
    (name,) = payload.__annotations__.keys() - {"problems"}
    return {name: result}


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
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    resolve.__signature__ = inspect.Signature(
        [
            inspect.Parameter("root", positional, annotation=Any),
            inspect.Parameter("info", positional, annotation=Info),
            *signature.arguments.values(),
            *(_paging_parameters() if paged else []),
        ]
    )
    return strawberry.field(resolver=resolve, description=signature.description, graphql_type=graphql_type)
