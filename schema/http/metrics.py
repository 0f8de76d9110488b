"""Counters of the process, in the Prometheus text format."""

import mmap
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from datastore.client.durations import Durations
from datastore.client.transport import Transport
from loaders.hot_data import HotData
from loaders.hot_reads import HotReads
from loaders.shared_reads import SharedReads
from resolvers.background.change_flow import ChangeFlow
from resolvers.background.job_stats import JobStats
from resolvers.search.index import SearchIndex
from schema.execution.executor import Executor
from schema.http.admission import Admission
from schema.http.connection_limits import Connections
from schema.http.exposition import family as _family
from schema.http.exposition import histogram
from schema.http.operation_counts import OperationCounts
from schema.live.open_streams import OpenStreams

ROUTES = ("/", "/graphql", "/graphiql", "/schema.graphql", "/trees", "/analytics", "/healthz", "/readyz", "/metrics")
ANSWERED = ("ok", "partial")
STATM = Path("/proc/self/statm")


class Metrics:
    """Counters since the process started. They hold nothing about a user."""

    def __init__(
        self,
        admission: Admission,
        connections: Connections,
        transport: Transport,
        changes: ChangeFlow,
        streams: OpenStreams,
        reads: SharedReads,
        executor: Executor,
        jobs: JobStats,
        search_index: SearchIndex,
    ) -> None:
        self._hot = reads.data if isinstance(reads, HotReads) else None
        self._executor = executor
        self._jobs = jobs
        self._search_index = search_index
        self._streams = streams
        self._admission = admission
        self._connections = connections
        self._transport = transport
        self._changes = changes
        self.requests: Counter[tuple[str, int]] = Counter()
        self.calls: Counter[str] = Counter()
        self.saved: Counter[str] = Counter()
        self.retries = 0
        self.units = {"read": 0.0, "write": 0.0}
        self._durations = Durations()
        self._operations = OperationCounts()
        self.errors: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.cost = 0

    def answered(self, path: str, status: int, seconds: float, fields: Mapping[str, Any]) -> None:
        # The path of `OPTIONS *` has no slash.
        route = path if path in ROUTES else "/".join(path.split("/", 2)[:2])
        self.requests[route if route in ROUTES else "other", status] += 1
        # A stream is open for hours, which says nothing of how fast requests are answered. Pages and preflights run no
        # operation. An unexpected error has left no fields.
        event = fields.get("event")
        if event == "graphql" or (event is None and route == "/graphql" and status >= 500):
            self.executed(seconds, fields)

    def executed(self, seconds: float, fields: Mapping[str, Any]) -> None:
        """Counts an operation with one result."""
        self._durations.observe(seconds)
        self._operations.add(fields.get("operation"), seconds, fields)
        self.errors.update(fields.get("error_codes", ()))
        self.cost += fields.get("cost", 0)
        if fields.get("outcome") in ANSWERED and not fields["compiled"]:
            self.fallbacks[fields["plan_failure"] or "not covered"] += 1
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
        yield histogram("graphql_seconds", "Duration of GraphQL requests.", {"": self._durations})
        yield from self._operations.families()
        errors = {f'code="{code}"': n for code, n in sorted(self.errors.items())}
        yield _family("graphql_errors_total", "Errors in GraphQL responses.", errors)
        yield _family("graphql_cost_total", "Predicted cost of GraphQL requests.", self.cost)
        yield _family("requests_running", "Admitted requests that run now.", admission.running)
        yield _family("requests_waiting", "Requests in the queue.", admission.waiting)
        yield _family("requests_limit", "Requests that may run at a time.", round(admission.limit, 1))
        yield _family("requests_admitted_total", "Requests that were admitted.", admission.admitted)
        yield _family("requests_shed_total", "Requests that were refused under overload.", admission.shed)
        waited = {"": admission.queue_times}
        yield histogram("requests_queue_seconds", "Time in the queue, of requests that waited.", waited)
        yield _family("event_loop_lag_seconds", "Delay of the event loop.", round(admission.lag, 6))
        yield _family("connections", "Open connections.", self._connections.open)
        refused = {f'reason="{reason}"': n for reason, n in sorted(self._connections.refused.items())}
        yield _family("connections_refused_total", "Connections that were refused or ended by a limit.", refused)
        streams = {f'transport="{name}"': n for name, n in sorted(self._streams.by_transport.items())}
        yield _family("streams", "Open streams of results.", streams)
        failures = {f'error="{name}"': n for name, n in sorted(Executor.plan_failures.items())}
        yield _family("plan_failures_total", "Query plans that failed unexpectedly.", failures)
        fallbacks = {f'reason="{reason}"': n for reason, n in sorted(self.fallbacks.items())}
        yield _family("plan_fallbacks_total", "Operations that graphql-core ran, not a plan.", fallbacks)
        found = {f'result="{result}"': n for result, n in self._executor.document_lookups.items()}
        yield _family("document_cache_total", "Lookups of parsed and compiled documents.", found)
        calls = {f'operation="{name}"': round(n - self.saved[name], 1) for name, n in sorted(self.calls.items())}
        yield _family("dynamodb_calls_total", "DynamoDB calls of GraphQL requests.", calls)
        saved = {f'operation="{name}"': round(n, 1) for name, n in sorted(self.saved.items())}
        yield _family("dynamodb_calls_saved_total", "Calls that requests did not need, as others made the same.", saved)
        yield _family("dynamodb_retries_total", "Retries of these calls.", self.retries)
        units = {f'kind="{kind}"': round(n, 1) for kind, n in self.units.items()}
        yield _family("dynamodb_capacity_units_total", "Capacity units of these calls.", units)
        yield from self._of_calls()
        breaker = self._transport.breaker
        yield _family(
            "dynamodb_circuit_open", "1 while calls are refused, because nearly all failed.", int(not breaker.is_closed)
        )
        yield _family("dynamodb_circuit_opened_total", "Times the circuit breaker opened.", breaker.opened)
        yield _family("dynamodb_calls_refused_total", "Calls that were not sent, because it was open.", breaker.refused)
        yield _family(
            "dynamodb_retry_tokens", "Retries that the budget still allows.", self._transport.retry_budget.tokens
        )
        if self._hot is not None:
            yield from _of_hot_data(self._hot)
        yield from self._of_changes()
        yield from self._of_jobs()
        yield from self._of_search()
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

    def _of_calls(self) -> Iterator[Iterable[str]]:
        stats = self._transport.stats
        seconds = {f'operation="{name}"': each for name, each in sorted(stats.seconds.items())}
        yield histogram("dynamodb_seconds", "Duration of all DynamoDB calls, of jobs and processors too.", seconds)
        failures = {f'operation="{name}",error="{error}"': n for (name, error), n in sorted(stats.failures.items())}
        yield _family("dynamodb_failures_total", "Attempts of DynamoDB calls that failed.", failures)
        yield histogram(
            "dynamodb_queue_seconds", "Time that DynamoDB calls waited for a free place.", {"": stats.waits}
        )

    def _of_jobs(self) -> Iterator[Iterable[str]]:
        jobs = self._jobs
        yield _family("jobs_lag_seconds", "Time that the oldest due job has waited.", round(jobs.lag, 3))
        yield _family("jobs_running", "Jobs that run now.", jobs.running)
        for name, description, counts in (
            ("jobs_done_total", "Jobs that were done.", jobs.done),
            ("jobs_failed_total", "Attempts of jobs that failed.", jobs.failed),
            ("jobs_dead_total", "Jobs that were given up: `heartwood jobs dead` lists them.", jobs.dead),
        ):
            yield _family(name, description, {f'kind="{kind}"': n for kind, n in sorted(counts.items())})

    def _of_search(self) -> Iterator[Iterable[str]]:
        index = self._search_index
        yield _family(
            "search_lag_seconds",
            "Age of the oldest change that is not in the search index, 0 if there is none.",
            round(index.lag, 3),
        )
        yield _family(
            "search_writer",
            "1 if this process writes the search index of its machine, or that in OpenSearch.",
            int(index.is_writer),
        )
        yield _family("search_partial", "1 while the search index is incomplete.", int(index.is_partial))
        yield _family("search_changes_total", "Changes that were indexed.", index.changes)
        yield _family("search_rebuilds_total", "Times the search index was built from the table.", index.rebuilds)
        looked_at = {f'type="{name}"': count for name, count in sorted(index.progress.items())}
        yield _family("search_rebuild_records", "Records that a running rebuild has looked at.", looked_at)


def _of_hot_data(data: HotData) -> Iterator[Iterable[str]]:
    answers = {'answer="hit"': data.hits, 'answer="miss"': data.misses}
    yield _family("cache_reads_total", "Records and pages that requests needed, by whether they were cached.", answers)
    yield _family("cache_corrections_total", "Misses for which only what changed in a page was read.", data.corrections)
    yield _family("cache_invalidations_total", "Cached records and pages that a change concerned.", data.invalidations)
    yield _family("cache_evictions_total", "Cached records and pages that made room for others.", data.evictions)
    yield _family("cache_entries", "Cached records and pages.", len(data))
    yield _family("cache_bytes", "Estimated memory of these.", data.bytes)
    yield _family("cache_limit_bytes", "CACHE_MB in bytes.", data.most_bytes)


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
