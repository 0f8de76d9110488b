"""Plans: what an operation is compiled to, and how it runs, level by level. docs/execution.md draws it.

A plan mirrors the operation. A `Selection` writes the leaves of all its records at once and then starts its nested
fields. Each of these resolves for all records of the level as one step, and the selection below completes its values.
The steps of all branches run in the request's scheduler, which reads what they need together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphql import FieldNode

from datastore.model.projections import Wanted
from schema.declare.commands import Command
from schema.execution.field_errors import FieldErrors, Reported
from schema.execution.introspection import MetaField
from schema.execution.positions import Position
from schema.execution.run import Incomplete, Run
from schema.execution.selections import Arguments

ROOT = object()

Result = tuple[dict[str, Any] | None, list[Reported]]
"""The data of a response, and its errors."""


@dataclass(frozen=True)
class QueryPlan:
    """Reads of each record only what is wanted."""

    root: Position
    introspection: list[MetaField]
    wanted: Wanted

    async def run(self, run: Run) -> Result:
        (answer,) = self.root.complete([ROOT], run)
        await run.finish()
        data, errors = run.settled(answer, self.root.error_of)
        if self.introspection and data is not None:
            data.update(await run.introspection.results(self.introspection, run.given))
        return data, errors


@dataclass(frozen=True)
class MutationField:
    key: str
    command: Command
    arguments: Arguments
    position: Position
    nodes: Sequence[FieldNode]

    async def run(self, run: Run) -> Result:
        run.begin()
        try:
            payload = await self.command.carry_out(run.context, self.key, self.arguments(run.variables))
        except Exception as error:
            run.note(self.key, error)
            payload = error
        (completed,) = self.position.complete([payload], run)
        await run.finish()
        return run.settled({self.key: completed}, self._error_of)

    def _error_of(self, answer: dict[str, Any], errors: FieldErrors) -> Reported | None:
        return errors.inside(answer, [(self.key, self.position, self.nodes)])


@dataclass(frozen=True)
class TypeName:
    """`__typename` among the fields of a mutation."""

    key: str
    name: str
    nodes: Sequence[FieldNode]

    async def run(self, _: Run) -> Result:
        return {self.key: self.name}, []


@dataclass(frozen=True)
class MutationPlan:
    """Runs each field, and completes its payload, before the next one begins."""

    fields: Sequence[MutationField | TypeName]

    async def run(self, run: Run) -> Result:
        data: dict[str, Any] = {}
        errors: list[Reported] = []
        for place, mutation in enumerate(self.fields):
            try:
                part, more = await mutation.run(run)
            except Exception as error:
                reasons = error.reasons if isinstance(error, Incomplete) else [error]
                rest = [node for each in self.fields[place:] for node in each.nodes]
                raise Incomplete(reasons, data, errors, rest) from error
            errors += more
            if part is None:
                return None, errors
            data |= part
        return data, errors


Plan = QueryPlan | MutationPlan
