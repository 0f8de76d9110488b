"""Global ids: opaque to clients, the whole primary key to us, so that `node` is always one GetItem."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, TypeVar

from datastore.codec import base_type
from datastore.entity import REGISTRY, Entity
from datastore.errors import InvalidKey
from datastore.keys import Key
from schema.errors import BadInput

E = TypeVar("E", bound=Entity)


def global_id(record: Entity) -> str:
    # No value in a key holds a `#`.
    values = [str(getattr(record, hole)) for hole in record.key_holes]
    return urlsafe_b64encode("#".join((type(record).__name__, *values)).encode()).decode().rstrip("=")


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
