"""HTTP requests for the benchmark queries."""

import functools
import random
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.peers.dataset import Dataset
from benchmarks.peers.popularity import popular
from benchmarks.peers.scenarios import Scenario
from benchmarks.peers.servers import SECRET, Running
from datastore.client.http import HttpClient
from resolvers.accounts.tokens import Tokens, TokenSettings

FOLDER = Path(__file__).parent / "queries"
LIKE = "like"
HEADERS = {"content-type": "application/json", "accept": "application/json"}

# Titles of the queries, in the order of the report.
TITLES = {
    "post_page": "post page",
    "feed": "feed",
    "profile": "profile page",
    "people": "100 people",
    "person": "one person",
    LIKE: "like (mutation)",
}


# The sets of people contain popular people already.
EVENLY_ASKED = {"people"}
ORDER = 4_096
COMPARED = 8


class Request(NamedTuple):
    headers: dict[str, str]
    body: bytes


class Plan(NamedTuple):
    """Requests and the lanes in which they are sent: places in `requests`. Each client follows one lane."""

    requests: list[Request]
    lanes: list[list[int]]


class Asker:
    """Builds requests from the queries and their variables."""

    def __init__(self, data: Dataset) -> None:
        self._data = data
        self._tokens = Tokens(TokenSettings(SECRET, lifetime=86_400))
        self._texts = {name: (FOLDER / f"{name}.graphql").read_text() for name in TITLES}
        # One token per viewer: signing a token for every request would only slow down the load generator.
        self._token = functools.cache(self._tokens.issue)

    def plan(self, query: str, scenario: Scenario, likes: int) -> Plan | None:
        """Returns the same plan for every server, but `likes` new likes. None if the scenario has no such plan."""
        if scenario.is_distinct:
            groups = self._data.distinct.get(query, [])
            return _in_order([[self._request(query, each) for each in group] for group in groups]) if groups else None
        if query == LIKE:
            # No two have their viewer or post in common: DynamoDB refuses concurrent transactions on one item.
            return _in_order([[self.like_request(*self.next_like()) for _ in range(likes)]])
        requests = [self._request(query, variables) for variables in self._data.variables[query]]
        chance = random.Random(query)
        places = range(len(requests))
        evenly = query in EVENLY_ASKED
        order = chance.choices(places, k=ORDER) if evenly else popular(places, ORDER, chance)
        return Plan(requests, [order])

    def compared(self, query: str) -> list[Request]:
        """Returns requests whose responses are compared."""
        groups = [group[0] for group in self._data.distinct.get(query, [])]
        return [self._request(query, each) for each in [*self._data.variables[query][:COMPARED], *groups]]

    def corners(self, query: str) -> list[Request]:
        """Returns requests that are compared but not timed."""
        if query == LIKE:
            return [self.like_request(viewer, post_id) for viewer, post_id in self._data.refused_likes]
        return [self._request(query, variables) for variables in self._data.corners.get(query, [])]

    def next_like(self) -> tuple[str, str]:
        """Returns a viewer and the ID of a post they do not like yet."""
        return next(self._data.likes)

    def like_request(self, viewer: str | None, post_id: str) -> Request:
        if viewer is None:
            return self._request(LIKE, {"postId": post_id})
        return self._request(LIKE, {"postId": post_id}, authorization=f"Bearer {self._token(viewer)}")

    def _request(self, query: str, variables: dict[str, Any], **headers: str) -> Request:
        return Request({**HEADERS, **headers}, orjson.dumps({"query": self._texts[query], "variables": variables}))

    async def ask(self, started: Running, request: Request) -> Any:
        """Sends one request; raises if the response has errors."""
        client = HttpClient(started.url)
        status, body = await client.post(request.headers, request.body)
        await client.close()
        answer = orjson.loads(body)
        if status != 200 or "errors" in answer:
            raise RuntimeError(f"{started.server.title} returned {status}: {body[:2000]!r}")
        return answer


def _in_order(groups: list[list[Request]]) -> Plan:
    requests = list(chain.from_iterable(groups))
    places = iter(range(len(requests)))
    return Plan(requests, [[next(places) for _ in group] for group in groups])
