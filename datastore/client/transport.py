"""DynamoDB's JSON over a pooled HTTP client: signing, bounded concurrency, retries within a deadline and a budget."""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
import orjson

from datastore.client.breaker import Breaker
from datastore.client.budget import RetryBudget, Usage
from datastore.client.call_stats import CallStats
from datastore.client.connecting import proxy_for
from datastore.client.errors import (
    BadSignature,
    CircuitOpen,
    Contended,
    DatastoreError,
    Denied,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
    Unavailable,
    error_from_answer,
)
from datastore.client.http import Disconnected, HttpClient, NotSent, ResponseTooLarge
from datastore.client.local_credentials import LOCAL, FixedCredentials, credentials_at
from datastore.client.signing import Signer
from datastore.client.timeouts import Timeouts
from datastore.client.write_pause import WritePause
from datastore.model.responses import ANSWERS

if TYPE_CHECKING:
    from botocore.session import Session

    from datastore.client.credentials import RenewedCredentials

READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable"})
BATCHES = frozenset({"BatchGetItem", "BatchWriteItem"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})

FIRST_PAUSE = 0.025
LONGEST_PAUSE = 1.0
# Longest timeout of an attempt, and the shortest as a share of it.
ATTEMPT_TIMEOUT = 3.0
SHORTEST = 1 / 3
# Seconds between two clocks that may make a signature invalid. DynamoDB accepts five minutes.
SKEW = 60.0

log = logging.getLogger("heartwood.transport")


class Transport:
    """Sends calls, one instance per process. May send a call more than once, so all calls must be idempotent.

    Attempts time out according to the latencies observed, or after a fixed `attempt_timeout`.
    """

    def __init__(
        self,
        *,
        region: str,
        endpoint: str | None = None,
        max_in_flight: int = 64,
        attempt_timeout: float | None = None,
        credentials: "FixedCredentials | RenewedCredentials | None" = None,
    ) -> None:
        session = cache(_session)
        self._credentials = credentials or credentials_at(endpoint) or _credentials(session(), endpoint)
        self.endpoint = endpoint or session().create_client("dynamodb", region_name=region).meta.endpoint_url
        parts = urlsplit(self.endpoint)
        self._signer = Signer(self._credentials, region, parts.netloc, parts.path or "/")
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self.slot_wait = 0.0
        """Seconds that the latest call waited for others to end. Above zero, more requests would only wait longer."""
        self.stats = CallStats()
        self.breaker = Breaker()
        self.write_pause = WritePause()
        self.retry_budget = RetryBudget()
        self.timeouts = Timeouts(attempt_timeout or SHORTEST * ATTEMPT_TIMEOUT, attempt_timeout or ATTEMPT_TIMEOUT)
        tls = _tls(session()) if parts.scheme == "https" else None
        self._http = HttpClient(self.endpoint, tls=tls, proxy=proxy_for(self.endpoint))

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Gives each attempt this time: at a start, a slow machine is no reason to give up, and no client waits."""
        usual, self.timeouts = self.timeouts, Timeouts(seconds, seconds)
        try:
            yield
        finally:
            self.timeouts = usual

    async def call(self, operation: str, request: dict[str, Any], usage: Usage) -> Any:
        """Sends a call with retries until the deadline. Does not retry a failed condition.

        The error of a write says whether any of its attempts may have been applied.
        Returns reads as parsed by `datastore.model.responses`, and other responses as dicts.
        """
        if usage.trace is None:
            return await self._call(operation, request, usage)
        span, retries = usage.trace.call(operation), usage.retries
        try:
            answer = await self._call(operation, request, usage)
        except BaseException as error:
            span.end(retries=usage.retries - retries, error=error.__class__.__name__)
            raise
        span.end(retries=usage.retries - retries)
        return answer

    async def _call(self, operation: str, request: dict[str, Any], usage: Usage) -> Any:
        body = orjson.dumps(request)
        reason: Retryable | None = None
        may_have_applied = False
        if self._credentials.is_due:
            await self._credentials.ready(min(usage.seconds_left, ATTEMPT_TIMEOUT))
        for attempt in count():
            clock_offset = self._signer.clock_offset
            try:
                answer = await self._attempt(operation, body, usage, is_retry=attempt > 0)
                _record(operation, answer, usage)
                return answer
            except DatastoreError as failure:
                may_have_applied = may_have_applied or (failure.may_have_applied and operation in WRITES)
                failure.may_have_applied = may_have_applied
                if isinstance(failure, BadSignature) and attempt == 0 and self._clock_was_wrong(clock_offset):
                    continue
                if not isinstance(failure, Retryable):
                    raise
                # If this attempt was refused, or cut short by the deadline, the earlier failure is more informative.
                if reason is None or (usage.seconds_left > 0 and not isinstance(failure, CircuitOpen)):
                    reason = failure
                reason.may_have_applied = may_have_applied
                await self.back_off(attempt, usage, reason)
        raise AssertionError  # count() never ends

    async def back_off(self, attempt: int, usage: Usage, failure: Retryable) -> None:
        """Waits before the next attempt, or raises the failure if there is no time, no budget or no hope left."""
        longest = min(FIRST_PAUSE * 2 ** min(attempt, 6), LONGEST_PAUSE)
        # Contention does not count: the database is well, and other writes of the same item succeeded.
        if not isinstance(failure, Contended) and not (self.breaker.is_closed and self.retry_budget.spend()):
            if not usage.is_patient:
                raise failure
            longest = 2 * LONGEST_PAUSE
        # Full jitter, so that clients that failed together do not retry together.
        pause = random.uniform(0, longest)  # noqa: S311
        if pause >= usage.seconds_left:
            raise failure
        usage.retries += 1
        await asyncio.sleep(pause)

    async def _attempt(self, operation: str, body: bytes, usage: Usage, *, is_retry: bool) -> Any:
        if usage.seconds_left <= 0:
            raise Unavailable(f"no time left for {operation}")
        await self._take_slot(operation, usage)
        try:
            ticket = self.breaker.enter(operation)
            usage.calls[operation] += 1
            try:
                answer = await self._timed(operation, body, usage.seconds_left)
            except DatastoreError as failure:
                self.stats.failures[operation, failure.__class__.__name__] += 1
                self._note_failure(ticket, failure, is_retry=is_retry)
                raise
            except BaseException:
                self.breaker.left(ticket)
                raise
            self._note_answer(ticket, operation, answer)
            return answer
        finally:
            self._in_flight.release()

    def _note_failure(self, ticket: int, failure: DatastoreError, *, is_retry: bool) -> None:
        if not isinstance(failure, Retryable) or isinstance(failure, Contended):
            self.breaker.succeeded(ticket)
        elif is_retry and isinstance(failure, Throttled):
            # Only the first attempt counts: a hot partition must not look like many by being asked again and again.
            self.breaker.left(ticket)
        else:
            self.breaker.failed(ticket, failure)

    def _note_answer(self, ticket: int, operation: str, answer: Any) -> None:
        if operation in BATCHES and _is_partial(answer):
            self.breaker.left(ticket)
        else:
            self.breaker.succeeded(ticket)
            self.retry_budget.earn()

    async def _timed(self, operation: str, body: bytes, seconds_left: float) -> Any:
        timeout = self.timeouts.of(operation)
        began = time.monotonic()
        try:
            answer = await self._send(operation, body, min(timeout, seconds_left))
        except TimeoutError:
            if timeout > seconds_left:
                raise Unavailable(f"{operation} timed out at the deadline", may_have_applied=True) from None
            self.timeouts.expired(operation)
            raise TimedOut(f"{operation} timed out after {timeout:.1f} s", may_have_applied=True) from None
        except ResponseTooLarge as error:
            failure = Rejected(f"{operation}: {error}")
            failure.may_have_applied = True
            raise failure from None
        except Disconnected as error:
            raise Unavailable(f"{operation}: {error}", may_have_applied=not isinstance(error, NotSent)) from error
        seconds = time.monotonic() - began
        self.timeouts.observe(operation, seconds)
        self.stats.seconds[operation].observe(seconds)
        return answer

    async def _take_slot(self, operation: str, usage: Usage) -> None:
        """Waits for a slot. That is not an attempt: it lasts until the deadline and keeps its place in the queue."""
        if not self._in_flight.locked():
            self.slot_wait = 0.0
            await self._in_flight.acquire()
            return
        began = time.monotonic()
        try:
            async with asyncio.timeout(usage.seconds_left):
                await self._in_flight.acquire()
        except TimeoutError:
            raise Unavailable(f"{operation} waited for other calls until the deadline") from None
        finally:
            self.slot_wait = time.monotonic() - began
            self.stats.waits.observe(self.slot_wait)

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

    def _clock_was_wrong(self, clock_offset: float) -> bool:
        """Returns True if a request with this offset was refused for its time, and corrects the clock of the signer."""
        if self._signer.clock_offset == clock_offset:
            try:
                theirs = parsedate_to_datetime(self._http.error_date.decode("latin-1")).timestamp()
            except ValueError:
                return False
            offset = theirs - time.time()
            if abs(offset - clock_offset) < SKEW:
                return False
            log.warning("the clock of this machine is %+.0f s off; requests are signed with DynamoDB's time", -offset)
            self._signer.clock_offset = offset
        return abs(self._signer.clock_offset - clock_offset) >= SKEW

    async def close(self) -> None:
        await self._credentials.close()
        await self._http.close()


def _session() -> "Session":
    """Creates a session only if it is needed: that takes 14 ms, and loading botocore far more."""
    from botocore.session import get_session

    return get_session()


def _tls(session: "Session") -> ssl.SSLContext:
    """Returns boto3's trust store: AWS_CA_BUNDLE, the profile's ca_bundle, or botocore's own certificates."""
    from botocore.httpsession import get_cert_path

    return ssl.create_default_context(cafile=session.get_config_variable("ca_bundle") or get_cert_path(True))


def _credentials(session: "Session", endpoint: str | None) -> "RenewedCredentials | FixedCredentials":
    from datastore.client.credentials import RenewedCredentials

    found = session.get_credentials()
    if found is not None:
        return RenewedCredentials(found)
    if endpoint is not None:
        return LOCAL
    raise Denied("no AWS credentials found; configure them or set DYNAMODB_ENDPOINT to a local engine")


def _is_partial(answer: Any) -> bool:
    """True if parts of a batch were throttled, so that the answer is neither a success nor a failure."""
    return bool(answer.get("UnprocessedItems") if isinstance(answer, dict) else answer.UnprocessedKeys)


def _record(operation: str, answer: Any, usage: Usage) -> None:
    consumed = answer.get("ConsumedCapacity") if isinstance(answer, dict) else answer.ConsumedCapacity
    if consumed:
        entries = consumed if isinstance(consumed, list) else (consumed,)
        units = sum(entry.get("CapacityUnits", 0.0) for entry in entries)
        if operation in READS:
            usage.read_units += units
        else:
            usage.write_units += units
