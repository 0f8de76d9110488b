"""How mutations are declared: one `input` from the function's arguments, one payload with problems."""

import inspect
from typing import Annotated, Any

import strawberry
from strawberry.types import Info

from datastore.model.entity import Entity
from resolvers.core.problems import Problem, ProblemCode, Refused
from schema.declare.context import RequestContext
from schema.declare.edges import EDGE, Edge, Given, Resolver, parameter
from schema.declare.errors import BadInput
from schema.declare.ids import global_id


class Command(Edge):
    """A mutation: one `input` made of the function's arguments, one payload with its result and the problems."""

    _payload: Any

    def _make(self, graphql_type: Any) -> Any:
        self._payload = graphql_type

        async def resolve(info: Info[Any, Any], **given: Any) -> Any:
            return await self.carry_out(info.context, str(info.path.key), given)

        parameters = [parameter("info", Info)]
        if self.signature.arguments:
            name = "".join(part.capitalize() for part in self.signature.function.__name__.split("_"))
            given_as = strawberry.argument(description="What it needs to know.")
            parameters.append(parameter("input", Annotated[self.signature.input_type(f"{name}Input"), given_as]))
        resolve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        # It may be null, so that an accident in one command does not hide what the others did.
        return strawberry.field(
            resolver=resolve, description=self.description, graphql_type=graphql_type | None, metadata={EDGE: self}
        )

    async def carry_out(self, context: RequestContext, key: str, given: Given) -> Any:
        """Once in a request for each key of the answer: whoever asks again gets what came of it."""
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
        try:
            arguments = self.signature.read(vars(given["input"])) if "input" in given else {}
            result = await self.signature.function(context, **arguments)
        except Refused as refusal:
            return self._payload(problems=list(refusal.problems))
        except BadInput as error:
            path = ("input", error.argument) if error.argument else ()
            return self._payload(problems=[Problem(ProblemCode.INVALID, error.message, path)])
        return self._payload(problems=[], **_named(result, self._payload))


def command(function: Resolver) -> Any:
    """A mutation: one `input` made of the function's arguments, one payload with its result and the problems."""
    return Command(function)


def _named(result: Any, payload: type) -> dict[str, Any]:
    """Several results by their names; a single one under the payload's only name for it. An id stands for a record."""
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        named: dict[str, Any] = result._asdict()
    else:
        (only,) = payload.__annotations__.keys() - {"problems"}
        named = {only: result}
    return {name: _id_of(value) if name.endswith("_id") else value for name, value in named.items()}


def _id_of(value: Any) -> Any:
    return global_id(value) if isinstance(value, Entity) else value
