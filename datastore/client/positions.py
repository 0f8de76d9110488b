"""Positions in a range, from which a read continues."""

from typing import Any

from datastore.client.errors import CorruptItem, InvalidKey
from datastore.model.codec import AttributeValue, Item
from datastore.model.entity import Entity
from datastore.model.keys import Range

Position = tuple[str, ...]
"""A position in a range: the PK and SK of a record and, in an index, its index sort key."""


def start_key(within: Range[Any], after: Position) -> dict[str, AttributeValue]:
    pk, sk, *index_sk = after
    start = {"PK": {"S": pk}, "SK": {"S": sk}}
    if within.index_name:
        start[f"{within.index_name}PK"] = {"S": within.pk}
        start[f"{within.index_name}SK"] = {"S": index_sk[0]}
    return start


def position_in(within: Range[Any], item: Item) -> Position:
    key = (item["PK"]["S"], item["SK"]["S"])
    return (*key, item[f"{within.index_name}SK"]["S"]) if within.index_name else key


def position_of(within: Range[Any], record: Entity) -> Position:
    """Returns the position of a record in the range."""
    key = record.own_key
    if within.index_name is None:
        return key.pk, key.sk
    try:
        return key.pk, key.sk, record.indexes[within.index_name].sk.fill(record.__dict__)
    except InvalidKey as error:
        # It is in the index, so it had a value for this.
        raise CorruptItem(f"the item {key.pk} / {key.sk} has lost its place in {within.index_name}: {error}") from error
