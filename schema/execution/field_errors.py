"""Puts null in the place of errors in a finished answer, and reports each at its path, as the specification says.

If null is not allowed there, the object or list around it becomes null, and so on up to `data`. Of the errors inside of
what becomes null, only the one that caused it is reported.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLError, located_error

from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.execution.leaf_writer import Unfit

if TYPE_CHECKING:
    from schema.execution.positions import Position

Reported = dict[str, Any]
"""An error as the response has it."""
Member = tuple[Any, "Position", Sequence[FieldNode] | None]
"""A key or an index of a value, its position, and, if it is a field, where the document selects it."""


def reported(error: GraphQLError, context: RequestContext) -> Reported:
    outcome = context.outcomes.get(str(error.path[0])) if error.path else None
    return masked(error, outcome, keyed=context.idempotency_key is not None)


class FieldErrors:
    """A walk over an answer. It goes only where errors are, and visits an object once for each of its places."""

    def __init__(
        self,
        context: RequestContext,
        failed: set["Position"],
        written: Iterable[tuple["Position", Sequence[Any]]],
    ) -> None:
        """`failed` are the positions with errors, `written` the objects of abstract types with their selections."""
        self.collected: list[Reported] = []
        self._context = context
        self._written = written
        self._known: dict[tuple[Any, ...], Reported] = {}
        self._are_at: dict[Position, bool] = dict.fromkeys(failed, True)
        self._among: dict[Position, Sequence[Member]] = {}
        self._nulls: list[tuple[Any, Any]] = []
        self._path: list[str | int] = []
        self._nodes: Sequence[FieldNode] = ()

    def settle(self, answer: Any, error_of: Callable[..., Reported | None]) -> Any:
        """Returns the answer without errors, None if nothing is left of it."""
        ((answer, self.collected, error),) = self.settle_each([([], answer)], error_of)
        if error is not None:
            self.collected = [error]
            return None
        return answer

    def settle_each(
        self,
        answers: Iterable[tuple[list[str | int], Any]],
        error_of: Callable[..., Reported | None],
        nodes: Sequence[FieldNode] = (),
    ) -> list[tuple[Any, list[Reported], Reported | None]]:
        """Returns each answer, which has a path, with the errors inside of it and the one that leaves nothing of it."""
        settled = []
        for path, answer in answers:
            self._path, self._nodes, self.collected = [*path], nodes, []
            error = error_of(answer, self)
            settled.append((answer, self.collected, error))
        # An object may have several places, so it stays as it is until all of them have been visited.
        for container, key in self._nulls:
            container[key] = None
        return settled

    def inside(self, container: Any, members: Iterable[Member]) -> Reported | None:
        """Returns the first error of a member that may not be null. Those that may get null, and are collected."""
        before, nodes = len(self.collected), self._nodes
        for key, position, selected_at in members:
            self._path.append(key)
            self._nodes = selected_at or nodes
            error = position.error_of(container[key], self)
            self._path.pop()
            if error is not None:
                if position.required:
                    self._nodes = nodes
                    del self.collected[before:]
                    return error
                self.collected.append(error)
                self._nulls.append((container, key))
        self._nodes = nodes
        return None

    def are_at(self, position: "Position") -> bool:
        """True if there are errors at a position, or inside of it."""
        known = self._are_at.get(position)
        if known is None:
            known = self._are_at[position] = any(map(self.are_at, position.inner()))
        return known

    def among(self, position: "Position", members: Sequence[Member]) -> Sequence[Member]:
        """Returns those members of the objects at a position that have errors in one of the objects."""
        known = self._among.get(position)
        if known is None:
            known = self._among[position] = [member for member in members if self.are_at(member[1])]
        return known

    def selection_of(self, written: dict[str, Any]) -> "Position":
        """Returns the selection that wrote an object of an abstract type."""
        return self._selections[id(written)]

    def report(self, error: Exception) -> Reported:
        """Returns the error with the path of the current position.

        The same error of a field at many paths is masked, and logged, once.
        """
        cause = error.__cause__ if isinstance(error, Unfit) and isinstance(error.__cause__, Exception) else error
        path = [*self._path]
        same = (id(self._nodes), cause.__class__, cause.message if isinstance(cause, GraphQLError) else str(cause))
        if same not in self._known:
            self._known[same] = reported(located_error(cause, self._nodes, path), self._context)
        return {**self._known[same], "path": path}

    @cached_property
    def _selections(self) -> Mapping[int, "Position"]:
        return {id(each): selection for selection, written in self._written for each in written}
