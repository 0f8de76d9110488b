"""Counters of the process, in the Prometheus text format."""

import mmap
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from datastore.client.transport import Transport
from resolvers.background.change_flow import ChangeFlow
from schema.execution.executor import Executor
from schema.http.admission import Admission
from schema.http.connection_limits import Connections

PREFIX = "heartwood"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROUTES = ("/", "/graphql", "/graphiql", "/schema.graphql", "/trees", "/healthz", "/readyz", "/metrics")
STATM = Path("/proc/self/statm")


class Metrics:
    """Counters since the process started. They hold nothing about a user."""

    def __init__(
        self, admission: Admission, connections: Connections, transport: Transport, changes: ChangeFlow
    ) -> None:
        self._admission = admission
        self._connections = connections
        self._transport = transport
        self._changes = changes
        self.requests: Counter[tuple[str, int]] = Counter()
        self.calls: Counter[str] = Counter()
        self.saved: Counter[str] = Counter()
        self.retries = 0
        self.units = {"read": 0.0, "write": 0.0}
        self._durations = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def answered(self, path: str, status: int, seconds: float, fields: Mapping[str, Any]) -> None:
        # The path of `OPTIONS *` has no slash.
        route = path if path in ROUTES else "/".join(path.split("/", 2)[:2])
        self.requests[route if route in ROUTES else "other", status] += 1
        if route == "/graphql":
            self._durations[bisect_left(BUCKETS, seconds)] += 1
            self._seconds += seconds
            self.calls.update(fields.get("calls", {}))
            self.saved.update(fields.get("saved", {}))
            self.retries += fields.get("retries", 0)
            self.units["read"] += fields.get("read_units", 0)
            self.units["write"] += fields.get("write_units", 0)

    def text(self) -> str:
        return "\n".join(line for family in self._families() for line in family) + "\n"

    def _families(self) -> Iterator[Iterable[str]]:
        admission = self._admission
        by_route = {f'route="{route}",status="{status}"': n for (route, status), n in sorted(self.requests.items())}
        yield _family("requests_total", "Answered requests, without those refused under overload.", by_route)
        yield self._histogram()
        yield _family("requests_running", "Admitted requests that run now.", admission.running)
        yield _family("requests_waiting", "Requests in the queue.", admission.waiting)
        yield _family("requests_limit", "Requests that may run at a time.", round(admission.limit, 1))
        yield _family("requests_admitted_total", "Requests that were admitted.", admission.admitted)
        yield _family("requests_shed_total", "Requests that were refused under overload.", admission.shed)
        yield _family("event_loop_lag_seconds", "Delay of the event loop.", round(admission.lag, 6))
        yield _family("connections", "Open connections.", self._connections.open)
        refused = {f'reason="{reason}"': n for reason, n in sorted(self._connections.refused.items())}
        yield _family("connections_refused_total", "Connections that were refused or ended by a limit.", refused)
        failures = {f'error="{name}"': n for name, n in sorted(Executor.plan_failures.items())}
        yield _family("plan_failures_total", "Query plans that failed unexpectedly.", failures)
        calls = {f'operation="{name}"': round(n - self.saved[name], 1) for name, n in sorted(self.calls.items())}
        yield _family("dynamodb_calls_total", "DynamoDB calls of GraphQL requests.", calls)
        saved = {f'operation="{name}"': round(n, 1) for name, n in sorted(self.saved.items())}
        yield _family("dynamodb_calls_saved_total", "Calls that requests did not need, as others made the same.", saved)
        yield _family("dynamodb_retries_total", "Retries of these calls.", self.retries)
        units = {f'kind="{kind}"': round(n, 1) for kind, n in self.units.items()}
        yield _family("dynamodb_capacity_units_total", "Capacity units of these calls.", units)
        breaker = self._transport.breaker
        yield _family(
            "dynamodb_circuit_open", "1 while calls are refused, because nearly all failed.", int(not breaker.is_closed)
        )
        yield _family("dynamodb_circuit_opened_total", "Times the circuit breaker opened.", breaker.opened)
        yield _family("dynamodb_calls_refused_total", "Calls that were not sent, because it was open.", breaker.refused)
        yield _family(
            "dynamodb_retry_tokens", "Retries that the budget still allows.", self._transport.retry_budget.tokens
        )
        yield from self._of_changes()
        yield _family("memory_bytes", "Resident memory of the process.", resident_memory())

    def _of_changes(self) -> Iterator[Iterable[str]]:
        progress = {f'processor="{name}"': each for name, each in sorted(self._changes.processing.progress.items())}
        yield _family(
            "changes_lag_seconds",
            "Age of the change that a processor works on, 0 if it has nothing to do.",
            {name: round(each.lag, 3) for name, each in progress.items()},
        )
        yield _family(
            "changes_processed_total",
            "Changes that a processor has handled.",
            {name: each.changes for name, each in progress.items()},
        )
        yield _family(
            "changes_retries_total",
            "Times a processor was called again after an error.",
            {name: each.retries for name, each in progress.items()},
        )
        yield _family(
            "changes_dead_total",
            "Changes that a processor could not handle: `heartwood changes dead` lists them.",
            {name: each.dead for name, each in progress.items()},
        )
        if stream := self._changes.stream:
            lag = {f'shard="{shard_id}"': round(seconds, 3) for shard_id, seconds in sorted(stream.lag.items())}
            yield _family(
                "stream_lag_seconds", "Age of what this server has not read yet, by shard of the stream.", lag
            )
            yield _family("stream_shards", "Shards of the stream that this server reads.", stream.shards_held)
            yield _family("stream_trimmed_total", "Times that changes were lost: see the log.", stream.trimmed)

    def _histogram(self) -> Iterator[str]:
        name = f"{PREFIX}_graphql_seconds"
        yield f"# HELP {name} Duration of GraphQL requests."
        yield f"# TYPE {name} histogram"
        for bound, total in zip((*BUCKETS, "+Inf"), accumulate(self._durations), strict=True):
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {sum(self._durations)}"


def _family(name: str, description: str, values: float | Mapping[str, float]) -> Iterator[str]:
    """Returns the lines of a metric: one value, or one for each set of labels."""
    yield f"# HELP {PREFIX}_{name} {description}"
    yield f"# TYPE {PREFIX}_{name} {'counter' if name.endswith('_total') else 'gauge'}"
    if isinstance(values, Mapping):
        yield from (f"{PREFIX}_{name}{{{labels}}} {value}" for labels, value in values.items())
    else:
        yield f"{PREFIX}_{name} {values}"


def resident_memory() -> int:
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * mmap.PAGESIZE
    if sys.platform == "win32":
        return 0
    import resource

    # The highest value so far; there is no other without a library.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def metrics(request: Request) -> Response:
    text = request.app.state.metrics_text()
    return PlainTextResponse(text, headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"})
