"""Filters that no key can express: records are read and dropped, within the read budget of a page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.model.entity import Entity
from datastore.model.keys import Range
from loaders.merge import Merge
from loaders.numbered import Numbered
from loaders.pages import OfTargets
from loaders.ranked import Ranked

E = TypeVar("E", bound=Entity)

Condition = Callable[[E], bool]


@dataclass(frozen=True)
class Unindexed:
    """Marks an argument of a list whose filter has no index, so that a page with it may read many more records.

    `when_combined`: the filter has an index, but only one of several such filters can use its own at a time.
    """

    when_combined: bool = False


UNINDEXED = Unindexed()
ONE_INDEX_AT_A_TIME = Unindexed(when_combined=True)


class Filtered(NamedTuple, Generic[E]):
    """A list without the records that `keeps` rejects.

    `keeps` gets each record as the viewer sees it, and never one that is hidden. So a filter reveals nothing that the
    viewer cannot read anyway. `OfTargets` judges the targets of links instead of the links.
    """

    source: Range[E] | Merge[E] | Numbered[E] | Ranked[E]
    keeps: Condition[E] | OfTargets


def filtered(source: Range[E] | Merge[E] | Numbered[E] | Ranked[E], *conditions: Condition[E] | None) -> Filtered[E]:
    """Returns the records that meet all conditions; None is no condition."""
    given = [condition for condition in conditions if condition is not None]
    return Filtered(source, lambda record: all(condition(record) for condition in given))


def filtered_targets(source: Range[E] | Merge[E], *conditions: Condition[Any]) -> Filtered[E]:
    """Returns the links whose targets meet all conditions."""
    return Filtered(source, OfTargets(lambda node: all(condition(node) for condition in conditions)))
