"""A client that sends GraphQL requests, and retries mutations as the documentation says."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from datastore.client.http import Disconnected, HttpClient

HEADERS = {"content-type": "application/json", "accept": "application/json"}
PATIENCE = 30.0
RETRIES = 60


class Got(NamedTuple):
    """A response; status 0 if there was none."""

    status: int
    body: dict[str, Any]
    seconds: float

    @property
    def codes(self) -> list[str]:
        return [error.get("extensions", {}).get("code", "?") for error in self.body.get("errors", ())]

    @property
    def outcomes(self) -> list[str]:
        return [error.get("extensions", {}).get("outcome", "-") for error in self.body.get("errors", ())]

    @property
    def is_fine(self) -> bool:
        return self.status == 200 and "errors" not in self.body


@dataclass
class Tally:
    """Latencies in seconds and codes of errors."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, got: Got) -> Got:
        self.seconds.append(got.seconds)
        self.failures += got.codes or ([] if got.is_fine else [str(got.status)])
        return got

    def percentile(self, percent: int) -> float:
        """In milliseconds."""
        if len(self.seconds) < 2:
            return self.seconds[0] * 1000 if self.seconds else 0.0
        return quantiles(self.seconds, n=100, method="inclusive")[percent - 1] * 1000


class Client:
    """Keeps its connection, like a browser."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._http = HttpClient(f"{url}/graphql")
        self._headers = HEADERS | ({"authorization": f"Bearer {token}"} if token else {})

    async def ask(self, query: str, headers: Mapping[str, str] | None = None, **variables: Any) -> Got:
        body = orjson.dumps({"query": query, "variables": variables})
        began = time.perf_counter()
        try:
            status, content = await self._http.post({**self._headers, **(headers or {})}, body, PATIENCE)
            answer = orjson.loads(content)
        except (Disconnected, TimeoutError, orjson.JSONDecodeError):
            status, answer = 0, {}
        return Got(status, answer, time.perf_counter() - began)

    async def persist(self, query: str, tally: Tally, **variables: Any) -> Got | None:
        """Repeats a mutation with one Idempotency-Key until it is answered. Returns None if it never is."""
        key = {"idempotency-key": uuid4().hex}
        for attempt in range(RETRIES):
            got = tally.add(await self.ask(query, key, **variables))
            if got.is_fine:
                return got
            await asyncio.sleep(min(0.05 * 2**attempt, 1.0))
        return None

    async def close(self) -> None:
        await self._http.close()
