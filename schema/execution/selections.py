"""The selections and fields of a plan: a level is written and resolved for all of its records at once.

If the step of a field fails, the field is resolved again for each record on its own, over what was read: only those
fail whose own field does. Their errors are in the answer until it is finished.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from graphql import FieldNode, GraphQLError
from graphql.execution.values import VariableValues

from loaders.consumer import Fail
from loaders.needs import Step, Then, Together
from schema.declare.edges import Derived, Edge
from schema.execution.field_errors import FieldErrors, Member, Reported
from schema.execution.leaf_writer import Write
from schema.execution.positions import Position
from schema.execution.run import Run

# Records of a level that resolve a field in one step. More are several steps, so that the event loop runs in between.
A_SLICE = 200

Arguments = Callable[[VariableValues], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Field:
    """A field: resolved by an edge, or by an attribute if there is no edge."""

    key: str
    attribute: str
    edge: Edge | None
    arguments: Arguments
    position: Position
    nodes: Sequence[FieldNode]

    def start(self, records: Sequence[Any], written: Sequence[dict[str, Any]], run: Run) -> None:
        try:
            if self.edge is None or isinstance(self.edge, Derived):
                self._compute(records, written, run)
                return
            arguments = self.arguments(run.variables)
        except Exception as error:
            self._fail(written, run, error)
            return
        if len(records) <= A_SLICE:
            run.start(*self._step(records, written, run, arguments))
        else:
            parts = [slice(at, at + A_SLICE) for at in range(0, len(records), A_SLICE)]
            run.start_all([self._step(records[part], written[part], run, arguments) for part in parts])

    def function(self, run: Run) -> Callable[[Any], Any]:
        """Returns the function from a record to the value, of a field that does not read."""
        if isinstance(self.edge, Derived):
            return self.edge.function(run.context, self.arguments(run.variables))
        return attrgetter(self.attribute)

    def _compute(self, records: Sequence[Any], written: Sequence[dict[str, Any]], run: Run) -> None:
        function = self.function(run)
        try:
            values = [*map(function, records)]
        except Exception:
            values = [self._attempt(function, record, run) for record in records]
        self._fill(written, run, values)

    def _attempt(self, function: Callable[[Any], Any], record: Any, run: Run) -> Any:
        try:
            return function(record)
        except Exception as error:
            run.note(self, error)
            return error

    def _step(
        self, records: Sequence[Any], written: Sequence[dict[str, Any]], run: Run, arguments: Mapping[str, Any]
    ) -> tuple[Step[Any], Then, Fail]:
        assert self.edge is not None
        fill = partial(self._fill, written, run)

        def retry(error: Exception) -> None:
            if len(records) == 1:
                self._fail(written, run, error)
            else:
                run.note(self, error)
                run.start(self._each(records, run, arguments), fill, run.give_up)

        return self.edge.resolve(records, run.context, arguments), fill, retry

    def _each(self, records: Sequence[Any], run: Run, arguments: Mapping[str, Any]) -> Step[Sequence[Any]]:
        """Resolves the field for each record on its own, with errors in their places."""
        assert self.edge is not None
        resolved = yield Together(
            [self.edge.resolve([each], run.context, arguments) for each in records], or_error=True
        )
        for value in resolved:
            if isinstance(value, Exception):
                run.note(self, value)
        return [value if isinstance(value, Exception) else value[0] for value in resolved]

    def _fail(self, written: Sequence[dict[str, Any]], run: Run, error: Exception) -> None:
        run.note(self, error)
        self._fill(written, run, [error] * len(written))

    def _fill(self, written: Sequence[dict[str, Any]], run: Run, values: Sequence[Any]) -> None:
        key = self.key
        try:
            for target, value in zip(written, self.position.complete(values, run), strict=True):
                target[key] = value
        except Exception as error:
            run.give_up(error)


@dataclass(frozen=True, eq=False)
class Selection(Position):
    """The fields selected on one object type; `left_out` says why some of them are not in the plan."""

    type_name: str
    blank: Mapping[str, Any]
    """An object before its fields are filled in, with keys in the order of the query."""
    write: Write
    leaves: Sequence[Field]
    functions: Sequence[Field]
    """Leaves that `write` computes with their functions."""
    nested: Sequence[Field]
    is_type_of: Callable[[Any, Any], Any] | None
    left_out: Sequence[Exception] = ()
    _fitting: set[type] = field(default_factory=set)

    def complete(self, values: Sequence[Any], run: Run) -> Sequence[Any]:
        if self._fitting.issuperset(map(type, values)):
            return self._complete(values, run)
        # There are None, errors or classes that were not seen before.
        unfit = self._unfit(values)
        if unfit:
            run.failed.add(self)
        fitting = [value for value in values if value is not None and id(value) not in unfit]
        completed = iter(self._complete(fitting, run))
        return [None if value is None else unfit.get(id(value)) or next(completed) for value in values]

    def _complete(self, records: Sequence[Any], run: Run) -> Sequence[Any]:
        # A record that occurs several times is written once; its places in the answer share that.
        distinct = {id(record): record for record in records}
        if len(distinct) == len(records):
            return self._written(records, run) if records else records
        written = self._written([*distinct.values()], run)
        places = dict(zip(distinct, written, strict=True))
        return [places[id(record)] for record in records]

    def _written(self, records: Sequence[Any], run: Run) -> list[dict[str, Any]]:
        for reason in self.left_out:
            run.give_up(reason)
        try:
            written = self.write(records, [leaf.function(run) for leaf in self.functions])
        except Exception:
            # One leaf of one record is enough. It is found by writing them one by one.
            written = [{**self.blank} for _ in records]
            for leaf in self.leaves:
                leaf.start(records, written, run)
        for nested in self.nested:
            nested.start(records, written, run)
        return written

    def _unfit(self, records: Iterable[Any]) -> dict[int, Exception]:
        """Returns the errors among the values, and errors for those that do not belong to the type.

        That depends on the class of a record, so each class is checked once.
        """
        unfit: dict[int, Exception] = {}
        for record in records:
            if record is None or record.__class__ in self._fitting:
                continue
            if isinstance(record, Exception):
                unfit[id(record)] = record
            elif self.is_type_of and not self.is_type_of(record, None):
                unfit[id(record)] = GraphQLError(f"expected a {self.type_name}, not a {record.__class__.__name__}")
            else:
                self._fitting.add(record.__class__)
        return unfit

    def inner(self) -> Iterable[Position]:
        return [each.position for each in (*self.leaves, *self.nested)]

    def _error_inside(self, value: dict[str, Any], errors: FieldErrors) -> Reported | None:
        return errors.inside(value, errors.among(self, self._members))

    @cached_property
    def _members(self) -> Sequence[Member]:
        """The fields in the order of the query."""
        fields = {each.key: each for each in (*self.leaves, *self.nested)}
        return [(key, fields[key].position, fields[key].nodes) for key in self.blank if key in fields]


@dataclass(frozen=True, eq=False)
class Abstract(Position):
    """The fields selected on an interface or a union: a selection for each type of record."""

    selection_for: Callable[[str], Position]
    _selections: dict[type, Position] = field(default_factory=dict)

    def complete(self, values: Sequence[Any], run: Run) -> Sequence[Any]:
        places: dict[type, list[int]] = {}
        for place, value in enumerate(values):
            if value is not None:
                places.setdefault(value.__class__, []).append(place)
        completed: list[Any] = [None] * len(values)
        for of_class, mine in places.items():
            written = self._complete([values[place] for place in mine], of_class, run)
            for place, value in zip(mine, written, strict=True):
                completed[place] = value
        return completed

    def _complete(self, values: Sequence[Any], of_class: type, run: Run) -> Sequence[Any]:
        if issubclass(of_class, Exception):
            run.failed.add(self)
            return values
        if of_class not in self._selections:
            try:
                self._selections[of_class] = self.selection_for(of_class.__name__)
            except GraphQLError as error:
                run.failed.add(self)
                return [error] * len(values)
        selection = self._selections[of_class]
        written = selection.complete(values, run)
        run.written.append((selection, written))
        return written

    def inner(self) -> Iterable[Position]:
        return self._selections.values()

    def _error_inside(self, value: dict[str, Any], errors: FieldErrors) -> Reported | None:
        return errors.selection_of(value).error_of(value, errors)
