"""The open connections of a server, and the limits on how many there are and how long they may wait."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from schema.http.client_address import Network, is_trusted, parsed, subject

log = logging.getLogger("heartwood.server")

MOST_UNSENT = 64 * 1024 * 1024
"""Bytes of all answers that clients have not read yet. Beyond it, the slowest readers lose their connection."""
LEAST_PROGRESS = 16 * 1024
"""Bytes of an answer that a client has to read in WRITE_TIMEOUT."""
OTHER_FILES = 300
"""File descriptors for everything that is not a connection of a client: DynamoDB, the log, the engine."""


@dataclass(frozen=True)
class ConnectionLimits:
    most: int
    per_address: int
    write_within: float
    headers_within: float = 10.0
    idle_within: float = 75.0


class Watched(Protocol):
    """A connection, as the limits see it."""

    address: str

    @property
    def is_idle(self) -> bool: ...

    @property
    def unsent(self) -> int: ...

    @property
    def stalled_since(self) -> float | None: ...

    def overdue(self, now: float) -> str | None:
        """Returns why the connection should end, or None."""

    def end(self) -> None:
        """Ends the connection without waiting for anything."""


class Reader:
    """The progress of a client that reads."""

    def __init__(self) -> None:
        self.stalled_since: float | None = None
        self._unsent_then = 0

    def is_slow(self, unsent: int, now: float, within: float) -> bool:
        """Returns True if it has read less than LEAST_PROGRESS for too long. Called once a second."""
        if not unsent:
            self.stalled_since = None
            return False
        if self.stalled_since is None or unsent <= self._unsent_then - LEAST_PROGRESS:
            self.stalled_since, self._unsent_then = now, unsent
        return now - self.stalled_since > within


class Connections:
    """All connections of a server process, the oldest first."""

    def __init__(self, limits: ConnectionLimits, proxies: Sequence[Network] = ()) -> None:
        self.limits = limits
        self.refused: Counter[str] = Counter()
        self._proxies = proxies
        self._open: dict[Watched, None] = {}
        self._by_address: dict[str, dict[Watched, None]] = {}

    @property
    def open(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Watched]:
        return iter(self._open)

    def admits(self, connection: Watched) -> bool:
        """Adds a connection. At a limit, it replaces the oldest idle one; without any, it is refused."""
        address = subject(connection.address)
        neighbors = self._by_address.get(address, {})
        if len(neighbors) >= self.limits.per_address and not self._is_proxy(address) and not self._make_room(neighbors):
            self.refused["address"] += 1
            return False
        if len(self._open) >= self.limits.most and not self._make_room(self._open):
            self.refused["total"] += 1
            return False
        self._open[connection] = None
        self._by_address.setdefault(address, {})[connection] = None
        return True

    def forget(self, connection: Watched) -> None:
        self._open.pop(connection, None)
        address = subject(connection.address)
        neighbors = self._by_address.get(address, {})
        neighbors.pop(connection, None)
        if not neighbors:
            self._by_address.pop(address, None)

    def sweep(self) -> None:
        """Ends the connections that are overdue. Called once a second."""
        now = time.monotonic()
        for connection in list(self._open):
            if reason := connection.overdue(now):
                self.end(connection, reason)
        unsent = sum(connection.unsent for connection in self._open)
        slowest = sorted((c for c in self._open if c.stalled_since is not None), key=lambda c: c.stalled_since or 0.0)
        for connection in slowest:
            if unsent <= MOST_UNSENT:
                break
            unsent -= connection.unsent
            self.end(connection, "unsent")

    def _make_room(self, connections: Iterable[Watched]) -> bool:
        oldest = next((connection for connection in connections if connection.is_idle), None)
        if oldest is not None:
            self.end(oldest, "idle")
        return oldest is not None

    def end(self, connection: Watched, reason: str) -> None:
        """Ends a connection, and counts why."""
        self.refused[reason] += 1
        self.forget(connection)
        connection.end()

    def _is_proxy(self, address: str) -> bool:
        known = parsed(address.removesuffix("/64"))
        return known is not None and is_trusted(known, self._proxies)


def allowed_connections(wanted: int) -> int:
    """Raises the limit of open files as far as needed and possible; returns the connections that it allows."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = max(soft - OTHER_FILES, soft // 2)
        log.warning("the system allows %d open files: at most %d connections (see `ulimit -n`)", soft, wanted)
    return wanted
