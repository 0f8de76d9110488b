"""Reads for all requests of a process together: a crowd makes each request cheaper.

- What requests need in one turn of the event loop is read in common calls.
- A read under way is joined by every request that needs the same, unless a write was acknowledged after it was sent:
  no one reads behind an answer that they may have.
- A decoded record, which no one changes, is handed to all of them. Each applies the visibility of its own viewer.

A request alone does not wait for others: what it needs is sent in the same turn of the event loop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import cached_property, partial
from typing import Any

from aiodataloader import DataLoader

from datastore.client.budget import Usage
from datastore.client.errors import CorruptItem, DatastoreError
from datastore.client.table import BATCH_GET_KEYS, KeysRead, Page, RangeRead, Table
from datastore.client.turns import Slice, in_parallel, later
from datastore.client.writes import Write
from datastore.model.keys import Key
from datastore.model.mixed import Mixed
from datastore.model.projections import Projection, Wanted
from loaders.calls import Arrived, Ask, Call, Found
from loaders.needs import PageRead

# A request may wait for so much longer than its deadline, which leaves time for the answer. Requests of a crowd began
# at nearly the same time, so hardly any of them needs a timer.
TOLERANCE = 0.05

Deliver = Callable[[Found], None]

log = logging.getLogger("heartwood.loaders")


class Reads:
    """Reads of one kind.

    `read` delivers the answers to the keys of a call, at once or as they come. `read_of(wanted, key)` returns what is
    read of a key. `is_full(call, key, read_of)` returns True if the call has no room for that.
    """

    def __init__(
        self,
        read: Callable[[Call, Deliver], Awaitable[None]],
        read_of: Callable[[Wanted, Any], Hashable],
        is_full: Callable[[Call, Any, Any], bool],
    ) -> None:
        self._read = read
        self._read_of = read_of
        self._is_full = is_full
        self._under_way: dict[Any, Call] = {}
        # The usage of each request that waits, and the number of its asks.
        self._waiting: dict[int, int] = {}
        self._own: list[Ask] = []
        # The event loop keeps only weak references to tasks.
        self._tasks: set[asyncio.Future[Any]] = set()

    def ask(self, keys: Sequence[Any], wanted: Wanted, usage: Usage, arrived: Arrived) -> None:
        """Reads these distinct keys. `arrived` takes the answers."""
        if not keys:
            arrived({})
            return
        who = id(usage)
        waiting = self._waiting
        is_alone = not waiting or (len(waiting) == 1 and who in waiting)
        waiting[who] = waiting.get(who, 0) + 1
        ask = Ask(keys, wanted, usage, partial(self._settled, who, arrived))
        if not is_alone:
            self._loader.load(ask)
            return
        self._own.append(ask)
        if len(self._own) == 1:
            asyncio.get_running_loop().call_soon(self._send_own)

    def _send_own(self) -> None:
        """Sends what the only request has asked for in this turn, without a task of its own."""
        asks, self._own = self._own, []
        self._send(asks)

    def forget(self) -> None:
        """Ends joining of the reads under way."""
        self._under_way = {}

    # A dataloader belongs to an event loop, so it is made by the first load.
    @cached_property
    def _loader(self) -> DataLoader[Ask, None]:
        return DataLoader(self._collected, cache=False, loop=asyncio.get_running_loop())

    async def _collected(self, asks: list[Ask]) -> list[None]:
        self._send(asks)
        return [None] * len(asks)

    def _send(self, asks: Sequence[Ask]) -> None:
        under_way = self._under_way
        new: list[Call] = []
        for ask in asks:
            deadline = ask.usage.deadline
            latest = deadline
            for key in ask.keys:
                read_of = self._read_of(ask.wanted, key)
                call = under_way.get((key, read_of))
                if call is None:
                    # A batch takes a key once, even if different fields are read of it.
                    if not new or key in new[-1].read_of or self._is_full(new[-1], key, read_of):
                        new.append(Call(under_way, ask.usage))
                    call = new[-1]
                    call.add(ask, key, read_of)
                else:
                    call.join(ask, key)
                if call.usage.deadline > latest:
                    latest = call.usage.deadline
            if latest > deadline + TOLERANCE:
                ask.end_at_deadline()
        self._start(new)

    def _send_alone(self, ask: Ask) -> None:
        unshared: dict[Any, Call] = {}
        calls: list[Call] = []
        for key in ask.keys:
            read_of = self._read_of(ask.wanted, key)
            if not calls or self._is_full(calls[-1], key, read_of):
                calls.append(Call(unshared, ask.usage))
            calls[-1].add(ask, key, read_of)
        self._start(calls)

    def _start(self, calls: Sequence[Call]) -> None:
        if calls:
            running = self._carry_out(calls[0]) if len(calls) == 1 else in_parallel(self._carry_out, calls)
            task = asyncio.ensure_future(running)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, call: Call) -> None:
        try:
            await self._read(call, partial(self._deliver, call))
        except Exception as error:  # a bug, for which no one should wait
            log.exception("a read failed unexpectedly")
            _finish(call.failed(error))

    def _deliver(self, call: Call, found: Found) -> None:
        complete, again = call.answered(found)
        for ask in again:
            self._send_alone(ask)
        if complete:
            _finish(complete)

    def _settled(self, who: int, arrived: Arrived, found: Found) -> None:
        left = self._waiting[who] - 1
        if left:
            self._waiting[who] = left
        else:
            del self._waiting[who]
        arrived(found)


class SharedReads:
    """The reads of a process or, if they are strongly consistent, of one request."""

    def __init__(self, table: Table, *, consistent: bool = False) -> None:
        self._table = table
        self._consistent = consistent
        self._items = Reads(self._read_items, _item, is_full_batch)
        self._pages = Reads(self._read_pages, _page_of, _is_other_page)

    def items(self, keys: Sequence[Key[Any]], wanted: Wanted, usage: Usage, arrived: Arrived) -> None:
        self._items.ask(distinct(keys), wanted, usage, arrived)

    def pages(self, reads: Sequence[PageRead], wanted: Wanted, usage: Usage, arrived: Arrived) -> None:
        self._pages.ask(distinct(reads), wanted, usage, arrived)

    def wrote(self, writes: Sequence[Write] = ()) -> None:  # noqa: ARG002  for hot data
        """Notes that these writes were acknowledged, or may have been applied."""
        self._items.forget()
        self._pages.forget()

    async def _read_items(self, call: Call, deliver: Deliver) -> None:
        table = self._table.using(call.usage)
        projections = call.read_of
        deliver(await table.get_batch(call.keys, projections=projections, consistent=self._consistent, some=deliver))

    async def _read_pages(self, call: Call, deliver: Deliver) -> None:
        table = self._table.using(call.usage)
        read = call.keys[0]
        if isinstance(read, RangeRead):
            wanted = call.parts[0].ask.wanted
            deliver({read: await table.query_or_error(read, wanted=wanted, consistent=self._consistent)})
        else:
            deliver(await self._read_by_keys(call, table))

    async def _read_by_keys(self, call: Call, table: Table) -> Found:
        read = partial(table.get_many, projections={key: of for each, of in call.read_of.items() for key in each.keys})
        keys = [key for each in call.keys for key in each.keys]
        answers = await read(keys, consistent=self._consistent)
        # These records exist, so a missing one has not been replicated yet.
        late = [key for key, answer in answers.items() if answer is None]
        if late and not self._consistent:
            answers |= await read(late, consistent=True)
        return {each: _page([answers[key] for key in each.keys]) for each in call.keys}


def _item(wanted: Wanted, key: Key[Any]) -> Projection:
    return wanted[key.entity].items


def _page_of(wanted: Wanted, read: PageRead) -> Projection | Wanted:
    if isinstance(read, KeysRead):
        return wanted[read.keys[0].entity].lists
    entity: Any = read.within.entity
    return wanted if isinstance(entity, Mixed) else wanted[entity].lists


def is_full_batch(call: Call, *_: Any) -> bool:
    return len(call.keys) == BATCH_GET_KEYS


def _is_other_page(call: Call, read: PageRead, read_of: Projection | Wanted) -> bool:
    """A range is a call of its own. Pages with known keys are read together, if they want the same fields."""
    last = call.keys[-1]
    return isinstance(read, RangeRead) or isinstance(last, RangeRead) or call.read_of[last] is not read_of


def _finish(asks: Sequence[Ask]) -> None:
    """Hands each request its answers. If that takes long, the others get theirs when their turn comes."""
    slice_ = Slice()
    for place, ask in enumerate(asks, start=1):
        ask.finish()
        if slice_.is_over and place < len(asks):
            later(partial(_finish, asks[place:]))
            return


def distinct(keys: Sequence[Any]) -> Sequence[Any]:
    return keys if len(keys) == 1 else list(dict.fromkeys(keys))


def _page(answers: Sequence[Any]) -> Page[Any] | DatastoreError:
    failed = [answer for answer in answers if isinstance(answer, DatastoreError)]
    damaged = [error for error in failed if isinstance(error, CorruptItem)]
    if len(damaged) < len(failed):
        return next(error for error in failed if error not in damaged)
    return Page([record for record in answers if record is not None and record not in damaged], None, damaged)
