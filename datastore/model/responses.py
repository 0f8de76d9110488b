"""DynamoDB's answers, parsed no further than needed and straight into the shape of what is looked for.

In DynamoDB's JSON every attribute is an object, `{"S": "…"}`. As dicts they are most of the memory, and so of the time,
that reading a page of records takes. Here each becomes a struct of one field, in a struct made for the entity.
"""

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from datastore.model.codec import PARSED, base_type


class Text(Struct, gc=False):
    S: str


class Number(Struct, gc=False):
    N: str


class Truth(Struct, gc=False):
    BOOL: bool


class Place(Struct, gc=False):
    """Where an item is."""

    PK: Text
    SK: Text


class Kind(Struct, gc=False):
    """What an item is."""

    entityType: Text  # noqa: N815  as DynamoDB has it


class Answer(Struct):
    ConsumedCapacity: Any = None


class OneItem(Answer):
    Item: Raw | UnsetType = UNSET


class Batch(Answer, kw_only=True):
    Responses: dict[str, list[Raw]]
    UnprocessedKeys: dict[str, Any] | None = None


class Listed(Answer, kw_only=True):
    Items: list[Raw]
    LastEvaluatedKey: dict[str, Any] | None = None


ANSWERS: dict[str, msgspec.json.Decoder[Any]] = {
    operation: msgspec.json.Decoder(answer)
    for operation, answer in (("GetItem", OneItem), ("BatchGetItem", Batch), ("Query", Listed))
}
PLACES = msgspec.json.Decoder(Place)
KINDS = msgspec.json.Decoder(Kind)


def parser(name: str, fields: Iterable[tuple[str, Any, bool]]) -> msgspec.json.Decoder[Any]:
    """For items of one entity: its attributes, their types, and whether they are compressed."""
    kinds: dict[str, Any] = {"PK": Text, "SK": Text, "entityType": Text, "schemaVersion": Number}
    kinds |= {attribute: _kind(hint, compressed=compressed) for attribute, hint, compressed in fields}
    members = [(PARSED + attribute, kind | UnsetType, UNSET) for attribute, kind in kinds.items()]
    # The names in the struct are prefixed, so that no attribute can be a word that Python keeps for itself.
    names = {PARSED + attribute: attribute for attribute in kinds}
    return msgspec.json.Decoder(msgspec.defstruct(name, members, rename=names, gc=False))


def _kind(hint: Any, *, compressed: bool) -> Any:
    hint = base_type(hint)
    if not compressed:
        if hint is str or (isinstance(hint, type) and issubclass(hint, Enum)):
            return Text
        if hint is bool:
            return Truth
        if hint in (int, float, Decimal):
            return Number
    return dict[str, Any]
