"""One run of a plan: its steps under way, and what it notes about errors."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from graphql import FieldNode
from graphql.execution.values import VariableValues

from loaders.consumer import Consumer, Fail
from loaders.needs import Step, Then
from loaders.scheduler import Start
from schema.declare.context import RequestContext
from schema.execution.field_errors import FieldErrors, Reported
from schema.execution.introspection import Introspection
from schema.execution.positions import Position


class Incomplete(Exception):
    """A plan ended without an answer, for these reasons: it does not cover a field, or it has a bug.

    If it is the plan of a mutation, `data` and `errors` are those of the fields that are answered, and `rest` selects
    the others.
    """

    def __init__(
        self,
        reasons: Sequence[Exception],
        data: dict[str, Any] | None = None,
        errors: Sequence[Reported] = (),
        rest: Sequence[FieldNode] = (),
    ) -> None:
        super().__init__(*reasons)
        self.reasons = reasons
        self.data = data or {}
        self.errors = errors
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
        self.noted: dict[tuple[Hashable, type[Exception]], Exception] = {}
        """An error of each class, for each field that failed."""
        self.begin()

    def begin(self) -> None:
        """Begins a query, or a field of a mutation."""
        self.failed: set[Position] = set()
        """Positions that have an error in place of at least one value."""
        self.written: list[tuple[Position, Sequence[Any]]] = []
        """The objects of abstract types, with their selections."""
        self._reasons: list[Exception] = []
        self._consumer = Consumer(self.give_up, failed_reads={})

    def start(self, step: Step[Any], then: Then, fail: Fail) -> None:
        self.context.load.scheduler.start(step, then, self._consumer, fail)

    def start_all(self, steps: Sequence[Start]) -> None:
        self.context.load.scheduler.start_all(steps, self._consumer)

    def note(self, place: Hashable, error: Exception) -> None:
        """Keeps the error of a field for the log."""
        self.noted.setdefault((place, error.__class__), error)

    def give_up(self, reason: Exception) -> None:
        """Leaves the answer to graphql-core. The plan still reads what that will need."""
        self._reasons.append(reason)

    async def finish(self) -> None:
        """Waits for all steps. Raises Incomplete if there is no answer."""
        self.context.load.scheduler.read()
        await self._consumer.finish()
        if self._reasons:
            raise Incomplete(self._reasons)

    def settled(self, answer: Any, error_of: Callable[..., Reported | None]) -> tuple[Any, list[Reported]]:
        """Returns a finished answer, with null in the place of errors, and the errors."""
        if not self.failed:
            return answer, []
        errors = FieldErrors(self.context, self.failed, self.written)
        return errors.settle(answer, error_of), errors.collected
