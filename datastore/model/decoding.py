"""Decoders of records, and what stands in the place of a field that was not read."""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import MISSING
from typing import Any, cast

from datastore.model.codec import DecoderSource
from datastore.model.keys import Key


class _Unread:
    """Value of a heavy field in a record from a list read."""

    def __repr__(self) -> str:
        return "UNREAD"

    def __bool__(self) -> bool:
        return False


UNREAD = _Unread()


class NotRead(LookupError):
    """A field was used that the operation did not read: a bug in Heartwood."""


class Unprojected:
    """Stands for a field on the class of its entity. A record that has the field hides it."""

    def __init__(self, entity: str, name: str) -> None:
        self._field = f"{entity}.{name}"

    def __get__(self, record: Any, _: Any = None) -> Any:
        if record is None:
            return self
        raise NotRead(f"{self._field} was not read: `schema.declare.names_read` does not see its use")


def decoder(
    cls: Any, *, lean: bool = False, parsed: bool = False, only: Collection[str] | None = None
) -> Callable[[Any], Any]:
    """Returns the decoder of a class of records, for all of its fields or for these.

    `lean` leaves out the heavy ones; `parsed` decodes what `datastore.model.responses` has parsed.
    """
    source = DecoderSource(cls, parsed=parsed)

    def add_fields() -> None:
        if hasattr(cls, "own_key"):
            source.key(Key)
        for declared in dataclasses.fields(cast(Any, cls)):
            field = cls.fields[declared.name]
            default = declared.default if declared.default is not MISSING else declared.default_factory
            if only is not None and field.name not in only:
                continue
            if lean and field.heavy:
                source.constant(field.name, UNREAD)
            else:
                source.field(
                    field.name,
                    field.hint,
                    None if default is MISSING else default,
                    required=field.required,
                    compressed=field.compressed,
                    private=field.private,
                )

    return source.compile(add_fields)
