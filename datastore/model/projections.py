"""Projections: an operation reads only the fields it needs, and decodes only these."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from datastore.model.decoding import decoder
from datastore.model.responses import parser

if TYPE_CHECKING:
    from datastore.model.entity import Entity

# So many sets of fields per entity. An operation that comes later uses the smallest one that has all of its fields.
VARIANTS = 50


class Projection:
    """Some fields of an entity: the attributes to read, and their decoders. A `lean` one has no heavy fields."""

    def __init__(self, entity: "type[Entity]", names: frozenset[str], *, lean: bool) -> None:
        self.entity = entity
        self.names = names
        self._lean = lean
        self._fields = [field for name, field in entity.fields.items() if name in names and not (lean and field.heavy)]
        # Index keys are left out: they are about a quarter of an item, and only DynamoDB uses them.
        self.attributes = (*entity.known_attributes, *(field.attribute for field in self._fields))

    def has(self, other: "Projection") -> bool:
        """Returns True if records read with this one have all fields of the other."""
        if self is other:
            return True
        return self.names >= other.names and (not self._lean or other._lean or not self.entity.has_heavy_fields)

    def with_fields_of(self, other: "Projection") -> "Projection":
        """Returns a projection of records by key with the fields of both."""
        return self if self.has(other) else _projected(self.entity, self.names | other.names).items

    @cached_property
    def parse(self) -> Callable[[bytes | msgspec.Raw], Any]:
        """Parses the JSON of an item."""
        fields = ((field.attribute, field.hint, field.compressed) for field in self._fields)
        return parser(self.entity.__name__, fields).decode

    @cached_property
    def from_parsed(self) -> Callable[[Any], Any]:
        return decoder(self.entity, lean=self._lean, parsed=True, only=self.names)

    @cached_property
    def from_item(self) -> Callable[[Any], Any]:
        return decoder(self.entity, lean=self._lean, only=self.names)


class Projected:
    """The projections of one entity in an operation: of records by key, and in lists."""

    def __init__(self, items: Projection, lists: Projection) -> None:
        self.items = items
        self.lists = lists


class Wanted(dict["type[Entity]", Projected]):
    """The fields that an operation reads of each entity: those with these names, and those of keys and marks.

    Without names, it reads all fields.
    """

    def __init__(self, names: frozenset[str] | None = None) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, entity: "type[Entity]") -> Projected:
        made = self[entity] = entity.whole if self._names is None else _projected(entity, self._names)
        return made

    def widen(self) -> None:
        """From here on, wants all fields."""
        self._names = None
        self.clear()

    # One operation is not another, though they may want the same.
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


WHOLE = Wanted()

_made: "dict[type[Entity], dict[frozenset[str], Projected]]" = {}


def whole(entity: "type[Entity]") -> Projected:
    names = frozenset(entity.fields)
    return Projected(Projection(entity, names, lean=False), Projection(entity, names, lean=True))


def _projected(entity: "type[Entity]", names: frozenset[str]) -> Projected:
    """Returns a projection with at least these fields, one for all operations that want the same."""
    fields = frozenset(entity.always_read | (names & entity.fields.keys()))
    made = _made.setdefault(entity, {frozenset(entity.fields): entity.whole})
    if fields not in made and len(made) > VARIANTS:
        return made[min((each for each in made if each >= fields), key=len)]
    if fields not in made:
        made[fields] = Projected(Projection(entity, fields, lean=False), Projection(entity, fields, lean=True))
    return made[fields]
