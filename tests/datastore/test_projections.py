"""Projections: records with some of their fields, and how many kinds of them there are."""

from itertools import combinations

import orjson
import pytest

from datastore.accounts import User
from datastore.client.errors import CorruptItem
from datastore.model.decoding import NotRead
from datastore.model.entity import decode_as
from datastore.model.projections import VARIANTS, WHOLE, Projected, Wanted
from datastore.social import Post
from tests.datastore.library import Essay

ADA = User(user_id="1", username="ada", email="ada@example.org", display_name="Ada", bio="Wrote programs.")


def wanted(*names: str, entity: type = User) -> Projected:
    return Wanted(frozenset(names))[entity]


def item(record: object) -> bytes:
    return orjson.dumps(record.encode())


def test_a_record_has_the_fields_that_are_wanted_and_those_of_keys_and_visibility():
    record = decode_as(wanted("display_name", "no_such_field").items, item(ADA))

    assert record.own_key == ADA.own_key
    assert {name for name in record.__dict__ if name != "own_key"} == {
        "display_name",
        *User.always_read,
    }
    assert record.display_name == "Ada"


def test_only_the_attributes_of_these_fields_are_read():
    assert wanted("bio").items.attributes == (
        *User.known_attributes,
        *(field.attribute for name, field in User.fields.items() if name in User.always_read | {"bio"}),
    )


def test_a_field_that_was_not_read_is_an_error_and_not_null():
    record = decode_as(wanted("display_name").items, item(ADA))

    with pytest.raises(NotRead, match=r"User\.bio was not read"):
        _ = record.bio
    with pytest.raises(KeyError):
        record.encode()


def test_a_change_keeps_what_was_read():
    record = decode_as(wanted("display_name").items, item(ADA)).changed(display_name="Countess", updated_at="later")

    assert (record.display_name, record.username, record.own_key) == ("Countess", "ada", ADA.own_key)


def test_heavy_fields_are_read_by_key_only():
    names = [name for name, field in Essay.fields.items() if field.heavy]
    projected = wanted(*names, entity=Essay)

    assert all(Essay.fields[name].attribute in projected.items.attributes for name in names)
    assert not any(Essay.fields[name].attribute in projected.lists.attributes for name in names)


def test_operations_that_want_the_same_share_a_projection():
    assert wanted("bio") is wanted("bio", "likes")
    assert wanted("bio") is not wanted("display_name")


def test_all_fields_are_the_whole_record():
    assert wanted(*User.fields) is User.whole
    assert WHOLE[User] is User.whole


def test_an_operation_that_was_widened_wants_all_fields():
    several = Wanted(frozenset({"bio"}))
    assert several[User] is not User.whole
    several.widen()
    assert several[User] is User.whole


def test_there_are_no_more_than_so_many_projections_of_an_entity():
    names = sorted(Post.fields.keys() - Post.always_read)
    sets = [set(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)][: 3 * VARIANTS]

    made = {id(projected): projected for chosen in sets for projected in [wanted(*chosen, entity=Post)]}

    assert len(made) <= VARIANTS + 1
    for chosen in sets:
        assert wanted(*chosen, entity=Post).items.names >= chosen


def test_a_damaged_field_that_is_not_read_does_no_harm():
    broken = orjson.dumps(ADA.encode() | {"followerCount": {"N": "many"}})

    assert decode_as(wanted("display_name").items, broken).display_name == "Ada"
    with pytest.raises(CorruptItem):
        decode_as(wanted("follower_count").items, broken)


def test_another_entity_is_not_decoded():
    post = Post(post_id="1", user_id="1", image_url="https://example.org/1.jpg", feed_shard=0)

    assert decode_as(wanted("bio").items, item(post)) is None
