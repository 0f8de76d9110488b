"""Global IDs in the schema: those that clients send."""

from binascii import a2b_base64
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from datastore.client.errors import InvalidKey
from datastore.model.codec import base_type
from datastore.model.entity import REGISTRY, Entity
from datastore.model.generated_code import define
from datastore.model.global_ids import ID_NAMES, global_id, id_code, id_of_key, id_writer
from datastore.model.keys import Key
from schema.declare.errors import BadInput

E = TypeVar("E", bound=Entity)

__all__ = ["ID_NAMES", "global_id", "id_code", "id_of_key", "id_writer", "is_global_id", "key_of", "key_of_any"]


def key_of_any(text: str) -> Key[Any]:
    """Returns the key of an ID of any entity."""
    try:
        name, *values = a2b_base64(text.replace("-", "+").replace("_", "/") + "==").decode().split("#")
        return _reader(name)(values)
    except (ValueError, KeyError, InvalidKey):
        raise BadInput(f"{text[:60]!r} is not an id; use the field `id` of something this API returned") from None


def is_global_id(text: str) -> bool:
    try:
        key_of_any(text)
    except BadInput:
        return False
    return True


@cache
def _reader(name: str) -> Callable[[list[str]], Key[Any]]:
    """Generates the function from the values in an ID to the key."""
    entity = REGISTRY[name]
    numbers = {hole for hole in entity.key_holes if base_type(entity.fields[hole].hint) is int}
    given = ", ".join(f"{hole}=int({hole})" if hole in numbers else f"{hole}={hole}" for hole in entity.key_holes)
    source = f"def read(values):\n    [{', '.join(entity.key_holes)}] = values\n    return key({given})\n"
    names: dict[str, Any] = {"key": entity.key}
    read: Callable[[list[str]], Key[Any]] = define("read", source, names, purpose=f"read id of {name}")
    return read


def key_of(entity: type[E], text: str) -> Key[E]:
    key = key_of_any(text)
    if key.entity is not entity:
        raise BadInput(f"{text[:60]!r} is an id of type {key.entity.__name__}; send one of type {entity.__name__}")
    return key
