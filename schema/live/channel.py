"""The list of a subscription, and the results that its followers share."""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from datastore.changes.change import Change
from datastore.client.errors import DatastoreError, Retryable
from datastore.model.keys import Key
from loaders.appends import Growing
from loaders.kept import ReadSet
from loaders.watching import concerns
from resolvers.core.error_codes import ErrorCode
from schema.declare.appended import Arrival
from schema.declare.cursors import LogPosition
from schema.execution.documents import Operation
from schema.execution.limits import OverLimit
from schema.http import answer_writer
from schema.http.protocol import Answer, GraphQLRequest
from schema.http.refusals import REFUSALS
from schema.live.streams import Contexts

if TYPE_CHECKING:
    from schema.live.subscriber import Subscriber
    from schema.live.subscriptions import Subscriptions

log = logging.getLogger("heartwood.live")

# Changes, and results, that are kept for followers. One that is further behind reads the log.
CHANGES_KEPT = 200
RESULTS_KEPT = 400
# What the list depends on is looked at again after a change of it, once in this time.
LOOKS_AGAIN_AFTER = 1.0


def moved(position: LogPosition, partition: int, place: tuple[int, int]) -> LogPosition:
    """Returns a position of the log with another place in one partition."""
    return (*position[:partition], place, *position[partition + 1 :])


class Noted(NamedTuple):
    """A change that adds to a list, and the position in the log after it: in its partition, and in all."""

    change: Change
    partition: int
    place: tuple[int, int]
    log: LogPosition


class Result(NamedTuple):
    """The key of the record that was added, and the JSON of the result."""

    key: Key[Any]
    body: bytes


class Ended(Exception):
    """The viewer may no longer see the list. `body` is the last result."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class Personal(Exception):
    """A result depends on the viewer, so it cannot be shared."""


class Channel:
    """An operation on a list, of one viewer or, if nothing depends on the viewer, of all."""

    def __init__(
        self,
        hub: "Subscriptions",
        operation: Operation,
        request: GraphQLRequest,
        contexts: Contexts,
        growing: Growing,
        name: bytes | None,
    ) -> None:
        self._hub = hub
        self.operation = operation
        self.request = request
        self._contexts = contexts
        self.growing = growing
        self.name = name
        """The name by which others find it; None if it is of one viewer."""
        self.followers: set[Subscriber] = set()
        self.noted: deque[Noted] = deque()
        self.first = 0
        """The number of the first change that is kept."""
        self.basis = ReadSet(frozenset(), frozenset())
        self._results: OrderedDict[tuple[Key[Any], LogPosition], asyncio.Task[Result | None]] = OrderedDict()
        self._look_again: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._changed_at: LogPosition | None = None
        self.runs = 0
        self.calls: Counter[str] = Counter()

    @property
    def end(self) -> int:
        """The number of the next change."""
        return self.first + len(self.noted)

    def watch(self, growing: Growing, basis: ReadSet) -> None:
        """Follows the ranges of the list, and what tells which these are."""
        self.growing, self.basis = growing, basis
        self._hub.watching.watch(self, ReadSet(basis.places, basis.windows | growing.windows))

    def touch(self, change: Change, partition: int, place: tuple[int, int], log: LogPosition) -> None:
        """Takes a change of the list, or of what it depends on."""
        if self.growing.is_added_by(change):
            self.noted.append(Noted(change, partition, place, log))
            if len(self.noted) > CHANGES_KEPT:
                self.noted.popleft()
                self.first += 1
            for follower in self.followers:
                follower.wake()
        if concerns(self.basis, change):
            self._changed_at = self._changed_at or self._hub.a_moment_ago
            self.look_again()

    def look_again(self) -> None:
        """Opens the list again in a moment: the viewer may no longer see it, or it may have other ranges."""
        if self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(LOOKS_AGAIN_AFTER, self._start_to_look)

    def _start_to_look(self) -> None:
        self._looking = asyncio.ensure_future(self._open_again())

    async def _open_again(self) -> None:
        self._look_again = None
        changed_at, self._changed_at = self._changed_at or self._hub.a_moment_ago, None
        try:
            opened = await self._hub.opened(self.operation, self.request, await self._contexts(), reads_cursor=False)
        except REFUSALS as error:
            if isinstance(error, DatastoreError):
                self.look_again()
            else:
                self.fail(error)
            return
        except Exception:
            log.exception("the list of the subscription %s cannot be opened", self.operation.name)
            self.look_again()
            return
        if isinstance(opened, Answer):
            self._end_with(opened)
            return
        before = self.growing
        self.watch(opened.growing, opened.basis)
        if opened.growing.windows != before.windows:
            # Followers read again what the log has had meanwhile, for what is in the new ranges.
            for follower in self.followers:
                follower.begin_again_at(changed_at)

    def _end_with(self, answer: Answer) -> None:
        if _is_unavailable(answer):
            self.look_again()
            return
        for follower in [*self.followers]:
            follower.end(orjson.dumps(answer.body))

    def fail(self, error: Exception) -> None:
        for follower in [*self.followers]:
            follower.fail(error)

    async def results(self, noted: Sequence[Noted]) -> list[Result | None]:
        """Returns the result of each change, None if there is none. They are made once for all followers."""
        running = [self._result(each) for each in noted]
        # A follower that leaves must not take the results away from the others.
        return await asyncio.gather(*map(asyncio.shield, running))

    def _result(self, noted: Noted) -> "asyncio.Task[Result | None]":
        name = noted.change.key, noted.log
        running = self._results.get(name)
        if running is None or (running.done() and (running.cancelled() or running.exception())):
            running = asyncio.ensure_future(self.result(Arrival(noted.change, noted.log)))
            running.add_done_callback(lambda task: task.cancelled() or task.exception())
            self._results[name] = running
            if len(self._results) > RESULTS_KEPT:
                self._results.popitem(last=False)
        return running

    async def result(self, arrival: Arrival) -> Result | None:
        """Runs the operation for a change. Raises Ended, Personal, one of REFUSALS, or TimeoutError."""
        async with self._hub.slots:
            context = await self._contexts()
            async with asyncio.timeout(self._hub.seconds_of_a_run):
                viewer, _ = self._hub.observed(context)
                context.listening = arrival
                answer = await self._hub.executor.execute(self.operation, self.request, context)
                self.runs += 1
                if viewer.was_consulted and self.name is not None:
                    raise Personal
                if _is_unavailable(answer):
                    raise Retryable("a record of a subscription could not be read")
                self.calls.update(context.load.table.usage.calls)
                if arrival.growing is not None and arrival.growing.windows != self.growing.windows:
                    self.look_again()
                if arrival.record is None:
                    if "errors" in answer.body:
                        raise Ended(orjson.dumps(answer.body))
                    return None
                try:
                    body = await answer_writer.write(answer.body, context.cost, self._hub.max_answer_bytes)
                except OverLimit as error:
                    body = orjson.dumps(Answer.refused(str(error), ErrorCode.OVER_LIMIT).body)
                return Result(arrival.record.own_key, body)

    def leave(self, follower: "Subscriber") -> None:
        self.followers.discard(follower)
        if not self.followers:
            self.close()

    def close(self) -> None:
        if self._look_again is not None:
            self._look_again.cancel()
        if self._looking is not None and self._looking is not asyncio.current_task():
            self._looking.cancel()
        self._hub.forget(self)


def _is_unavailable(answer: Answer) -> bool:
    return any(error["extensions"].get("code") is ErrorCode.UNAVAILABLE for error in answer.body.get("errors", ()))
