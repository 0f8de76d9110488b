"""Entities: declaration, encoding, decoding, and declarations that are rejected."""

import re
import zlib
from base64 import b64decode, b64encode
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datastore.accounts import Image, ProfileImages, SignInFailures, Unique, User
from datastore.client.errors import CorruptItem, InvalidKey
from datastore.model import entity as entities
from datastore.model.codec import COMPRESS_FROM, JSON, plain, wire
from datastore.model.entity import REGISTRY, UNREAD, Entity, Value, decode_as, entity_name, field
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1, gsi2, gsi3
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
    parsed = outcome(lambda: decode_as(entity, orjson.dumps(item), lean=lean))
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


TEST_ENTITIES = {entity.__name__: REGISTRY.pop(entity.__name__) for entity in (EveryKind, Heavy)}


@pytest.fixture(autouse=True, scope="module")
def registered():
    """Registers the entities of this module only while its tests run."""
    REGISTRY.update(TEST_ENTITIES)
    yield
    for name in TEST_ENTITIES:
        del REGISTRY[name]


@pytest.fixture
def registry():
    """For tests that declare entities: unregisters them."""
    before = dict(REGISTRY)
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(before)


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


def heavy(**fields) -> Heavy:
    return Heavy(**{"heavy_id": "h", "nickname": "H", "body": "b", "created_at": THEN, "updated_at": THEN, **fields})


def test_an_item_holds_its_keys_its_kind_and_its_fields_under_camel_case_names():
    assert ada(display_name="Ada", expires_at=9).encode() == {
        "PK": {"S": "USER#ada"},
        "SK": {"S": "PROFILE"},
        "GSI1PK": {"S": "USERNAME#ada"},
        "GSI1SK": {"S": "USER"},
        "GSI2PK": {"S": "EMAIL#ada@example.org"},
        "GSI2SK": {"S": "USER"},
        "GSI3PK": {"S": "USER#ada"},
        "GSI3SK": {"S": "PROFILE"},
        "GSI4PK": {"S": "TYPE#USER"},
        "GSI4SK": {"S": f"{THEN}#ada"},
        "entityType": {"S": "User"},
        "schemaVersion": {"N": "2"},
        "createdAt": {"S": THEN},
        "updatedAt": {"S": THEN},
        "expiresAt": {"N": "9"},
        "userId": {"S": "ada"},
        "username": {"S": "ada"},
        "email": {"S": "ada@example.org"},
        "displayName": {"S": "Ada"},
        "followerCount": {"N": "0"},
        "followingCount": {"N": "0"},
        "postCount": {"N": "0"},
    }


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("rank", -3, {"N": "-3"}),
        ("ratio", 1.25, {"N": "1.25"}),
        ("price", Decimal("19.90"), {"N": "19.90"}),
        ("price", Decimal("0.1234567890123456789012345"), {"N": "0.1234567890123456789012345"}),
        ("is_open", True, {"BOOL": True}),
        ("color", Color.BLUE, {"S": "blue"}),
        ("size", Size.LARGE, {"S": "large"}),
        ("seen_at", THEN, {"S": THEN}),
        ("nickname", "", {"S": ""}),
        ("nickname", "🌳", {"S": "🌳"}),
        ("part", Part(part_name="wheel"), {"M": {"partName": {"S": "wheel"}, "color": {"S": "red"}}}),
        ("tags", ["a", "b"], {"L": [{"S": "a"}, {"S": "b"}]}),
        ("tags", [], {"L": []}),
        (
            "parts",
            [Part(part_name="x", weight=1.5, color=Color.BLUE)],
            {"L": [{"M": {"partName": {"S": "x"}, "weight": {"N": "1.5"}, "color": {"S": "blue"}}}]},
        ),
        ("grid", [[1, 2], []], {"L": [{"L": [{"N": "1"}, {"N": "2"}]}, {"L": []}]}),
        ("counts", {"any key#": 1}, {"M": {"any key#": {"N": "1"}}}),
        (
            "parts_by_name",
            {"x": Part(part_name="x")},
            {"M": {"x": {"M": {"partName": {"S": "x"}, "color": {"S": "red"}}}}},
        ),
        (
            "anything",
            {"a": [1, 2.5, "x", True, None, {}]},
            {"M": {"a": {"L": [{"N": "1"}, {"N": "2.5"}, {"S": "x"}, {"BOOL": True}, {"NULL": True}, {"M": {}}]}}},
        ),
        ("anything", False, {"BOOL": False}),
        ("story", "short", {"S": "short"}),
        ("layout", {"a": 1}, {"S": '{"a":1}'}),
    ],
)
def test_a_field_is_stored_and_read_back(name, value, stored):
    record = thing(**{name: value})
    item = record.encode()
    assert item[EveryKind.fields[name].attribute] == stored
    assert decode(item) == record
    assert type(getattr(decode(item), name)) is type(value)


def test_what_is_none_is_not_stored():
    item = thing().encode()
    absent = {name for name, declared in EveryKind.fields.items() if declared.attribute not in item}
    assert absent == {"expires_at", "color", "seen_at", "nickname", "part", "anything", "story", "layout"}


def test_what_is_not_stored_is_its_default():
    only_required = {
        name: value
        for name, value in thing().encode().items()
        if name in {"PK", "SK", "entityType", "schemaVersion", "thingId", "createdAt", "updatedAt"}
    }
    assert decode(only_required) == thing()


def test_records_do_not_share_their_defaults():
    bare = {name: value for name, value in thing().encode().items() if name not in {"tags", "counts"}}
    one, other = decode(bare), decode(bare)
    one.tags.append("x")
    one.counts["x"] = 1
    assert other.tags == []
    assert other.counts == {}
    assert thing().tags == []


@pytest.mark.parametrize("length", [COMPRESS_FROM - 1, COMPRESS_FROM])
def test_text_is_compressed_from_a_kilobyte_on(length):
    story = "x" * length
    stored = thing(story=story).encode()["story"]
    if length < COMPRESS_FROM:
        assert stored == {"S": story}
    else:
        assert stored.keys() == {"B"}
        assert zlib.decompress(b64decode(stored["B"])).decode() == story
    assert decode(thing(story=story).encode()).story == story


def test_the_length_that_counts_is_in_bytes():
    assert thing(story="é" * (COMPRESS_FROM // 2)).encode()["story"].keys() == {"B"}


def test_large_json_is_compressed():
    layout = {"blocks": [{"text": LONG}, None, 1.5, True]}
    item = thing(layout=layout).encode()
    assert item["layout"].keys() == {"B"}
    assert len(item["layout"]["B"]) < len(LONG) / 10
    assert decode(item).layout == layout


def test_a_field_says_what_it_is():
    fields = User.fields
    assert fields["email"].private
    assert not fields["username"].private
    assert (fields["username"].required, fields["username"].optional) == (True, False)
    assert (fields["bio"].required, fields["bio"].optional) == (False, True)
    assert (fields["post_count"].required, fields["post_count"].optional) == (False, False)
    assert fields["follower_count"].attribute == "followerCount"
    assert fields["bio"].description == "Short biography."
    assert {name for name, declared in Heavy.fields.items() if declared.heavy} == {"body", "notes"}


def test_an_index_is_left_out_while_its_keys_lack_a_value():
    item = thing(color=Color.RED, seen_at=None).encode()
    assert item.keys() & {"GSI1PK", "GSI1SK"} == set()
    assert item["GSI2PK"] == {"S": "TESTTHINGS"}
    assert thing(color=None, seen_at=THEN).encode().keys() & {"GSI1PK", "GSI1SK"} == set()


def test_an_index_is_there_once_its_keys_have_values():
    item = thing(color=Color.RED, seen_at=THEN, rank=42).encode()
    assert (item["GSI1PK"], item["GSI1SK"]) == ({"S": "TESTTHING#red"}, {"S": THEN})
    assert (item["GSI2PK"], item["GSI2SK"]) == ({"S": "TESTTHINGS"}, {"S": "000042#a"})


def test_a_value_that_is_unfit_for_an_index_key_cannot_be_stored():
    with pytest.raises(InvalidKey, match=r"^username 'a#b' may not contain '#' or control characters$"):
        ada(username="a#b").encode()


@pytest.mark.parametrize(("kind", "member"), [(Color, Color.RED), (Size, Size.LARGE)], ids=["StrEnum", "Enum"])
def test_an_enum_is_in_a_key_as_it_is_in_its_field(registry, kind, member):
    class ByEnum(Entity, pk="TESTBYENUM#{key}", sk="X", owner=OURS):
        """An enum in a key."""

        key: kind = field("Which one.")

    item = ByEnum(key=member).encode()
    assert item["key"] == {"S": member.value}
    assert item["PK"] == {"S": f"TESTBYENUM#{member.value}"}


def test_entities_know_their_keys():
    assert User.key_holes == ("user_id",)
    assert Unique.key_holes == ("kind", "value")
    assert list(User.indexes) == [None, "GSI1", "GSI2", "GSI3", "GSI4"]
    assert User.indexes[None].attributes == ("PK", "SK")
    assert User.indexes["GSI4"].attributes == ("GSI4PK", "GSI4SK")
    assert ada().own_key == User.key(user_id="ada")


def test_a_change_is_a_copy_with_its_time():
    before = ada(bio="old")
    after = before.changed(bio="new", display_name="Ada")
    assert (before.bio, before.display_name, before.updated_at) == ("old", None, THEN)
    assert (after.bio, after.display_name, after.created_at) == ("new", "Ada", THEN)
    assert after.updated_at > THEN
    assert after == ada(bio="new", display_name="Ada", updated_at=after.updated_at)


def test_a_change_may_bring_its_own_time():
    assert ada().changed(updated_at=LATER).updated_at == LATER


def test_a_change_takes_only_fields():
    with pytest.raises(TypeError, match="nonsense"):
        ada().changed(nonsense=1)


def test_reads_ask_for_the_fields_and_lists_for_those_that_are_not_heavy():
    light = {
        *("PK", "SK", "entityType", "schemaVersion"),
        *("heavyId", "nickname", "createdAt", "updatedAt", "expiresAt"),
        "firstName",
    }
    assert len(Heavy.light_attributes) == len(light)
    assert set(Heavy.light_attributes) == light
    assert set(Heavy.attributes) == light | {"body", "notes"}
    assert Heavy.has_heavy_fields
    assert User.attributes == User.light_attributes
    assert not User.has_heavy_fields


def projected(item):
    return {name: value for name, value in item.items() if name in Heavy.light_attributes}


def test_heavy_fields_are_unread_in_a_lean_record():
    lean = decode(projected(heavy(body="long", notes="longer").encode()), lean=True)
    assert lean.body is UNREAD
    assert lean.notes is UNREAD
    assert lean.nickname == "H"
    assert lean.is_lean
    assert not UNREAD
    assert repr(UNREAD) == "UNREAD"


def test_heavy_fields_are_unread_in_a_lean_record_even_if_they_came():
    assert decode(heavy().encode(), lean=True).body is UNREAD


def test_heavy_fields_are_there_in_a_full_record():
    record = heavy(body="long", notes=LONG)
    assert decode(record.encode()) == record
    assert not record.is_lean
    assert not heavy(notes=None).is_lean


def test_an_entity_without_heavy_fields_is_never_lean():
    assert decode(ada().encode(), lean=True) == ada()
    assert not ada().is_lean


def test_what_is_unread_is_not_written():
    assert decode(heavy(notes="x").encode(), lean=True).encode().keys() & {"body", "notes"} == set()


def version_1_of(user: User, **attributes):
    """Returns a user as version 1 stored it."""
    item = user.encode() | {"schemaVersion": {"N": "1"}}
    item.pop("profileImages", None)
    return item | {name: wire(value) for name, value in attributes.items()}


def test_the_schema_version_counts_the_upgrades():
    assert (Unique.schema_version, User.schema_version, Heavy.schema_version) == (1, 2, 3)
    assert Heavy(heavy_id="h", nickname="n", body="b").encode()["schemaVersion"] == {"N": "3"}


def test_an_old_avatar_url_is_read_as_profile_images():
    old = version_1_of(ada(), avatarUrl="https://example.org/ada.png")
    assert decode(old) == ada(profile_images=ProfileImages(avatar=Image(url="https://example.org/ada.png")))


def test_profile_images_win_over_an_old_avatar_url():
    old = version_1_of(ada(), avatarUrl="old", profileImages={"avatar": {"url": "new", "size": "large"}})
    assert decode(old).profile_images == ProfileImages(avatar=Image(url="new", size="large"))


@pytest.mark.parametrize("attributes", [{}, {"avatarUrl": None}, {"avatarUrl": ""}], ids=["absent", "NULL", "empty"])
def test_an_old_user_without_an_avatar_has_no_profile_images(attributes):
    assert decode(version_1_of(ada(), **attributes)) == ada()


def test_an_upgraded_record_is_written_in_todays_shape():
    item = decode(version_1_of(ada(), avatarUrl="u")).encode()
    assert item["schemaVersion"] == {"N": "2"}
    assert item["profileImages"] == {"M": {"avatar": {"M": {"url": {"S": "u"}}}}}
    assert "avatarUrl" not in item
    assert decode(item) == ada(profile_images=ProfileImages(avatar=Image(url="u")))


def test_an_item_without_a_schema_version_is_of_the_first():
    old = version_1_of(ada(), avatarUrl="u")
    del old["schemaVersion"]
    assert decode(old).profile_images == ProfileImages(avatar=Image(url="u"))


@pytest.mark.parametrize(
    ("version", "attributes", "nickname"),
    [
        ("1", {"firstName": {"S": "ada"}}, "ADA"),
        ("2", {"nickname": {"S": "ada"}}, "ADA"),
        ("3", {"nickname": {"S": "ada"}}, "ada"),
        ("4", {"nickname": {"S": "ada"}}, "ada"),
    ],
    ids=["oldest", "older", "today's", "of a newer server"],
)
@pytest.mark.parametrize("lean", [False, True], ids=["full", "lean"])
def test_upgrades_run_from_the_version_of_the_item_on(version, attributes, nickname, lean):
    item = heavy().encode() | {"schemaVersion": {"N": version}}
    del item["nickname"]
    record = decode(item | attributes, lean=lean)
    assert record.nickname == nickname
    assert record.body == (UNREAD if lean else "b")


def test_an_explicit_null_is_as_good_as_nothing():
    item = ada().encode() | {"bio": {"NULL": True}, "profileImages": {"NULL": True}, "postCount": {"NULL": True}}
    assert decode(item) == ada()


def test_an_explicit_null_in_a_nested_value_is_as_good_as_nothing():
    images = {"M": {"avatar": {"M": {"url": {"S": "u"}, "size": {"NULL": True}}}}}
    expected = ada(profile_images=ProfileImages(avatar=Image(url="u")))
    assert decode(ada().encode() | {"profileImages": images}) == expected


def test_attributes_nobody_knows_are_ignored():
    assert decode(ada().encode() | {"shoeSize": {"N": "38"}}) == ada()


def test_a_set_that_another_program_wrote_is_read_as_a_list():
    assert decode(thing().encode() | {"tags": {"SS": ["a", "b"]}}) == thing(tags=["a", "b"])


def test_an_old_item_is_read_to_the_last_digit():
    record = thing(
        price=Decimal("0.1234567890123456789012345"),
        ratio=0.1,
        story=LONG,
        layout={"a": LONG},
        anything={"a": [None, 1, 2.5]},
        part=Part(part_name="x", weight=1.0),
    )
    item = record.encode()
    del item["schemaVersion"]
    assert decode(item) == record


DAMAGE = {
    "a required field is missing": {"username": None},
    "text where a number belongs": {"postCount": {"S": "7"}},
    "a number where text belongs": {"username": {"N": "7"}},
    "a fraction where a whole number belongs": {"postCount": {"N": "1.5"}},
    "a list where a map belongs": {"profileImages": {"L": []}},
    "a nested field is missing": {"profileImages": {"M": {"avatar": {"M": {}}}}},
    "the schema version is text": {"schemaVersion": {"S": "two"}},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_item_is_named(damage):
    item = {name: value for name, value in (ada().encode() | damage).items() if value}
    with pytest.raises(CorruptItem, match=r"^the item USER#ada / PROFILE is not a User: "):
        decode(item)


DAMAGE_OF_EVERY_KIND = {
    "an unknown member of an enum": {"color": {"S": "mauve"}},
    "not deflated": {"story": {"B": b64encode(b"not deflated").decode()}},
    "not base64": {"story": {"B": "!"}},
    "deflated, but not text": {"story": {"B": b64encode(zlib.compress(b"\xff")).decode()}},
    "not JSON": {"layout": {"S": "{"}},
}


@pytest.mark.parametrize("damage", DAMAGE_OF_EVERY_KIND.values(), ids=DAMAGE_OF_EVERY_KIND)
def test_a_damaged_item_is_named_whatever_the_damage(damage):
    with pytest.raises(CorruptItem, match=r"^the item TESTTHING#a / EVERY is not a EveryKind: "):
        decode(thing().encode() | damage)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"PK": {"S": "A"}, "SK": {"S": "B"}, "entityType": {"S": "Ghost"}},
            "the item A / B has the unknown entityType {'S': 'Ghost'}",
        ),
        ({"PK": {"S": "A"}, "SK": {"S": "B"}}, "the item A / B has the unknown entityType None"),
        ({"PK": {"S": "A"}, "SK": {"S": "B"}, "entityType": {"N": "1"}}, None),
        ({}, "the item None / None has the unknown entityType None"),
    ],
    ids=["unknown", "missing", "a number", "empty item"],
)
def test_an_item_of_no_known_entity_is_named(item, message):
    with pytest.raises(CorruptItem) as corrupt:
        decode(item)
    assert message is None or str(corrupt.value) == message


def declare(pk, sk, name="TestDeclared"):
    holes = sorted(set(re.findall(r"\{(\w+)", pk + sk)))
    body = {hole: field("A hole.") for hole in holes}
    body |= {"__annotations__": dict.fromkeys(holes, str), "__doc__": "Declared by a test.", "__module__": __name__}
    return type(Entity)(name, (Entity,), body, pk=pk, sk=sk, owner=OURS)


def test_a_hole_must_be_a_field(registry):
    with pytest.raises(TypeError, match=r"^Astray's key TESTASTRAY#\{other_id\} has a hole other_id that is not a"):

        class Astray(Entity, pk="TESTASTRAY#{other_id}", sk="X", owner=OURS):
            """Its key needs a value that it does not have."""

            thing_id: str = field("Its id.")

    assert "Astray" not in registry


def test_a_hole_of_an_index_must_be_a_field(registry):
    with pytest.raises(TypeError, match=r"^Astray's key X#\{nonsense\} has a hole nonsense that is not a field$"):

        class Astray(Entity, pk="TESTASTRAY#{thing_id}", sk="X", owner=OURS):
            """Its index needs a value that it does not have."""

            astray = gsi3("Y", "X#{nonsense}")

            thing_id: str = field("Its id.")

    assert "Astray" not in registry


def test_two_patterns_may_not_share_an_index(registry):
    with pytest.raises(TypeError, match=r"^Twofold\.by_size is not alone in GSI1: each pattern needs an index$"):

        class Twofold(Entity, pk="TESTTWOFOLD#{thing_id}", sk="X", owner=OURS):
            """It has two positions in one index."""

            by_size = gsi1("TESTSIZE", "{thing_id}")
            by_color = gsi1("TESTCOLOR", "{thing_id}")

            thing_id: str = field("Its id.")

    assert "Twofold" not in registry


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("TESTA#{a}", "METADATA"), ("TESTA#{b}", "METADATA")),
        (("TESTA#{a}", "METADATA"), ("TESTA#{b}", "{c}")),
        (("TESTA#{a}", "X"), ("{kind}#{b}", "X")),
        (("TESTA", "CONTENT#{a}#LATEST"), ("TESTA", "CONTENT#{a}#{version}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#{n}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#vv{n}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#v1")),
        (("TESTA", "SCORE#{score:>8}"), ("TESTA", "SCORE#{b}")),
        (("TESTA", "FIXED"), ("TESTA", "FIXED")),
    ],
    ids=lambda shape: " / ".join(shape),
)
def test_entities_may_not_share_a_key_shape(registry, one, other):
    declare(*one, name="TestFirst")
    with pytest.raises(TypeError) as refused:
        declare(*other, name="TestSecond")
    assert str(refused.value) == (
        f"TestSecond and TestFirst share a key shape: {other[0]} / {other[1]} could be {one[0]} / {one[1]}"
    )
    assert "TestSecond" not in registry


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("TESTA#{a}", "METADATA"), ("TESTB#{a}", "METADATA")),
        (("TESTA#{a}", "METADATA"), ("TESTA#{a}", "OTHER")),
        (("TESTA#{a}", "LIKE#{b}"), ("TESTA#{a}", "COMMENT#{b}")),
        (("TESTA", "CONTENT#{a}#LATEST"), ("TESTA", "CONTENT#{a}#v{n}")),
        (("TESTA", "PERSON#{a}"), ("TESTA", "PERSON#{a}#CHILD#{b}")),
        (("TESTA", "PERSON#{a}#SPOUSE#{b}"), ("TESTA", "PERSON#{a}#CHILD#{b}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#v")),
        (("TESTA", "V#v"), ("TESTA", "V#v{n}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#w{n}")),
        (("TESTA#{a}", "{b}"), ("TESTA#{a}#{b}", "{c}")),
        (("TESTAB#{a}", "X"), ("TESTA#{a}", "X")),
    ],
    ids=lambda shape: " / ".join(shape),
)
def test_entities_with_different_key_shapes_live_side_by_side(registry, one, other):
    first, second = declare(*one, name="TestFirst"), declare(*other, name="TestSecond")
    assert (registry["TestFirst"], registry["TestSecond"]) == (first, second)


def test_an_entity_needs_a_docstring(registry):
    with pytest.raises(
        TypeError, match=r"^Mute needs a docstring: it describes the type in the schema and in the docs"
    ):

        class Mute(Entity, pk="TESTMUTE#{thing_id}", sk="X", owner=OURS):
            thing_id: str = field("Its id.")


def test_a_nested_value_needs_a_docstring():
    with pytest.raises(TypeError, match=r"^Mute needs a docstring"):

        class Mute(Value):
            name: str = field("Its name.")


@pytest.mark.parametrize("described", [{}, {"thing_id": field("")}], ids=["no field()", "empty description"])
def test_a_field_needs_a_description(registry, described):
    body = {"__annotations__": {"thing_id": str}, "__doc__": "x", "__module__": __name__, **described}
    with pytest.raises(TypeError, match=r"^Vague\.thing_id needs a description: use field\(\.\.\.\)$"):
        type(Entity)("Vague", (Entity,), body, pk="TESTVAGUE#{thing_id}", sk="X", owner=OURS)
    assert "Vague" not in registry


def test_a_name_is_given_once(registry):
    with pytest.raises(TypeError, match=r"^the entity User already exists in datastore\.accounts$"):
        declare("TESTUSER#{a}", "X", name="User")
    assert registry["User"] is User


@pytest.mark.parametrize("hint", [bytes, set[str], object, str | int], ids=str)
def test_a_field_of_a_type_that_cannot_be_stored_is_refused(registry, hint):
    body = {"__annotations__": {"thing_id": hint}, "__doc__": "x", "__module__": __name__, "thing_id": field("Its id.")}
    with pytest.raises(TypeError, match=f"^a stored field cannot be a {re.escape(str(hint))}$"):
        type(Entity)("Odd", (Entity,), body, pk="TESTODD", sk="X", owner=OURS)


def test_a_key_with_two_holes_side_by_side_is_refused(registry):
    """With `{a}{b}`, ab + c and a + bc would be the same key."""
    with pytest.raises(TypeError):
        declare("TESTSIDE", "{a}{b}")


@pytest.mark.parametrize("value", [{1, 2}, object()], ids=["set", "object"])
def test_what_is_not_json_cannot_be_stored_as_json(value):
    with pytest.raises(TypeError, match=r"cannot be stored in a DynamoDB item$"):
        thing(anything={"a": value}).encode()


KEY_TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="#"), min_size=1, max_size=30)
TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=60)
LONG_TEXT = TEXT | TEXT.map(lambda text: text + "ž" * COMPRESS_FROM)
TIMES = st.sampled_from([THEN, LATER, Time("0001-01-01T00:00:00.000Z"), Time("9999-12-31T23:59:59.999Z")])
INTEGERS = st.integers(-(10**37), 10**37)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SMALL_INTEGERS = st.integers(-(2**53), 2**53)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | SMALL_INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PARTS = st.builds(Part, part_name=TEXT, weight=st.none() | FLOATS, color=st.sampled_from(Color))
IMAGES = st.builds(Image, url=TEXT, size=st.none() | TEXT)

USERS = st.builds(
    User,
    created_at=TIMES,
    updated_at=TIMES,
    expires_at=st.none() | st.integers(0, 2**40),
    user_id=KEY_TEXT,
    username=KEY_TEXT,
    email=KEY_TEXT,
    password_hash=st.none() | TEXT,
    external_subject=st.none() | TEXT,
    bluesky_handle=st.none() | TEXT,
    bluesky_did=st.none() | TEXT,
    display_name=st.none() | TEXT,
    profile_images=st.none() | st.builds(ProfileImages, avatar=st.none() | IMAGES),
    bio=st.none() | TEXT,
    follower_count=INTEGERS,
    following_count=INTEGERS,
    post_count=INTEGERS,
    deleted_at=st.none() | TIMES,
)

THINGS = st.builds(
    EveryKind,
    created_at=TIMES,
    updated_at=TIMES,
    expires_at=st.none() | st.integers(0, 2**40),
    thing_id=KEY_TEXT,
    rank=SMALL_INTEGERS,
    ratio=FLOATS,
    price=st.decimals(allow_nan=False, allow_infinity=False),
    is_open=st.booleans(),
    color=st.none() | st.sampled_from(Color),
    size=st.sampled_from(Size),
    seen_at=st.none() | TIMES,
    nickname=st.none() | TEXT,
    part=st.none() | PARTS,
    tags=st.lists(TEXT, max_size=3),
    parts=st.lists(PARTS, max_size=3),
    grid=st.lists(st.lists(INTEGERS, max_size=2), max_size=2),
    counts=st.dictionaries(TEXT, INTEGERS, max_size=3),
    parts_by_name=st.dictionaries(TEXT, PARTS, max_size=2),
    anything=JSON_VALUES,
    story=st.none() | LONG_TEXT,
    layout=JSON_VALUES,
)


@given(user=USERS)
def test_every_user_is_read_as_it_was_written(user):
    assert decode(user.encode()) == user


@given(user=USERS)
def test_every_user_is_read_the_same_through_the_slow_path(user):
    item = user.encode()
    del item["schemaVersion"]
    assert decode(item) == user


@given(record=THINGS)
def test_every_type_of_field_is_read_as_it_was_written(record):
    assert decode(record.encode()) == record


@given(record=THINGS)
def test_nothing_well_formed_takes_the_slow_path(record):
    parsed = EveryKind._parser.decode(orjson.dumps(record.encode()))
    assert EveryKind._from_parsed[False](parsed) == record
    assert EveryKind._from_parsed[False](parsed).own_key == record.own_key


@given(value=JSON_VALUES)
def test_json_survives_dynamodbs_notation(value):
    assert plain(wire(value)) == value


def test_every_entity_of_the_table_is_registered_under_its_name():
    assert {name: entity.__name__ for name, entity in REGISTRY.items()} == {name: name for name in REGISTRY}
    assert {"User", "Unique", "SignInFailures"} <= REGISTRY.keys()
    assert REGISTRY["SignInFailures"] is SignInFailures
