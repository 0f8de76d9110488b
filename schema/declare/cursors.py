"""Cursors: encrypted positions, each bound to its list."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, NamedTuple

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from datastore.client.positions import Position
from loaders.appends import Rank
from schema.declare.errors import BadInput

LogPosition = tuple[tuple[int, int], ...]
"""For each partition of the change log: the last batch that is finished, and the number of changes after it."""


class Resumption(NamedTuple):
    """The first read of a list from the table: since which record, when, and whether it is still going on.

    What the log has of the time before `began` may have been read from the table.
    """

    since: Rank
    began: str
    reads_table: bool


class Bookmark(NamedTuple):
    """The part of a subscription's cursor that leads to the change log, besides the position in the list.

    `at` is the time at which the record was added.
    """

    log: LogPosition
    at: str
    resumption: Resumption | None = None


class Cursors:
    """AES-SIV, so that a position always has the same cursor. Encrypted: it may be the position of a hidden record."""

    def __init__(self, secret: str) -> None:
        self._cipher = AESSIV(hmac.digest(secret.encode(), b"heartwood cursors", "sha256"))

    def write(self, binding: bytes, position: Position, bookmark: Bookmark | None = None) -> str:
        """`binding` identifies the list: field, arguments, partition."""
        sealed = orjson.dumps((*position, {"bookmark": bookmark}) if bookmark else position, default=tuple)
        return urlsafe_b64encode(self._cipher.encrypt(sealed, [binding])).decode().rstrip("=")

    def read(self, binding: bytes, text: str) -> Position:
        """Returns the position. Raises BadInput. Cursors of subscriptions have one, too."""
        return self.resume(binding, text)[0]

    def resume(self, binding: bytes, text: str) -> tuple[Position, Bookmark | None]:
        """Returns the position and, if it is the cursor of a subscription, its bookmark. Raises BadInput."""
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            *position, last = orjson.loads(self._cipher.decrypt(sealed, [binding]))
        except (ValueError, InvalidTag):
            raise BadInput(
                f"{text[:60]!r} is not a cursor of this list; use a `cursor`, `startCursor` or `endCursor` "
                "of the same field with the same arguments"
            ) from None
        if isinstance(last, dict):
            return tuple(position), _bookmark(last["bookmark"])
        return (*position, last), None


def _bookmark(stored: list[Any]) -> Bookmark:
    log, at, resumption = stored
    places = tuple((sequence, done) for sequence, done in log)
    if resumption is None:
        return Bookmark(places, at)
    since, began, reads_table = resumption
    sort_key, partition, pk, sk = since
    return Bookmark(places, at, Resumption((sort_key, partition, pk, sk), began, reads_table))
