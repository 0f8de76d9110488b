"""Runs the steps of one request: those of queries, commands, jobs and graphql-core's resolvers.

Each step that waits has said for what, so the scheduler reads everything that is needed at a time:

- Pages come before items. The records of pages lead to items, and these join the items that wait already: one
  BatchGetItem instead of two, and no more round trips in sequence. A level is complete when no page is outstanding.
- Steps that start in the same turn of the event loop are served together.
- A read under way is joined by every step that needs the same.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.turns import Slice, later
from datastore.client.writes import Check, Write
from datastore.model.projections import WHOLE, Wanted
from loaders.cache import Cache
from loaders.calls import Arrived, Found
from loaders.consumer import AnyConsumer, Consumer, Fail, Part
from loaders.needs import Awaited, Computed, Items, Latest, Once, Pages, Step, Then, Together
from loaders.shared_reads import SharedReads
from loaders.under_way import Reading, Reads, Waiting

N = TypeVar("N")
T = TypeVar("T")

Start = tuple[Step[Any], Then] | tuple[Step[Any], Then, Fail]

# So few steps take less than a millisecond, unless each of them is large.
FEW_AT_ONCE = 4


class Scheduler:
    """`shared` reads for all requests of the process. Without it, all reads are strongly consistent.

    `cache` has what earlier runs of a live query have read.
    """

    def __init__(self, table: Table, shared: SharedReads | None, cache: Cache | None = None) -> None:
        self._cache = Cache() if cache is None else cache
        self._table = table
        # What is read of each record. Set it before anything is read: what is kept has only these fields.
        self.wanted = WHOLE
        self._consistent = SharedReads(table, consistent=True)
        self._reading = shared or self._consistent
        self._items: Reads[Items] = Reads(self._cache.items, self._cache.unknown_keys)
        self._pages: Reads[Pages] = Reads(self._cache.pages, self._cache.unknown_pages)
        self._latest: list[Waiting[Latest]] = []
        self._once: dict[Hashable, list[Waiting[Once]]] = {}
        # The event loop keeps only weak references to tasks.
        self._computing: set[asyncio.Future[Any]] = set()
        # Levels that are in the middle of their slices, and the slice that runs now.
        self._slices = 0
        self._slice: Slice | None = None
        self._is_awake = False
        self._patience: asyncio.TimerHandle | None = None

    async def run(self, step: Step[T]) -> T:
        """Runs one step beside all others of the request."""
        results: list[T] = []
        consumer = Consumer()
        self.start(step, results.append, consumer)
        await consumer.finish()
        if consumer.errors:
            raise consumer.errors[0]
        return results[0]

    def start(self, step: Step[Any], then: Then, consumer: AnyConsumer, fail: Fail | None = None) -> None:
        """Runs a step until it waits for a read. `then` takes its result, and may start further steps.

        `fail` takes its error, instead of the consumer, and may start further steps too.
        """
        self._advance(Part(consumer, fail) if fail else consumer, step, then, None)

    def start_all(self, steps: Sequence[Start], consumer: AnyConsumer) -> None:
        """Runs many steps like `start`, in slices. They are read for together all the same."""

        def start(each: Start) -> None:
            if not consumer.is_gone:
                step, then, *fail = each
                self.start(step, then, consumer, *fail)

        consumer.waits()
        self._in_slices(steps, start, consumer.resumed)

    def wrote(self, writes: Sequence[Write], *, applied: bool) -> None:
        """Forgets what writes may have changed. From here on, only strongly consistent reads show them for sure."""
        # A record that was only checked is as it was read.
        touched = [write.key for write in writes if not (applied and isinstance(write, Check))]
        self._reading = self._consistent
        self._cache.forget(touched)
        if applied:
            self._cache.apply(writes)
        # Reads under way may be older than the writes: they answer the steps that wait for them, and no others.
        self._pages.overtake()
        self._items.overtake(touched)
        self._once.clear()

    def _advance(self, consumer: AnyConsumer, step: Step[Any], then: Then, answer: Any) -> None:
        """Sends a step its answer, and further ones as long as they are known."""
        while True:
            try:
                need = step.send(answer)
            except StopIteration as stop:
                result = stop.value
                break
            except Exception as error:
                consumer.fail(error)
                return
            if isinstance(need, Items):
                answer = self._cache.items(need)
                if answer is None:
                    self._wait_for(self._items, Waiting(need, consumer, step, then))
                    return
            elif isinstance(need, Pages):
                answer = self._cache.pages(need)
                if answer is None:
                    self._wait_for(self._pages, Waiting(need, consumer, step, then))
                    return
            elif isinstance(need, Latest):
                self._wait(self._latest, Waiting(need, consumer, step, then))
                return
            elif isinstance(need, Once):
                if need.name not in self._cache.once:
                    self._run_once(Waiting(need, consumer, step, then))
                    return
                answer = self._cache.once[need.name]
            else:
                self._begin(Waiting(need, consumer, step, then))
                return
        try:
            then(result)
        except Exception as error:
            consumer.fail(error)

    def _begin(self, waiting: Waiting[Together | Computed | Awaited]) -> None:
        """Starts what a step waits for besides reads: other steps, a computation, or another service."""
        need, consumer, step, then = waiting
        if isinstance(need, Together):
            self._fan_out(need, consumer, partial(self._advance, consumer, step, then))
        else:
            consumer.waits()
            left = self._table.usage.seconds_left
            answer = need.lane.run(need.function, seconds=left) if isinstance(need, Computed) else need.function(left)
            computing = asyncio.ensure_future(answer)
            self._computing.add(computing)
            computing.add_done_callback(partial(self._computed, waiting))

    def _fan_out(self, need: Together, consumer: AnyConsumer, then: Then) -> None:
        steps, or_error = need
        results: list[Any] = [None] * len(steps)
        left = len(steps)
        if not left:
            then(results)

        def take(place: int, result: Any) -> None:
            nonlocal left
            results[place] = result
            left -= 1
            if not left:
                then(results)

        takes = [partial(take, place) for place in range(left)]
        self.start_all(
            [(step, take, take) if or_error else (step, take) for step, take in zip(steps, takes, strict=True)],
            consumer,
        )

    def _run_once(self, asking: Waiting[Once]) -> None:
        asking.consumer.waits()
        name, step = asking.need
        if name in self._once:
            self._once[name].append(asking)
            return
        waiting = self._once[name] = [asking]

        def take(result: Any) -> None:
            if self._once.get(name) is waiting:
                del self._once[name]
                self._cache.once[name] = result
            self._in_slices(waiting, lambda each: self._resume(each, result))

        def fail(error: Exception) -> None:
            if self._once.get(name) is waiting:
                del self._once[name]
            while waiting:
                self._fail(waiting.pop(), error)

        # It runs for everyone who waits, so it does not end with the consumer that asked first.
        self.start(step(), take, Consumer(fail, asking.consumer.failed_reads))

    def _computed(self, waiting: Waiting[Any], computing: asyncio.Future[Any]) -> None:
        self._computing.discard(computing)
        if computing.cancelled():  # the server stops
            return
        error = computing.exception()
        if isinstance(error, Exception):
            self._fail(waiting, error)
        else:
            self._resume(waiting, computing.result())

    def _wait_for(self, reads: Reads[N], step: Waiting[N]) -> None:
        failed = step.consumer.failed_reads
        if failed and (error := _first_error(map(failed.get, reads.unknown(step.need)))):
            step.consumer.fail(error)
        else:
            self._wait(reads.waiting, step)

    def _wait(self, waiting: list[Waiting[N]], step: Waiting[N]) -> None:
        step.consumer.waits()
        waiting.append(step)
        self._wake()

    def _wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            # Runs after everything that is ready to run, so that its needs are read at the same time.
            asyncio.get_running_loop().call_soon(self._awoken)

    def _awoken(self) -> None:
        self._is_awake = False
        self.read()

    def read(self) -> None:
        """Reads what is needed now. A plan calls it when all of its steps have started, to save a turn of the loop."""
        if self._slices:
            return
        if self._latest:
            self._send_latest()
        if self._pages.waiting:
            self._send(self._pages, self._reading.pages, self._pages_arrived)
        if self._items.waiting:
            if not self._pages.under_way:
                self._send_items()
            elif self._patience is None:
                # If a page cannot be read, the items still can: they wait for half of the time that is left.
                half = max(0.0, self._table.usage.seconds_left / 2)
                self._patience = asyncio.get_running_loop().call_later(half, self._send_items)

    def _send_latest(self) -> None:
        waiting, self._latest = self._latest, []
        reading: Reading[Items] = Reading()
        reading.keys = [key for each in waiting for key in each.need.keys]
        self._items.overtake(reading.keys)
        self._items.under_way.append(reading)
        arrived = self._traced("latest items", reading, partial(self._latest_arrived, waiting, reading))
        self._consistent.items(reading.keys, self.wanted, self._table.usage, arrived)

    def _send_items(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._send(self._items, self._reading.items, self._items_arrived)

    def _send(
        self,
        reads: Reads[N],
        ask: Callable[[Sequence[Any], Wanted, Usage, Arrived], None],
        arrived: Callable[..., None],
    ) -> None:
        reading, ready = reads.send()
        if reading.keys:
            kind = "items" if reads is self._items else "pages"
            ask(reading.keys, self.wanted, self._table.usage, self._traced(kind, reading, partial(arrived, reading)))
        for waiting in ready:
            damage = self._cache.damage_of(waiting.need) if isinstance(waiting.need, Items) else None
            if damage is None:
                self._resume(waiting, reads.known(waiting.need))
            else:
                self._fail(waiting, damage)

    def _traced(self, kind: str, reading: Reading[Any], arrived: Arrived) -> Arrived:
        """Begins the span of a level, if the request is traced, and ends it when the answers arrive."""
        trace = self._table.usage.trace
        if trace is None:
            return arrived
        level = trace.level(kind, len(reading.keys))

        def ended(found: Found) -> None:
            level.end()
            arrived(found)

        return ended

    def _items_arrived(self, reading: Reading[Items], found: Found) -> None:
        self._cache.keep_items(self._items.receive(reading, found))
        self._in_slices(reading.waiting, partial(self._take_items, found))

    def _take_items(self, found: Found, waiting: Waiting[Items]) -> None:
        answer = self._cache.items(waiting.need)
        if answer is not None:
            self._resume(waiting, answer)
        elif error := _failure(waiting, (*waiting.need.keys, *waiting.need.judged), found):
            self._fail(waiting, error)
        else:
            self._again(self._items, waiting)

    def _latest_arrived(self, latest: Sequence[Waiting[Latest]], reading: Reading[Items], found: Found) -> None:
        self._items_arrived(reading, found)
        for waiting in latest:
            answer = [found[key] for key in waiting.need.keys]
            if error := _first_error(answer):
                self._fail(waiting, error)
            else:
                self._resume(waiting, answer)

    def _pages_arrived(self, reading: Reading[Pages], found: Found) -> None:
        for read, page in self._pages.receive(reading, found).items():
            self._cache.keep_page(read, page, after_write=self._reading is self._consistent)
        self._in_slices(reading.waiting, partial(self._take_pages, found))
        if self._items.waiting:
            self._wake()

    def _take_pages(self, found: Found, waiting: Waiting[Pages]) -> None:
        answer: Sequence[Any] | None = self._cache.pages(waiting.need)
        if answer is None:
            # A page failed, or a write came in between and it was not kept.
            if error := _failure(waiting, waiting.need.reads, found):
                self._fail(waiting, error)
                return
            answer = [found.get(read) for read in waiting.need.reads]
            if None in answer:
                self._again(self._pages, waiting)
                return
        self._resume(waiting, answer)

    def _in_slices(self, each: Sequence[T], do: Callable[[T], Any], then: Callable[[], None] | None = None) -> None:
        """Does something for many, as long as a slice of time lasts, and for the others when the next turn comes.

        Nothing is read before the last one, so that a level stays together.
        """
        if len(each) <= FEW_AT_ONCE:
            for one in each:
                do(one)
            if then:
                then()
        else:
            self._slices += 1
            self._next_slice(iter(each), do, then)

    def _next_slice(self, each: Iterator[T], do: Callable[[T], Any], then: Callable[[], None] | None) -> None:
        outer, self._slice = self._slice, self._slice or Slice()
        try:
            for one in each:
                do(one)
                if self._slice.is_over:
                    later(partial(self._next_slice, each, do, then))
                    return
        finally:
            self._slice = outer
        self._slices -= 1
        if then:
            then()
        self._wake()

    def _resume(self, waiting: Waiting[Any], answer: Any) -> None:
        if not waiting.consumer.is_gone:
            self._advance(waiting.consumer, waiting.step, waiting.then, answer)
            waiting.consumer.resumed()

    def _fail(self, waiting: Waiting[Any], error: Exception) -> None:
        waiting.consumer.fail(error)
        waiting.consumer.resumed()

    def _again(self, reads: Reads[N], waiting: Waiting[N]) -> None:
        reads.waiting.append(waiting)
        self._wake()


def _failure(waiting: Waiting[Any], reads: Sequence[Any], found: Found) -> Exception | None:
    """Returns the first error among the answers to a step. Its consumer may keep them all."""
    errors = {read: error for read in reads if isinstance(error := found.get(read), Exception)}
    if waiting.consumer.failed_reads is not None:
        waiting.consumer.failed_reads.update(errors)
    return next(iter(errors.values()), None)


def _first_error(answers: Iterable[Any]) -> Exception | None:
    return next((answer for answer in answers if isinstance(answer, Exception)), None)
