"""Declares mutations: one `input` made of the function's parameters, one payload with its result and the problems."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any

import strawberry
from strawberry.types import Info

from datastore.client.errors import Unavailable
from datastore.model.codec import camel
from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.request import Repeated
from loaders.visibility import seen_at
from resolvers.core.problems import INPUT, Problem, Refused
from schema.declare.context import RequestContext
from schema.declare.directives import access_directives
from schema.declare.edges import EDGE, Edge, Given, parameter
from schema.declare.errors import Outcome
from schema.declare.idempotency import Repeatable
from schema.declare.ids import global_id, id_of_key
from schema.declare.results import Results

Replay = Callable[..., Awaitable[dict[str, Any]]]


class Command(Edge):
    """A mutation. The function is called with validated arguments; a Refused it raises becomes `problems`."""

    is_command = True
    _payload: Any
    _results: Results

    def __init__(self, function: Callable[..., Any], replay: Replay | None = None, *, keeps_key: bool = True) -> None:
        super().__init__(function)
        self._name = camel(function.__name__)
        self._replay = replay
        self._keeps_key = keeps_key

    def _make(self, graphql_type: Any) -> Any:
        self._payload = graphql_type
        replayable = self._replay is not None or not self._keeps_key
        self._results = Results(self._name, self.signature.returns, graphql_type, replayable=replayable)

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
            resolver=resolve,
            description=self.description,
            graphql_type=graphql_type | None,
            metadata={EDGE: self},
            directives=access_directives(self.access),
        )

    async def carry_out(self, context: RequestContext, key: str, given: Given) -> Any:
        """Runs once per request and response key; repeated calls return the same payload."""
        if key not in context.payloads:
            context.command = self._name
            context.load.rider, context.load.may_have_applied = None, False
            try:
                context.payloads[key] = payload = await self._payload_for(context, key, given)
                is_refused = payload.problems and not context.load.may_have_applied
                context.outcomes[key] = Outcome.NOT_APPLIED if is_refused else Outcome.APPLIED
            except Exception as error:
                context.payloads[key] = error
                context.outcomes[key] = Outcome.UNKNOWN if context.load.may_have_applied else Outcome.NOT_APPLIED
        payload = context.payloads[key]
        if isinstance(payload, Exception):
            raise payload
        return payload

    async def _payload_for(self, context: RequestContext, key: str, given: Given) -> Any:
        arguments: dict[str, Any] = {}
        try:
            sent = vars(given["input"]) if "input" in given else {}
            arguments = self.signature.validated(sent)
            if context.idempotency_key is None or not self._keeps_key:
                named = await self._run(context, arguments)
            else:
                body = {name: value for name, value in sent.items() if value is not strawberry.UNSET}
                named = await self._run_once(
                    context, Repeatable(context.idempotency_key, context.load, self._name, key, body), arguments
                )
        except Refused as refusal:
            return self._payload(problems=[self._located(problem, arguments) for problem in refusal.problems])
        return self._payload(problems=[], **{name: _id_if_named_so(name, value) for name, value in named.items()})

    async def _run(self, context: RequestContext, arguments: Given) -> dict[str, Any]:
        """Runs the function. Returns its results by name."""
        self.signature.access.check(context.viewer)
        await context.command_limits.count(self._name, context.load, context.client_address)
        result = await self.signature.function(context, **arguments)
        if isinstance(result, tuple) and hasattr(result, "_asdict"):
            return dict(result._asdict())
        return {self._results.only: result}

    async def _run_once(self, context: RequestContext, request: Repeatable, arguments: Given) -> dict[str, Any]:
        """Runs the function unless a request with this key was applied before. Refusals are not kept."""
        load = context.load
        # Assumed until the record is read: an earlier request with this key may have been applied.
        load.may_have_applied = True
        if (stored := await request.stored()) is not None:
            return await self._replayed(context, stored, arguments)
        load.may_have_applied = False
        load.rider = lambda writes: request.record(self._results.of_writes(writes, arguments))
        try:
            named = await self._run(context, arguments)
            if load.rider is not None:
                # Nothing was written, so the key is all there is to write.
                load.rider = lambda _: request.record(self._results.of_result(named))
                await load.write()
        except (Repeated, Refused) as reason:
            load.rider, load.may_have_applied = None, True
            # Another request with this key may have been applied in the meantime, and be the reason of a refusal.
            if (stored := await request.stored()) is None:
                raise reason if isinstance(reason, Refused) else Unavailable("the key expired just now") from None
            return await self._replayed(context, stored, arguments)
        return named

    async def _replayed(self, context: RequestContext, stored: Given, arguments: Given) -> dict[str, Any]:
        """Returns the results of an earlier request, with the current state of the records the viewer may see."""
        context.load.read_consistently()
        keys = self._results.keys(stored, arguments)
        found = {name: id_of_key(key) if key else None for name, key in keys.items() if name.endswith("_id")}
        shown = {name: key for name, key in keys.items() if name not in found}
        records = await context.load.run(seen_at([*shown.values()], context.viewer)) if shown else []
        found |= dict(zip(shown, records, strict=True)) | self._results.flags(stored)
        return found | (await self._replay(context, keys, **arguments) if self._replay else {})

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


def command(function: Callable[..., Awaitable[Any]], *, replay: Replay | None = None, keeps_key: bool = True) -> Any:
    """A mutation. The function is called with validated arguments; a Refused it raises becomes `problems`.

    replay: returns results that `schema.declare.results` cannot find again, for a repeated Idempotency-Key. Takes the
    context, the keys that were found, and the arguments.
    keeps_key: False for a command that changes nothing, so that a repeated one runs again.
    """
    return Command(function, replay, keeps_key=keeps_key)


def _id_if_named_so(name: str, value: Any) -> Any:
    """Fields `…_id` get the record's ID."""
    return global_id(value) if name.endswith("_id") and isinstance(value, Entity) else value
