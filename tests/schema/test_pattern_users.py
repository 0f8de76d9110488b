"""The table design names what uses each access pattern."""

import pytest

from datastore.accounts import User
from datastore.cards import CollectionCard
from datastore.genealogy import Marriage
from datastore.social import Follow, Post
from schema.pattern_users import pattern_users


@pytest.fixture(scope="module")
def users():
    return pattern_users()


@pytest.mark.parametrize(
    ("entity", "pattern", "used_by"),
    [
        (Post, "by_author", ["User.homeFeed", "User.posts"]),
        (Post, "in_feed", ["Query.feed"]),
        (Follow, "within", ["User.following", "User.homeFeed"]),
        (Marriage, "by_second_person", ["Person.spouses"]),
        (CollectionCard, "key", ["Mutation.moveInCollection", "Mutation.removeFromCollection"]),
    ],
    ids=["edges", "one edge", "own partition", "several ranges of an edge", "mutations only"],
)
def test_the_users_of_a_pattern_are_found(users, entity, pattern, used_by):
    assert users[entity, pattern] == used_by


def test_what_an_edge_leads_to_is_used_by_it_too(users):
    assert {"Post.author", "Post.likes", "User.followers"} <= {*users[User, "key"]}


def test_a_pattern_that_no_edge_uses_has_its_jobs(users):
    assert "purge_card" in users[CollectionCard, "of_card"]
