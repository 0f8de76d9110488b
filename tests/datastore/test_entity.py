"""Entities: how records are encoded, keyed and changed."""

import zlib
from base64 import b64decode
from decimal import Decimal

import pytest

from datastore.accounts import SignInFailures, Unique, User
from datastore.client.errors import InvalidKey
from datastore.model.codec import COMPRESS_FROM
from datastore.model.entity import REGISTRY, Entity, field
from tests.datastore.things import LATER, LONG, OURS, THEN, Color, EveryKind, Heavy, Part, Size, ada, decode, thing

pytestmark = pytest.mark.usefixtures("things_registered")


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
        "tokenEpoch": {"N": "0"},
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
    class ByEnum(Entity, pk="TESTBYENUM#{shade}", sk="X", owner=OURS):
        """An enum in a key."""

        shade: kind = field("Which one.")

    item = ByEnum(shade=member).encode()
    assert item["shade"] == {"S": member.value}
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


def test_every_entity_of_the_table_is_registered_under_its_name():
    assert {name: entity.__name__ for name, entity in REGISTRY.items()} == {name: name for name in REGISTRY}
    assert {"User", "Unique", "SignInFailures"} <= REGISTRY.keys()
    assert REGISTRY["SignInFailures"] is SignInFailures
