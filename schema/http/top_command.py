"""`heartwood top`: a live view of one or more servers in the terminal, from their metrics."""

import argparse
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from schema.http.scraped import Sample, parsed, quantile, total

WITHIN = 3.0
LARGEST = 8_000_000
MOST_OPERATIONS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("servers", nargs="*", metavar="URL", help="servers, such as http://10.0.0.7:8000")
    parser.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="time between two readings")
    parser.add_argument("--times", type=int, metavar="N", help="number of readings; without it, until Ctrl-C")


def run(arguments: argparse.Namespace) -> int:
    watched = [Watched(_url(each)) for each in arguments.servers or ["http://127.0.0.1:8000"]]
    if arguments.every < 0.1:
        raise OSError("--every: write at least 0.1 seconds")
    console = Console()
    readings = 0
    try:
        with Live(console=console, auto_refresh=False, screen=console.is_terminal and not arguments.times) as live:
            while True:
                for each in watched:
                    each.read()
                live.update(view(watched), refresh=True)
                readings += 1
                if arguments.times and readings >= arguments.times:
                    break
                time.sleep(arguments.every)
    except KeyboardInterrupt:
        return 0
    return 1 if all(each.problem for each in watched) else 0


def _url(text: str) -> str:
    url = text if "://" in text else f"http://{text}"
    if not url.startswith(("http://", "https://")):
        raise OSError(f"{text}: write a server like http://10.0.0.7:8000")
    url = url.rstrip("/")
    return url if url.endswith("/metrics") else f"{url}/metrics"


@dataclass
class Watched:
    """The latest two readings of a server."""

    url: str
    now: Sequence[Sample] = ()
    before: Sequence[Sample] = ()
    seconds: float = 0.0
    problem: str | None = None
    _read_at: float = field(default=0.0)

    def read(self) -> None:
        try:
            with urllib.request.urlopen(self.url, timeout=WITHIN) as answer:  # noqa: S310 (checked by `_url`)
                text = answer.read(LARGEST).decode()
        except urllib.error.HTTPError as error:
            hint = "; is METRICS=false?" if error.code == 404 else ""
            self.problem = f"HTTP {error.code}{hint}"
            return
        except (OSError, ValueError) as error:
            self.problem = str(getattr(error, "reason", error))
            return
        moment = time.monotonic()
        self.before, self.now = self.now, parsed(text)
        self.seconds, self._read_at = moment - self._read_at, moment
        self.problem = None if self.now else "these are not metrics of Heartwood"

    def value(self, name: str, **labels: str) -> float:
        return total(self.now, name, **labels)

    def highest(self, name: str) -> float:
        """Returns the highest value, such as that of the worker that is furthest behind."""
        return max((each.value for each in self.now if each.name == name), default=0.0)

    def rate(self, name: str, **labels: str) -> float:
        """Returns the increase per second between the last two readings. A restart counts from 0."""
        if not self.before or not self.seconds:
            return 0.0
        now, before = total(self.now, name, **labels), total(self.before, name, **labels)
        return (now - before if now >= before else now) / self.seconds


def view(watched: Sequence[Watched]) -> RenderableType:
    reached = [each for each in watched if not each.problem]
    problems = [f"[red]{_short(each)}: {escape(each.problem)}[/red]" for each in watched if each.problem]
    return Group(*problems, _requests(reached), _table_and_background(reached), _operations(reached))


def _requests(watched: Sequence[Watched]) -> Table:
    table = _columns(
        "Requests",
        *("server", "req/s", "p50 ms", "p95 ms", "failed/s", "shed/s", "running", "queue", "lag ms", "streams", "MB"),
    )
    for each in watched:
        failed = each.rate("operations_total", outcome="failed")
        shed = each.rate("requests_shed_total")
        table.add_row(
            _short(each),
            f"{each.rate('graphql_seconds_count'):.1f}",
            _ms(quantile(0.5, each.now, each.before, "graphql_seconds")),
            _ms(quantile(0.95, each.now, each.before, "graphql_seconds")),
            _alarming(failed, f"{failed:.1f}"),
            _alarming(shed, f"{shed:.1f}"),
            f"{each.value('requests_running'):.0f}/{each.value('requests_limit'):.0f}",
            f"{each.value('requests_waiting'):.0f}",
            f"{each.highest('event_loop_lag_seconds') * 1000:.1f}",
            f"{each.value('streams'):.0f}",
            f"{each.value('memory_bytes') / 1e6:.0f}",
        )
    return table


def _table_and_background(watched: Sequence[Watched]) -> Table:
    table = _columns(
        "Table and background",
        *("server", "calls/s", "RCU/s", "WCU/s", "retries/s", "failures/s", "jobs lag", "changes lag", "dead"),
    )
    for each in watched:
        dead = each.value("jobs_dead_total") + each.value("changes_dead_total")
        failures = each.rate("dynamodb_failures_total")
        table.add_row(
            _short(each),
            f"{each.rate('dynamodb_seconds_count'):.1f}",
            f"{each.rate('dynamodb_capacity_units_total', kind='read'):.1f}",
            f"{each.rate('dynamodb_capacity_units_total', kind='write'):.1f}",
            f"{each.rate('dynamodb_retries_total'):.1f}",
            _alarming(failures, f"{failures:.1f}"),
            f"{each.highest('jobs_lag_seconds'):.0f} s",
            f"{each.highest('changes_lag_seconds'):.1f} s",
            _alarming(dead, f"{dead:.0f}"),
        )
    return table


def _columns(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _short(watched: Watched) -> str:
    return escape(watched.url.removesuffix("/metrics").removeprefix("http://"))


def _operations(watched: Sequence[Watched]) -> Table:
    table = _columns("Operations, by time", "operation", "req/s", "mean ms", "failed/s", "cost", "calls", "RCU", "WCU")
    names = {each.labels["operation"] for server in watched for each in server.now if each.name == "operations_total"}
    rows = []
    for name in names:
        count = sum(each.rate("operations_total", operation=name) for each in watched)
        if count:
            seconds = sum(each.rate("operation_seconds_total", operation=name) for each in watched)
            rows.append((seconds, name, count))
    for seconds, name, count in sorted(rows, reverse=True)[:MOST_OPERATIONS]:

        def mean(metric: str, name: str = name, count: float = count, **labels: str) -> str:
            return f"{sum(each.rate(metric, operation=name, **labels) for each in watched) / count:.1f}"

        failed = sum(each.rate("operations_total", operation=name, outcome="failed") for each in watched)
        table.add_row(
            escape(name),
            f"{count:.1f}",
            f"{seconds / count * 1000:.1f}",
            _alarming(failed, f"{failed:.1f}"),
            mean("operation_cost_total"),
            mean("operation_dynamodb_calls_total"),
            mean("operation_capacity_units_total", kind="read"),
            mean("operation_capacity_units_total", kind="write"),
        )
    return table


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1000:.0f}"


def _alarming(value: float, text: str) -> str:
    return f"[red]{text}[/red]" if value else text
