"""Writes answers as JSON: small ones at once, large ones in slices that leave the event loop to others."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import orjson

from schema.execution.limits import OverLimit

# Operations that cost up to this much have small answers: at most 5,000 leaves.
SMALL_COST = 500
SECONDS_OF_A_SLICE = 0.01
# Deeper values are JSON within a leaf.
LEVELS = 40


async def write(body: Any, cost: int, limit: int) -> bytes:
    """Returns the JSON; raises OverLimit as soon as it is over `limit` bytes."""
    if cost <= SMALL_COST:
        written = orjson.dumps(body)
        _check(len(written), limit)
        return written
    parts: list[bytes] = []
    size = 0
    until = time.monotonic() + SECONDS_OF_A_SLICE
    for part in _parts(body, LEVELS):
        parts.append(part)
        size += len(part)
        _check(size, limit)
        if time.monotonic() > until:
            await asyncio.sleep(0)
            until = time.monotonic() + SECONDS_OF_A_SLICE
    return b"".join(parts)


def _check(size: int, limit: int) -> None:
    if size > limit:
        raise OverLimit(f"the answer is over {limit:,} bytes; ask for smaller pages or fewer fields")


def _parts(value: Any, levels: int) -> Iterator[bytes]:
    """Yields the JSON of a value in parts. A record without nested values is one part, and so is an introspection."""
    if levels and value.__class__ is dict and any(inner.__class__ in (dict, list) for inner in value.values()):
        before = b"{"
        for key, inner in value.items():
            yield before + orjson.dumps(key) + b":"
            yield from _parts(inner, levels - 1)
            before = b","
        yield b"}"
    elif levels and value.__class__ is list and any(inner.__class__ in (dict, list) for inner in value):
        before = b"["
        for inner in value:
            yield before
            yield from _parts(inner, levels - 1)
            before = b","
        yield b"]"
    else:
        yield orjson.dumps(value)
