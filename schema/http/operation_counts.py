"""Counts of GraphQL operations by their names, which clients choose.

A name has counts of its own once it was used often enough, and only so many names have. All others are counted as
"other", so that no one can fill the memory of the server, or of what collects its metrics, by making up names.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from schema.http.exposition import family

MOST_NAMES = 50
OWN_AFTER = 5
"""Uses after which a name has counts of its own."""
CANDIDATES = 1_000
UNUSED_FOR = 3_600.0
"""Seconds after which a name that is not used gives way to another one."""
LONGEST_NAME = 60
OTHER, ANONYMOUS = "other", "anonymous"


class OperationCount:
    """The requests of one operation."""

    __slots__ = ("calls", "cost", "outcomes", "read_units", "seconds", "used_at", "write_units")

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.seconds = 0.0
        self.cost = 0
        self.calls = 0
        self.read_units = 0.0
        self.write_units = 0.0
        self.used_at = 0.0

    def add(self, seconds: float, fields: Mapping[str, Any]) -> None:
        self.outcomes[fields.get("outcome", "failed")] += 1
        self.seconds += seconds
        self.cost += fields.get("cost", 0)
        self.calls += sum(fields.get("calls", {}).values())
        self.read_units += fields.get("read_units", 0)
        self.write_units += fields.get("write_units", 0)


class OperationCounts:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, OperationCount] = {OTHER: OperationCount()}
        self._candidates: Counter[str] = Counter()

    def add(self, name: str | None, seconds: float, fields: Mapping[str, Any]) -> None:
        count = self._counts.get(name or ANONYMOUS) or self._counts[self._admitted(name or ANONYMOUS)]
        count.used_at = self._clock()
        count.add(seconds, fields)

    def _admitted(self, name: str) -> str:
        """Returns the name under which a request is counted that has no counts of its own so far."""
        if len(name) > LONGEST_NAME:
            return OTHER
        self._candidates[name] += 1
        if self._candidates[name] < OWN_AFTER:
            if len(self._candidates) > CANDIDATES:
                # What is used often survives being halved.
                self._candidates = Counter({each: n // 2 for each, n in self._candidates.items() if n > 1})
            return OTHER
        if len(self._counts) > MOST_NAMES and not self._made_room():
            return OTHER
        del self._candidates[name]
        self._counts[name] = OperationCount()
        return name

    def _made_room(self) -> bool:
        oldest = min((each for each in self._counts if each != OTHER), key=lambda each: self._counts[each].used_at)
        if self._clock() - self._counts[oldest].used_at < UNUSED_FOR:
            return False
        del self._counts[oldest]
        return True

    def families(self) -> Iterator[Iterator[str]]:
        counts = {f'operation="{name}"': count for name, count in sorted(self._counts.items())}
        outcomes = {
            f'{label},outcome="{outcome}"': n
            for label, count in counts.items()
            for outcome, n in sorted(count.outcomes.items())
        }
        yield family("operations_total", "GraphQL operations by name and outcome.", outcomes)
        seconds = {label: round(count.seconds, 6) for label, count in counts.items()}
        yield family("operation_seconds_total", "Time of these operations.", seconds)
        cost = {label: count.cost for label, count in counts.items()}
        yield family("operation_cost_total", "Predicted cost of these operations.", cost)
        calls = {label: count.calls for label, count in counts.items()}
        yield family("operation_dynamodb_calls_total", "DynamoDB calls that these operations waited for.", calls)
        units = {
            f'{label},kind="{kind}"': round(value, 1)
            for label, count in counts.items()
            for kind, value in (("read", count.read_units), ("write", count.write_units))
        }
        yield family("operation_capacity_units_total", "Capacity units of these operations.", units)
