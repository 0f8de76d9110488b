"""Calls to DynamoDB that several requests wait for, and what each of these has asked for."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datastore.client.budget import Usage
from datastore.client.errors import CorruptItem, DatastoreError, Retryable, Unavailable
from datastore.model.projections import Wanted

Found = dict[Any, Any]
"""The answer for each key or page read: None for a missing record, a DatastoreError for a failed read or damage."""

Arrived = Callable[[Found], None]


class Ask:
    """The needs of one request at a time, usually of a level of its plan. `arrived` takes the answers."""

    __slots__ = ("_arrived", "_found", "_left", "_timer", "alone", "keys", "usage", "wanted")

    def __init__(self, keys: Sequence[Any], wanted: Wanted, usage: Usage, arrived: Arrived) -> None:
        self.keys = keys
        self.wanted = wanted
        self.usage = usage
        # True if a call for several requests has failed, so that this one is read for on its own.
        self.alone = False
        self._arrived = arrived
        self._found: Found = {}
        self._left = len(keys)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_over(self) -> bool:
        return not self._left

    def take(self, found: Found) -> bool:
        """Takes answers. Returns True if these were the last ones."""
        if not self._found and len(found) == self._left:
            self._found = found
        else:
            self._found.update(found)
        self._left -= len(found)
        return not self._left

    def finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._arrived(self._found)

    def end_at_deadline(self) -> None:
        """Ends the wait when the time of the request is over. The calls go on for the others."""
        self._timer = asyncio.get_running_loop().call_later(self.usage.seconds_left, self._give_up)

    def _give_up(self) -> None:
        if self._left:
            late = Unavailable("a read for several requests was not answered by the deadline")
            self.take({key: late for key in self.keys if key not in self._found})
            self.finish()


class Part:
    """The keys of a call that one request has asked for."""

    __slots__ = ("ask", "keys", "left")

    def __init__(self, ask: Ask, keys: list[Any]) -> None:
        self.ask = ask
        self.keys = keys
        self.left = 0


class Call:
    """One call, and the keys that are not answered yet, with what is read of each.

    `under_way` has the calls that may be joined, by a key and what is read of it.
    """

    __slots__ = ("keys", "parts", "read_of", "under_way", "usage")

    def __init__(self, under_way: dict[Any, "Call"], usage: Usage) -> None:
        self.keys: list[Any] = []
        self.read_of: dict[Any, Any] = {}
        self.parts: list[Part] = []
        self.under_way = under_way
        self.usage = usage.apart()

    def join(self, ask: Ask, key: Any) -> None:
        """Adds a request that waits for this key. The first one to want a key decides how long it is read for."""
        parts = self.parts
        # A request asks for all of its keys in a row.
        if not parts or parts[-1].ask is not ask:
            parts.append(Part(ask, []))
        parts[-1].keys.append(key)
        parts[-1].left += 1

    def add(self, ask: Ask, key: Any, read_of: Any) -> None:
        """Adds a key that is read for this request first."""
        self.join(ask, key)
        self.keys.append(key)
        self.read_of[key] = read_of
        self.under_way[key, read_of] = self
        if ask.usage.deadline > self.usage.deadline:
            self.usage.deadline = ask.usage.deadline

    def answered(self, found: Found) -> tuple[list[Ask], list[Ask]]:
        """Hands out answers, to some keys or to all. Returns the asks that are complete, and those to send again."""
        self.keys = [key for key in self.keys if key not in found]
        under_way = self.under_way
        for key in found:
            place = key, self.read_of[key]
            if under_way.get(place) is self:
                del under_way[place]
        complete: list[Ask] = []
        again: list[Ask] = []
        for part in self.parts:
            if part.left and not part.ask.is_over:
                self._hand_out(part, found, complete, again)
        return complete, again

    def failed(self, error: Exception) -> list[Ask]:
        """Returns the asks that are complete if everything that is not answered has failed."""
        for key in self.keys:
            self.under_way.pop((key, self.read_of[key]), None)
        failed = dict.fromkeys(self.keys, error)
        parts = [(part.ask, {key: failed[key] for key in part.keys if key in failed}) for part in self.parts]
        return [ask for ask, answers in parts if not ask.is_over and answers and ask.take(answers)]

    def _hand_out(self, part: Part, found: Found, complete: list[Ask], again: list[Ask]) -> None:
        ask = part.ask
        answers = found
        if len(self.parts) > 1 or len(found) != len(part.keys):
            answers = {key: found[key] for key in part.keys if key in found}
        part.left -= len(answers)
        if not part.left:
            self._charge(part)
        failed = self._unlucky(part, answers)
        if failed:
            again.append(_repeated(ask, failed))
            answers = {key: answer for key, answer in answers.items() if key not in failed}
        if answers and ask.take(answers):
            complete.append(ask)

    def _unlucky(self, part: Part, answers: Mapping[Any, Any]) -> list[Any]:
        """Returns the keys whose reads failed because of another request: its key, or its deadline."""
        ask = part.ask
        if ask.alone or (len(self.parts) == 1 and self.usage.deadline >= ask.usage.deadline):
            return []
        was_cut_short = self.usage.seconds_left <= 0 < ask.usage.seconds_left
        return [key for key, answer in answers.items() if _failed(answer, was_cut_short=was_cut_short)]

    def _charge(self, part: Part) -> None:
        """Charges a request with all calls that it waited for, and with its share of what they cost."""
        usage, own = part.ask.usage, self.usage
        usage.calls.update(own.calls)
        usage.retries += own.retries
        if len(self.parts) == 1:
            usage.read_units += own.read_units
        else:
            share = len(part.keys) / sum(len(each.keys) for each in self.parts)
            usage.read_units += own.read_units * share
            usage.saved.update({operation: count * (1 - share) for operation, count in own.calls.items()})


def _repeated(ask: Ask, keys: list[Any]) -> Ask:
    """The same request, for these keys, on its own."""

    def arrived(found: Found) -> None:
        if not ask.is_over and ask.take(found):
            ask.finish()

    repeated = Ask(keys, ask.wanted, ask.usage, arrived)
    repeated.alone = True
    return repeated


def _failed(answer: Any, *, was_cut_short: bool) -> bool:
    """True if a call may succeed on its own: it was refused for one of its keys, or its time was over early."""
    if not isinstance(answer, DatastoreError) or isinstance(answer, CorruptItem):
        return False
    return was_cut_short or not isinstance(answer, Retryable)
