"""One client of a subscription: it reads on in the log from its own position, whenever it is ready for more."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson
from graphql import GraphQLError

from datastore.client.errors import DatastoreError
from datastore.client.turns import Slice
from datastore.model.keys import Key
from resolvers.core.error_codes import ErrorCode
from schema.declare.appended import Arrival
from schema.declare.context import RequestContext
from schema.declare.cursors import LogPosition, Resumption
from schema.http.protocol import Answer, BadRequest
from schema.live.channel import Channel, Ended, Noted, Personal, Result, moved
from schema.live.resuming import TableRead, as_change, overlaps, was_sent
from schema.live.streams import Contexts
from schema.live.viewer_check import ViewerCheck

if TYPE_CHECKING:
    from schema.live.subscriptions import Subscriptions

AT_ONCE = 50
# A put without a condition may be repeated. So many records are known to have been sent.
SENT_KEPT = 1_000
CHECKED_EVERY = 30.0
ATTEMPTS = 4
PAUSE = 0.2
TOO_FAR_BEHIND = "the change log no longer reaches back to your position; subscribe again with your last `cursor`"


class Subscriber:
    """A stream of results. What it has not taken is not kept: the log has it."""

    def __init__(
        self,
        hub: "Subscriptions",
        contexts: Contexts,
        context: RequestContext,
        log: LogPosition,
        resumption: Resumption | None = None,
        table: TableRead | None = None,
    ) -> None:
        self._hub = hub
        self.contexts = contexts
        self._allowance = context.allowance
        self._log = self._begun = log
        self._resumption = resumption
        self._table = table
        self.channel: Channel
        # The number of the next change of the channel; None while it has to be looked for in the log.
        self._number: int | None = None
        self._beginnings = 0
        self._ready: deque[bytes] = deque()
        self._sent: OrderedDict[Key[Any], tuple[int, int]] = OrderedDict()
        self._news = asyncio.Event()
        self._is_open = True
        self._error: Exception | None = None
        self._last: bytes | None = None
        self._checked_at = time.monotonic()
        self._viewer_check = ViewerCheck(contexts, self.fail)

    def follow(self, channel: Channel) -> None:
        """Follows this channel from now on, from the same position."""
        self.channel = channel
        channel.followers.add(self)
        self._begin_again()

    def begin_again_at(self, heard: LogPosition) -> None:
        """Reads the log again from this position, because the list has other ranges. What was sent is known."""
        back = heard if self._number == self.channel.end else tuple(map(min, self._log, heard))
        self._log = tuple(map(max, self._begun, back))
        self._begin_again()

    def _begin_again(self) -> None:
        self._number = None
        self._beginnings += 1
        self.wake()

    async def next(self) -> bytes | None:
        while self._is_open:
            if self._ready:
                self._allowance.owe(1)
                return self._ready.popleft()
            if self._error is not None:
                raise self._error
            if self._last is not None:
                last, self._last = self._last, None
                self._is_open = False
                return last
            await self._fill()
        return None

    async def _fill(self) -> None:
        """Makes the next results, or waits."""
        channel = self.channel
        self._news.clear()
        await self._check_sometimes()
        for attempt in range(ATTEMPTS):
            try:
                if not await (self._fill_from_table() if self._table else self._fill_from_log()):
                    await self._news.wait()
                return
            except Personal:
                if channel is self.channel:
                    await self._hub.split(channel)
                return
            except Ended as ended:
                self.end(ended.body)
                return
            except GraphQLError as error:
                self.end(orjson.dumps(Answer.refused(error.message, ErrorCode.INVALID).body))
                return
            except (DatastoreError, TimeoutError):
                self._number = None
                if attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(PAUSE * 2**attempt)

    async def _fill_from_table(self) -> bool:
        """Makes results of records that were read from the table. Afterwards, the log goes on."""
        assert self._table is not None
        assert self._resumption is not None
        self._allowance.check()
        context = await self.contexts()
        self._hub.observed(context)
        keys = await self._table.next(context)
        if not keys:
            self._table = None
            self._resumption = self._resumption._replace(reads_table=False)
            return True
        arrivals = [Arrival(as_change(key, self._resumption), self._log, self._resumption) for key in keys]
        for result in await asyncio.gather(*map(self.channel.result, arrivals)):
            if result is not None:
                self._add(result, (0, 0))
        return True

    async def _fill_from_log(self) -> bool:
        """Makes results of the next changes. Returns False if there are none."""
        beginnings = self._beginnings
        noted = self._next_noted()
        log = noted[-1].log if noted else self._log
        if noted is None:
            noted, log = await self._read_log()
        results = await self._results(noted)
        if self._beginnings != beginnings:
            # The list has changed meanwhile: the same changes are looked at again.
            return True
        for each, result in zip(noted, results, strict=True):
            if result is not None and not self._was_sent(each, result):
                self._add(result, each.place)
        has_news = bool(noted) or log != self._log
        self._log = log
        if self._number is not None:
            self._number += len(noted)
        elif log == self._hub.heard:
            # Nothing has been awaited since the log was read to its end.
            self._number = self.channel.end
        return has_news or self._number is None

    def _next_noted(self) -> list[Noted] | None:
        """Returns the next changes of the channel, None if it no longer keeps them."""
        channel, number = self.channel, self._number
        if number is None or number < channel.first:
            self._number = None
            return None
        start = number - channel.first
        return [*islice(channel.noted, start, start + AT_ONCE)]

    async def _read_log(self) -> tuple[list[Noted], LogPosition]:
        """Returns the next changes that the log has, and the position after them."""
        hub, log = self._hub, self._log
        for tail, place, heard in zip(hub.tails, log, hub.heard, strict=True):
            if place < heard:
                self._allowance.check()
                batches = await tail.after(place[0])
                if batches[0].sequence > place[0] + 1:
                    raise BadRequest(TOO_FAR_BEHIND, ErrorCode.UNAVAILABLE)
                # The log may have more than was heard: the channel will have that.
                known = [batch for batch in batches if batch.sequence <= heard[0]]
                return await self._noted_in(known, tail.partition)
            if place > heard:
                # Another server was further.
                await tail.after(heard[0])
                return [], log
        return [], log

    async def _noted_in(self, batches: Sequence[Any], partition: int) -> tuple[list[Noted], LogPosition]:
        found: list[Noted] = []
        log, searching = self._log, Slice()
        begun, done = self._log[partition]
        for batch in batches:
            for number, change in enumerate(batch.changes, start=1):
                if batch.sequence == begun + 1 and number <= done:
                    continue
                if self.channel.growing.is_added_by(change):
                    place = (batch.sequence - 1, number)
                    log = moved(log, partition, place)
                    found.append(Noted(change, partition, place, log))
                    if len(found) == AT_ONCE:
                        return found, log
            log = moved(log, partition, (batch.sequence, 0))
            if searching.is_over:
                await searching.next()
        return found, log

    async def _results(self, noted: Sequence[Noted]) -> list[Result | None]:
        resumption = self._resumption
        if resumption is None or not any(overlaps(resumption, each.change) for each in noted):
            self._resumption = None if noted else resumption
            return await self.channel.results(noted)
        # The table was read a moment ago: what it had is left out, and cursors remember that.
        arrivals = [
            Arrival(each.change, each.log, resumption, partial(was_sent, resumption, each.change)) for each in noted
        ]
        return await asyncio.gather(*map(self.channel.result, arrivals))

    def _was_sent(self, noted: Noted, result: Result) -> bool:
        """Returns True for the same change, or for the same record unless it has left the list and moved back."""
        if result.key not in self._sent:
            return False
        return not noted.change.before or noted.place <= self._sent[result.key]

    def _add(self, result: Result, place: tuple[int, int]) -> None:
        self._ready.append(result.body)
        self._sent[result.key] = place
        if len(self._sent) > SENT_KEPT:
            self._sent.popitem(last=False)

    async def _check_sometimes(self) -> None:
        """Checks the viewer's token again. Raises one of REFUSALS."""
        if time.monotonic() - self._checked_at > CHECKED_EVERY:
            self._checked_at = time.monotonic()
            await self.contexts()

    def touch(self, *_: Any) -> None:
        """Checks the viewer again, because the account has changed."""
        self._viewer_check.begin()

    def wake(self) -> None:
        self._news.set()

    def fail(self, error: Exception) -> None:
        """Ends the stream with an error."""
        self._error = error
        self.wake()

    def end(self, body: bytes) -> None:
        """Ends the stream with a last result."""
        self._last = body
        self.wake()

    def close(self) -> None:
        self._is_open = False
        self._viewer_check.close()
        self._hub.watching.unwatch(self)
        self.channel.leave(self)
        self.wake()
