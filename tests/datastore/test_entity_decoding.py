"""Decoding of items: lean reads, upgrades of old items, and damaged items."""

import zlib
from base64 import b64encode
from decimal import Decimal

import pytest

from datastore.accounts import Image, ProfileImages, Unique, User
from datastore.client.errors import CorruptItem
from datastore.model.codec import wire
from datastore.model.decoding import UNREAD
from tests.datastore.things import LONG, THEN, Heavy, Part, ada, decode, thing

pytestmark = pytest.mark.usefixtures("things_registered")


def heavy(**fields) -> Heavy:
    return Heavy(**{"heavy_id": "h", "nickname": "H", "body": "b", "created_at": THEN, "updated_at": THEN, **fields})


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
    ],
    ids=["oldest", "older", "today's"],
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
    "the schema version is zero": {"schemaVersion": {"N": "0"}},
    "the schema version is a newer server's": {"schemaVersion": {"N": "3"}},
    "a time that is none": {"createdAt": {"S": "yesterday"}},
    "a time that no calendar has": {"createdAt": {"S": "2026-02-30T00:00:00.000Z"}},
    "a number beyond an Int": {"postCount": {"N": str(2**31)}},
    "a number beyond everything": {"postCount": {"N": "1E+100"}},
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
    "a bomb": {"story": {"B": b64encode(zlib.compress(bytes(20_000_000))).decode()}},
    "cut off": {"story": {"B": b64encode(zlib.compress(LONG.encode())[:-8]).decode()}},
    "half a character": {"layout": {"S": '"\\ud800"'}},
    "nested without end": {"layout": {"S": "[" * 300 + "]" * 300}},
    "an infinite number": {"ratio": {"N": "1E+400"}},
    "an infinite number in JSON": {"anything": {"L": [{"N": "1E+400"}]}},
    "an integer beyond JSON": {"anything": {"N": str(10**30)}},
    "a decimal that is no number": {"price": {"N": "NaN"}},
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
