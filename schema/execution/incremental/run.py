"""A run of a plan that has parts for later: it remembers the records of these parts."""

from collections.abc import Sequence
from typing import Any

from schema.execution.field_errors import FieldErrors, Reported
from schema.execution.positions import Position
from schema.execution.run import Run

Path = list[str | int]
Settled = tuple[Any, list[Reported], Reported | None]
"""A value, the errors inside of it, and the error that leaves nothing of it."""


class IncrementalRun(Run):
    def begin(self) -> None:
        written = getattr(self, "written", [])
        if not written:
            self.records: dict[int, tuple[dict[str, Any], Any]] = {}
            """Objects that have deferred fields, by their ids, with the records they were written from."""
            self.rests: dict[int, tuple[list[Any], Sequence[Any]]] = {}
            """Lists that are streamed, by their ids, with the values of the elements that come later."""
        super().begin()
        # The fields of a mutation begin one after another. Their parts are found when all are finished.
        self.written = written

    def settled_each(self, values: Sequence[tuple[Path, Any]], position: Position, nodes: Any = ()) -> list[Settled]:
        """Settles values of one position, each at its path."""
        if not self.failed:
            return [(value, [], None) for _, value in values]
        return FieldErrors(self.context, self.failed, self.written).settle_each(values, position.error_of, nodes)
