"""Many subscribers of one list in one thread. They connect again with their last cursor when a connection is lost."""

import json
import selectors
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import httptools

COMMENTS = """subscription ($id: ID!, $after: String) {
  commentAdded(postId: $id, after: $after) { cursor node { content author { username } } } }"""
CHUNK = 1 << 18
PAUSE = 0.2


class Subscriber:
    """One client: what it has received, and its connection."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables
        self.received: list[str] = []
        self.cursor: str | None = None
        self.connections = 0
        self.retry_at = 0.0
        self.is_open = False

    def request(self, path: str) -> bytes:
        body = json.dumps({"query": COMMENTS, "variables": {**self._variables, "after": self.cursor}}).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: benchmark\r\nAccept: text/event-stream\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def connect(self, address: tuple[str, int], path: str) -> socket.socket:
        connection = socket.create_connection(address, timeout=10)
        connection.sendall(self.request(path))
        connection.setblocking(False)
        self._parser = httptools.HttpResponseParser(self)
        self._text = b""
        self.connections += 1
        return connection

    def take(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        self.is_open = self._parser.get_status_code() == 200

    def on_body(self, body: bytes) -> None:
        *events, self._text = (self._text + body).split(b"\n\n")
        for event in events:
            data = event.partition(b"data: ")[2]
            if data:
                edge = json.loads(data)["data"]["commentAdded"]
                self.received.append(edge["node"]["content"])
                self.cursor = edge["cursor"]


class Subscribers:
    """All subscribers of one post. Use it as a context manager."""

    def __init__(self, url: str, count: int, variables: dict[str, Any]) -> None:
        parts = urlsplit(url)
        self._address = (str(parts.hostname), int(parts.port or 80))
        self._path = parts.path
        self.all = [Subscriber(variables) for _ in range(count)]
        self._selector = selectors.EpollSelector()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Subscribers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        waiting = [*self.all]
        while not self._stopping.is_set():
            now = time.monotonic()
            # A few at a time: admission control would refuse more.
            for subscriber in [each for each in waiting if each.retry_at <= now][:8]:
                waiting.remove(subscriber)
                try:
                    connection = subscriber.connect(self._address, self._path)
                except OSError:
                    subscriber.retry_at = now + PAUSE
                    waiting.append(subscriber)
                else:
                    self._selector.register(connection, selectors.EVENT_READ, subscriber)
            for key, _ in self._selector.select(timeout=0.02):
                if not self._read(key):
                    self._selector.unregister(key.fileobj)
                    subscriber = key.data
                    subscriber.is_open, subscriber.retry_at = False, now + PAUSE
                    waiting.append(subscriber)

    def _read(self, key: selectors.SelectorKey) -> bool:
        """Returns False if the connection is lost."""
        connection: Any = key.fileobj
        try:
            data = connection.recv(CHUNK)
        except OSError:
            data = b""
        if data:
            key.data.take(data)
            if key.data.is_open:
                return True
        connection.close()
        return False
