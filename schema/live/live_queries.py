"""All live queries of a process: which of them a change concerns, and which viewers can share one."""

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256
from typing import Any

import orjson

from datastore.accounts import User
from datastore.changes.change import Change
from datastore.changes.log import Batch
from datastore.changes.tail import Tail
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.turns import Slice
from datastore.model.keys import Key
from datastore.model.projections import Wanted
from loaders.calls import Found
from loaders.kept import ReadSet
from loaders.shared_reads import SharedReads
from loaders.watching import Watching
from resolvers.accounts.hidden_accounts import HiddenAccounts
from schema.declare.context import RequestContext
from schema.execution.documents import Operation
from schema.execution.executor import Executor
from schema.http.protocol import GraphQLRequest
from schema.live.follower import Follower
from schema.live.live_directive import LiveOptions
from schema.live.live_query import LiveQuery
from schema.live.streams import Contexts

RUNS_AT_ONCE = 8
# A read that is eventually consistent, or of an index, may be older than changes of the last seconds.
RECENT = 5.0
RECENT_CHANGES = 20_000
PERSONAL_KEPT = 1_000
LONGEST_TIMER = 86_400.0
PAUSE = 0.5
# Rankings and statistics have no changes in the log.
REFRESH_EVERY = 5.0


class LiveQueries:
    """One per process. It listens to the tails of the change log."""

    def __init__(
        self,
        executor: Executor,
        table: Table,
        tails: Sequence[Tail],
        hidden_accounts: HiddenAccounts,
        anonymous: Contexts,
        *,
        max_answer_bytes: int,
        seconds_of_a_run: float,
    ) -> None:
        self.executor = executor
        self.max_answer_bytes = max_answer_bytes
        self.seconds_of_a_run = seconds_of_a_run
        self.longest_timer = LONGEST_TIMER
        self.refresh_every = REFRESH_EVERY
        self.watching: Watching[LiveQuery | Follower] = Watching()
        self.slots = asyncio.Semaphore(RUNS_AT_ONCE)
        # Strongly consistent, and shared by all queries that a change concerns.
        self.reads = SharedReads(table, consistent=True)
        self._anonymous = anonymous
        self._tails = tails
        self._hidden_accounts = hidden_accounts
        self._recent: deque[tuple[float, Change]] = deque(maxlen=RECENT_CHANGES)
        self._shared: dict[bytes, LiveQuery] = {}
        # Queries whose answers turned out to depend on the viewer.
        self._personal: dict[bytes, None] = {}
        self._opening: dict[bytes, asyncio.Event] = {}
        for tail in tails:
            tail.listeners.append(self._heard)

    def _heard(self, batch: Batch) -> None:
        # A read that was sent before a change must not answer for the time after it.
        self.reads.wrote()
        now = time.monotonic()
        for change in batch.changes:
            self._recent.append((now, change))
            while self._recent[0][0] < now - RECENT - self.seconds_of_a_run:
                self._recent.popleft()
            for watcher in self.watching.concerned(change):
                watcher.touch(change)

    def recent(self, started: float) -> Iterator[Change]:
        """Yields the changes that the reads of a run may not have seen. `started` is when it began."""
        for at, change in reversed(self._recent):
            if at < started - RECENT:
                break
            yield change

    async def start(
        self,
        operation: Operation,
        request: GraphQLRequest,
        options: LiveOptions,
        context: RequestContext,
        contexts: Contexts,
    ) -> Follower:
        """Returns the answers of a live query, the first one at once."""
        for tail in self._tails:
            await tail.position()
        name = _name_of(request)
        # Many clients may open the same page at once: the first one runs it for all who can share it.
        while name in self._opening:
            await self._opening[name].wait()
        query = self._shared.get(name)
        if query is None:
            query = await self._opened(name, LiveQuery(self, operation, request, options, contexts), context)
        follower = Follower(self, contexts)
        self._follow_account(follower, context)
        follower.follow(query)
        for tail in self._tails:
            tail.followers.add(self)
        return follower

    async def _opened(self, name: bytes, query: LiveQuery, context: RequestContext) -> LiveQuery:
        if name in self._personal:
            return await self._begun(name, query, context)
        opening = self._opening[name] = asyncio.Event()
        try:
            return await self._begun(name, query, context)
        finally:
            del self._opening[name]
            opening.set()

    async def _begun(self, name: bytes, query: LiveQuery, context: RequestContext) -> LiveQuery:
        try:
            is_personal = await query.begin(context)
        except BaseException:
            query.close()
            raise
        if is_personal:
            self._personal[name] = None
            if len(self._personal) > PERSONAL_KEPT:
                del self._personal[next(iter(self._personal))]
        elif name not in self._shared:
            self._personal.pop(name, None)
            query.share(self._anonymous)
            self._shared[name] = query
        return query

    def _follow_account(self, follower: Follower, context: RequestContext) -> None:
        if context.viewer.user_id is not None:
            key = User.key(user_id=context.viewer.user_id)
            self.watching.watch(follower, ReadSet(frozenset({key[1:]}), frozenset()))

    async def split(self, query: LiveQuery) -> None:
        """Gives each follower of a shared query, which now depends on the viewer, a query of its own."""
        followers = [*query.followers]
        self.forget(query)
        query.followers.clear()
        for follower in followers:
            if not follower.follows(query):
                continue
            own = query.copy_for(follower.contexts)
            try:
                await own.begin(await follower.contexts())
            except Exception as error:
                own.close()
                follower.fail(error)
                continue
            # The client may have left meanwhile.
            if follower.follows(query):
                follower.follow(own)
            else:
                own.close()
        query.close()

    def forget(self, query: LiveQuery) -> None:
        self.watching.unwatch(query)
        for name in [name for name, each in self._shared.items() if each is query]:
            del self._shared[name]
        if not self.watching:
            for tail in self._tails:
                tail.followers.discard(self)

    async def latest(self, keys: Sequence[Key[Any]], wanted: Wanted, usage: Usage) -> Found:
        """Returns the records at these keys, with a strongly consistent read that all queries share."""
        arrived: asyncio.Future[Found] = asyncio.get_running_loop().create_future()

        def take(found: Found) -> None:
            if not arrived.done():
                arrived.set_result(found)

        self.reads.items(keys, wanted, usage, take)
        return await arrived

    async def run(self) -> None:
        """Runs queries again that show works of accounts that were hidden or restored, until it is canceled."""
        known = frozenset(self._hidden_accounts.ids)
        while True:
            await asyncio.sleep(PAUSE)
            now = frozenset(self._hidden_accounts.ids)
            changed, known = known ^ now, now
            if changed and self.watching:
                await self._run_all_of(changed)

    async def _run_all_of(self, user_ids: AbstractSet[str]) -> None:
        searching = Slice()
        for query in self.watching:
            if isinstance(query, LiveQuery) and query.mentions(user_ids):
                query.run_soon()
            if searching.is_over:
                await searching.next()


def _name_of(request: GraphQLRequest) -> bytes:
    asked = [request.query, request.operation_name, request.variables]
    return sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()
