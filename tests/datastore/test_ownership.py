"""Every entity declares its owner; invalid declarations stop the import."""

import pytest

from datastore.cards import Collection, CollectionCard
from datastore.genealogy import Person, Tree, TreeShare
from datastore.model.entity import REGISTRY, Entity, field
from datastore.model.ownership import Nobody, PartOf, nobody, part_of, user
from datastore.model.patterns import gsi1
from datastore.social import Follow, Post, PostCounter


def declare(**given) -> type[Entity]:
    body = {
        "__doc__": "An entity of this test.",
        "__annotations__": {"thing_id": str, "user_id": str, "hidden_at": str | None},
        "thing_id": field("Its ID."),
        "user_id": field("Its user."),
        "hidden_at": field("When it was hidden.", default=None),
        "by_user": gsi1("TESTUSER#{user_id}", "{thing_id}"),
        "by_both": gsi1("TESTUSER#{user_id}#{thing_id}", "X"),
    }
    del body["by_both" if given.pop("alone", True) else "by_user"]
    return type(Entity)("Thing", (Entity,), body, pk="TESTOWNED#{thing_id}", sk="THING", **given)


@pytest.fixture
def undeclared():
    yield
    REGISTRY.pop("Thing", None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {},
            'Thing has no owner; declare one: owner=user("user_id", "by_author") if it is removed with an account, '
            'owner=part_of(Tenant) if it belongs to another record, or owner=nobody("the reason")',
        ),
        (
            {"owner": user("usre_id", "by_user")},
            "Thing has no field usre_id for its owner: use one of thing_id, user_id, hidden_at, created_at, "
            "updated_at, expires_at",
        ),
        (
            {"owner": user("user_id", "by_user", mark="hiden_at")},
            "Thing has no field hiden_at for its owner: use one of thing_id, user_id, hidden_at, created_at, "
            "updated_at, expires_at",
        ),
        (
            {"owner": user("user_id", "by_author")},
            "Thing has no access pattern by_author: its owner takes one of within, by_user",
        ),
        (
            {"owner": user("user_id")},
            "Thing.within does not find all records of a user: its owner takes an access pattern whose partition "
            "key has the hole user_id and no other",
        ),
        (
            {"owner": user("user_id", "by_both"), "alone": False},
            "Thing.by_both does not find all records of a user: its owner takes an access pattern whose partition "
            "key has the hole user_id and no other",
        ),
        ({"owner": part_of(Tree)}, "Thing is part of a Tree, so it needs the key of one: add tree_id"),
        (
            {"owner": nobody("")},
            'Thing has no owner and no reason for it: use owner=nobody("the reason")',
        ),
        (
            {"owner": nobody("it is a test"), "about": user("thing_id", "by_user")},
            "Thing.by_user does not find all records of a user: its owner takes an access pattern whose partition "
            "key has the hole thing_id and no other",
        ),
    ],
)
def test_a_wrong_owner_stops_the_import_and_names_the_fix(undeclared, given, message):
    with pytest.raises(TypeError) as refused:
        declare(**given)

    assert str(refused.value) == message
    assert "Thing" not in REGISTRY


def test_a_right_owner_is_part_of_the_entity(undeclared):
    thing = declare(owner=user("user_id", "by_user", mark="hidden_at"))

    assert thing.accounts == (thing.owner,)
    assert thing.owner.works(thing, "ada") == thing.by_user(user_id="ada")


@pytest.mark.parametrize(
    ("entity", "fields"),
    [
        (Post, ("user_id",)),
        (PostCounter, ()),
        (Follow, ("follower_id", "following_id")),
        (Collection, ("user_id",)),
        (CollectionCard, ("user_id",)),
        (Person, ("user_id",)),
        (TreeShare, ("shared_with_id", "user_id")),
    ],
)
def test_a_record_names_the_accounts_it_is_hidden_with(entity, fields):
    assert entity.account_fields == fields


def test_what_is_part_of_something_ends_at_a_user_a_tenant_a_neighborhood_or_nobody():
    for entity in [*REGISTRY.values()]:
        owner = entity.owner
        while isinstance(owner, PartOf):
            owner = owner.whole.owner
        assert entity.accounts or isinstance(owner, Nobody) or owner.field
