"""Requests to an OpenSearch service: JSON over HTTP, signed for AWS or with a password, retried where that is safe."""

import asyncio
import base64
import logging
import math
import random
import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import orjson

from datastore.client.connecting import proxy_for
from datastore.client.errors import Unavailable
from datastore.client.http import Disconnected, HttpClient, ResponseTooLarge
from resolvers.search.engine import SearchUnavailable

if TYPE_CHECKING:
    from datastore.client.credentials import RenewedCredentials
    from datastore.client.local_credentials import FixedCredentials

log = logging.getLogger("heartwood.search")

# Answers that are worth another attempt: too many requests, and a node or a load balancer that is not ready.
BUSY = frozenset({429, 502, 503, 504})
ATTEMPTS = 6
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
MOST_AT_ONCE = 64
AWAY = "The search service does not answer. Try again in a moment."
OVERLOADED = "The search service has too much to do. Try again in a moment."
REFUSED = "The search service refuses the requests of this server. Its operator finds the reason in the log."

# search-name-id.eu-west-1.es.amazonaws.com, and search-name-id.aos.eu-west-1.on.aws.
_aws_host = re.compile(r"\.([a-z0-9-]+)\.es\.amazonaws\.com(?:\.cn)?$|\.aos\.([a-z0-9-]+)\.on\.aws$")


class Reply(NamedTuple):
    """The status of an answer, and its JSON."""

    status: int
    body: Any


class AwsSigning(NamedTuple):
    """Signs requests to an OpenSearch domain of AWS."""

    credentials: "FixedCredentials | RenewedCredentials"
    region: str

    async def ready(self, seconds: float) -> None:
        """Waits until there are valid credentials."""
        if self.credentials.is_due:
            try:
                await self.credentials.ready(seconds)
            except Unavailable as error:
                log.warning("OpenSearch cannot be asked: %s", error)
                raise SearchUnavailable(AWAY) from error

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        # Loaded only where it is needed.
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        frozen = self.credentials.get_frozen_credentials()
        request = AWSRequest(method, url, headers=dict(headers), data=body)
        credentials = Credentials(frozen.access_key or "", frozen.secret_key or "", frozen.token)
        SigV4Auth(credentials, "es", self.region).add_auth(request)
        return dict(request.headers.items())


def region_of(url: str) -> str | None:
    """Returns the region of an OpenSearch domain of AWS, None for another service."""
    found = _aws_host.search(urlsplit(url).hostname or "")
    return (found[1] or found[2]) if found else None


class OpenSearchClient:
    """Sends requests to one service. A password in the URL is sent as basic authentication."""

    def __init__(self, url: str, signing: AwsSigning | None = None) -> None:
        parts = urlsplit(url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
        usual = {"http": 80, "https": 443}[parts.scheme]
        port = f":{parts.port}" if parts.port not in (None, usual) else ""
        self.url = f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
        self._headers = {}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._signing = signing
        self._http = HttpClient(self.url, proxy=proxy_for(self.url))
        self._in_flight = 0

    async def close(self) -> None:
        await self._http.close()
        if self._signing is not None:
            await self._signing.credentials.close()

    async def ask(self, method: str, path: str, body: Any = None, *, seconds: float) -> Reply:
        """Sends a request once. Raises SearchUnavailable if there is no answer, or if it says to try again."""
        if self._in_flight >= MOST_AT_ONCE:
            raise SearchUnavailable(OVERLOADED)
        self._in_flight += 1
        try:
            reply = await self._send(method, path, body, seconds)
        finally:
            self._in_flight -= 1
        if reply.status in BUSY:
            log.warning("OpenSearch answers %d to %s %s: %s", reply.status, method, path, reason_in(reply))
            raise SearchUnavailable(OVERLOADED)
        return reply

    async def insist(self, method: str, path: str, body: Any = None, *, seconds: float) -> Reply:
        """Sends a request that may be executed twice, again with back-off while there is no answer."""
        deadline = time.monotonic() + seconds
        for attempt in range(ATTEMPTS):
            try:
                return await self.ask(method, path, body, seconds=max(0.1, deadline - time.monotonic()))
            except SearchUnavailable:
                pause = pause_after(attempt)
                if attempt + 1 == ATTEMPTS or time.monotonic() + pause >= deadline:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, method: str, path: str, body: Any, seconds: float) -> Reply:
        lines = isinstance(body, bytes)
        data: bytes = body if lines else b"" if body is None else orjson.dumps(body)
        headers = dict(self._headers)
        if data:
            headers["Content-Type"] = "application/x-ndjson" if lines else "application/json"
        if self._signing is not None:
            await self._signing.ready(seconds)
            headers = self._signing.headers(method, self.url + path, headers, data)
        try:
            status, answer = await self._http.request(method, path, headers, data, seconds)
        except (Disconnected, ResponseTooLarge, TimeoutError) as error:
            log.warning("OpenSearch does not answer %s %s: %r", method, path, error)
            raise SearchUnavailable(AWAY) from error
        try:
            return Reply(status, orjson.loads(answer) if answer else None)
        except orjson.JSONDecodeError:
            # A load balancer answers in HTML.
            return Reply(status, {"error": answer[:200].decode(errors="replace")})


def pause_after(attempt: int) -> float:
    """Returns the seconds until the next attempt, which are random so that servers do not retry together."""
    return random.uniform(0.5, 1.0) * min(  # noqa: S311
        LONGEST_PAUSE, FIRST_PAUSE * math.pow(2, attempt)
    )


def lines(parts: Iterable[Any]) -> bytes:
    """Returns JSON in lines, as bulk requests have it."""
    return b"".join(orjson.dumps(part) + b"\n" for part in parts)


def reason_in(reply: Reply) -> str:
    """Returns what an answer says about its error, for the log."""
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    if isinstance(error, dict):
        causes = error.get("root_cause") or [error]
        return f"{error.get('type')}: {causes[0].get('reason')}"
    return str(error or reply.status)


def expect(reply: Reply, *statuses: int) -> Any:
    """Returns the JSON of an answer. Raises SearchUnavailable if its status is another one."""
    if reply.status not in statuses:
        log.error("OpenSearch answers %d: %s", reply.status, reason_in(reply))
        raise SearchUnavailable(REFUSED)
    return reply.body
