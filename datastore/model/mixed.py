"""Ranges that hold several entities."""

from typing import Any, cast

import msgspec

from datastore.model.entity import DAMAGE, Entity, decode, decode_as, loaded
from datastore.model.keys import Range
from datastore.model.projections import Wanted
from datastore.model.responses import KINDS


class Mixed:
    """Several entities in one range, read together. Other items in the range are skipped."""

    # Records from such a range are not cached by key, because some lack their heavy fields.
    has_heavy_fields = True

    def __init__(self, *entities: type[Entity]) -> None:
        self.entities = frozenset(entities)
        self._entities = {entity.__name__: entity for entity in entities}

    def attributes(self, wanted: Wanted) -> tuple[str, ...]:
        lists = (wanted[entity].lists for entity in self._entities.values())
        return tuple(dict.fromkeys(name for each in lists for name in each.attributes))

    def partition_of(self, within: Range[Any]) -> Range[Any]:
        """Returns the whole partition of a range of one of these entities."""
        return Range(cast(Any, self), within.index_name, within.pk, "")

    def decode(self, text: bytes | msgspec.Raw, wanted: Wanted) -> Entity | None:
        try:
            name = KINDS.decode(text).entityType.S
        except DAMAGE:
            decode(loaded(text))  # says which item it is
            return None
        entity = self._entities.get(name)
        return decode_as(wanted[entity].lists, text) if entity else None
