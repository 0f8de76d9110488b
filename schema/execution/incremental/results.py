"""Runs the parts of an operation, all that can run at a time together, and yields its results."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError

from datastore.client.turns import Slice
from schema.execution.field_errors import Reported, reported
from schema.execution.incremental.delivery import Delivery, Result
from schema.execution.incremental.places import ItemStream, Places, Task
from schema.execution.incremental.run import IncrementalRun, Settled
from schema.execution.plans import MutationField, Plan, QueryPlan
from schema.execution.positions import Position
from schema.execution.run import Incomplete

# Elements of a list that come together at least.
LEAST_CHUNK = 20

Note = Callable[[Iterable[Exception]], None]
"""Keeps the errors of fields, and the reasons why a run ended without an answer, for the log."""


@dataclass(eq=False)
class _Batch:
    """The same part of many objects, or the next elements of the same list of many objects."""

    run: IncrementalRun
    position: Position
    answers: Sequence[Any]
    tasks: Sequence[Task] = ()
    streams: Sequence[tuple[ItemStream, int]] = ()
    """Streams, each with the number of its elements among the answers."""


class Results:
    """The results of an operation: the first one, and then one whenever parts are complete."""

    def __init__(self, first: Result, delivery: Delivery, new_run: Callable[[], IncrementalRun], note: Note) -> None:
        self._first: Result | None = first
        self._delivery = delivery
        self._new_run = new_run
        self._note = note
        self._running: dict[asyncio.Future[None], _Batch] = {}

    @property
    def only(self) -> Result | None:
        """The first result, if no other follows."""
        return self._first if self._delivery.is_finished else None

    async def next(self) -> Result | None:
        """Runs until parts are complete. Returns None after the last result. Raises OverLimit."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        delivery = self._delivery
        while not delivery.is_finished:
            self._start()
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for each in [each for each in self._running if each in done]:
                await self._take(self._running.pop(each), each.exception())
            if delivery.has_news:
                return delivery.taken()
        self.close()
        return None

    def ended(self, failure: Reported, lost: Result) -> Result:
        """Ends all parts that are left with an error, and returns the last result. `lost` is one that was not sent."""
        self.close()
        self._delivery.end_all(failure)
        unsent = (lost, self._delivery.taken())
        unknown = {part["id"] for each in unsent for part in each.get("pending", ())}
        ids = [part["id"] for each in unsent for part in each.get("completed", ())]
        return {"completed": [{"id": id_, "errors": [failure]} for id_ in ids if id_ not in unknown], "hasNext": False}

    def close(self) -> None:
        for each in self._running:
            each.cancel()
        self._running.clear()

    def _start(self) -> None:
        """Starts all that can run. All steps have begun before anything is read, so that it is read together."""
        tasks, self._delivery.to_start = self._delivery.to_start, []
        streams, self._delivery.streams_to_start = self._delivery.streams_to_start, []
        by_part: dict[Any, list[Task]] = {}
        for task in tasks:
            by_part.setdefault(task.part, []).append(task)
        by_position: dict[Any, list[ItemStream]] = {}
        for stream in streams:
            by_position.setdefault(stream.position, []).append(stream)
        batches = [*map(self._batch_of_tasks, by_part.values()), *map(self._batch_of_streams, by_position.values())]
        for batch in batches:
            self._running[asyncio.ensure_future(batch.run.finish())] = batch

    def _batch_of_tasks(self, tasks: Sequence[Task]) -> _Batch:
        run, position = self._new_run(), tasks[0].part.selection
        return _Batch(run, position, _completed(position, [task.record for task in tasks], run), tasks)

    def _batch_of_streams(self, streams: Sequence[ItemStream]) -> _Batch:
        run, position = self._new_run(), streams[0].position.rest
        elements: list[Any] = []
        counted = []
        for stream in streams:
            chunk = stream.rest[: max(LEAST_CHUNK, -(-len(stream.rest) // stream.chunks_left))]
            stream.rest = stream.rest[len(chunk) :]
            stream.chunks_left -= 1
            elements += chunk
            counted.append((stream, len(chunk)))
        return _Batch(run, position, _completed(position, elements, run), streams=counted)

    async def _take(self, batch: _Batch, error: BaseException | None) -> None:
        self._note(batch.run.noted.values())
        if isinstance(error, Exception):
            self._note(error.reasons if isinstance(error, Incomplete) else [error])
            failure = _failure(batch.run)
            for task in batch.tasks:
                self._delivery.fail(task, {**failure, "path": task.path})
            for stream, _ in batch.streams:
                self._delivery.end_stream(stream, {**failure, "path": stream.path})
        elif batch.tasks:
            await self._take_tasks(batch)
        else:
            await self._take_elements(batch)

    async def _take_tasks(self, batch: _Batch) -> None:
        paths = [task.path for task in batch.tasks]
        settled = batch.run.settled_each([*zip(paths, batch.answers, strict=True)], batch.position)
        places, now = Places(batch.run), Slice()
        for task, (data, errors, failure) in zip(batch.tasks, settled, strict=True):
            if now.is_over:
                await now.next()
            if failure is not None:
                self._delivery.fail(task, failure)
                continue
            await places.find(batch.position, data, task.path, task.around)
            self._delivery.finish(task, data, errors, places.taken())

    async def _take_elements(self, batch: _Batch) -> None:
        places = [[*stream.path, stream.at + number] for stream, count in batch.streams for number in range(count)]
        nodes = batch.streams[0][0].position.nodes
        settled = iter(batch.run.settled_each([*zip(places, batch.answers, strict=True)], batch.position, nodes))
        found, now = Places(batch.run), Slice()
        for stream, count in batch.streams:
            if now.is_over:
                await now.next()
            await self._take_items(found, batch.position, stream, [next(settled) for _ in range(count)])

    async def _take_items(
        self, found: Places, position: Position, stream: ItemStream, settled: Sequence[Settled]
    ) -> None:
        items: list[Any] = []
        errors: list[Reported] = []
        ended: Reported | None = None
        for value, inside, failure in settled:
            if failure is not None and position.required:
                ended = failure
                break
            await found.find(position, None if failure else value, [*stream.path, stream.at], {})
            stream.at += 1
            items.append(None if failure else value)
            errors += [failure] if failure else inside
        self._delivery.take_items(stream, items, errors)
        self._delivery.add(found.taken())
        if ended or not stream.rest:
            self._delivery.end_stream(stream, ended)
        else:
            self._delivery.streams_to_start.append(stream)


def _completed(position: Position, values: Sequence[Any], run: IncrementalRun) -> Sequence[Any]:
    try:
        return position.complete(values, run)
    except Exception as error:
        run.give_up(error)
        return values


def _failure(run: IncrementalRun) -> Reported:
    """Returns the error of a part without an answer, which is a bug."""
    failure = RuntimeError("a deferred part failed")
    return reported(GraphQLError(str(failure), original_error=failure), run.context)


async def begin(
    plan: Plan, new_run: Callable[[], IncrementalRun], most_parts: int, note: Note
) -> tuple[IncrementalRun, Results]:
    """Runs what is not deferred. Raises Incomplete, or OverLimit for too many parts."""
    run = new_run()
    data, errors = await plan.run(run)
    places = Places(run)
    if isinstance(plan, QueryPlan):
        await places.find(plan.root, data, [], {})
    elif data is not None:
        for field in plan.fields:
            if isinstance(field, MutationField):
                await places.find(field.position, data[field.key], [field.key], {})
    delivery = Delivery(most_parts)
    delivery.add(places.taken())
    first: Result = {"errors": errors, "data": data} if errors else {"data": data}
    if not delivery.is_finished:
        first |= delivery.taken()
    return run, Results(first, delivery, new_run, note)
