"""The streams that clients have open: how many there may be, and their end when the server stops."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from resolvers.core.error_codes import ErrorCode
from schema.http.protocol import BadRequest


class OpenStreams:
    """The operations with several results of a process, over all transports.

    `stopping` is set when the server stops: transports then end their streams, and clients connect elsewhere.
    """

    def __init__(self, most: int, per_client: int) -> None:
        self._most = most
        self._per_client = per_client
        self._by_owner: Counter[str] = Counter()
        self.by_transport: Counter[str] = Counter()
        self.stopping = asyncio.Event()
        self.on_stop: set[Callable[[], None]] = set()

    def stop(self) -> None:
        """Ends all streams."""
        self.stopping.set()
        for end in [*self.on_stop]:
            end()

    @property
    def open(self) -> int:
        return self.by_transport.total()

    @contextmanager
    def one_of(self, client: str, transport: str) -> Iterator["Counted"]:
        """Counts a stream of an address while it is open. Raises BadRequest at a limit."""
        if self.open >= self._most:
            raise BadRequest("the server has too many open streams; try again in a minute", ErrorCode.UNAVAILABLE)
        counted = Counted(self)
        counted.claim(client)
        self.by_transport[transport] += 1
        try:
            yield counted
        finally:
            self.by_transport[transport] -= 1
            counted.release()

    def take_place(self, owner: str) -> None:
        if self._by_owner[owner] >= self._per_client:
            message = f"you have {self._per_client} open streams, and no more are allowed; close one first"
            raise BadRequest(message, ErrorCode.RATE_LIMITED)
        self._by_owner[owner] += 1

    def leave_place(self, owner: str) -> None:
        self._by_owner[owner] -= 1
        if not self._by_owner[owner]:
            del self._by_owner[owner]


class Counted:
    """An open stream, and the address and the viewer that it counts for."""

    __slots__ = ("_owners", "_streams")

    def __init__(self, streams: OpenStreams) -> None:
        self._streams = streams
        self._owners: tuple[str, ...] = ()

    def claim(self, owner: str) -> None:
        """Counts it for an address or a viewer. Raises BadRequest at a limit."""
        self._streams.take_place(owner)
        self._owners += (owner,)

    def release(self) -> None:
        for owner in self._owners:
            self._streams.leave_place(owner)
