"""Plans: what an operation is compiled to, and how it runs, level by level. docs/execution.md draws it.

A plan mirrors the operation. A `Selection` writes the leaves of all its records at once and then starts its nested
fields. Each of these resolves for all records of the level as one step, and the selection below completes its values.
The steps of all branches run in the request's scheduler, which reads what they need together.

A plan returns complete responses only. It notes every error and reads on for all other fields. Then
graphql-core executes the operation over what was read: errors, their paths and the nulls they leave are its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any

from graphql import FieldNode
from graphql.execution.values import VariableValues

from loaders.consumer import Consumer
from loaders.needs import Step, Then
from schema.declare.commands import Command
from schema.declare.context import RequestContext
from schema.declare.edges import Derived, Edge
from schema.execution.introspection import Introspection, MetaField
from schema.execution.leaf_writer import Unfit, Write

ROOT = object()
# Records of a level that resolve a field in one step. More are several steps, so that the event loop runs in between.
A_SLICE = 200


class Incomplete(Exception):
    """A plan ended without a complete answer, for these reasons.

    If it is the plan of a mutation, `data` has the fields that are answered and `rest` those that are not.
    """

    def __init__(
        self,
        reasons: Sequence[Exception],
        data: dict[str, Any] | None = None,
        rest: Sequence["MutationField | TypeName"] = (),
    ) -> None:
        super().__init__(*reasons)
        self.reasons = reasons
        self.data = data or {}
        self.rest = rest


class Run:
    """One run of a plan: the request's context, its variables (as sent, and coerced), and the steps under way."""

    def __init__(
        self,
        context: RequestContext,
        given: Mapping[str, Any],
        variables: VariableValues,
        introspection: Introspection,
    ) -> None:
        self.context = context
        self.given = given
        self.variables = variables
        self.introspection = introspection
        self._consumer = Consumer()
        self.fail = self._consumer.fail

    def start(self, step: Step[Any], then: Then) -> None:
        self.context.load.scheduler.start(step, then, self._consumer)

    def start_all(self, steps: Sequence[tuple[Step[Any], Then]]) -> None:
        self.context.load.scheduler.start_all(steps, self._consumer)

    async def finish(self) -> None:
        """Waits for all steps. Raises Incomplete if anything went wrong."""
        self.context.load.scheduler.read()
        await self._consumer.finish()
        if self._consumer.errors:
            raise Incomplete(self._consumer.errors)


Arguments = Callable[[VariableValues], Mapping[str, Any]]
Complete = Callable[[Sequence[Any], Run], Sequence[Any]]
"""Turns resolved values into those of the answer, in order. Objects are filled in as their steps finish."""


def leaf(complete: Callable[[Sequence[Any]], Sequence[Any]]) -> Complete:
    return lambda values, _: complete(values)


def required(complete: Complete) -> Complete:
    def complete_all(values: Sequence[Any], run: Run) -> Sequence[Any]:
        completed = complete(values, run)
        for value in completed:
            if value is None:
                raise Unfit("null")
        return completed

    return complete_all


def list_of(complete: Complete) -> Complete:
    """Completes the elements of all lists together."""

    def complete_all(values: Sequence[Any], run: Run) -> Sequence[Any]:
        elements: list[Any] = []
        for value in values:
            if value is not None:
                if not isinstance(value, (list, tuple)):
                    raise Unfit(value)
                elements += value
        completed = iter(complete(elements, run))
        return [None if value is None else [*islice(completed, len(value))] for value in values]

    return complete_all


@dataclass(frozen=True)
class Nested:
    """A field that is not a plain leaf: resolved by an edge, or by an attribute if there is no edge."""

    key: str
    attribute: str
    edge: Edge | None
    arguments: Arguments
    complete: Complete

    def start(self, records: Sequence[Any], written: Sequence[dict[str, Any]], run: Run) -> None:
        fill = partial(self._fill, written, run)
        if self.edge is None:
            fill([*map(attrgetter(self.attribute), records)])
        elif isinstance(self.edge, Derived):
            fill([*map(self.edge.function(run.context, self.arguments(run.variables)), records)])
        elif len(records) <= A_SLICE:
            run.start(self.edge.resolve(records, run.context, self.arguments(run.variables)), fill)
        else:
            arguments = self.arguments(run.variables)
            parts = [slice(at, at + A_SLICE) for at in range(0, len(records), A_SLICE)]
            run.start_all(
                [
                    (self.edge.resolve(records[part], run.context, arguments), partial(self._fill, written[part], run))
                    for part in parts
                ]
            )

    def _fill(self, written: Sequence[dict[str, Any]], run: Run, values: Sequence[Any]) -> None:
        key = self.key
        for target, value in zip(written, self.complete(values, run), strict=True):
            target[key] = value


@dataclass(frozen=True)
class Selection:
    """The fields selected on one object type; `left_out` says why some of them are not in the plan."""

    write: Write
    functions: Sequence[tuple[Derived, Arguments]]
    nested: Sequence[Nested]
    is_type_of: Callable[[Any, Any], Any] | None
    left_out: Sequence[Exception] = ()
    _fitting: set[type] = field(default_factory=set)

    def __call__(self, values: Sequence[Any], run: Run) -> Sequence[Any]:
        # A record that occurs several times is written once; its places in the answer share that.
        records = {id(value): value for value in values if value is not None}
        if not records:
            return values
        written = self._written([*records.values()], run)
        if len(records) == len(values):
            return written
        places = dict(zip(records, written, strict=True))
        return [None if value is None else places[id(value)] for value in values]

    def _written(self, records: Sequence[Any], run: Run) -> list[dict[str, Any]]:
        if not self._fitting.issuperset(map(type, records)):
            self._check(records)
        for reason in self.left_out:
            run.fail(reason)
        try:
            functions = [edge.function(run.context, arguments(run.variables)) for edge, arguments in self.functions]
            written = self.write(records, functions)
        except Exception as error:
            # The answer is lost, but the nested fields still read what graphql-core will need.
            run.fail(error)
            written = [{} for _ in records]
        for nested in self.nested:
            try:
                nested.start(records, written, run)
            except Exception as error:
                run.fail(error)
        return written

    def _check(self, records: Sequence[Any]) -> None:
        """Raises Unfit if a record does not belong to the type. That depends on its class, so each is checked once."""
        for record in records:
            if record.__class__ not in self._fitting:
                if self.is_type_of and not self.is_type_of(record, None):
                    raise Unfit(record)
                self._fitting.add(record.__class__)


@dataclass(frozen=True)
class Abstract:
    """The fields selected on an interface or a union: a selection for each type of record."""

    selection_for: Callable[[str], Selection]
    _selections: dict[type, Selection] = field(default_factory=dict)

    def __call__(self, values: Sequence[Any], run: Run) -> Sequence[Any]:
        places: dict[type, list[int]] = {}
        for place, value in enumerate(values):
            if value is not None:
                places.setdefault(value.__class__, []).append(place)
        completed: list[Any] = [None] * len(values)
        for of_class, mine in places.items():
            if of_class not in self._selections:
                self._selections[of_class] = self.selection_for(of_class.__name__)
            written = self._selections[of_class]([values[place] for place in mine], run)
            for place, value in zip(mine, written, strict=True):
                completed[place] = value
        return completed


@dataclass(frozen=True)
class QueryPlan:
    root: Selection
    introspection: list[MetaField]

    async def run(self, run: Run) -> dict[str, Any]:
        data: dict[str, Any]
        (data,) = self.root([ROOT], run)
        await run.finish()
        if self.introspection:
            data.update(await run.introspection.results(self.introspection, run.given))
        return data


@dataclass(frozen=True)
class MutationField:
    key: str
    command: Command
    arguments: Arguments
    complete: Complete
    nodes: Sequence[FieldNode]

    async def run(self, run: Run) -> Any:
        payload = await self.command.carry_out(run.context, self.key, self.arguments(run.variables))
        (completed,) = self.complete([payload], run)
        await run.finish()
        return completed


@dataclass(frozen=True)
class TypeName:
    """`__typename` among the fields of a mutation."""

    key: str
    name: str
    nodes: Sequence[FieldNode]

    async def run(self, _: Run) -> str:
        return self.name


@dataclass(frozen=True)
class MutationPlan:
    """Runs each field, and completes its payload, before the next one begins."""

    fields: Sequence[MutationField | TypeName]

    async def run(self, run: Run) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for place, mutation in enumerate(self.fields):
            try:
                data[mutation.key] = await mutation.run(run)
            except Incomplete as incomplete:
                raise Incomplete(incomplete.reasons, data, self.fields[place:]) from None
            except Exception as error:
                raise Incomplete([error], data, self.fields[place:]) from error
        return data


Plan = QueryPlan | MutationPlan
