"""Declaration of entities: fields in the class body, key templates as class arguments."""

import dataclasses
import inspect
import zlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import MISSING
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform, get_type_hints

import msgspec
import orjson

from datastore.client.errors import CorruptItem
from datastore.model.codec import (
    JSON,
    AttributeValue,
    Item,
    as_we_write,
    camel,
    encoder,
    optional,
    plain,
    wire,
)
from datastore.model.decoding import UNREAD, Unprojected, decoder
from datastore.model.keys import Key, key_maker
from datastore.model.ownership import OfUser, Owner, account_fields, checked
from datastore.model.patterns import Index, Pattern
from datastore.model.projections import Projected, Projection, whole
from datastore.model.responses import PLACES
from datastore.model.suggestions import suggestion
from datastore.model.times import Time, now, now_after

REGISTRY: dict[str, type["Entity"]] = {}
# Names under which items of an entity were stored before it was renamed.
FORMER_NAMES: dict[str, str] = {}
# What decoding a damaged item may raise; ArithmeticError is Decimal's.
DAMAGE = (
    msgspec.MsgspecError,
    ArithmeticError,
    AttributeError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)

PlainItem = dict[str, Any]
Upgrade = Callable[[PlainItem], None]
R = TypeVar("R", bound="Record")
E = TypeVar("E", bound="Entity")


@dataclasses.dataclass(frozen=True)
class Field:
    """Metadata of a stored field."""

    name: str
    attribute: str
    hint: Any
    description: str
    required: bool
    optional: bool
    compressed: bool
    heavy: bool
    private: bool
    shown_as: str
    encode: Callable[[Any], AttributeValue]


def field(
    description: str,
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    compressed: bool = False,
    heavy: bool = False,
    private: bool = False,
    shown_as: str | None = None,
) -> Any:
    """Declares a stored field.

    compressed: large text or JSON, deflated at rest. heavy: omitted by list reads, and read only if selected.
    private: stored, but not part of the GraphQL schema. shown_as: its name there, if that is another.
    """
    extra = {
        "description": description,
        "compressed": compressed,
        "heavy": heavy,
        "private": private,
        "shown_as": shown_as,
    }
    if default_factory is not MISSING:
        return dataclasses.field(default_factory=default_factory, metadata=extra)
    return dataclasses.field(default=default, metadata=extra)


def own_id(description: str = "Permanent identifier.") -> Any:
    """Declares the field that identifies the record in the table. `id` is the global ID that holds the whole key."""
    return field(f"{description} Inputs take `id` instead.", shown_as="database_id")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, own_id))
class Record:
    """Typed fields that can be encoded to and decoded from DynamoDB's JSON."""

    fields: ClassVar[Mapping[str, Field]]
    decode_fields: ClassVar[Callable[[Item], Any]]

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()
        if "__doc__" not in cls.__dict__ or not cls.__doc__:
            raise TypeError(f"{cls.__name__} needs a docstring: it describes the type in the schema and in the docs")
        # Python does this itself from version 3.13 on.
        cls.__doc__ = inspect.cleandoc(cls.__doc__)
        dataclasses.dataclass(kw_only=True)(cls)
        cls.fields = _fields(cls)
        cls.decode_fields = decoder(cls)

    def encode_fields(self) -> dict[str, AttributeValue]:
        return {
            field.attribute: field.encode(value)
            for name, field in self.fields.items()
            if (value := self.__dict__[name]) is not None and value is not UNREAD
        }


def _fields(cls: type[Record]) -> dict[str, Field]:
    hints = get_type_hints(cls, include_extras=True)
    fields = {}
    for declared in dataclasses.fields(cast(Any, cls)):
        hint, may_be_none = optional(hints[declared.name])
        extra = declared.metadata
        if not extra.get("description"):
            raise TypeError(f"{cls.__name__}.{declared.name} needs a description: use field(...)")
        default = declared.default if declared.default is not MISSING else declared.default_factory
        if may_be_none and default is not MISSING and default is not None:
            raise TypeError(f"{cls.__name__}.{declared.name} may be None, so its default must be None")
        fields[declared.name] = Field(
            name=declared.name,
            attribute=camel(declared.name),
            hint=hint,
            description=extra["description"],
            required=default is MISSING and not may_be_none,
            optional=may_be_none,
            compressed=extra["compressed"],
            heavy=extra["heavy"],
            private=extra["private"],
            shown_as=extra["shown_as"] or declared.name,
            encode=encoder(hint, compressed=extra["compressed"]),
        )
    return fields


class Value(Record):
    """A nested map in an entity."""


class Entity(Record):
    """A type of item. Subclasses declare their key templates and their access patterns."""

    indexes: ClassVar[dict[str | None, Index]]
    patterns: ClassVar[dict[str, Pattern]]
    within: ClassVar[Pattern]
    """Range of records in a partition of the table whose keys start with these values."""
    key_holes: ClassVar[tuple[str, ...]]
    owner: ClassVar[Owner]
    accounts: ClassVar[tuple[OfUser, ...]]
    """The accounts whose deletion removes a record: that of its owner and that of the user it is about."""
    account_fields: ClassVar[tuple[str, ...]]
    upgrades: ClassVar[tuple[Upgrade, ...]]
    oldest_version: ClassVar[int]
    schema_version: ClassVar[int]
    _schema_version_text: ClassVar[str]
    attributes: ClassVar[tuple[str, ...]]
    light_attributes: ClassVar[tuple[str, ...]]
    has_heavy_fields: ClassVar[bool]
    known_attributes: ClassVar[tuple[str, ...]]
    """Attributes that are always read, besides those of fields."""
    always_read: ClassVar[frozenset[str]]
    """Fields that are always read: those of keys, and those that tell whether a record is still there."""
    whole: ClassVar[Projected]
    logged: ClassVar[bool]
    """True if changes of records are in the change log; False for bookkeeping."""

    created_at: Time = field("Time of creation.", default_factory=now)
    updated_at: Time = field("Time of the last change.", default_factory=now)
    expires_at: int | None = field("Unix time after which TTL removes the item.", default=None, private=True)

    def __init_subclass__(
        cls,
        *,
        pk: str,
        sk: str,
        owner: Owner | None = None,
        about: OfUser | None = None,
        upgrades: tuple[Upgrade, ...] = (),
        upgrades_from: int = 1,
        upgrades_read: tuple[str, ...] = (),
        formerly: str | None = None,
        logged: bool = True,
    ) -> None:
        """`owner` owns a record; `about` is another user whose account removes it too, such as the followed user.

        `upgrades` migrate old items, those of version `upgrades_from` first; they need the attributes `upgrades_read`.
        `formerly` is the `entityType` of items from before the entity was renamed. `logged=False` is for bookkeeping:
        no change of it is in the change log.
        """
        super().__init_subclass__()
        cls.fields = {name: cls.fields[name] for name in sorted(cls.fields, key=Entity.fields.__contains__)}
        cls.patterns = {name: named for name, named in vars(cls).items() if isinstance(named, Pattern)}
        cls.within = own = Pattern(None, pk, sk)
        cls.indexes = {pattern.index.name: pattern.index for pattern in (own, *cls.patterns.values())}
        cls.key_holes = own.index.holes
        cls.logged = logged
        cls.upgrades = upgrades
        cls.oldest_version, cls.schema_version = upgrades_from, upgrades_from + len(upgrades)
        cls._schema_version_text = str(cls.schema_version)
        cls.known_attributes = ("PK", "SK", "entityType", "schemaVersion", *upgrades_read)
        cls.whole = whole(cls)
        cls.attributes, cls.light_attributes = cls.whole.items.attributes, cls.whole.lists.attributes
        cls.has_heavy_fields = cls.attributes != cls.light_attributes
        _check_names(cls)
        cls.owner, cls.accounts = checked(cls, owner, about)
        cls.account_fields = account_fields(cls)
        cls.always_read = _always_read(cls)
        for name in cls.fields:
            setattr(cls, name, Unprojected(cls.__name__, name))
        cls.key = classmethod(key_maker(cls.indexes[None].pk, cls.indexes[None].sk, _key))  # type: ignore[assignment, method-assign]
        REGISTRY[cls.__name__] = cls
        if formerly:
            FORMER_NAMES[formerly] = cls.__name__

    @classmethod
    def key(cls, **holes: Any) -> Key[Self]:
        """Returns the key of the record with these values."""
        raise NotImplementedError  # generated for every entity

    @cached_property
    def own_key(self) -> Key[Self]:
        """Key of this record. Decoding sets it from the item."""
        return _key(type(self), **{hole: self.__dict__[hole] for hole in self.key_holes})

    def changed(self, **changes: Any) -> Self:
        """Returns a copy with these fields and a later `updated_at`."""
        if not self.fields.keys() >= changes.keys():
            raise unknown_field(type(self), next(name for name in changes if name not in self.fields))
        if "updated_at" not in changes:
            changes["updated_at"] = now_after(self.updated_at)
        if self.__dict__.keys() >= self.fields.keys():
            return dataclasses.replace(self, **changes)
        # Not all fields were read, so it will be shown and not stored.
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__, **changes)
        return copied

    def encode(self) -> dict[str, AttributeValue]:
        """Returns the item. Omits the keys of an index that lack a value, so that indexes are sparse."""
        item: dict[str, AttributeValue] = {
            "entityType": {"S": type(self).__name__},
            "schemaVersion": {"N": self._schema_version_text},
        }
        for name, index in self.indexes.items():
            if name and any(self.__dict__[hole] is None for hole in (*index.pk.holes, *index.sk.holes)):
                continue
            pk, sk = index.attributes
            item[pk] = {"S": index.pk.fill(self.__dict__)}
            item[sk] = {"S": index.sk.fill(self.__dict__)}
        return item | self.encode_fields()

    @property
    def is_lean(self) -> bool:
        return any(self.__dict__.get(name, UNREAD) is UNREAD for name, field in self.fields.items() if field.heavy)


def decode(item: Item, *, lean: bool = False) -> Entity:
    """Decodes an item as a record of its entity, and upgrades old versions."""
    entity = REGISTRY.get(entity_name(item))
    if entity is None:
        raise _corrupt(item, f"has the unknown entityType {item.get('entityType')}")
    return _decode(item, entity.whole.lists if lean else entity.whole.items)


def _decode(item: Item, projection: Projection) -> Entity:
    entity, reader = projection.entity, projection.from_item
    try:
        if item["schemaVersion"]["N"] == entity._schema_version_text:
            record: Entity = reader(item)
            return record
    except DAMAGE:
        pass
    return _decode_slowly(entity, reader, item)


def decode_as(projection: Projection, text: bytes | msgspec.Raw) -> Any:
    """Decodes the JSON of an item as a record of an entity. Returns None for another known entity."""
    entity = projection.entity
    try:
        item = projection.parse(text)
        if entity.__name__ == item.a_entityType.S and entity._schema_version_text == item.a_schemaVersion.N:
            return projection.from_parsed(item)
    except DAMAGE:
        pass
    read = loaded(text)
    other = REGISTRY.get(entity_name(read))
    if other is None:
        return decode(read)  # says what is wrong with it
    return _decode(read, projection) if other is entity else None


def loaded(text: bytes | msgspec.Raw) -> Item:
    """Parses the JSON of an item, and of a damaged one at least its key."""
    try:
        item: Item = orjson.loads(memoryview(text))
        return item
    except ValueError as error:
        place = PLACES.decode(text)
        raise _corrupt({"PK": {"S": place.PK.S}, "SK": {"S": place.SK.S}}, f"cannot be parsed: {error}") from error


def unknown_field(entity: type[Entity], name: str) -> TypeError:
    return TypeError(f"{entity.__name__} has no field {name}: {suggestion(name, entity.fields)}")


def entity_name(item: Item) -> str:
    name = str((item.get("entityType") or {}).get("S", ""))
    return FORMER_NAMES.get(name, name)


def _decode_slowly(entity: type[Entity], reader: Callable[[Item], Any], item: Item) -> Entity:
    """Decodes old versions and items of other programs. Raises CorruptItem for damaged ones."""
    try:
        free_form = {field.attribute for field in entity.fields.values() if field.hint is JSON}
        tidy = {
            name: value if name in free_form else as_we_write(value)
            for name, value in item.items()
            if "NULL" not in value
        }
        record: Entity = reader(_upgraded(entity, tidy))
        return record
    except DAMAGE as error:
        raise _corrupt(item, f"is not a {entity.__name__}: {error!r:.300}") from error


def _upgraded(entity: type[Entity], item: Item) -> Item:
    """Applies the upgrades. Attributes that do not change keep their exact encoding."""
    before = {name: plain(value) for name, value in item.items()}
    version = before.get("schemaVersion", 1)
    # A newer server has written it: this one does not know what it means, and would overwrite what it does not know.
    oldest, newest = entity.oldest_version, entity.schema_version
    if version not in range(oldest, newest + 1):
        raise ValueError(f"the schemaVersion {version!r} is unknown; this server knows {oldest} to {newest}")
    after = deepcopy(before)
    for upgrade in entity.upgrades[int(version) - oldest :]:
        upgrade(after)
    return {
        name: item[name] if name in item and before[name] == value else wire(value)
        for name, value in after.items()
        if value is not None
    }


def _corrupt(item: Item, what: str) -> CorruptItem:
    pk, sk = (item.get(name, {}).get("S") for name in ("PK", "SK"))
    return CorruptItem(f"the item {pk} / {sk} {what}", str(pk), str(sk))


def _always_read(cls: type[Entity]) -> frozenset[str]:
    holes = {hole for index in cls.indexes.values() for hole in (*index.pk.holes, *index.sk.holes)}
    marks = {account.mark for account in cls.accounts if account.mark}
    return frozenset({"expires_at", *holes, *marks, *cls.account_fields})


def _key(entity: type[E], **holes: Any) -> Key[E]:
    index = entity.indexes[None]
    return Key(entity, index.pk.fill(holes), index.sk.fill(holes))


def _check_names(cls: type[Entity]) -> None:
    for name in cls.fields.keys() - Entity.fields.keys():
        if name in Entity.__annotations__ or hasattr(Entity, name):
            raise TypeError(f"{cls.__name__}.{name}: every entity has an attribute of this name; choose another one")
    if cls.__name__ in REGISTRY:
        raise TypeError(f"the entity {cls.__name__} already exists in {REGISTRY[cls.__name__].__module__}")
    for name, pattern in cls.patterns.items():
        if cls.indexes[pattern.index.name] is not pattern.index:
            raise TypeError(f"{cls.__name__}.{name} is not alone in {pattern.index.name}: each pattern needs an index")
    for index in cls.indexes.values():
        for template in (index.pk, index.sk):
            if unknown := set(template.holes) - cls.fields.keys():
                raise TypeError(f"{cls.__name__}'s key {template.text} has a hole {unknown.pop()} that is not a field")
    own = cls.indexes[None]
    for other in REGISTRY.values():
        theirs = other.indexes[None]
        if own.pk.overlaps(theirs.pk) and own.sk.overlaps(theirs.sk):
            shapes = f"{own.pk.text} / {own.sk.text} could be {theirs.pk.text} / {theirs.sk.text}"
            raise TypeError(f"{cls.__name__} and {other.__name__} share a key shape: {shapes}")
