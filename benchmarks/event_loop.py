"""Measures how long other requests wait beside each heavy operation, and how late the event loop is.

Starts a server with a large tree, runs each operation in turn, and meanwhile sends trivial queries one after another.
"""

import argparse
import base64
import http.client
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import psutil

from benchmarks import bulk
from benchmarks.event_loop_data import FOLLOWED, OWNER, PASSWORD, TENANT, WIDTH, Data, data, gedcom, owner
from benchmarks.peers.servers import ROOT, SECRET, environment, free_port, wait_for
from datastore.local import engine
from resolvers.accounts.tokens import Tokens, TokenSettings
from schema.declare.ids import global_id

PROBE = Path(__file__).with_name("loop_probe.py")
TABLE = "loop"
LIMIT_MS = 50.0
IDLE_SECONDS = 2.0
SIGN_INS = 200
EXPORTS = 20
IDS_A_FIELD, FIELDS = 100, 40


class Request(NamedTuple):
    """A heavy request. `times` is how many of it are sent at the same time."""

    method: str
    path: str
    body: bytes | None = None
    times: int = 1


@dataclass
class Measured:
    """Milliseconds: the operation, the queries beside it, and the longest lag of the event loop.

    `cpu` is the most CPU time that the event loop used at once: unlike `lag`, it does not depend on what else the
    machine does. A trivial query needs the server only. A read waits for the local engine too, which serves one call
    at a time.
    """

    took: float
    trivial: list[float]
    reads: list[float]
    lag: float
    cpu: float
    outcome: str


def percentile(times: list[float], share: float) -> float:
    ordered = sorted(times) or [0.0]
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Client:
    """Requests to a server by one viewer, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        token = Tokens(TokenSettings(SECRET, lifetime=86_400)).issue(OWNER, tenants={TENANT: "admin"})
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {token}", "x-tenant-id": TENANT}

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)

    def send(self, connection: http.client.HTTPConnection, request: Request) -> tuple[int, bytes]:
        connection.request(request.method, request.path, request.body, self._headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def ask(self, request: Request) -> tuple[int, bytes]:
        connection = self.connect()
        try:
            return self.send(connection, request)
        finally:
            connection.close()


class Beside:
    """Sends trivial queries in a thread of its own and keeps the time and duration of each."""

    def __init__(self, client: Client, queries: list[Request]) -> None:
        self._client = client
        self._queries = queries
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent: list[tuple[Request, float, float]] = []

    def __enter__(self) -> "Beside":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        connection = self._client.connect()
        while not self._stopped.is_set():
            for query in self._queries:
                began = time.monotonic()
                try:
                    self._client.send(connection, query)
                except (OSError, http.client.HTTPException):
                    connection.close()
                    connection = self._client.connect()
                self.sent.append((query, began, (time.monotonic() - began) * 1000))
            self._stopped.wait(0.002)
        connection.close()


def graphql(query: str, times: int = 1, **variables: Any) -> Request:
    return Request("POST", "/graphql", orjson.dumps({"query": query, "variables": variables}), times)


def operations(found: Data, text: str, small: str) -> Iterator[tuple[str, Request]]:
    yield "nothing", Request("GET", "/healthz", times=0)
    yield from _files(found, text, small)
    yield from _kinship(found)
    yield from _records(found)
    yield from _other_domains()


def _files(found: Data, text: str, small: str) -> Iterator[tuple[str, Request]]:
    tree = global_id(found.tree)
    query = "mutation ($input: ImportGedcomInput!) { importGedcom(input: $input) { problems { code } } }"
    # One more line, so that it is not the file that is in the tree already.
    plain = {"treeId": tree, "content": f"{text}0 @N@ NOTE\n", "dryRun": True}
    encoded = base64.b64encode(small.encode()).decode()
    yield "import, dry run", graphql(query, input=plain)
    base64_input = {"treeId": tree, "content": encoded, "isBase64": True, "dryRun": True}
    yield "import, dry run, base64", graphql(query, input=base64_input)
    for version in ("V7_0", "V5_5_1"):
        query = f"query ($id: ID!) {{ exportGedcom(treeId: $id, version: {version}) }}"
        yield f"export, {version[1:].replace('_', '.')}", graphql(query, id=tree)
    yield f"{EXPORTS} exports at once", graphql(query, EXPORTS, id=tree)


def _kinship(found: Data) -> Iterator[tuple[str, Request]]:
    first, last, cousin = (global_id(found.people[number]) for number in (0, -1, -WIDTH // 2))
    for line, start in (("ancestors", found.people[-1]), ("descendants", found.people[0])):
        yield (
            f"chart of {line}",
            Request("GET", f"/trees/large.svg?person={start.person_id}&line={line}&generations=100"),
        )
        kin = f"{line}(generations: 100, first: 1000) {{ generation person {{ id firstName lastName }} }}"
        yield line, graphql(f"query ($id: ID!) {{ person(by: {{id: $id}}) {{ {kin} }} }}", id=global_id(start))
    of_two = "query ($id: ID!, $to: ID!) { person(by: {id: $id}) { %s } }"
    shared = "commonAncestors(withPersonId: $to, first: 1000) { person { id } }"
    yield "common ancestors", graphql(of_two % shared, id=last, to=cousin)
    related = "kinship(toPersonId: $to) { name path { person { id } } }"
    yield "relationship", graphql(of_two % related, id=last, to=first)
    graph = "familyGraph(aroundPersonId: $to, generations: 100) { people { person { id } } parentages { kind } }"
    query = f"query ($id: ID!, $to: ID!) {{ tree(by: {{id: $id}}) {{ {graph} }} }}"
    yield "family graph", graphql(query, id=global_id(found.tree), to=last)


def _records(found: Data) -> Iterator[tuple[str, Request]]:
    """Thousands of records in one level of a query."""
    ids = [global_id(person) for person in found.people[: IDS_A_FIELD * FIELDS]]
    variables = {f"ids{at}": ids[at : at + IDS_A_FIELD] for at in range(0, len(ids), IDS_A_FIELD)}
    declared = " ".join(f"${name}: [ID!]!" for name in variables)
    for name, fields in (("records", "id firstName"), ("records and lists", "id parents(first: 1) { nodes { id } }")):
        listed = " ".join(f"{each}: nodes(ids: ${each}) {{ ... on Person {{ {fields} }} }}" for each in variables)
        yield f"{len(ids):,} {name}", graphql(f"query ({declared}) {{ {listed} }}", **variables)


def _other_domains() -> Iterator[tuple[str, Request]]:
    page = '{ content(by: {databaseId: "long"}) { %s } }'
    yield "difference of versions", graphql(page % "diff(from: 1, to: 2) { kind path old new }")
    yield "versions with blocks", graphql(page % "blocks versions(first: 2) { nodes { blocks } }")
    posts = "homeFeed(first: 100) { nodes { caption author { username } } }"
    yield f"feed of {FOLLOWED:,} people", graphql(f"{{ viewer {{ {posts} }} }}")
    yield "search of cards", graphql('{ searchCards(text: "repair hinge", first: 100) { nodes { title } } }')
    query = "mutation ($input: LogInInput!) { logIn(input: $input) { token problems { code } } }"
    yield f"{SIGN_INS} sign-ins at once", graphql(query, SIGN_INS, input={"login": OWNER, "password": PASSWORD})
    yield "950 KB of variables", graphql("query ($x: [ID!]!) { nodes(ids: $x) { id } }", x=["x" * 7] * 95_000)


@contextmanager
def serving(checkout: Path, endpoint: str, stacks: float | None) -> Iterator[tuple[int, Path]]:
    """Yields the port of a server of this checkout, and the folder of what its probe writes."""
    port = free_port()
    variables = {"STACKS": str(stacks)} if stacks else {}
    with tempfile.TemporaryDirectory() as name:
        variables = environment(
            DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=TABLE, PORT=str(port), AUTH_SECRET=SECRET, DATA_DIR=name, **variables
        )
        process = psutil.Popen(
            [sys.executable, str(PROBE), name],
            cwd=checkout,
            env=variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(process, port, str(checkout))
            yield port, Path(name)
        finally:
            process.terminate()
            process.wait(20)


def measure(port: int, folder: Path, named: list[tuple[str, Request]]) -> dict[str, Measured]:
    client = Client(port)
    trivial = graphql("{ __typename }")
    read = graphql(f'{{ user(by: {{id: "{global_id(owner())}"}}) {{ username }} }}')
    found: dict[str, Measured] = {}
    for name, request in named:
        for query in [trivial, read] * 5:
            client.ask(query)
        with Beside(client, [trivial, read]) as beside, ThreadPoolExecutor(max(1, request.times)) as pool:
            time.sleep(0.2)
            began = time.monotonic()
            answers = list(pool.map(client.ask, [request] * request.times))
            time.sleep(0 if request.times else IDLE_SECONDS)
            ended = time.monotonic()
            time.sleep(0.05)
        during = [each for each in beside.sent if each[1] + each[2] / 1000 >= began]
        times = [[took for query, _, took in during if query is kind] for kind in (trivial, read)]
        found[name] = Measured((ended - began) * 1000, *times, *_lag(folder, began, ended), _outcome(answers))
        print(f"  {name:26} {_row(found[name])}", flush=True)
    return found


def _outcome(answers: list[tuple[int, bytes]]) -> str:
    """Returns how often each status came, with the code of the first error or problem."""
    codes = [(status, re.search(rb'"code":"([A-Z_]+)"', body[:10_000])) for status, body in answers]
    counts = Counter(f"{status} {code[1].decode()}" if code else f"{status}" for status, code in codes)
    return ", ".join(f"{count} × {outcome}" for outcome, count in counts.items())


def _lag(folder: Path, began: float, ended: float) -> tuple[float, float]:
    """Returns the longest lag that ended in this time, and its most CPU. The clock is the same in all processes."""
    time.sleep(0.05)
    lines = (folder / "lags").read_text().splitlines()
    lags = [(float(lag), float(cpu)) for at, lag, cpu in map(str.split, lines) if began <= float(at) <= ended + 0.05]
    longest, most = (max((each[which] for each in lags), default=0.0) for which in (0, 1))
    return longest * 1000, most * 1000


def _row(measured: Measured) -> str:
    figures = "  ".join(f"{name} {value:.1f}" for name, value in zip(COLUMNS, _figures(measured), strict=True))
    return f"{figures}  {measured.outcome}"


COLUMNS = ("took", "p50", "p99", "max", "read p99", "lag", "cpu")


def _figures(measured: Measured) -> list[float]:
    waits = [percentile(measured.trivial, share) for share in (0.5, 0.99, 1.0)]
    return [measured.took, *waits, percentile(measured.reads, 0.99), measured.lag, measured.cpu]


def table(runs: dict[str, dict[str, Measured]]) -> str:
    """Returns a Markdown table with the figures of all runs side by side."""
    heads = [f"{column}, {name}" if len(runs) > 1 else column for name in runs for column in COLUMNS]
    lines = [f"| ms | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for operation in next(iter(runs.values())):
        figures = [f"{figure:.0f}" for run in runs.values() for figure in _figures(run[operation])]
        lines.append(f"| {operation} | {' | '.join(figures)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.event_loop", description=__doc__)
    parser.add_argument("--people", type=int, default=5_000, help="people in the tree (5000)")
    parser.add_argument("--gedcom", type=Path, help="a GEDCOM file in UTF-8, instead of a generated tree")
    parser.add_argument("--against", type=Path, help="another checkout, measured first in the same run")
    parser.add_argument("--only", default="", help="only the operations whose names contain this text")
    parser.add_argument(
        "--stacks", type=float, metavar="SECONDS", help="print what ran when the loop was later than this"
    )
    arguments = parser.parse_args()
    text = arguments.gedcom.read_text(errors="replace") if arguments.gedcom else gedcom(arguments.people)
    found = data(text.encode())
    named = [(name, request) for name, request in operations(found, text, gedcom(2_000)) if arguments.only in name]
    checkouts = {"before": arguments.against, "after": ROOT} if arguments.against else {"now": ROOT}
    runs: dict[str, dict[str, Measured]] = {}
    try:
        with bulk.filled({TABLE: found.records}) as running:
            for name, checkout in checkouts.items():
                print(f"{name}: {len(found.people):,} people, {checkout}", flush=True)
                with serving(checkout.resolve(), running.endpoint, arguments.stacks) as (port, folder):
                    runs[name] = measure(port, folder, named)
                    if arguments.stacks:
                        print((folder / "stacks").read_text())
    except engine.EngineFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(table(runs))
    late = [name for name, measured in runs[list(runs)[-1]].items() if measured.cpu > LIMIT_MS]
    print(f"CPU over {LIMIT_MS:.0f} ms at once: {', '.join(late) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
