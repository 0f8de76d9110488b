"""Cursors: a position in a list, signed and bound to the very list it came from."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson

from datastore.table import Position
from schema.errors import BadInput

SIGNATURE_BYTES = 12


class Cursors:
    def __init__(self, secret: str) -> None:
        self._key = hmac.digest(secret.encode(), b"heartwood cursors", "sha256")

    def write(self, binding: bytes, position: Position) -> str:
        """`binding` is everything that makes the list the list it is: field, arguments, partition."""
        payload = orjson.dumps(position)
        return urlsafe_b64encode(self._sign(binding, payload) + payload).decode().rstrip("=")

    def read(self, binding: bytes, text: str) -> Position:
        try:
            raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raw = b""
        signature, payload = raw[:SIGNATURE_BYTES], raw[SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._sign(binding, payload)):
            raise BadInput(
                f"{text[:60]!r} is not a cursor of this list; use a `cursor`, `startCursor` or `endCursor` "
                "of the same field with the same arguments"
            )
        position: Position = tuple(orjson.loads(payload))
        return position

    def _sign(self, binding: bytes, payload: bytes) -> bytes:
        return hmac.digest(self._key, binding + b"\0" + payload, "sha256")[:SIGNATURE_BYTES]
