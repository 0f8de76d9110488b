"""Finds the places of a finished answer that have parts for later. It goes only where such parts are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from datastore.client.turns import Slice
from schema.execution.field_errors import Reported
from schema.execution.incremental.positions import Divided, Part, Streamed
from schema.execution.incremental.run import IncrementalRun, Path
from schema.execution.positions import ListOf, Position
from schema.execution.selections import Abstract, Field, Selection

# A list is streamed in so many results, or fewer if it is short.
MOST_CHUNKS = 4

Groups = Mapping[int, "Group"]
"""The deferred fragments around a place, by the ids of their usages in the plan."""


@dataclass(eq=False)
class Group:
    """A deferred fragment at one place: what a client knows by an id."""

    path: Path
    label: str | None
    parent: "Group | None"
    tasks: "dict[Task, None]" = field(default_factory=dict)
    children: "list[Group]" = field(default_factory=list)
    unfinished: int = 0
    id: str | None = None
    is_open: bool = False
    is_gone: bool = False


@dataclass(eq=False)
class Task:
    """The deferred fields of one object. They belong to all fragments that select them."""

    part: Part
    record: Any
    path: Path
    around: Groups
    groups: Sequence[Group]
    streams: "list[ItemStream]" = field(default_factory=list)
    is_started: bool = False
    data: dict[str, Any] | None = None
    errors: list[Reported] = field(default_factory=list)
    failure: Reported | None = None


@dataclass(eq=False)
class ItemStream:
    """The elements of a list that come later; `at` is the index of the next one."""

    position: Streamed
    path: Path
    rest: Sequence[Any]
    at: int
    chunks_left: int = MOST_CHUNKS
    id: str = ""


class Work(NamedTuple):
    """Parts for later, each after the part it is in."""

    groups: list[Group]
    tasks: list[Task]
    streams: list[ItemStream]


class Places:
    """A walk over an answer, or a part of it, that a run has completed."""

    def __init__(self, run: IncrementalRun) -> None:
        self.work = Work([], [], [])
        self._run = run
        self._slice = Slice()
        self._leads: dict[Position, bool] = {}
        self._fields: dict[Position, Sequence[Field]] = {}

    def taken(self) -> Work:
        """Returns the parts that were found since the last time."""
        work, self.work = self.work, Work([], [], [])
        return work

    async def find(self, position: Position, value: Any, path: Path, around: Groups) -> None:
        if value is None or not self._leads_to_parts(position):
            return
        if isinstance(position, Divided):
            await self.find(position.selection, value, path, self._divided(position, value, path, around))
        elif isinstance(position, Selection):
            for nested in self._fields_with_parts(position):
                await self.find(nested.position, value[nested.key], [*path, nested.key], around)
        elif isinstance(position, Abstract):
            await self.find(self._selections[id(value)], value, path, around)
        elif isinstance(position, ListOf):
            (inner,) = position.inner()
            for place, element in enumerate(value):
                if self._slice.is_over:
                    await self._slice.next()
                await self.find(inner, element, [*path, place], around)
            if isinstance(position, Streamed) and id(value) in self._run.rests:
                _, rest = self._run.rests[id(value)]
                self.work.streams.append(ItemStream(position, path, rest, len(value)))
        else:
            for inner in position.inner():
                await self.find(inner, value, path, around)

    def _divided(self, position: Divided, value: Any, path: Path, around: Groups) -> Groups:
        for usage in position.usages:
            parent = usage.parent_defer_usage
            group = Group(path, usage.label, None if parent is None else around[id(parent)])
            around = {**around, id(usage): group}
            self.work.groups.append(group)
        _, record = self._run.records[id(value)]
        for part in position.parts:
            groups = [around[id(usage)] for usage in part.usages]
            self.work.tasks.append(Task(part, record, path, around, groups))
        return around

    def _leads_to_parts(self, position: Position) -> bool:
        known = self._leads.get(position)
        if known is None:
            known = isinstance(position, Divided | Streamed) or any(map(self._leads_to_parts, position.inner()))
            self._leads[position] = known
        return known

    def _fields_with_parts(self, selection: Selection) -> Sequence[Field]:
        known = self._fields.get(selection)
        if known is None:
            known = [each for each in selection.nested if self._leads_to_parts(each.position)]
            self._fields[selection] = known
        return known

    @cached_property
    def _selections(self) -> Mapping[int, Position]:
        return {id(each): selection for selection, written in self._run.written for each in written}
