"""Positions of an answer: how the values there are completed.

Values are completed for all records of a level at once. One that cannot be completed is replaced with its error, in the
answer itself: `{"author": CorruptItem(…)}`. The position is marked, and when the answer is finished,
`schema.execution.field_errors` puts null in the place of the errors and reports them.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from graphql import GraphQLError, GraphQLOutputType, is_non_null_type
from graphql.pyutils import is_iterable

from schema.execution.field_errors import FieldErrors, Reported
from schema.execution.leaf_writer import Complete, Serialize, Unfit, completer, serializer


class Position:
    required = False
    """True if null is not allowed here."""

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        """Turns resolved values into those of the answer, in order. Objects are filled in as their steps finish."""
        raise NotImplementedError

    def inner(self) -> Iterable["Position"]:
        return ()

    def error_of(self, value: Any, errors: FieldErrors) -> Reported | None:
        """Returns the error that leaves only null of a completed value, or None. Collects all others inside of it."""
        if isinstance(value, Exception):
            return errors.report(value)
        return None if value is None else self._error_inside(value, errors)

    def _error_inside(self, value: Any, errors: FieldErrors) -> Reported | None:  # noqa: ARG002
        return None


class Leaf(Position):
    def __init__(self, of_type: GraphQLOutputType) -> None:
        self.required = is_non_null_type(of_type)
        self._type = of_type

    # Most leaves are written by the loop of their selection, and need neither.
    @cached_property
    def _complete(self) -> Complete:
        return completer(self._type)

    @cached_property
    def _serialize(self) -> Serialize:
        return serializer(self._type)

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        try:
            return self._complete(values)
        except Unfit:
            run.failed.add(self)
            return [*map(self._completed, values)]

    def _completed(self, value: Any) -> Any:
        try:
            return value if isinstance(value, Exception) else self._serialize(value)
        except Unfit as error:
            return error


class Required(Position):
    required = True

    def __init__(self, inner: Position) -> None:
        self._inner = inner

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        completed = self._inner.complete(values, run)
        for value in completed:
            if value is None:
                run.failed.add(self)
                return [Unfit("null") if value is None else value for value in completed]
        return completed

    def inner(self) -> Iterable[Position]:
        return (self._inner,)

    def _error_inside(self, value: Any, errors: FieldErrors) -> Reported | None:
        return self._inner.error_of(value, errors)


class ListOf(Position):
    """Completes the elements of all lists together."""

    def __init__(self, inner: Position) -> None:
        self._inner = inner

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        elements: list[Any] = []
        for value in values:
            if value is not None:
                if not isinstance(value, list | tuple):
                    run.failed.add(self)
                    return self._complete_lists([*map(listed, values)], run)
                elements += value
        completed = iter(self._inner.complete(elements, run))
        return [None if value is None else [*islice(completed, len(value))] for value in values]

    def _complete_lists(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        """Completes those that are lists; all others are None or errors."""
        completed = iter(self.complete([value if isinstance(value, list) else None for value in values], run))
        return [value if isinstance(value, Exception) else each for value, each in zip(values, completed, strict=True)]

    def inner(self) -> Iterable[Position]:
        return (self._inner,)

    def _error_inside(self, value: list[Any], errors: FieldErrors) -> Reported | None:
        if not errors.are_at(self._inner):
            return None
        return errors.inside(value, ((place, self._inner, None) for place in range(len(value))))


class Broken(Position):
    """An object whose selection cannot be collected: the condition of a directive is null."""

    def __init__(self, error: GraphQLError) -> None:
        self._error = error

    def complete(self, values: Sequence[Any], run: Any) -> Sequence[Any]:
        run.failed.add(self)
        return [value if value is None or isinstance(value, Exception) else self._error for value in values]


def listed(value: Any) -> Any:
    """Returns the value as a list, or None or the error that it is."""
    if value is None or isinstance(value, Exception):
        return value
    return [*value] if is_iterable(value) else GraphQLError("expected a list")
