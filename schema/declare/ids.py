"""Global IDs: opaque to clients. They hold the whole primary key, so that `node` is always one GetItem."""

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

from datastore.client.errors import InvalidKey
from datastore.model.codec import base_type
from datastore.model.entity import REGISTRY, Entity
from datastore.model.generated_code import define
from datastore.model.keys import Key
from schema.declare.errors import BadInput

E = TypeVar("E", bound=Entity)

PLUS, SLASH = b"+/"
URL_SAFE = bytes.maketrans(b"+/", b"-_")
ID_NAMES: Mapping[str, Any] = {"encode": b2a_base64, "URL_SAFE": URL_SAFE}


def global_id(record: Entity) -> str:
    return id_writer(type(record).__name__)(record)


def id_code(name: str) -> str:
    """Returns the code of the ID of a record `r` of this entity, with `ID_NAMES`. Values of keys never hold a `#`."""
    text = "#".join((name, *(f"{{r.{hole}}}" for hole in REGISTRY[name].key_holes)))
    encoded = f"encode(f{text!r}.encode()).rstrip(b'=\\n')"
    return f"(v.translate(URL_SAFE) if {PLUS} in (v := {encoded}) or {SLASH} in v else v).decode()"


@cache
def id_writer(name: str) -> Callable[[Any], str]:
    """Generates the function from a record of this entity to its ID."""
    source = f"def write(r): return {id_code(name)}"
    made: Callable[[Any], str] = define("write", source, {**ID_NAMES}, purpose=f"write id of {name}")
    return made


def id_of_key(key: Key[Any]) -> str:
    """Returns the ID of the record at a key, whether or not it exists."""
    return id_writer(key.entity.__name__)(SimpleNamespace(**key.values))


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
