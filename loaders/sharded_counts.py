"""Counts that are sharded over several items."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from datastore.model.keys import Key
from loaders.needs import Items, Step


class Total(NamedTuple):
    """A base count, and the items whose `fields` are added to it."""

    base: int
    shares: tuple[Key[Any], ...]
    fields: tuple[str, ...]


def summed(counts: Sequence[int | Total | None]) -> Step[Sequence[Any]]:
    """Returns the sum of each count; None is unknown. Missing and damaged items add nothing."""
    if Total not in set(map(type, counts)):
        return counts
    shares = [key for count in counts if isinstance(count, Total) for key in count.shares]
    found = iter((yield Items(shares, or_damage=True)) if shares else ())
    return [
        count.base + sum(getattr(share, name, 0) for share in islice(found, len(count.shares)) for name in count.fields)
        if isinstance(count, Total)
        else count
        for count in counts
    ]
