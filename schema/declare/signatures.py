"""From the signature of a resolver function to GraphQL arguments, and back from arguments to a call.

Resolver functions know nothing of GraphQL. Their keyword-only parameters are the arguments a client may give; one of
type `Key[X]` takes the id of an X, or of anything where X is `Entity`, and one of type `list[Key[X]]` many of them;
`viewer`, `options` and `search_index` are filled in from the request's context; any other positional parameter is the
parent.

A parameter whose default is UNSET may be left out. If its type does not include None, it may not be null.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import strawberry
from typing_extensions import Doc

from datastore.model.codec import camel, optional
from datastore.model.entity import Entity
from datastore.model.enums import Choice
from datastore.model.keys import Key
from loaders.filtered import Unindexed
from loaders.viewer import Viewer
from resolvers.core.access import access_of
from resolvers.core.constraints import Constraint, Report
from resolvers.core.context import Context
from resolvers.core.money import Money
from resolvers.core.options import Options
from resolvers.core.problems import Problem, ProblemCode, Refused
from resolvers.core.unset import UNSET
from resolvers.search.index import SearchIndex
from schema.declare.errors import BadInput
from schema.declare.ids import key_of, key_of_any
from schema.declare.money import MoneyInput, read_money
from schema.declare.object_types import input_type
from schema.declare.scalars import scalar_type

Read = Callable[[Any], Any]

FILLED_IN = {"viewer": Viewer, "options": Options, "search_index": SearchIndex}
INPUTS: dict[Any, tuple[type, Read]] = {Money: (MoneyInput, read_money)}
"""Input types of values with several fields, and the readers of what a client gives."""

SHORT_PAGES = {
    False: "Pages may be short; continue while `hasNextPage` is true.",
    True: "If it is combined with other filters, pages may be short; continue while `hasNextPage` is true.",
}


class Input(NamedTuple):
    """Reads and validates one argument."""

    reader: Read | None
    constraints: tuple[Constraint, ...]
    nullable: bool

    def validated(self, value: Any, report: Report) -> Any:
        """The value as the function takes it. After the first problem of an argument the rest is not looked at."""
        if value is None:
            if not self.nullable:
                report("this cannot be null; leave it out to keep it as it is")
            return None
        try:
            value = self.reader(value) if self.reader else value
        except BadInput as error:
            report(error.message)
            return None
        problems: list[str] = []
        for constraint in self.constraints:
            value = constraint.check(value, problems.append)
            if problems:
                break
        if value is None and not self.nullable and not problems:
            problems.append("this needs at least one character")
        for problem in problems:
            report(problem)
        return value


class Signature:
    """The parameters of a resolver function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.description = inspect.getdoc(function)
        self.access = access_of(function)
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.hints = hints = get_type_hints(function, include_extras=True)
        self.returns: Any = hints.get("return")
        parameters = inspect.signature(function).parameters.values()
        self.positional = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
        self._filled_in = [parameter.name for parameter in parameters if parameter.name in FILLED_IN]
        self._takes_parent = any(parameter.name not in FILLED_IN for parameter in self.positional)
        self.arguments: dict[str, inspect.Parameter] = {}
        self.names: dict[str, str] = {}
        """Names of the arguments in the schema."""
        self.unindexed: dict[str, bool] = {}
        """Names in the schema of the arguments that filter without an index; True if only when they are combined."""
        self._inputs: dict[str, Input] = {}
        for parameter in parameters:
            if parameter.kind is parameter.KEYWORD_ONLY:
                where = f"{function.__name__}({parameter.name})"
                hint, description, constraints = _declared(hints[parameter.name], where)
                hint, reader = _graphql_hint(hint)
                nullable = optional(hint)[1]
                if parameter.default is UNSET and not nullable:
                    hint = Union[hint, None]  # noqa: UP007
                name = camel(parameter.name.rstrip("_"))  # `from_`: `from` is a keyword
                annotation: Any = Annotated[hint, strawberry.argument(name=name, description=description)]
                default = _graphql_default(parameter)
                self.arguments[parameter.name] = parameter.replace(annotation=annotation, default=default)
                self.names[parameter.name] = name
                for mark in _marks(hints[parameter.name]):
                    self.unindexed[name] = mark.when_combined
                self._inputs[parameter.name] = Input(reader, constraints, nullable)
        self._readers = {name: input.reader for name, input in self._inputs.items() if input.reader}

    @property
    def constrained(self) -> list[str]:
        """The parameters that have constraints."""
        return [name for name, input in self._inputs.items() if input.constraints]

    def validated(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The same as `read`, validated. Raises Refused with every problem of the input."""
        problems: list[Problem] = []
        values: dict[str, Any] = {}
        for name, value in given.items():
            if value is not strawberry.UNSET:
                messages: list[str] = []
                values[name] = self._inputs[name].validated(value, messages.append)
                problems += [Problem(ProblemCode.INVALID, message, at=name) for message in messages]
        if problems:
            raise Refused(*problems)
        return values

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments as the function takes them, without those that the client omitted."""
        values = {name: value for name, value in given.items() if value is not strawberry.UNSET}
        for name, reader in self._readers.items():
            if values.get(name) is not None:
                values[name] = reader(values[name])
        return values

    def bind(self, context: Context, arguments: Mapping[str, Any]) -> Callable[[Any], Any]:
        """Returns the function of the parent alone: all other arguments are the same for all parents of a field.

        Raises Refused if the viewer lacks the role that the function requires.
        """
        self.access.check(context.viewer)
        if self._filled_in:
            arguments = {**arguments, **{name: getattr(context, name) for name in self._filled_in}}
        function = partial(self.function, **arguments) if arguments else self.function
        return function if self._takes_parent else lambda _: function()

    def input_type(self, name: str) -> type:
        """A GraphQL input type with one field per argument."""
        fields: dict[str, Any] = {}
        for argument in self.arguments.values():
            hint, arg = get_args(argument.annotation)
            default = {} if argument.default is argument.empty else {"default": argument.default}
            fields[argument.name] = strawberry.field(
                name=arg.name, description=arg.description, graphql_type=hint, **default
            )
        return input_type(name, fields, f"Input for `{camel(self.function.__name__)}`.")


def _declared(hint: Any, where: str) -> tuple[Any, str, tuple[Constraint, ...]]:
    """The type of a parameter, its description, which ends with the limits, and its constraints."""
    inner, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    docs = [extra.documentation for extra in extras if isinstance(extra, Doc)]
    if not docs:
        raise TypeError(f"{where} needs a description: Annotated[..., Doc(...)]")
    constraints = tuple(extra for extra in extras if isinstance(extra, Constraint))
    limits = [constraint.limit for constraint in constraints if constraint.limit not in docs[0]]
    limits += [SHORT_PAGES[mark.when_combined] for mark in _marks(hint)]
    return inner, " ".join([docs[0], *limits]), constraints


def _marks(hint: Any) -> list[Unindexed]:
    return [extra for extra in get_args(hint)[1:] if isinstance(extra, Unindexed)]


def _graphql_default(parameter: inspect.Parameter) -> Any:
    """The default that the schema shows: None and UNSET stand for an omitted argument, and are not shown."""
    if parameter.default is parameter.empty or isinstance(parameter.default, bool | int | str | Choice):
        return parameter.default
    return strawberry.UNSET


def _graphql_hint(hint: Any) -> tuple[Any, Read | None]:
    """The hint as Strawberry reads it, and the reader of its values, if they need one."""
    inner, may_be_none = optional(hint)
    reader: Read | None = None
    if get_origin(inner) is Key:
        entity = get_args(inner)[0]
        reader = key_of_any if entity is Entity else partial(key_of, entity)
        inner = strawberry.ID
    elif inner in INPUTS:
        inner, reader = INPUTS[inner]
    elif get_origin(inner) is list:
        of, read_one = _graphql_hint(get_args(inner)[0])
        reader = partial(_read_all, read_one) if read_one else None
        inner = list[of]  # type: ignore[valid-type]
    inner = scalar_type(inner)
    return (Union[inner, None] if may_be_none else inner), reader  # noqa: UP007


def _read_all(read_one: Read, given: list[Any]) -> list[Any]:
    return [*map(read_one, given)]
