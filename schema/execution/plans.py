"""Plans: what an operation is compiled to, and how it runs, level by level. docs/execution.md draws it.

A plan mirrors the operation. A `Selection` writes the leaves of all its records at once and then starts its nested
fields; each of these resolves for all records of the level as one step, and what comes of it is completed by the
selection below. Steps of all branches run side by side in a `Walk`, which reads what they need together.

A plan makes whole answers only. Whatever goes wrong ends it with an exception, and graphql-core runs the operation
over the same loaders, so that errors, their paths and the nulls they leave are the reference's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any

from graphql import FieldNode
from graphql.execution.values import VariableValues

from loaders.scheduler import Walk
from schema.declare.commands import Command
from schema.declare.context import RequestContext
from schema.declare.edges import Derived, Edge
from schema.execution.leaf_writer import Unfit, Write

ROOT = object()


class Run:
    """One run of a plan: who asks, with which variables (as they came, and coerced), and the steps under way."""

    def __init__(self, context: RequestContext, given: Mapping[str, Any], variables: VariableValues) -> None:
        self.context = context
        self.given = given
        self.variables = variables
        self.walk = Walk(context.load)


Arguments = Callable[[VariableValues], Mapping[str, Any]]
Complete = Callable[[Sequence[Any], Run], Sequence[Any]]
"""From resolved values to what goes into the answer: one for each, in order. Objects fill up as the walk goes on."""


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
    """The elements of all lists are completed together."""

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
    """A field whose value is not simply a leaf: by an edge, or by an attribute where there is none."""

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
        else:
            run.walk.start(self.edge.resolve(records, run.context, self.arguments(run.variables)), fill)

    def _fill(self, written: Sequence[dict[str, Any]], run: Run, values: Sequence[Any]) -> None:
        key = self.key
        for target, value in zip(written, self.complete(values, run), strict=True):
            target[key] = value


@dataclass(frozen=True)
class Selection:
    """What is asked of the records of one object type."""

    write: Write
    functions: Sequence[tuple[Derived, Arguments]]
    nested: Sequence[Nested]
    is_type_of: Callable[[Any, Any], Any] | None
    _fitting: set[type] = field(default_factory=set)

    def __call__(self, values: Sequence[Any], run: Run) -> Sequence[Any]:
        # A record that is there several times is written once, and its places in the answer share what was written.
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
        functions = [edge.function(run.context, arguments(run.variables)) for edge, arguments in self.functions]
        written = self.write(records, functions)
        for nested in self.nested:
            nested.start(records, written, run)
        return written

    def _check(self, records: Sequence[Any]) -> None:
        """Whether a record fits its type is a question of its class, so it is asked once for each class."""
        for record in records:
            if record.__class__ not in self._fitting:
                if self.is_type_of and not self.is_type_of(record, None):
                    raise Unfit(record)
                self._fitting.add(record.__class__)


@dataclass(frozen=True)
class Abstract:
    """What is asked of an interface or a union: grouped by what the records are."""

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
    introspect: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None

    async def run(self, run: Run) -> dict[str, Any]:
        data: dict[str, Any]
        (data,) = self.root([ROOT], run)
        if self.introspect:
            data.update(self.introspect(run.given))
        await run.walk.finish()
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
        await run.walk.finish()
        return completed


@dataclass(frozen=True)
class TypeName:
    """`__typename` among the fields of a mutation."""

    key: str
    name: str
    nodes: Sequence[FieldNode]

    async def run(self, _: Run) -> str:
        return self.name


class Interrupted(Exception):
    """The plan of a mutation ended early: its answers so far, the fields without an answer, and the reason."""

    def __init__(self, data: dict[str, Any], rest: Sequence[MutationField | TypeName], reason: Exception) -> None:
        super().__init__(reason)
        self.data = data
        self.rest = rest
        self.reason = reason


@dataclass(frozen=True)
class MutationPlan:
    """Each field is carried out, and its payload completed, before the next one begins."""

    fields: Sequence[MutationField | TypeName]

    async def run(self, run: Run) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for place, mutation in enumerate(self.fields):
            try:
                data[mutation.key] = await mutation.run(run)
            except Exception as error:
                raise Interrupted(data, self.fields[place:], error) from error
        return data


Plan = QueryPlan | MutationPlan
