"""Reads of one request: batched, cached, and consistent with its own writes."""

import asyncio

import pytest

from datastore.accounts import Unique, User
from datastore.client.writes import Delete, Put, Update, exists
from datastore.model.entity import REGISTRY
from loaders.needs import Items
from loaders.visibility import READING, RULES, seen, visibility
from resolvers.accounts import edges as _rules  # noqa: F401  declares User's rule
from schema import build  # noqa: F401  exposes what is exposed
from schema.declare.types import has_ids
from tests.support.graph import Graph

pytestmark = pytest.mark.engine_contract


async def test_the_keys_of_a_level_are_one_batch_and_each_is_read_once(graph: Graph):
    people = [await graph.add_user(f"person{n}") for n in range(3)]
    load = graph.context().load
    keys = [person.own_key for person in people]

    found = await asyncio.gather(*(load.one(key) for key in [*keys, *keys, User.key(user_id="nobody")]))
    again = await load.one(keys[0])

    assert found == [*people, *people, None]
    assert again is found[0]
    assert load.table.usage.calls == {"BatchGetItem": 1}


async def test_a_key_of_another_entity_finds_nothing(graph: Graph):
    await graph.add_user("ada")
    load = graph.context().load

    found = await load.stored(User.key(user_id="id-ada")._replace(entity=Unique))

    assert found is None


async def test_a_record_read_by_a_range_is_not_read_again_by_its_key(graph: Graph):
    ada = await graph.add_user("ada")
    load = graph.context().load

    (found,) = (await load.page(User.by_time(), 10)).records

    assert await load.one(ada.own_key) is found
    assert load.table.usage.calls == {"Query": 1}


async def test_the_same_range_is_read_once(graph: Graph):
    load = graph.context().load

    await asyncio.gather(*(load.page(User.by_time(), 10) for _ in range(3)))

    assert load.table.usage.calls == {"Query": 1}


async def test_a_write_shows_in_what_is_read_after_it(graph: Graph):
    ada = await graph.add_user("ada")
    load = graph.context().load
    before = await load.one(ada.own_key)
    page_before = await load.page(User.by_time(), 10)

    await load.write(Update(ada.own_key, add={"post_count": 1}, when=exists()))
    after = await load.one(ada.own_key)
    page_after = await load.page(User.by_time(), 10)

    assert (before.post_count, after.post_count) == (0, 1)
    assert [user.post_count for page in (page_before, page_after) for user in page.records] == [0, 1]


async def test_a_put_needs_no_reading_and_a_delete_is_seen(graph: Graph):
    ada = await graph.add_user("ada")
    load = graph.context().load
    await load.one(ada.own_key)

    await load.write(Put(ada.changed(bio="New."), when=exists()))
    changed = await load.one(ada.own_key)
    calls = dict(load.table.usage.calls)
    await load.write(Delete(ada.own_key))

    assert changed.bio == "New."
    assert calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert await load.one(ada.own_key) is None


async def test_after_a_write_an_index_does_not_bring_the_old_state_back(graph: Graph):
    ada = await graph.add_user("ada")
    load = graph.context().load
    await load.write(Update(ada.own_key, set={"bio": "New."}, when=exists()))

    await load.page(User.by_time(), 10)
    await load.one(ada.own_key)

    assert load.table.usage.calls == {"TransactWriteItems": 1, "Query": 1, "GetItem": 1}


def test_every_exposed_entity_has_one_visibility_rule():
    exposed = {entity for entity in REGISTRY.values() if has_ids(entity)}

    assert exposed
    assert exposed <= RULES.keys()


def test_a_second_rule_is_refused():
    with pytest.raises(TypeError, match="User has a visibility rule already"):
        visibility(User)(lambda user, viewer: True)


async def test_a_rule_may_read_before_it_answers(graph: Graph, monkeypatch):
    """A test rule: a user is visible only while the guard of the username exists."""

    def guarded(user, viewer):
        (guard,) = yield Items([Unique.key(kind="username", value=user.username)])
        return guard is not None

    monkeypatch.delitem(RULES, User)
    monkeypatch.setattr("loaders.visibility.READING", {**READING})
    visibility(User)(guarded)
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    await graph.table.delete(Unique.key(kind="username", value="bob"))
    load = graph.context().load

    assert await asyncio.gather(load.one(ada.own_key), load.one(bob.own_key)) == [ada, None]
    assert await load.run(seen([bob, None, ada], load.viewer)) == [None, None, ada]
    assert load.table.usage.calls == {"BatchGetItem": 2}
