"""Cursors: a position in a list, sealed and bound to the very list it came from."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from datastore.client.table import Position
from schema.declare.errors import BadInput


class Cursors:
    """AES-SIV: a position has one cursor, the same each time. Sealed, for it may be that of a hidden record."""

    def __init__(self, secret: str) -> None:
        self._cipher = AESSIV(hmac.digest(secret.encode(), b"heartwood cursors", "sha256"))

    def write(self, binding: bytes, position: Position) -> str:
        """`binding` is everything that makes the list the list it is: field, arguments, partition."""
        return urlsafe_b64encode(self._cipher.encrypt(orjson.dumps(position), [binding])).decode().rstrip("=")

    def read(self, binding: bytes, text: str) -> Position:
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            position: Position = tuple(orjson.loads(self._cipher.decrypt(sealed, [binding])))
        except (ValueError, InvalidTag):
            raise BadInput(
                f"{text[:60]!r} is not a cursor of this list; use a `cursor`, `startCursor` or `endCursor` "
                "of the same field with the same arguments"
            ) from None
        return position
