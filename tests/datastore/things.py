"""Entities for tests, with every type of field and with heavy ones, and records of them."""

from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated

import orjson

from datastore.accounts import User
from datastore.client.errors import CorruptItem
from datastore.model import entity as entities
from datastore.model.codec import JSON
from datastore.model.entity import REGISTRY, Entity, Value, decode_as, entity_name, field
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1, gsi2
from datastore.model.times import Time

THEN = Time("2026-01-31T12:00:00.000Z")
LATER = Time("2026-01-31T12:00:01.000Z")
LONG = "many words " * 200
OURS = nobody("it is for tests")


def decode(item, *, lean=False):
    """Decodes both ways, from dicts and from DynamoDB's text, which must give the same result."""

    def outcome(way):
        try:
            return way()
        except CorruptItem as error:
            return error

    entity = REGISTRY.get(entity_name(item), User)
    read = outcome(lambda: entities.decode(item, lean=lean))
    parsed = outcome(lambda: decode_as(entity.whole.lists if lean else entity.whole.items, orjson.dumps(item)))
    if isinstance(read, CorruptItem):
        assert str(parsed) == str(read)
        raise read
    assert parsed == read
    assert {name: type(value) for name, value in vars(parsed).items()} == {
        name: type(value) for name, value in vars(read).items()
    }
    return read


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Part(Value):
    """A nested value for tests."""

    part_name: str = field("Its name.")
    weight: float | None = field("How heavy it is.", default=None)
    color: Color = field("Its color.", default=Color.RED)


class EveryKind(Entity, pk="TESTTHING#{thing_id}", sk="EVERY", owner=OURS):
    """An entity for tests with every type of field."""

    by_color = gsi1("TESTTHING#{color}", "{seen_at}")
    by_rank = gsi2("TESTTHINGS", "{rank:06d}#{thing_id}")

    thing_id: str = field("Its id.")
    rank: int = field("A number in a key.", default=0)
    ratio: float = field("A number with a fraction.", default=0.5)
    price: Decimal = field("A number to the last digit.", default=Decimal("0.10"))
    is_open: bool = field("Yes or no.", default=False)
    color: Color | None = field("A closed set of texts.", default=None)
    size: Size = field("A closed set of anything.", default=Size.SMALL)
    seen_at: Time | None = field("A time.", default=None)
    nickname: Annotated[str, "for people"] | None = field("An annotated text.", default=None)
    part: Part | None = field("A nested value.", default=None)
    tags: list[str] = field("A list.", default_factory=list)
    parts: list[Part] = field("A list of nested values.", default_factory=list)
    grid: list[list[int]] = field("A list of lists.", default_factory=list)
    counts: dict[str, int] = field("A map.", default_factory=dict)
    parts_by_name: dict[str, Part] = field("A map of nested values.", default_factory=dict)
    anything: JSON | None = field("Any JSON.", default=None)
    story: str | None = field("A long text.", default=None, compressed=True)
    layout: JSON | None = field("A large JSON.", default=None, compressed=True)


def fold_the_first_name(item):
    item["nickname"] = item.pop("firstName", "nobody")


def shout(item):
    item["nickname"] = item["nickname"].upper()


class Heavy(
    Entity,
    pk="TESTHEAVY#{heavy_id}",
    sk="HEAVY",
    owner=OURS,
    upgrades=(fold_the_first_name, shout),
    upgrades_read=("firstName",),
):
    """An entity for tests with two heavy fields and two upgrades."""

    everything = gsi1("TESTHEAVIES", "{heavy_id}")

    heavy_id: str = field("Its id.")
    nickname: str = field("Its name.")
    body: str = field("Heavy and needed.", heavy=True)
    notes: str | None = field("Heavy and compressed.", default=None, heavy=True, compressed=True)


THINGS = {entity.__name__: REGISTRY.pop(entity.__name__) for entity in (EveryKind, Heavy)}


def thing(**fields) -> EveryKind:
    return EveryKind(**{"thing_id": "a", "created_at": THEN, "updated_at": THEN, **fields})


def ada(**fields) -> User:
    return User(
        **{
            "user_id": "ada",
            "username": "ada",
            "email": "ada@example.org",
            "created_at": THEN,
            "updated_at": THEN,
            **fields,
        }
    )
