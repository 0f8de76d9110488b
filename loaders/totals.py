"""Counts that several items share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from datastore.keys import Key
from loaders.steps import Items, Step


class Total(NamedTuple):
    """A number, and what a field of other items adds to it."""

    base: int
    shares: tuple[Key[Any], ...]
    field: str


def summed(totals: Sequence[Total]) -> Step[list[int]]:
    """What each comes to."""
    if not any(total.shares for total in totals):
        return [total.base for total in totals]
    shares = iter((yield Items([key for total in totals for key in total.shares])))
    return [
        total.base + sum(getattr(share, total.field, 0) for share in (next(shares) for _ in total.shares))
        for total in totals
    ]
