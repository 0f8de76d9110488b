"""Messages and close codes of the graphql-transport-ws protocol."""

from typing import Any, NamedTuple

import orjson

from schema.http.protocol import read_json

PROTOCOL = "graphql-transport-ws"
LONGEST_ID = 200
LONGEST_REASON = 123
"""Bytes, by the WebSocket protocol."""

RESTARTING = 1012
TRY_AGAIN = 1013
BAD_REQUEST = 4400
UNAUTHORIZED = 4401
FORBIDDEN = 4403
NO_SUBPROTOCOL = 4406
INIT_TIMEOUT = 4408
ID_IN_USE = 4409
SECOND_INIT = 4429
INTERNAL = 4500


class Closed(Exception):
    """Ends the connection, with the code and the reason that the client gets."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason.encode()[:LONGEST_REASON].decode(errors="ignore")


class Message(NamedTuple):
    """A message of a client. `payload` is an object, `{}` if there is none."""

    type: str
    id: str
    payload: dict[str, Any]


NEEDS_ID = frozenset({"subscribe", "complete"})
TYPES = NEEDS_ID | {"connection_init", "ping", "pong"}


def parsed(text: bytes) -> Message:
    """Returns a message; raises Closed if it is not one of the protocol."""
    values = read_json(text, "the message")
    if not isinstance(values, dict) or values.get("type") not in TYPES:
        raise Closed(BAD_REQUEST, f"send JSON objects of {PROTOCOL}: `type` is one of {', '.join(sorted(TYPES))}")
    type_, id_, payload = values["type"], values.get("id", ""), values.get("payload")
    if type_ in NEEDS_ID and (not isinstance(id_, str) or not 1 <= len(id_) <= LONGEST_ID):
        raise Closed(BAD_REQUEST, f"`id` of a {type_} message must be a text of 1 to {LONGEST_ID} characters")
    if not isinstance(payload, dict | None) or (type_ == "subscribe" and payload is None):
        raise Closed(BAD_REQUEST, f"`payload` of a {type_} message must be a JSON object")
    return Message(type_, id_, payload or {})


ACK = '{"type":"connection_ack"}'


def pong(payload: dict[str, Any]) -> str:
    return orjson.dumps({"type": "pong", "payload": payload} if payload else {"type": "pong"}).decode()


def next_result(id: str, result: bytes) -> str:
    """Returns the message with a result, which is JSON already."""
    return f'{{"id":{orjson.dumps(id).decode()},"type":"next","payload":{result.decode()}}}'


def errors(id: str, found: list[Any]) -> str:
    return orjson.dumps({"id": id, "type": "error", "payload": found}).decode()


def complete(id: str) -> str:
    return orjson.dumps({"id": id, "type": "complete"}).decode()
