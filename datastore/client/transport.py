"""DynamoDB's JSON over a pooled HTTP client: signing, retries within a deadline, bounded concurrency."""

import asyncio
import random
import ssl
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import botocore.session
import msgspec
import orjson
from botocore.credentials import Credentials
from botocore.httpsession import get_cert_path

from datastore.client.budget import Usage
from datastore.client.errors import (
    DatastoreError,
    Denied,
    Rejected,
    Retryable,
    Throttled,
    Unavailable,
    error_from_answer,
)
from datastore.client.http import Disconnected, HttpClient, NotSent
from datastore.client.signing import Signer
from datastore.model.responses import ANSWERS

READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})

FIRST_PAUSE = 0.025
LONGEST_PAUSE = 1.0
ATTEMPT_TIMEOUT = 3.0


class Transport:
    """Sends calls, one instance per process. May send a call more than once, so all calls must be idempotent."""

    def __init__(
        self,
        *,
        region: str,
        endpoint: str | None = None,
        max_in_flight: int = 64,
        attempt_timeout: float | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        session = cache(botocore.session.get_session)  # Created only if needed: it takes 14 ms.
        self._credentials = credentials or _credentials(session(), endpoint)
        resolved = endpoint or session().create_client("dynamodb", region_name=region).meta.endpoint_url
        self.endpoint = resolved.rstrip("/") + "/"
        self._signer = Signer(self._credentials, region, urlsplit(self.endpoint).netloc)
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self._attempt_timeout = attempt_timeout or ATTEMPT_TIMEOUT
        self._http = HttpClient(self.endpoint, tls=_tls(session()) if self.endpoint.startswith("https:") else None)

    async def call(self, operation: str, request: dict[str, Any], usage: Usage) -> Any:
        """Sends a call with retries until the deadline. Does not retry a failed condition.

        The error of a write says whether any of its attempts may have been applied.
        Returns reads as parsed by `datastore.model.responses`, and other responses as dicts.
        """
        body = orjson.dumps(request)
        reason: Retryable | None = None
        may_have_applied = False
        for attempt in count():
            try:
                answer = await self._attempt(operation, body, usage)
                _record(operation, answer, usage)
                return answer
            except DatastoreError as failure:
                may_have_applied = may_have_applied or (failure.may_have_applied and operation in WRITES)
                failure.may_have_applied = may_have_applied
                if not isinstance(failure, Retryable):
                    raise
                # If the deadline cut this attempt short, the earlier failure is more informative.
                if reason is None or usage.seconds_left > 0:
                    reason = failure
                reason.may_have_applied = may_have_applied
                await back_off(attempt, usage, reason)
        raise AssertionError  # count() never ends

    async def _attempt(self, operation: str, body: bytes, usage: Usage) -> Any:
        if usage.seconds_left <= 0:
            raise Unavailable(f"no time left for {operation}")
        await self._take_slot(operation, usage)
        try:
            usage.calls[operation] += 1
            return await self._send(operation, body, min(self._attempt_timeout, usage.seconds_left))
        except TimeoutError:
            raise Unavailable(f"{operation} timed out", may_have_applied=True) from None
        except Disconnected as error:
            raise Unavailable(f"{operation}: {error}", may_have_applied=not isinstance(error, NotSent)) from error
        finally:
            self._in_flight.release()

    async def _take_slot(self, operation: str, usage: Usage) -> None:
        """Waits for a slot. That is not an attempt: it lasts until the deadline and keeps its place in the queue."""
        if not self._in_flight.locked():
            await self._in_flight.acquire()
            return
        try:
            async with asyncio.timeout(usage.seconds_left):
                await self._in_flight.acquire()
        except TimeoutError:
            raise Unavailable(f"{operation} waited for other calls until the deadline") from None

    async def _send(self, operation: str, body: bytes, seconds: float) -> Any:
        status, content = await self._http.post(self._signer.headers(operation, body), body, seconds)
        try:
            if status == 200 and operation in ANSWERS:
                return ANSWERS[operation].decode(content)
            answer = orjson.loads(content)
        except (orjson.JSONDecodeError, msgspec.DecodeError):
            message = f"{operation}: HTTP {status} without JSON"
            if status >= 500 or status == 200:
                raise Unavailable(message, may_have_applied=True) from None
            raise (Throttled if status == 429 else Rejected)(message) from None
        if status == 200:
            return answer
        raise error_from_answer(status, answer)

    async def close(self) -> None:
        await self._http.close()


async def back_off(attempt: int, usage: Usage, failure: DatastoreError) -> None:
    """Waits before the next attempt, or raises the failure if there is no time left."""
    # Full jitter, so that clients that failed together do not retry together.
    pause = random.uniform(0, min(FIRST_PAUSE * 2 ** min(attempt, 6), LONGEST_PAUSE))  # noqa: S311
    if pause >= usage.seconds_left:
        raise failure
    usage.retries += 1
    await asyncio.sleep(pause)


def _tls(session: botocore.session.Session) -> ssl.SSLContext:
    """Returns boto3's trust store: AWS_CA_BUNDLE, the profile's ca_bundle, or botocore's own certificates."""
    return ssl.create_default_context(cafile=session.get_config_variable("ca_bundle") or get_cert_path(True))


def _credentials(session: botocore.session.Session, endpoint: str | None) -> Credentials:
    found = session.get_credentials()
    if found is not None:
        return found
    if endpoint is not None:
        return Credentials("local", "local")
    raise Denied("no AWS credentials found; configure them or set DYNAMODB_ENDPOINT to a local engine")


def _record(operation: str, answer: Any, usage: Usage) -> None:
    consumed = answer.get("ConsumedCapacity") if isinstance(answer, dict) else answer.ConsumedCapacity
    if consumed:
        entries = consumed if isinstance(consumed, list) else (consumed,)
        units = sum(entry.get("CapacityUnits", 0.0) for entry in entries)
        if operation in READS:
            usage.read_units += units
        else:
            usage.write_units += units
