"""Positions with parts that come later: objects with deferred fields, and lists that are streamed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import FieldNode, GraphQLError
from graphql.execution.collect_fields import DeferUsage
from graphql.execution.values import VariableValues

from schema.declare.errors import BadInput
from schema.execution.field_errors import FieldErrors, Reported
from schema.execution.positions import ListOf, Position, listed


@dataclass(frozen=True, eq=False)
class Part:
    """Fields that are deferred together: those that the same fragments select, and no other."""

    selection: Position
    usages: Sequence[DeferUsage]


class Divided(Position):
    """An object of which some fields come later. `usages` are the deferred fragments that begin here."""

    def __init__(self, selection: Position, usages: Sequence[DeferUsage], parts: Sequence[Part]) -> None:
        self.selection = selection
        self.usages = usages
        self.parts = parts

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        completed = self.selection.complete(values, run)
        run.records.update(
            (id(written), (written, record))
            for record, written in zip(values, completed, strict=True)
            if written.__class__ is dict
        )
        return completed

    def inner(self) -> Iterable[Position]:
        return (self.selection,)

    def _error_inside(self, value: Any, errors: FieldErrors) -> Reported | None:
        return self.selection.error_of(value, errors)


class Streamed(ListOf):
    """Lists of which only the first elements are completed at once. `rest` completes the others, in later runs."""

    def __init__(
        self,
        inner: Position,
        rest: Position,
        label: str | None,
        initial_count: Callable[[VariableValues], int],
        nodes: Sequence[FieldNode],
    ) -> None:
        super().__init__(inner)
        self.rest = rest
        self.label = label
        self.nodes = nodes
        self._initial_count = initial_count

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        try:
            count = self._initial_count(run.variables)
            if count < 0:
                raise BadInput(f"`initialCount` is {count}; it must not be negative")
        except GraphQLError as error:
            run.failed.add(self)
            return [value if value is None or isinstance(value, Exception) else error for value in values]
        lists = [*map(listed, values)]
        first = [value[:count] if isinstance(value, list | tuple) else value for value in lists]
        completed = super().complete(first, run)
        for value, written in zip(lists, completed, strict=True):
            if isinstance(value, list | tuple) and len(value) > count:
                run.rests[id(written)] = written, value[count:]
        return completed
