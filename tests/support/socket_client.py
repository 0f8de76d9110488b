"""A client of the graphql-transport-ws protocol that does what it is told."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.support.serving import PATIENCE

PROTOCOL = Subprotocol("graphql-transport-ws")


class SocketClient:
    """A connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, type_: str, **fields: Any) -> None:
        self.connection.send(json.dumps({"type": type_, **fields}))

    def init(self, **parameters: Any) -> None:
        """Opens the GraphQL connection."""
        self.send("connection_init", payload=parameters)
        assert self.receive() == {"type": "connection_ack"}

    def subscribe(self, query: str, id: str = "1", **payload: Any) -> None:
        self.send("subscribe", id=id, payload={"query": query, **payload})

    def receive(self) -> dict[str, Any]:
        """Returns the next message."""
        message: dict[str, Any] = json.loads(self.connection.recv(timeout=PATIENCE))
        return message

    def result(self, id: str = "1") -> dict[str, Any]:
        """Returns the next result of an operation, which must be the next message."""
        message = self.receive()
        assert (message["type"], message["id"]) == ("next", id), message
        payload: dict[str, Any] = message["payload"]
        return payload

    def closed(self) -> tuple[int, str]:
        """Waits for the server to close it; returns the code and the reason."""
        with suppress(ConnectionClosed):
            while True:
                self.connection.recv(timeout=PATIENCE)
        code = self.connection.close_code
        assert code is not None
        return code, self.connection.close_reason or ""


@contextmanager
def socket_to(
    url: str, *, protocols: tuple[str, ...] = (PROTOCOL,), headers: Mapping[str, str] | None = None, **options: Any
) -> Iterator[SocketClient]:
    """Connects to the server at this URL of HTTP."""
    where = f"{url.replace('http', 'ws', 1)}/graphql"
    offered = [Subprotocol(name) for name in protocols]
    with connect(
        where, subprotocols=offered, additional_headers=headers, open_timeout=PATIENCE, proxy=None, **options
    ) as connection:
        yield SocketClient(connection)
