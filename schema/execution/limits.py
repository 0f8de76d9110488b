"""Limits of a request, and the error that names the one it exceeds."""

from dataclasses import dataclass
from typing import Any


class OverLimit(Exception):
    """The request exceeds a limit. The message says which one, and what to do."""


@dataclass(frozen=True)
class Limits:
    tokens: int = 2_000
    depth: int = 15
    cost: int = 10_000
    json_depth: int = 64
    json_values: int = 20_000
    # Validation takes at most 100 ms with these, and no reasonable query is near them.
    selections: int = 1_000
    aliases: int = 500
    operations: int = 20
    fragments: int = 100
    variables: int = 100
    directives: int = 100
    # @defer and @stream: a fragment is collected once for each of them.
    deferred: int = 30
    # Deferred fragments and streamed lists of one answer, each counted as often as it occurs.
    parts: int = 1_000


def check_json(value: Any, limits: Limits) -> None:
    """Raises OverLimit for JSON that would exhaust the interpreter's stack, or take long to coerce.

    Counts a level before it is read, so the time is bounded by the limits, not by the size of the JSON.
    """
    level, count = [value], 0
    for _ in range(limits.json_depth + 1):
        count += sum(len(outer) for outer in level if isinstance(outer, dict | list))
        if count > limits.json_values:
            raise OverLimit(
                f"the request's JSON has over {limits.json_values:,} values; send less, or in several requests"
            )
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise OverLimit(f"the request's JSON is nested over {limits.json_depth} levels deep")
