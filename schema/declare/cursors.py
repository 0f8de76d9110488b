"""Cursors: encrypted positions, each bound to its list."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from datastore.client.positions import Position
from schema.declare.errors import BadInput


class Cursors:
    """AES-SIV, so that a position always has the same cursor. Encrypted: it may be the position of a hidden record."""

    def __init__(self, secret: str) -> None:
        self._cipher = AESSIV(hmac.digest(secret.encode(), b"heartwood cursors", "sha256"))

    def write(self, binding: bytes, position: Position) -> str:
        """`binding` identifies the list: field, arguments, partition."""
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
