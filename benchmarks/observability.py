"""Measures what metrics and traces cost: CPU per request of applications that differ in nothing else.

All of them run in this process, in turn, many short rounds of each: times on a busy machine compare only within one
round. The engine is another process. A hundredth of the requests cannot be measured exactly, so applications are
measured that sample none and all of their requests: the cost at 1 % is 99 parts of the first and 1 part of the second.
"""

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any

import orjson

from datastore.client.budget import Usage
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from resolvers import demo
from schema.http import garbage_collection
from schema.http.app import create_app
from schema.http.front import Front
from schema.http.logs import set_up_logging
from schema.http.services import Services
from schema.http.settings import Settings

TABLE = "heartwood"
SECRET = "uT7-qPz0_vB3xKd9LsW2mYc6RgHn4JfE1oAi8XtQ"
SHARE = 0.01
MOST = 0.03
QUERIES = {
    "one user": "query One { users(first: 1) { nodes { id username displayName } } }",
    "feed": """query Feed { feed(first: 10) { nodes { id caption author { username }
        comments(first: 3) { nodes { content author { username } } } } } }""",
}
OFF, METRICS, UNSAMPLED, SAMPLED = "off", "metrics", "metrics, traces of none", "metrics, traces of all"
TRACING = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG")


@contextmanager
def sink() -> Iterator[str]:
    """Yields the URL of a server that takes spans and throws them away."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10, help="requests of a round")
    parser.add_argument("--rounds", type=int, default=120, help="rounds of each application and query")
    arguments = parser.parse_args()
    # Log lines cost something as well, and every server writes them.
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    set_up_logging("INFO", "json")
    with engine.in_memory(moto=False) as table, sink() as url:
        place = Place(table.endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)
        place.ensure_table(TABLE)
        costs = asyncio.run(measured(place, url, arguments.rounds, arguments.requests))
    return report(costs)


async def measured(place: Place, url: str, rounds: int, requests: int) -> dict[str, dict[str, float]]:
    """Returns the CPU of each application and query, relative to that of the first one: medians over all rounds."""
    settings = Settings(table_name=TABLE, auth_secret=SECRET, metrics=True)
    services = Services.at(place, settings, SECRET)
    await demo.load(services.table.using(Usage.lasting(120)), services.passwords)
    apps = _applications(services, url)
    garbage_collection.settle()
    shares: dict[str, dict[str, list[float]]] = {name: {query: [] for query in QUERIES} for name in apps}
    names = [*apps]
    for number in range(rounds + 1):
        for query, text in QUERIES.items():
            body = orjson.dumps({"query": text})
            used = {}
            # Another one begins in every round, so that none always runs after the same.
            for name in names[number % len(names) :] + names[: number % len(names)]:
                began = time.process_time()
                for _ in range(requests):
                    await _send(apps[name], body)
                used[name] = time.process_time() - began
            # The first round warms up.
            if number:
                for name, seconds in used.items():
                    shares[name][query].append(seconds / used[OFF])
    await services.close()
    return {name: {query: median(each) for query, each in by.items()} for name, by in shares.items()}


def _applications(services: Services, url: str) -> dict[str, Front]:
    apps = {}
    for name, sampled in ((OFF, None), (METRICS, None), (UNSAMPLED, "0"), (SAMPLED, "1")):
        given = dict(zip(TRACING, (url, "traceidratio", sampled), strict=True)) if sampled else {}
        os.environ |= given
        services.settings.metrics = name != OFF
        apps[name] = create_app(services)
        for variable in given:
            del os.environ[variable]
    return apps


async def _send(app: Front, body: bytes) -> None:
    headers = [(b"host", b"localhost"), (b"accept", b"*/*"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/graphql",
        "raw_path": b"/graphql",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    answer = b""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal answer
        answer += message.get("body", b"")

    await app(scope, receive, send)
    if b'"errors"' in answer or not answer:
        raise SystemExit(f"the server answers {answer[:500]!r}")


def report(costs: dict[str, dict[str, float]]) -> int:
    worst = 0.0
    print("| query | metrics | traces at 1 % | both | traces of all requests |")
    print("|---|---:|---:|---:|---:|")
    for query in QUERIES:
        off, metrics, none, every = (costs[name][query] for name in (OFF, METRICS, UNSAMPLED, SAMPLED))
        some = (1 - SHARE) * none + SHARE * every
        worst = max(worst, metrics / off - 1, some / metrics - 1)
        shown = (metrics / off - 1, some / metrics - 1, some / off - 1, every / metrics - 1)
        print(f"| {query} | " + " | ".join(f"{share:+.1%}" for share in shown) + " |")
    print(f"Largest of the first two: {worst:.1%}; the target is {MOST:.0%}.")
    return 0 if worst < MOST else 1


if __name__ == "__main__":
    sys.exit(main())
