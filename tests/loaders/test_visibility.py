"""Visibility rules, applied to a list of records."""

import time
from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.errors import CorruptItem
from datastore.social import Follow, Like, Post
from loaders.viewer import ANONYMOUS
from loaders.visibility import seen, shown_to_everyone
from schema import build  # noqa: F401  declares all rules

NOW = "2026-01-31T12:00:00.000Z"
STAMPS: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}


def person(name: str, **fields: Any) -> User:
    return User(user_id=name, username=name, email=f"{name}@example.org", **STAMPS, **fields)


def post(name: str, **fields: Any) -> Post:
    return Post(post_id=name, user_id="ada", image_url="https://example.org/a.jpg", **STAMPS, **fields)


def like(name: str, **fields: Any) -> Like:
    return Like(post_id="post", user_id=name, **STAMPS, **fields)


def shown(records: list[Any]) -> list[Any]:
    """Returns what an anonymous viewer sees, by rules that read nothing."""
    with pytest.raises(StopIteration) as stop:
        next(seen(records, ANONYMOUS))
    found: list[Any] = stop.value.value
    return found


def test_a_list_in_which_nothing_is_hidden_is_returned_as_it_is():
    records = [person("ada"), None, post("one"), like("bob")]

    assert shown(records) is records


def test_what_is_hidden_is_none_in_its_place_whatever_is_around_it():
    ada, one, bob = person("ada"), post("one"), like("bob")
    gone, deleted, marked = person("eve", deleted_at=NOW), post("two", deleted_at=NOW), post("three", hidden_at=NOW)

    assert shown([gone, ada, deleted, one, marked, None, bob]) == [None, ada, None, one, None, None, bob]


def test_an_expired_record_is_hidden_before_dynamodb_removes_it():
    past, future = int(time.time()) - 60, int(time.time()) + 60
    lasting = like("bob", expires_at=future)

    assert shown([like("ada", expires_at=past), lasting]) == [None, lasting]


def test_a_damaged_record_is_hidden():
    ada = person("ada")

    assert shown([ada, CorruptItem("damaged")]) == [ada, None]


def test_an_entity_is_declared_once():
    with pytest.raises(TypeError, match="Follow has a visibility rule already"):
        shown_to_everyone(Follow)
