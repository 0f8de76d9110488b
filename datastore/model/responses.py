"""Parses DynamoDB's responses directly into structs, and only as far as needed.

In DynamoDB's JSON every attribute is an object, `{"S": "…"}`. As dicts, these objects take most of the memory and time
of reading a page. Here each becomes a struct of one field, inside a struct generated for the entity.
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
    """Key of an item."""

    PK: Text
    SK: Text


class Kind(Struct, gc=False):
    """Entity of an item."""

    entityType: Text  # noqa: N815  the name in DynamoDB


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
    for operation, answer in (("GetItem", OneItem), ("BatchGetItem", Batch), ("Query", Listed), ("Scan", Listed))
}
PLACES = msgspec.json.Decoder(Place)
KINDS = msgspec.json.Decoder(Kind)


def parser(name: str, fields: Iterable[tuple[str, Any, bool]]) -> msgspec.json.Decoder[Any]:
    """Returns a parser for the items of an entity."""
    kinds: dict[str, Any] = {"PK": Text, "SK": Text, "entityType": Text, "schemaVersion": Number}
    kinds |= {attribute: _kind(hint, compressed=compressed) for attribute, hint, compressed in fields}
    members = [(PARSED + attribute, kind | UnsetType, UNSET) for attribute, kind in kinds.items()]
    # The prefix keeps attribute names from being Python keywords.
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
