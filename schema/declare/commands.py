"""Declares mutations: one `input` made of the function's parameters, one payload with its result and the problems."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any

import strawberry
from strawberry.types import Info

from datastore.model.codec import camel
from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.core.problems import INPUT, Problem, Refused
from schema.declare.context import RequestContext
from schema.declare.edges import EDGE, Edge, Given, parameter
from schema.declare.ids import global_id


class Command(Edge):
    """A mutation. The function is called with validated arguments; a Refused it raises becomes `problems`."""

    _payload: Any

    def _make(self, graphql_type: Any) -> Any:
        self._payload = graphql_type

        async def resolve(info: Info[Any, Any], **given: Any) -> Any:
            return await self.carry_out(info.context, str(info.path.key), given)

        parameters = [parameter("info", Info)]
        if self.signature.arguments:
            name = "".join(part.capitalize() for part in self.signature.function.__name__.split("_"))
            given_as = strawberry.argument(description=f"Input for `{camel(self.signature.function.__name__)}`.")
            parameters.append(parameter("input", Annotated[self.signature.input_type(f"{name}Input"), given_as]))
        resolve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        # Nullable, so that an error in one command does not hide the payloads of the others.
        return strawberry.field(
            resolver=resolve, description=self.description, graphql_type=graphql_type | None, metadata={EDGE: self}
        )

    async def carry_out(self, context: RequestContext, key: str, given: Given) -> Any:
        """Runs once per request and response key; repeated calls return the same payload."""
        if key not in context.outcomes:
            try:
                context.outcomes[key] = await self._payload_for(context, given)
            except Exception as error:
                context.outcomes[key] = error
        outcome = context.outcomes[key]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _payload_for(self, context: RequestContext, given: Given) -> Any:
        arguments: dict[str, Any] = {}
        context.command = camel(self.signature.function.__name__)
        try:
            if "input" in given:
                arguments = self.signature.validated(vars(given["input"]))
            await context.command_limits.count(context.command, context.load, context.client_address)
            result = await self.signature.function(context, **arguments)
        except Refused as refusal:
            return self._payload(problems=[self._located(problem, arguments) for problem in refusal.problems])
        return self._payload(problems=[], **_named(result, self._payload))

    def _located(self, problem: Problem, arguments: Given) -> Problem:
        """The problem with its path."""
        at, names = problem.at, self.signature.names
        if at is None:
            return problem
        if isinstance(at, Key):
            at = next((name for name, value in arguments.items() if _is_or_has(value, at)), None)
            path: tuple[str, ...] = () if at is None else (INPUT, names[at])
        elif at == INPUT:
            path = (INPUT,)
        elif at in names:
            path = (INPUT, names[at])
        else:
            called, known = self.signature.function.__name__, ", ".join(names)
            raise TypeError(f"{called} refuses at {at!r}, which is none of its parameters: {known}")
        return replace(problem, path=path, at=None)


def _is_or_has(value: Any, key: Key[Any]) -> bool:
    return value == key or (isinstance(value, list) and key in value)


def command(function: Callable[..., Awaitable[Any]]) -> Any:
    """A mutation. The function is called with validated arguments; a Refused it raises becomes `problems`."""
    return Command(function)


def _named(result: Any, payload: type) -> dict[str, Any]:
    """Several results by their names, a single one by the payload's only name. Fields `…_id` get the record's ID."""
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        named: dict[str, Any] = result._asdict()
    else:
        (only,) = payload.__annotations__.keys() - {"problems"}
        named = {only: result}
    return {name: _id_of(value) if name.endswith("_id") else value for name, value in named.items()}


def _id_of(value: Any) -> Any:
    return global_id(value) if isinstance(value, Entity) else value
