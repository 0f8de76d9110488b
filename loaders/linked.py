"""Lists of links that stand for their targets, for a field that is a list of links in one of its orders only."""

from typing import Generic, NamedTuple, TypeVar

from datastore.model.entity import Entity
from datastore.model.keys import Range
from loaders.merge import Merge
from loaders.pages import Target

E = TypeVar("E", bound=Entity)


class Linked(NamedTuple, Generic[E]):
    """Links, and the function that returns the target of each."""

    source: Range[E] | Merge[E]
    to: Target
