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
    # Validation takes at most 100 ms with these, and no reasonable query is near them.
    selections: int = 1_000
    aliases: int = 500
    operations: int = 20
    fragments: int = 100
    variables: int = 100
    directives: int = 100


def check_nesting(value: Any, limit: int) -> None:
    """Raises OverLimit for JSON that is nested so deeply that it would exhaust the interpreter's stack."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise OverLimit(f"the request's JSON is nested over {limit} levels deep")
