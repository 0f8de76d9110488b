"""DynamoDB's JSON over a pooled HTTP client: signing, retries within a deadline, bounded concurrency."""

import asyncio
import random
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import botocore.session
import orjson
from botocore.credentials import Credentials

from datastore.errors import DatastoreError, Denied, Retryable, Throttled, Unavailable, error_from_answer
from datastore.signing import Signer
from datastore.usage import Usage

READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})

FIRST_PAUSE = 0.025
LONGEST_PAUSE = 1.0


class Transport:
    """One per process. Every call it is given may be sent more than once: the table client sees to that."""

    def __init__(
        self,
        *,
        region: str,
        endpoint: str | None = None,
        max_in_flight: int = 64,
        attempt_timeout: float = 3.0,
        credentials: Credentials | None = None,
    ) -> None:
        session = botocore.session.get_session()
        self._credentials = credentials or _credentials(session, endpoint)
        resolved = endpoint or session.create_client("dynamodb", region_name=region).meta.endpoint_url
        self.endpoint = resolved.rstrip("/") + "/"
        self._signer = Signer(self._credentials, region, urlsplit(self.endpoint).netloc)
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self._max_in_flight = max_in_flight
        self._attempt_timeout = attempt_timeout
        self._http: aiohttp.ClientSession | None = None

    async def call(self, operation: str, request: dict[str, Any], usage: Usage) -> dict[str, Any]:
        """Send until answered or out of time. A condition that fails is an answer; throttling is not."""
        body = orjson.dumps(request)
        for attempt in count():
            try:
                answer = await self._attempt(operation, body, usage)
                _record(operation, answer, usage)
                return answer
            except Retryable as failure:
                await back_off(attempt, usage, failure)
        raise AssertionError  # count() never ends

    async def _attempt(self, operation: str, body: bytes, usage: Usage) -> dict[str, Any]:
        left = min(self._attempt_timeout, usage.seconds_left)
        if left <= 0:
            raise Unavailable(f"no time left for {operation}")
        try:
            async with asyncio.timeout(left), self._in_flight:
                usage.calls[operation] += 1
                return await self._send(operation, body)
        except TimeoutError:
            raise Unavailable(f"{operation} had no answer within {left:.1f} s") from None
        except aiohttp.ClientError as error:
            raise Unavailable(f"{operation}: {error!r}") from error

    async def _send(self, operation: str, body: bytes) -> dict[str, Any]:
        if self._http is None:
            self._http = _http_client(self._max_in_flight)
        headers = self._signer.headers(operation, body)
        async with self._http.post(self.endpoint, data=body, headers=headers) as response:
            content = await response.read()
        try:
            answer: dict[str, Any] = orjson.loads(content)
        except orjson.JSONDecodeError:
            kind = Unavailable if response.status >= 500 or response.status == 200 else Throttled
            raise kind(f"{operation}: HTTP {response.status} without JSON") from None
        if response.status == 200:
            return answer
        raise error_from_answer(response.status, answer)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None


async def back_off(attempt: int, usage: Usage, failure: DatastoreError) -> None:
    """Wait before the next attempt, or raise the failure when there is no time for one."""
    # Full jitter: many clients that failed together do not come back together.
    pause = random.uniform(0, min(FIRST_PAUSE * 2 ** min(attempt, 6), LONGEST_PAUSE))  # noqa: S311
    if pause >= usage.seconds_left:
        raise failure
    usage.retries += 1
    await asyncio.sleep(pause)


def _http_client(connections: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=60),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
    )


def _credentials(session: botocore.session.Session, endpoint: str | None) -> Credentials:
    found = session.get_credentials()
    if found is not None:
        return found
    if endpoint is not None:
        return Credentials("local", "local")
    raise Denied("no AWS credentials found; configure them or set DYNAMODB_ENDPOINT to a local engine")


def _record(operation: str, answer: dict[str, Any], usage: Usage) -> None:
    consumed = answer.get("ConsumedCapacity")
    if consumed:
        entries = consumed if isinstance(consumed, list) else (consumed,)
        units = sum(entry.get("CapacityUnits", 0.0) for entry in entries)
        if operation in READS:
            usage.read_units += units
        else:
            usage.write_units += units
