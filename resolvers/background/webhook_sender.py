"""Sends POST requests to receivers that users have chosen, and trusts none of them.

A name is resolved once, all its addresses are checked, and the connection goes to one of exactly these: an answer that
changes between the check and the connection changes nothing. Redirects are not followed, proxies of the environment are
not used, and of a response only the head is read.
"""

import asyncio
import contextlib
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from datastore.client.connecting import first_of
from resolvers.background.destinations import BadDestination, Destination, check_address

TIMEOUT = 10.0
MOST_OF_A_HEAD = 16_384
INFORMATIONAL = 5

AT_ONCE = 64
AT_ONCE_PER_LANE = 4
LONGEST_WAIT = 3600.0

# getaddrinfo cannot be canceled, so names have threads of their own: slow ones delay only other webhooks.
NAME_THREADS = 8

Resolve = Callable[..., Sequence[tuple[Any, ...]]]


class Answer(NamedTuple):
    """The outcome of an attempt: the status of the response, or why there was none."""

    status: int | None
    error: str | None
    duration: int
    """Milliseconds."""

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Busy(Exception):
    """Too many requests are under way to this receiver; there is a place for this one in `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"try again in {seconds:.1f} s")
        self.seconds = seconds


@dataclass
class _Lane:
    """Requests to one host, or of one owner. `booked_until` is when those that were put off will have been sent."""

    under_way: int = 0
    duration: float = 1.0
    booked_until: float = 0.0

    def book(self, now: float) -> float:
        """Returns the seconds until there is a place, and keeps that place."""
        self.booked_until = max(now, self.booked_until) + self.duration / AT_ONCE_PER_LANE
        return min(self.booked_until - now, LONGEST_WAIT)


class WebhookSender:
    """One per process. `resolve` and `trusted` replace the resolver and the certificate authorities, for tests."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        timeout: float = TIMEOUT,
        resolve: Resolve | None = None,
        trusted: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.allow_private = allow_private
        self._timeout = timeout
        self._resolve = resolve
        self._tls = trusted
        self._clock = clock
        self._threads = ThreadPoolExecutor(NAME_THREADS, thread_name_prefix="webhook-names")
        self._all = _Lane()
        self._lanes: dict[str, _Lane] = {}

    async def post(self, owner: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Sends a request once. Raises Busy instead if too many are under way, all told, to this host or of the owner.

        Nothing waits here for a place: a slow receiver delays no other.
        """
        begun = self._clock()
        try:
            to = Destination.of(url, allow_private=self.allow_private)
            with self._place(f"owner {owner}", f"host {to.host}"):
                status = await self._attempt(to, headers, body)
        except (BadDestination, OSError, UnicodeError, _BadResponse) as error:
            return Answer(None, _told(error), self._since(begun))
        return Answer(status, None if 200 <= status < 300 else _refusal(status), self._since(begun))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _since(self, begun: float) -> int:
        return round((self._clock() - begun) * 1000)

    @contextlib.contextmanager
    def _place(self, *names: str) -> Iterator[None]:
        now = self._clock()
        if self._all.under_way >= AT_ONCE:
            raise Busy(self._all.book(now))
        # Lanes that are not in use are forgotten, so that strangers' host names do not fill the memory.
        for name in [name for name, lane in self._lanes.items() if not lane.under_way and lane.booked_until <= now]:
            del self._lanes[name]
        lanes = [self._lanes.setdefault(name, _Lane()) for name in names]
        full = [lane for lane in lanes if lane.under_way >= AT_ONCE_PER_LANE]
        if full:
            raise Busy(max(lane.book(now) for lane in full))
        for lane in (self._all, *lanes):
            lane.under_way += 1
        try:
            yield
        finally:
            for lane in (self._all, *lanes):
                lane.under_way -= 1
                lane.duration = max(self._clock() - now, 0.05)

    async def _attempt(self, to: Destination, headers: Mapping[str, str], body: bytes) -> int:
        """Returns the status of the response. The time limit covers everything: names, connection, TLS and response."""
        async with asyncio.timeout(self._timeout):
            reader, writer = await self._connect(to)
            try:
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                head = f"POST {to.target} HTTP/1.1\r\nHost: {to.authority}\r\n{lines}Content-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode("latin-1") + body)
                await writer.drain()
                return await _status(reader)
            finally:
                # The body of the response is of no interest, however long it is.
                writer.transport.abort()

    async def _connect(self, to: Destination) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        # Looked up when it is called, because tests replace it.
        resolve = self._resolve or socket.getaddrinfo
        found = await loop.run_in_executor(self._threads, resolve, to.host, to.port, 0, socket.SOCK_STREAM)
        if not self.allow_private:
            for *_, address in found:
                check_address(address[0])
        connected = await first_of(loop, [(family, kind, proto, address) for family, kind, proto, _, address in found])
        try:
            return await asyncio.open_connection(
                sock=connected,
                limit=MOST_OF_A_HEAD,
                ssl=(self._tls or _default_tls()) if to.secure else None,
                server_hostname=to.host if to.secure else None,
            )
        except BaseException:
            connected.close()
            raise


class _BadResponse(Exception):
    """The receiver did not send an HTTP response."""


async def _status(reader: asyncio.StreamReader) -> int:
    """Reads the head of a response, after any informational ones."""
    for _ in range(INFORMATIONAL):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            raise _BadResponse("the receiver closed the connection without a response") from None
        except asyncio.LimitOverrunError:
            raise _BadResponse(f"the head of the response is over {MOST_OF_A_HEAD} bytes") from None
        version, _, rest = head.partition(b" ")
        if version not in (b"HTTP/1.1", b"HTTP/1.0") or not rest[:3].isdigit() or not 100 <= int(rest[:3]) <= 999:
            raise _BadResponse("the response is not HTTP")
        if int(rest[:3]) >= 200:
            return int(rest[:3])
    raise _BadResponse("the receiver sends only informational responses")


@cache
def _default_tls() -> ssl.SSLContext:
    """Made once, because it reads all certificate authorities of the system."""
    return ssl.create_default_context()


def _refusal(status: int) -> str:
    if 300 <= status < 400:
        return f"the receiver answered {status}; redirects are not followed, so change the URL"
    return f"the receiver answered {status}"


def _told(error: Exception) -> str:
    """Returns what the owner of the webhook may know of an error: nothing about this network."""
    if isinstance(error, TimeoutError):
        return "the receiver did not answer in time"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"[:300]
    if isinstance(error, socket.gaierror | UnicodeError):
        return "the host name cannot be resolved"
    if isinstance(error, OSError):
        return f"the connection failed: {os.strerror(error.errno) if error.errno else type(error).__name__}"
    return str(error)[:300]
