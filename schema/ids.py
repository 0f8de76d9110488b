"""Global ids: opaque to clients, the whole primary key to us, so that `node` is always one GetItem."""

from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Callable
from typing import Any, TypeVar

from datastore.codec import base_type
from datastore.entity import REGISTRY, Entity
from datastore.errors import InvalidKey
from datastore.keys import Key
from schema.errors import BadInput

E = TypeVar("E", bound=Entity)

URL_SAFE = bytes.maketrans(b"+/", b"-_")
_WRITERS: dict[type[Entity], Callable[[Any], str]] = {}


def global_id(record: Entity) -> str:
    of_class = record.__class__
    write = _WRITERS.get(of_class)
    if write is None:
        write = _WRITERS[of_class] = _writer(of_class)
    return write(record)


def _writer(entity: type[Entity]) -> Callable[[Any], str]:
    """Written out for each entity: an answer is full of ids. No value in a key holds a `#`."""
    text = "#".join((entity.__name__, *(f"{{record.{hole}}}" for hole in entity.key_holes)))
    source = f"lambda record: encode(f{text!r}.encode(), newline=False).rstrip(b'=').translate(URL_SAFE).decode()"
    made: Callable[[Any], str] = eval(source, {"encode": b2a_base64, "URL_SAFE": URL_SAFE})  # noqa: S307
    return made


def key_of_any(text: str) -> Key[Any]:
    """The key an id stands for, whatever it is the id of."""
    try:
        name, *values = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split("#")
        entity = REGISTRY[name]
        holes = {
            hole: int(value) if base_type(entity.fields[hole].hint) is int else value
            for hole, value in zip(entity.key_holes, values, strict=True)
        }
        return entity.key(**holes)
    except (ValueError, KeyError, InvalidKey):
        raise BadInput(f"{text[:60]!r} is not an id; use the field `id` of something this API returned") from None


def key_of(entity: type[E], text: str) -> Key[E]:
    key = key_of_any(text)
    if key.entity is not entity:
        raise BadInput(f"{text[:60]!r} is the id of a {key.entity.__name__}, and a {entity.__name__} is needed")
    return key
