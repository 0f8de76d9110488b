"""The order of delivery: which parts a client waits for, what begins next, and the results that tell it so.

A group (a deferred fragment at one place) is complete when all of its tasks are. The groups inside of it are announced
then, and begin. Fields that several groups share are delivered once, with the first of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from schema.execution.field_errors import Reported
from schema.execution.incremental.places import Group, ItemStream, Task, Work
from schema.execution.limits import OverLimit

Result = dict[str, Any]


class Delivery:
    """`to_start` and `streams_to_start` can run now."""

    def __init__(self, most_parts: int) -> None:
        self.to_start: list[Task] = []
        self.streams_to_start: list[ItemStream] = []
        self._most_parts = most_parts
        self._parts = 0
        self._ids = 0
        self._open: dict[Group | ItemStream, None] = {}
        self._pending: list[Result] = []
        self._incremental: list[Result] = []
        self._completed: list[Result] = []

    @property
    def is_finished(self) -> bool:
        return not self._open

    @property
    def has_news(self) -> bool:
        return bool(self._pending or self._incremental or self._completed)

    def taken(self) -> Result:
        """Returns what is new for the client."""
        news = {"pending": self._pending, "incremental": self._incremental, "completed": self._completed}
        self._pending, self._incremental, self._completed = [], [], []
        return {**{name: each for name, each in news.items() if each}, "hasNext": not self.is_finished}

    def add(self, work: Work, owner: Task | None = None) -> None:
        """Adds parts that were found in the first answer, in an element of a stream, or in the data of a task."""
        self._count(len(work.groups) + len(work.streams))
        roots = []
        for group in work.groups:
            if group.parent is None:
                roots.append(group)
            elif group.parent.is_gone:
                group.is_gone = True
            else:
                group.parent.children.append(group)
        for task in work.tasks:
            for group in task.groups:
                if not group.is_gone:
                    group.tasks[task] = None
                    group.unfinished += 1
                    if group.is_open:
                        self._start(task)
        if owner is None:
            self._release(self._not_empty(roots), work.streams)
        else:
            owner.streams += work.streams

    def finish(self, task: Task, data: Any, errors: list[Reported], work: Work) -> None:
        """Takes the data of a task, and the parts that were found in it."""
        task.data, task.errors = data, errors
        self.add(work, task)
        for group in task.groups:
            if not group.is_gone:
                group.unfinished -= 1
                self._finish_if_complete(group)

    def fail(self, task: Task, failure: Reported) -> None:
        """Ends the groups of a task of which nothing is left."""
        task.failure = failure
        for group in task.groups:
            if group.is_open and not group.is_gone:
                self._end(group, failure)

    def take_items(self, stream: ItemStream, items: list[Any], errors: list[Reported]) -> None:
        if items:
            self._incremental.append({"id": stream.id, "items": items, **({"errors": errors} if errors else {})})

    def end_stream(self, stream: ItemStream, failure: Reported | None = None) -> None:
        del self._open[stream]
        self._complete(stream.id, failure)

    def end_all(self, failure: Reported) -> None:
        """Ends everything that is open with the same error."""
        for each in [*self._open]:
            if isinstance(each, ItemStream):
                self.end_stream(each, failure)
            else:
                self._end(each, failure)

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > self._most_parts:
            raise OverLimit(
                f"the answer has over {self._most_parts:,} deferred fragments and streamed lists; "
                "use @defer around a list instead of inside of it, or ask for smaller pages"
            )

    def _not_empty(self, groups: Iterable[Group]) -> Iterator[Group]:
        """Yields groups that have fields of their own, and in the place of others the groups inside of these."""
        for group in groups:
            if group.tasks:
                yield group
            else:
                group.is_gone = True
                yield from self._not_empty(group.children)

    def _release(self, groups: Iterable[Group], streams: Sequence[ItemStream]) -> None:
        released = [*groups]
        every: list[Group | ItemStream] = [*released, *streams]
        for each in every:
            each.id = str(self._ids)
            self._ids += 1
            self._open[each] = None
            label = each.label if isinstance(each, Group) else each.position.label
            self._pending.append({"id": each.id, "path": each.path, **({} if label is None else {"label": label})})
        self.streams_to_start += streams
        for group in released:
            group.is_open = True
            for task in group.tasks:
                self._start(task)
        for group in released:
            failed = next((task.failure for task in group.tasks if task.failure), None)
            if failed and not group.is_gone:
                self._end(group, failed)
            elif not group.is_gone:
                self._finish_if_complete(group)

    def _start(self, task: Task) -> None:
        if not task.is_started:
            task.is_started = True
            self.to_start.append(task)

    def _finish_if_complete(self, group: Group) -> None:
        if not group.is_open or group.unfinished or group not in self._open:
            return
        streams: list[ItemStream] = []
        for task in [*group.tasks]:
            self._deliver(task, group)
            streams += task.streams
        del self._open[group]
        self._complete(group.id)
        group.id = None
        self._release(self._not_empty(group.children), streams)

    def _deliver(self, task: Task, group: Group) -> None:
        known = [each for each in (group, *task.groups) if each.id is not None]
        nearest = max(known, key=lambda each: len(each.path))
        below = task.path[len(nearest.path) :]
        entry: Result = {"id": nearest.id, **({"subPath": below} if below else {}), "data": task.data}
        self._incremental.append({**entry, "errors": task.errors} if task.errors else entry)
        for each in task.groups:
            each.tasks.pop(task, None)

    def _end(self, group: Group, failure: Reported) -> None:
        del self._open[group]
        self._complete(group.id, failure)
        self._remove(group)

    def _remove(self, group: Group) -> None:
        group.is_gone = True
        group.id = None
        for child in group.children:
            self._remove(child)

    def _complete(self, id_: str | None, failure: Reported | None = None) -> None:
        self._completed.append({"id": id_, **({"errors": [failure]} if failure else {})})
