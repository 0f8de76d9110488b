"""Writes and conditions as DynamoDB expressions."""

import re

import pytest

from datastore.accounts import Image, ProfileImages, SignInFailures, Unique, User
from datastore.client.writes import (
    Check,
    Delete,
    Names,
    Put,
    Update,
    above,
    absent,
    at_least,
    below,
    differs,
    equals,
    exists,
    same,
)
from datastore.model.times import Time

THEN = Time("2026-01-31T12:00:00.000Z")
LATER = Time("2026-01-31T12:00:01.000Z")
ADA = User(user_id="ada", username="ada", email="ada@example.org", created_at=THEN, updated_at=THEN)
ADA_KEY = {"PK": {"S": "USER#ada"}, "SK": {"S": "PROFILE"}}


@pytest.mark.parametrize(
    ("condition", "expression", "names", "values"),
    [
        (exists(), "attribute_exists(#0)", {"#0": "PK"}, {}),
        (absent(), "attribute_not_exists(#0)", {"#0": "PK"}, {}),
        (exists("display_name"), "attribute_exists(#0)", {"#0": "displayName"}, {}),
        (absent("deleted_at"), "attribute_not_exists(#0)", {"#0": "deletedAt"}, {}),
        (equals("username", "ada"), "#0 = :0", {"#0": "username"}, {":0": {"S": "ada"}}),
        (differs("post_count", 0), "#0 <> :0", {"#0": "postCount"}, {":0": {"N": "0"}}),
        (below("expires_at", 9), "#0 < :0", {"#0": "expiresAt"}, {":0": {"N": "9"}}),
        (above("expires_at", 9), "#0 > :0", {"#0": "expiresAt"}, {":0": {"N": "9"}}),
        (at_least("post_count", 1), "#0 >= :0", {"#0": "postCount"}, {":0": {"N": "1"}}),
        (equals("SK", "PROFILE"), "#0 = :0", {"#0": "SK"}, {":0": {"S": "PROFILE"}}),
        (
            equals("profile_images", ProfileImages(avatar=Image(url="u"))),
            "#0 = :0",
            {"#0": "profileImages"},
            {":0": {"M": {"avatar": {"M": {"url": {"S": "u"}}}}}},
        ),
        (
            exists() & absent("deleted_at"),
            "(attribute_exists(#0) AND attribute_not_exists(#1))",
            {"#0": "PK", "#1": "deletedAt"},
            {},
        ),
        (
            absent() | below("expires_at", 9),
            "(attribute_not_exists(#0) OR #1 < :0)",
            {"#0": "PK", "#1": "expiresAt"},
            {":0": {"N": "9"}},
        ),
        (
            above("post_count", 1) & below("post_count", 5),
            "(#0 > :0 AND #0 < :1)",
            {"#0": "postCount"},
            {":0": {"N": "1"}, ":1": {"N": "5"}},
        ),
        (
            (exists() | exists("bio")) & equals("bio", "x"),
            "((attribute_exists(#0) OR attribute_exists(#1)) AND #1 = :0)",
            {"#0": "PK", "#1": "bio"},
            {":0": {"S": "x"}},
        ),
        (
            exists() & absent("bio") & equals("username", "ada"),
            "((attribute_exists(#0) AND attribute_not_exists(#1)) AND #2 = :0)",
            {"#0": "PK", "#1": "bio", "#2": "username"},
            {":0": {"S": "ada"}},
        ),
    ],
    ids=[
        "exists",
        "absent",
        "has field",
        "lacks field",
        "equals",
        "differs",
        "below",
        "above",
        "at least",
        "key attribute",
        "nested value",
        "and",
        "or",
        "one name twice",
        "or within and",
        "all of three",
    ],
)
def test_a_condition_is_rendered(condition, expression, names, values):
    used = Names(User)
    assert condition.render(used) == expression
    assert used.names == names
    assert used.values == values


def test_a_condition_can_be_rendered_again_and_again():
    condition = equals("username", "ada")
    assert condition.render(Names(User)) == condition.render(Names(User))


CASES = {
    "put": (Put(ADA), ("Put", {"Item": ADA.encode()})),
    "put on a condition": (
        Put(ADA, absent() | below("expires_at", 9)),
        (
            "Put",
            {
                "Item": ADA.encode(),
                "ConditionExpression": "(attribute_not_exists(#0) OR #1 < :0)",
                "ExpressionAttributeNames": {"#0": "PK", "#1": "expiresAt"},
                "ExpressionAttributeValues": {":0": {"N": "9"}},
            },
        ),
    ),
    "delete": (Delete(ADA.own_key), ("Delete", {"Key": ADA_KEY})),
    "delete on a condition": (
        Delete(ADA.own_key, exists()),
        (
            "Delete",
            {
                "Key": ADA_KEY,
                "ConditionExpression": "attribute_exists(#0)",
                "ExpressionAttributeNames": {"#0": "PK"},
            },
        ),
    ),
    "check": (
        Check(ADA.own_key, equals("username", "ada")),
        (
            "ConditionCheck",
            {
                "Key": ADA_KEY,
                "ConditionExpression": "#0 = :0",
                "ExpressionAttributeNames": {"#0": "username"},
                "ExpressionAttributeValues": {":0": {"S": "ada"}},
            },
        ),
    ),
    "set": (
        Update(ADA.own_key, set={"display_name": "Ada", "deleted_at": THEN}),
        (
            "Update",
            {
                "Key": ADA_KEY,
                "UpdateExpression": "SET #0 = :0, #1 = :1",
                "ExpressionAttributeNames": {"#0": "displayName", "#1": "deletedAt"},
                "ExpressionAttributeValues": {":0": {"S": "Ada"}, ":1": {"S": THEN}},
            },
        ),
    ),
    "add": (
        Update(ADA.own_key, add={"post_count": 1, "follower_count": -1}),
        (
            "Update",
            {
                "Key": ADA_KEY,
                "UpdateExpression": "ADD #0 :0, #1 :1",
                "ExpressionAttributeNames": {"#0": "postCount", "#1": "followerCount"},
                "ExpressionAttributeValues": {":0": {"N": "1"}, ":1": {"N": "-1"}},
            },
        ),
    ),
    "remove": (
        Update(ADA.own_key, remove=["bio", "expires_at"]),
        (
            "Update",
            {
                "Key": ADA_KEY,
                "UpdateExpression": "REMOVE #0, #1",
                "ExpressionAttributeNames": {"#0": "bio", "#1": "expiresAt"},
            },
        ),
    ),
    "raw": (
        Update(ADA.own_key, raw={"GSI1PK": {"S": "USERNAME#lovelace"}}),
        (
            "Update",
            {
                "Key": ADA_KEY,
                "UpdateExpression": "SET #0 = :0",
                "ExpressionAttributeNames": {"#0": "GSI1PK"},
                "ExpressionAttributeValues": {":0": {"S": "USERNAME#lovelace"}},
            },
        ),
    ),
    "all at once on a condition": (
        Update(
            ADA.own_key,
            set={"bio": "x"},
            raw={"GSI1SK": {"S": "y"}},
            add={"post_count": 1},
            remove=["display_name"],
            when=exists() & equals("bio", "old"),
        ),
        (
            "Update",
            {
                "Key": ADA_KEY,
                "UpdateExpression": "SET #0 = :0, #1 = :1 ADD #2 :2 REMOVE #3",
                "ConditionExpression": "(attribute_exists(#4) AND #0 = :3)",
                "ExpressionAttributeNames": {
                    "#0": "bio",
                    "#1": "GSI1SK",
                    "#2": "postCount",
                    "#3": "displayName",
                    "#4": "PK",
                },
                "ExpressionAttributeValues": {
                    ":0": {"S": "x"},
                    ":1": {"S": "y"},
                    ":2": {"N": "1"},
                    ":3": {"S": "old"},
                },
            },
        ),
    ),
}


@pytest.mark.parametrize(("write", "request_"), CASES.values(), ids=CASES)
def test_a_write_is_rendered(write, request_):
    assert write.request() == request_
    assert write.request() == request_, "rendering twice gives the same"


@pytest.mark.parametrize(
    ("write", "repeatable"),
    [
        (Put(ADA), True),
        (Put(ADA, absent()), False),
        (Delete(ADA.own_key), True),
        (Delete(ADA.own_key, exists()), False),
        (Check(ADA.own_key, exists()), False),
        (Update(ADA.own_key, set={"bio": "x"}), True),
        (Update(ADA.own_key, remove=["bio"]), True),
        (Update(ADA.own_key, add={"post_count": 1}), False),
        (Update(ADA.own_key, set={"bio": "x"}, when=exists()), False),
        (Update.of(ADA, ADA.changed(bio="x")), True),
        (Update.of(ADA, ADA.changed(bio="x"), exists()), False),
        (Update.upsert(SignInFailures(subject="s"), add={"count": 1}), False),
    ],
)
def test_only_what_does_the_same_when_done_twice_is_repeatable(write, repeatable):
    assert write.repeatable is repeatable


@pytest.mark.parametrize(
    "write",
    [
        lambda: Update(ADA.own_key, set={"bio": "x", "usrname": "ada"}),
        lambda: Update(ADA.own_key, add={"usrname": 1}),
        lambda: Update(ADA.own_key, remove=["usrname"]),
        lambda: Update(ADA.own_key, set={"bio": "x"}, when=exists() & equals("usrname", "ada")),
        lambda: Update.of(ADA, ADA.changed(bio="x"), when=absent("usrname")),
        lambda: Update.upsert(ADA, add={"usrname": 1}),
        lambda: Update.upsert(ADA, add={"post_count": 1}, when=exists("usrname") | exists("bio")),
        lambda: Put(ADA, when=differs("usrname", "ada")),
        lambda: Delete(ADA.own_key, when=same("usrname", None)),
        lambda: Check(ADA.own_key, when=above("usrname", 1)),
        lambda: ADA.changed(bio="x", usrname="ada"),
    ],
    ids=[
        "set",
        "add",
        "remove",
        "condition of an update",
        "condition of a difference",
        "upsert",
        "condition of an upsert",
        "condition of a put",
        "condition of a delete",
        "check",
        "changed",
    ],
)
def test_a_misspelled_field_is_refused_before_anything_is_sent(write):
    with pytest.raises(TypeError, match=r"^User has no field usrname: did you mean username\?$"):
        write()


@pytest.mark.parametrize("name", ["username_", "deletedAt", "GSI1PK", "entityType"])
def test_fields_are_known_by_their_python_names_only(name):
    with pytest.raises(TypeError, match=f"^User has no field {name}: "):
        Update(ADA.own_key, remove=[name])


def test_a_put_has_the_key_of_its_record():
    assert Put(ADA).key == User.key(user_id="ada")


def test_writes_are_equal_only_to_themselves():
    one, same_looking = Put(ADA), Put(ADA)
    assert one == one
    assert one != same_looking
    assert len({one, same_looking}) == 2


def test_what_turned_a_record_into_another_is_its_difference():
    write = Update.of(ADA, ADA.changed(bio="x", updated_at=LATER))
    assert write.key == ADA.own_key
    assert write.raw == {"bio": {"S": "x"}, "updatedAt": {"S": LATER}}
    assert write.when is None


def test_index_keys_follow_the_fields_they_are_made_of():
    write = Update.of(ADA, ADA.changed(username="lovelace", updated_at=LATER))
    assert write.raw == {
        "username": {"S": "lovelace"},
        "GSI1PK": {"S": "USERNAME#lovelace"},
        "updatedAt": {"S": LATER},
    }


def test_a_field_that_became_none_is_removed():
    before = ADA.changed(bio="x", deleted_at=THEN, expires_at=9, updated_at=THEN)
    write = Update.of(before, before.changed(bio=None, deleted_at=None, expires_at=None, updated_at=LATER))
    assert write.raw == {"updatedAt": {"S": LATER}, "bio": None, "deletedAt": None, "expiresAt": None}
    _, request = write.request()
    assert request["UpdateExpression"] == "SET #0 = :0 REMOVE #1, #2, #3"
    assert set(request["ExpressionAttributeNames"].values()) == {"updatedAt", "bio", "deletedAt", "expiresAt"}


def test_a_field_that_became_another_and_back_is_no_difference():
    there_and_back = ADA.changed(bio="x").changed(bio=None, updated_at=THEN)
    write = Update.of(ADA, there_and_back)
    assert write.raw == {}


def test_a_difference_may_have_a_condition():
    _, request = Update.of(ADA, ADA.changed(bio="x", updated_at=THEN), absent("deleted_at")).request()
    assert request == {
        "Key": ADA_KEY,
        "UpdateExpression": "SET #0 = :0",
        "ConditionExpression": "attribute_not_exists(#1)",
        "ExpressionAttributeNames": {"#0": "bio", "#1": "deletedAt"},
        "ExpressionAttributeValues": {":0": {"S": "x"}},
    }


@pytest.mark.parametrize(
    "other",
    [ADA.changed(user_id="grace"), Unique(kind="username", value="ada", owner_id="ada")],
    ids=["same entity", "another entity"],
)
def test_a_record_does_not_turn_into_another_record(other):
    message = f"the key {ADA.own_key} cannot change to {other.own_key}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Update.of(ADA, other)


def test_an_upsert_says_what_the_item_is_and_counts():
    failures = SignInFailures(subject="s", count=7, created_at=THEN, updated_at=THEN, expires_at=9)
    condition = below("count", 5)
    write = Update.upsert(failures, add={"count": 1}, when=condition)
    assert write.key == SignInFailures.key(subject="s")
    assert write.raw == {
        "entityType": {"S": "SignInFailures"},
        "schemaVersion": {"N": "1"},
        "subject": {"S": "s"},
        "createdAt": {"S": THEN},
        "updatedAt": {"S": THEN},
        "expiresAt": {"N": "9"},
    }
    assert write.add == {"count": 1}
    assert write.when is condition


def test_an_upsert_writes_index_keys_too():
    write = Update.upsert(ADA, add={"post_count": 1})
    assert write.raw["GSI1PK"] == {"S": "USERNAME#ada"}
    assert write.raw.keys() & {"PK", "SK", "postCount"} == set()
    before, after = write.index_keys
    assert (before, after["GSI1"][0]) == (None, "USERNAME#ada")
