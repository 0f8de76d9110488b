"""One live query: it runs, knows what it has read, and runs again over what is kept when a change concerns that."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import jsonpatch
import orjson

from datastore.changes.change import Change
from datastore.client.errors import CorruptItem, DatastoreError
from datastore.client.turns import Slice
from datastore.model.keys import Key
from datastore.model.projections import WHOLE
from loaders.kept import NOTHING, UNMOVED, Kept, Moved, Place, ReadSet
from loaders.viewer import Observed
from loaders.watching import concerns
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.execution.documents import Operation
from schema.execution.limits import OverLimit
from schema.http import answer_writer
from schema.http.protocol import Answer, GraphQLRequest
from schema.http.refusals import REFUSALS
from schema.live.live_directive import LiveOptions
from schema.live.streams import Contexts, Result

if TYPE_CHECKING:
    from schema.live.follower import Follower
    from schema.live.live_queries import LiveQueries

log = logging.getLogger("heartwood.live")

# A run may take a tenth of the time, at most.
SHARE_OF_TIME = 0.1
RETRY_AFTER = 1.0
LONGEST_RETRY = 30.0
# An answer whose patch would be long to compute is sent in full.
LARGEST_PATCHED = 200_000


class LiveQuery:
    """An operation that is followed by one viewer or, if nothing in it depends on the viewer, by many."""

    def __init__(
        self,
        queries: "LiveQueries",
        operation: Operation,
        request: GraphQLRequest,
        options: LiveOptions,
        contexts: Contexts,
    ) -> None:
        self._queries = queries
        self._operation = operation
        self._request = request
        self._options = options
        self._contexts = contexts
        self._kept = Kept()
        self._wanted = WHOLE
        self._read_set = NOTHING
        self._changed: dict[Key[Any], Moved] = {}
        self._is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._refreshing: asyncio.TimerHandle | None = None
        self._is_stale = False
        self._running: asyncio.Task[None] | None = None
        self._interval = options.throttle
        self._last_run = 0.0
        self._failures = 0
        self.is_shared = False
        self.followers: set[Follower] = set()
        self.revision = 0
        self._body = b""
        self._whole: Result | None = None
        self._patch: Result | None = None
        self.runs = 0
        self.calls: Counter[str] = Counter()
        self.read_units = 0.0

    @property
    def is_up_to_date(self) -> bool:
        """True if no known change is left to be applied."""
        return not self._changed and not self._is_due and self._running is None and self._timer is None

    def touch(self, change: Change) -> None:
        """Notes a change that concerns what was read."""
        self._changed[change.key] = self._changed.get(change.key, UNMOVED).then(change)
        self.run_soon()

    def run_soon(self) -> None:
        """Runs again as soon as the throttle allows."""
        self._is_due = True
        if self._running is None and self._timer is None:
            self._after(max(0.0, self._last_run + self._interval - time.monotonic()))

    def refresh(self) -> None:
        """Runs again, and reads what changes without a change in the log: rankings and statistics."""
        self._is_stale = True
        self.run_soon()

    def run_later(self) -> None:
        """Runs again after a while: some fields could not be read."""
        self._failures += 1
        if self._timer is None:
            self._after(self._pause)

    @property
    def _pause(self) -> float:
        return float(min(LONGEST_RETRY, RETRY_AFTER * 2**self._failures))

    def _after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def _start(self) -> None:
        self._timer = None
        self._is_due = False
        self._running = asyncio.ensure_future(self._run_again())

    async def begin(self, context: RequestContext) -> bool:
        """Runs for the first time. Returns True if the answer depends on the viewer."""
        return await self._run(context, {})

    def share(self, contexts: Contexts) -> None:
        """From now on, it is followed by any viewers, and runs for none of them."""
        self.is_shared = True
        self._contexts = contexts

    async def _run_again(self) -> None:
        changed, self._changed = self._changed, {}
        try:
            async with self._queries.slots:
                context = await self._contexts()
                async with asyncio.timeout(self._queries.seconds_of_a_run):
                    consulted = await self._run(context, changed)
            if consulted and self.is_shared:
                await self._queries.split(self)
        except REFUSALS as error:
            if isinstance(error, DatastoreError):
                self._try_again(changed, error)
            else:
                self.end(error)
        except Exception as error:
            self._try_again(changed, error)
        finally:
            self._running = None
            if self._is_due and self.followers and self._timer is None:
                self.run_soon()

    def _try_again(self, changed: Mapping[Key[Any], Moved], error: Exception) -> None:
        """Keeps the changes for a later run. What was read before them is still there."""
        self._kept.undo()
        self._changed = {**changed, **self._changed}
        self._failures += 1
        expected = isinstance(error, (DatastoreError, TimeoutError))
        level = logging.DEBUG if expected else logging.ERROR
        log.log(level, "the live query %s failed", self._operation.name, exc_info=error)
        self._is_due = False
        if self._timer is None:
            self._after(self._pause)

    async def _run(self, context: RequestContext, changed: Mapping[Key[Any], Moved]) -> bool:
        """Returns True if the answer depends on the viewer."""
        started = self._last_run = time.monotonic()
        viewer = context.load.viewer = Observed.of(context.viewer)
        is_first = not self.runs
        context.load.read_into(self._kept, None if is_first else self._queries.reads)
        if changed:
            await self._catch_up(context, changed)
        if self._is_stale:
            self._is_stale = False
            self._kept.forget_unlogged()
        self._kept.begin()
        answer = await self._queries.executor.execute(self._operation, self._request, context)
        try:
            body = await answer_writer.write(answer.body, context.cost, self._queries.max_answer_bytes)
        except OverLimit as error:
            body = orjson.dumps(Answer.refused(str(error), ErrorCode.OVER_LIMIT).body)
        self._wanted = context.load.scheduler.wanted
        self._watch(self._kept.finish(), {key[1:] for key in changed}, started)
        self.runs += 1
        usage = context.load.table.usage
        self.calls.update(usage.calls)
        self.read_units += usage.read_units
        self._interval = max(self._options.throttle, (time.monotonic() - started) / SHARE_OF_TIME)
        if not (viewer.was_consulted and self.is_shared):
            await self._publish(body)
        if _has_failed_reads(answer):
            self.run_later()
        else:
            self._failures = 0
        if not is_first:
            context.allowance.owe(1 + len(changed))
        return viewer.was_consulted

    async def _catch_up(self, context: RequestContext, changed: Mapping[Key[Any], Moved]) -> None:
        """Reads what has changed with strong consistency, and applies it to what is kept."""
        latest = await self._queries.latest(self._kept.known(changed), self._wanted, context.load.table.usage)
        for record in latest.values():
            if isinstance(record, Exception) and not isinstance(record, CorruptItem):
                raise record
        self._kept.catch_up(changed, latest)

    def _watch(self, read_set: ReadSet, current: AbstractSet[Place], started: float) -> None:
        """Watches what was read. What this run has read may be older than the latest changes: these count too.

        `current` are the items that were read with strong consistency.
        """
        before, self._read_set = self._read_set, read_set
        fresh = ReadSet(read_set.places - before.places - current, read_set.windows - before.windows)
        self._queries.watching.watch(self, read_set)
        for change in self._queries.recent(started) if fresh != NOTHING else ():
            if concerns(fresh, change):
                self.touch(change)
        self._wake_at_expiry()
        if self._refreshing is not None:
            self._refreshing.cancel()
            self._refreshing = None
        if self._kept.reads_unlogged:
            self._refreshing = asyncio.get_running_loop().call_later(self._queries.refresh_every, self.refresh)

    def _wake_at_expiry(self) -> None:
        """Records that expire are hidden without a change."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        now = time.time()
        soonest = min((at for each in self._kept.records() if (at := each.expires_at) and at > now), default=None)
        if soonest is not None and soonest - now < self._queries.longest_timer:
            self._expiry = asyncio.get_running_loop().call_later(soonest - now + 0.01, self.run_soon)

    async def _publish(self, body: bytes) -> None:
        if body == self._body:
            return
        # A copy, because the writer's bytes have room for kilobytes more.
        before, self._body = self._body, bytes(memoryview(body))
        self.revision += 1
        self._whole = None
        self._patch = self._patched(before) if self._options.patch and before else None
        # Thousands may follow: others run in between.
        telling = Slice()
        for follower in [*self.followers]:
            follower.on_news()
            if telling.is_over:
                await telling.next()

    def _patched(self, before: bytes) -> Result | None:
        """Returns the difference of two answers, None if the whole answer is better."""
        if max(len(before), len(self._body)) > LARGEST_PATCHED:
            return None
        old, new = orjson.loads(before), orjson.loads(self._body)
        operations = jsonpatch.make_patch(old.get("data"), new.get("data")).patch
        result: dict[str, Any] = {"patch": operations, "revision": self.revision}
        if "errors" in new:
            result["errors"] = new["errors"]
        written = orjson.dumps(result)
        return Result(written) if len(written) < len(self._body) else None

    def result_after(self, revision: int) -> Result:
        """Returns what a follower who has this revision needs: the answer, or the difference to it."""
        if self._patch is not None and revision == self.revision - 1:
            return self._patch
        if self._whole is None:
            numbered = self._body[:-1] + b',"revision":%d}' % self.revision
            self._whole = Result(numbered if self._options.patch else self._body)
        return self._whole

    @property
    def figures(self) -> dict[str, Any]:
        """Cost so far."""
        return {
            "operation": self._operation.name,
            "runs": self.runs,
            "calls": dict(self.calls),
            "read_units": self.read_units,
            "shared": self.is_shared,
        }

    def copy_for(self, contexts: Contexts) -> "LiveQuery":
        """Returns the same query for one viewer."""
        return LiveQuery(self._queries, self._operation, self._request, self._options, contexts)

    def mentions(self, user_ids: AbstractSet[str]) -> bool:
        """Returns True if it has read a record that belongs to one of these accounts."""
        return any(
            getattr(record, name) in user_ids for record in self._kept.records() for name in record.account_fields
        )

    def leave(self, follower: "Follower") -> None:
        if follower in self.followers:
            self.followers.remove(follower)
            if not self.followers:
                self.close()

    def end(self, error: Exception) -> None:
        """Ends the query for all who follow it."""
        for follower in [*self.followers]:
            follower.fail(error)

    def close(self) -> None:
        for timer in (self._timer, self._expiry, self._refreshing):
            if timer is not None:
                timer.cancel()
        if self._running is not None:
            self._running.cancel()
        self._queries.forget(self)


def _has_failed_reads(answer: Answer) -> bool:
    return any(error["extensions"].get("code") is ErrorCode.UNAVAILABLE for error in answer.body.get("errors", ()))
