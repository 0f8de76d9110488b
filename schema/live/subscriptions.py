"""All subscriptions of a process: which lists a change adds to, and which subscribers can share their results."""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import orjson
from graphql import FieldNode, FragmentDefinitionNode, VariableNode

from datastore.accounts import User
from datastore.changes.log import Batch, ChangeLog
from datastore.changes.tail import Tail
from datastore.client.table import Table
from loaders.appends import Growing
from loaders.kept import Kept, ReadSet
from loaders.shared_reads import SharedReads
from loaders.viewer import Observed
from loaders.watching import Watching
from resolvers.core.error_codes import ErrorCode
from schema.declare.appended import AFTER, Opening
from schema.declare.context import RequestContext
from schema.declare.cursors import LogPosition
from schema.declare.errors import BadInput
from schema.execution.compiler import variables_in
from schema.execution.documents import Operation
from schema.execution.executor import Executor
from schema.http.protocol import Answer, GraphQLRequest
from schema.live.channel import Channel, moved
from schema.live.resuming import start_of
from schema.live.streams import Contexts
from schema.live.subscriber import Subscriber

RUNS_AT_ONCE = 100
PERSONAL_KEPT = 1_000
# Changes of one transaction may be in several partitions of the log, and are not heard at the same time.
A_MOMENT = 5.0


class Opened(NamedTuple):
    """The list of a subscription, what it depends on, and where the subscriber goes on."""

    opening: Opening
    growing: Growing
    basis: ReadSet
    is_personal: bool


class Subscriptions:
    """One per process. It listens to the tails of the change log."""

    def __init__(
        self,
        executor: Executor,
        table: Table,
        change_log: ChangeLog,
        tails: Sequence[Tail],
        anonymous: Contexts,
        *,
        max_answer_bytes: int,
        seconds_of_a_run: float,
    ) -> None:
        self.executor = executor
        self.log = change_log
        self.tails = tails
        self.max_answer_bytes = max_answer_bytes
        self.seconds_of_a_run = seconds_of_a_run
        self.slots = asyncio.Semaphore(RUNS_AT_ONCE)
        self.watching: Watching[Channel | Subscriber] = Watching()
        # Strongly consistent, and shared by all that a change concerns.
        self.reads = SharedReads(table, consistent=True)
        self.heard: LogPosition = ()
        self._recent: deque[tuple[float, LogPosition]] = deque()
        self._anonymous = anonymous
        self._shared: dict[bytes, Channel] = {}
        # Operations whose results turned out to depend on the viewer.
        self._personal: dict[bytes, None] = {}
        for tail in tails:
            tail.listeners.append(partial(self._heard, tail.partition))

    def _heard(self, partition: int, batch: Batch) -> None:
        if not self.heard:
            return
        self.reads.wrote()
        for done, change in enumerate(batch.changes, start=1):
            place = (batch.sequence - 1, done)
            for watcher in self.watching.concerned(change):
                watcher.touch(change, partition, place, moved(self.heard, partition, place))
        now = time.monotonic()
        self._recent.append((now, self.heard))
        while self._recent[0][0] < now - A_MOMENT:
            self._recent.popleft()
        self.heard = moved(self.heard, partition, (batch.sequence, 0))

    @property
    def a_moment_ago(self) -> LogPosition:
        """The position in the log of some seconds ago."""
        since = time.monotonic() - A_MOMENT
        return next((position for at, position in self._recent if at >= since), self.heard)

    async def start(
        self, operation: Operation, request: GraphQLRequest, context: RequestContext, contexts: Contexts
    ) -> Answer | Subscriber:
        """Returns what is added to a list from now on, or after a cursor; or the answer that says why not."""
        if not self.heard:
            for tail in self.tails:
                await tail.position()
            # All of them are known now, so this does not wait, and nothing is heard in between.
            self.heard = self.heard or tuple([(await tail.position(), 0) for tail in self.tails])
        heard = self.heard
        opened = await self.opened(operation, request, context)
        if isinstance(opened, Answer):
            return opened
        try:
            start = await start_of(self, opened.opening, context, heard)
        except BadInput as error:
            return Answer.refused(error.message, ErrorCode.INVALID)
        name = _name_of(operation, request)
        shared = None if opened.is_personal or name in self._personal else name
        subscriber = Subscriber(self, contexts, context, *start)
        self._join(subscriber, operation, request, opened, shared, heard)
        if context.viewer.user_id is not None:
            key = User.key(user_id=context.viewer.user_id)
            self.watching.watch(subscriber, ReadSet(frozenset({key[1:]}), frozenset()))
        for tail in self.tails:
            tail.followers.add(self)
        return subscriber

    async def opened(
        self, operation: Operation, request: GraphQLRequest, context: RequestContext, *, reads_cursor: bool = True
    ) -> Opened | Answer:
        """Finds the list of a subscription, as the viewer sees it now."""
        opening = context.listening = Opening(reads_cursor=reads_cursor)
        viewer, kept = self.observed(context)
        answer = await self.executor.execute(operation, request, context)
        if "errors" in answer.body:
            return answer
        if opening.growing is None:
            return Answer.refused("the subscription selects no field; select one", ErrorCode.INVALID_QUERY)
        return Opened(opening, opening.growing, kept.finish(), viewer.was_consulted)

    def observed(self, context: RequestContext) -> tuple[Observed, Kept]:
        """Prepares a context for a run: its reads are shared, and it notes if the result depends on the viewer."""
        viewer, kept = Observed.of(context.viewer), Kept()
        context.load.viewer = viewer
        context.load.read_into(kept, self.reads)
        return viewer, kept

    def _join(
        self,
        subscriber: Subscriber,
        operation: Operation,
        request: GraphQLRequest,
        opened: Opened,
        name: bytes | None,
        heard: LogPosition,
    ) -> None:
        channel = self._shared.get(name) if name else None
        if channel is None:
            contexts = self._anonymous if name else subscriber.contexts
            channel = Channel(self, operation, request, contexts, opened.growing, name)
            channel.watch(opened.growing, opened.basis)
            if name:
                self._shared[name] = channel
            if heard != self.heard:
                # What the list depends on may have changed since it was read.
                channel.look_again()
        subscriber.follow(channel)

    async def split(self, channel: Channel) -> None:
        """Gives each follower of a channel whose results depend on the viewer one of its own."""
        if channel.name is not None:
            self._personal[channel.name] = None
            if len(self._personal) > PERSONAL_KEPT:
                del self._personal[next(iter(self._personal))]
        for follower in [*channel.followers]:
            own = Channel(self, channel.operation, channel.request, follower.contexts, channel.growing, None)
            own.watch(channel.growing, channel.basis)
            own.look_again()
            channel.followers.discard(follower)
            follower.follow(own)
        channel.close()

    def forget(self, channel: Channel) -> None:
        self.watching.unwatch(channel)
        if channel.name is not None and self._shared.get(channel.name) is channel:
            del self._shared[channel.name]
        if not self.watching:
            for tail in self.tails:
                tail.followers.discard(self)


def _name_of(operation: Operation, request: GraphQLRequest) -> bytes:
    """Returns what subscribers have in common who can share results: everything but the cursor."""
    variables = {name: value for name, value in request.variables.items() if name not in _cursors_of(operation)}
    return orjson.dumps([request.query, request.operation_name, variables], option=orjson.OPT_SORT_KEYS)


def _cursors_of(operation: Operation) -> set[str]:
    """Returns the variable of the argument `after`, if it is used nowhere else."""
    selections = operation.node.selection_set.selections
    if len(selections) != 1 or not isinstance(selections[0], FieldNode):
        return set()
    field = selections[0]
    after = [each.value for each in field.arguments or () if each.name.value == AFTER]
    others = [each for each in field.arguments or () if each.name.value != AFTER]
    fragments = [each for each in operation.document.definitions if isinstance(each, FragmentDefinitionNode)]
    inner = [*others, *(field.directives or ()), *([field.selection_set] if field.selection_set else []), *fragments]
    return {each.name.value for each in after if isinstance(each, VariableNode)} - variables_in(inner)
