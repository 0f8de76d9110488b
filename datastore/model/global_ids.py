"""Global IDs of records: opaque to clients. They hold the whole primary key, so that `node` is always one GetItem."""

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from datastore.model.entity import REGISTRY, Entity
from datastore.model.generated_code import define
from datastore.model.keys import Key

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
