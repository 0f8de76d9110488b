"""From the signature of a resolver function to GraphQL arguments, and back from arguments to a call.

Resolver functions know nothing of GraphQL. Their keyword-only parameters are the arguments a client may give; one of
type `Key[X]` takes the id of an X, or of anything where X is `Entity`, and one of type `list[Key[X]]` many of them;
`viewer` and `options` are filled in from the request's context; any other positional parameter is the parent.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import strawberry
from typing_extensions import Doc

from datastore.model.codec import camel, optional
from datastore.model.entity import Entity
from datastore.model.enums import Choice
from datastore.model.keys import Key
from resolvers.core.context import Context
from schema.declare.errors import BadInput
from schema.declare.ids import key_of, key_of_any
from schema.declare.scalars import scalar_type

Read = Callable[[Any], Any]

FILLED_IN = ("viewer", "options")


class Signature:
    """What a resolver function takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.description = inspect.getdoc(function)
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
        self._filled_in = [parameter.name for parameter in parameters if parameter.name in FILLED_IN]
        self._takes_parent = any(
            parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.name not in FILLED_IN
            for parameter in parameters
        )
        self.arguments: dict[str, inspect.Parameter] = {}
        self._readers: dict[str, Read] = {}
        for parameter in parameters:
            if parameter.kind is parameter.KEYWORD_ONLY:
                hint, description = _without_doc(hints[parameter.name], f"{function.__name__}({parameter.name})")
                hint, reader = _graphql_hint(hint)
                default = _graphql_default(parameter)
                name = camel(parameter.name.rstrip("_"))  # Python keeps `from` to itself
                annotation: Any = Annotated[hint, strawberry.argument(name=name, description=description)]
                self.arguments[parameter.name] = parameter.replace(annotation=annotation, default=default)
                if reader:
                    self._readers[parameter.name] = reader

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a client gave, as the function takes it; what it did not give stays out."""
        values = {name: value for name, value in given.items() if value is not strawberry.UNSET}
        for name, reader in self._readers.items():
            if values.get(name) is not None:
                try:
                    values[name] = reader(values[name])
                except BadInput as error:
                    error.argument = camel(name)
                    raise
        return values

    def bind(self, context: Context, arguments: Mapping[str, Any]) -> Callable[[Any], Any]:
        """The function of the parent alone: everything else is the same for all parents of a field."""
        if self._filled_in:
            arguments = {**arguments, **{name: getattr(context, name) for name in self._filled_in}}
        function = partial(self.function, **arguments) if arguments else self.function
        return function if self._takes_parent else lambda _: function()

    def input_type(self, name: str) -> type:
        """A GraphQL input type with one field per argument."""
        body: dict[str, Any] = {"__annotations__": {}}
        for argument in self.arguments.values():
            hint, arg = get_args(argument.annotation)
            default = {} if argument.default is argument.empty else {"default": argument.default}
            body[argument.name] = strawberry.field(name=arg.name, description=arg.description, **default)
            body["__annotations__"][argument.name] = hint
        description = f"What `{camel(self.function.__name__)}` needs to know."
        return strawberry.input(type(name, (), body), description=description)


def _without_doc(hint: Any, where: str) -> tuple[Any, str]:
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        for extra in extras:
            if isinstance(extra, Doc):
                return inner, extra.documentation
    raise TypeError(f"{where} needs a description: Annotated[..., Doc(...)]")


def _graphql_default(parameter: inspect.Parameter) -> Any:
    """A value that says something is part of the schema; whatever stands for nothing given is not."""
    if parameter.default is parameter.empty or isinstance(parameter.default, bool | int | str | Choice):
        return parameter.default
    return strawberry.UNSET


def _graphql_hint(hint: Any) -> tuple[Any, Read | None]:
    """The hint as Strawberry reads it, and how to read what a client sends for it."""
    inner, may_be_none = optional(hint)
    reader: Read | None = None
    if get_origin(inner) is Key:
        entity = get_args(inner)[0]
        reader = key_of_any if entity is Entity else partial(key_of, entity)
        inner = strawberry.ID
    elif get_origin(inner) is list:
        of, read_one = _graphql_hint(get_args(inner)[0])
        reader = partial(_read_all, read_one) if read_one else None
        inner = list[of]  # type: ignore[valid-type]
    inner = scalar_type(inner)
    return (Union[inner, None] if may_be_none else inner), reader  # noqa: UP007


def _read_all(read_one: Read, given: list[Any]) -> list[Any]:
    return [*map(read_one, given)]
