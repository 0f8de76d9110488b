"""`Idempotency-Key`: a mutation that is repeated with the same key is applied once, and its payload is replayed.

The record of a key is written in the transaction of the command. `schema.declare.results` says what it holds.
"""

import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, cast

from datastore.client.writes import Put, absent, below
from datastore.idempotency import Idempotency
from datastore.model.codec import JSON
from datastore.model.times import seconds_from_now
from loaders.request import Loaders
from loaders.visibility import never_shown
from resolvers.core.problems import ProblemCode, Refused, refused

never_shown(Idempotency, because="only the request that is repeated reads it")

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
MAX_LENGTH = 255
MAX_RESPONSE_KEY = 255
HOW = f"{HEADER} must be 1 to {MAX_LENGTH} printable ASCII characters, sent once, such as a UUID in double quotes"

_quoted = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"').fullmatch
_unquoted = re.compile(r"[!#-~][ -~]*").fullmatch


def key_in(headers: Sequence[str]) -> str | None:
    """Returns the key in the values of the header, quoted (a string of RFC 8941) or not. Raises ValueError."""
    if not headers:
        return None
    (text, *more) = (header.strip(" \t") for header in headers)
    unquoted = _unquoted(text)
    key = re.sub(r'\\(["\\])', r"\1", quoted[1]) if (quoted := _quoted(text)) else unquoted and unquoted[0]
    if more or not key or len(key) > MAX_LENGTH:
        raise ValueError(HOW)
    return key


@dataclass(frozen=True)
class IdempotencyKey:
    """The key of a request. Its digests are keyed: input may hold a password, which must not be guessed from them."""

    text: str
    secret: bytes

    def digest(self, what: str, value: Any) -> str:
        content = json.dumps([what, value], default=_plain, sort_keys=True).encode()
        return hmac.digest(self.secret, content, "sha256").hex()


class IdempotencyKeys:
    """One per server; servers of one table share the secret."""

    def __init__(self, secret: str) -> None:
        self._secret = hmac.digest(secret.encode(), b"heartwood idempotency keys", "sha256")

    def of(self, text: str) -> IdempotencyKey:
        return IdempotencyKey(text, self._secret)


def _plain(value: Any) -> Any:
    return value.name if isinstance(value, Enum) else vars(value)


class Repeatable:
    """A command that runs with an Idempotency-Key."""

    def __init__(
        self, key: IdempotencyKey, load: Loaders, command: str, response_key: str, given: Mapping[str, Any]
    ) -> None:
        if len(response_key) > MAX_RESPONSE_KEY:
            message = f"with an {HEADER}, the alias of a mutation has at most {MAX_RESPONSE_KEY} characters"
            raise refused(ProblemCode.INVALID, message)
        self._load = load
        self._command = command
        self._input = key.digest("input", [command, load.viewer.tenant_id, given])
        user_id = load.viewer.user_id
        self._place: dict[str, Any] = {
            # Anonymous keys are bound to the input: strangers with the same key do not meet.
            "viewer": key.digest("viewer", user_id) if user_id else key.digest("anonymous", self._input),
            "digest": key.digest("key", key.text),
            "response_key": response_key,
        }

    async def stored(self) -> Mapping[str, Any] | None:
        """Returns what is stored of the results if the command was applied. Raises Refused if the input differs."""
        record = await self._load.table.get(Idempotency.key(**self._place), consistent=True)
        if record is None or (record.expires_at or 0) <= time.time():
            return None
        if record.input_digest != self._input:
            raise self._reused(record)
        return cast(Mapping[str, Any], record.results)

    def record(self, results: Mapping[str, Any]) -> Put:
        """Returns the write of the record, on condition that no other request was applied with this key."""
        record = Idempotency(
            **self._place,
            command=self._command,
            input_digest=self._input,
            results=JSON(dict(results)),
            expires_at=seconds_from_now(KEPT),
        )
        return Put(record, when=absent() | below("expires_at", int(time.time())))

    def _reused(self, record: Idempotency) -> Refused:
        message = f"this {HEADER} was used for another `{record.command}`; send a new key with every new request"
        return refused(ProblemCode.IDEMPOTENCY_KEY_REUSED, message)
