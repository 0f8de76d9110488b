"""Many clients of server-sent events in one thread: it reads their sockets, and notes when each got its last event."""

import json
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

EVENT = b"event: next"
PATIENCE = 120.0
CHUNK = 1 << 18
AT_ONCE = 8


class Client:
    """One connection with one operation."""

    __slots__ = ("arrived", "events", "socket")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.events = 0
        self.arrived = 0.0

    def take(self, data: bytes) -> None:
        self.events += data.count(EVENT)
        self.arrived = time.monotonic()


class Readers:
    """All clients of one server. Use it as a context manager."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = (str(parts.hostname), int(parts.port or 80))
        self._path = parts.path
        self._selector = selectors.EpollSelector()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self.clients: list[Client] = []

    def __enter__(self) -> "Readers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        for client in self.clients:
            client.socket.close()

    def open(self, query: str, variables: Sequence[dict[str, Any]], tokens: Sequence[str] = ()) -> None:
        """Starts an operation for each set of variables, and waits for its first result."""
        for number, given in enumerate(variables):
            body = json.dumps({"query": query, "variables": given}).encode()
            head = [f"POST {self._path} HTTP/1.1", "Host: benchmark", "Accept: text/event-stream"]
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
            if tokens:
                head.append(f"Authorization: Bearer {tokens[number]}")
            connection = socket.create_connection(self._address, timeout=PATIENCE)
            connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            connection.setblocking(False)
            client = Client(connection)
            self.clients.append(client)
            self._selector.register(connection, selectors.EVENT_READ, client)
            # Admission control would refuse more at once.
            if number % AT_ONCE == AT_ONCE - 1:
                self.until(lambda: all(each.events for each in self.clients[-AT_ONCE:]))
        self.until(lambda: all(each.events for each in self.clients))

    def until(self, holds: Callable[[], bool], within: float = PATIENCE) -> bool:
        """Waits for a condition; False if it did not hold in time."""
        give_up = time.monotonic() + within
        while not holds():
            if time.monotonic() > give_up:
                return False
            time.sleep(0.002)
        return True

    @property
    def events(self) -> int:
        return sum(client.events for client in self.clients)

    def _read(self) -> None:
        while not self._stopping.is_set():
            for key, _ in self._selector.select(timeout=0.1):
                client: Client = key.data
                data = client.socket.recv(CHUNK)
                if data:
                    client.take(data)
                else:
                    self._selector.unregister(client.socket)
