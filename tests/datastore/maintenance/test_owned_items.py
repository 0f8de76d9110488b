"""The items of one owner, found by queries in the table and by reading a backup."""

import orjson
import pytest

from datastore.maintenance.owned_items import OwnedItems, Owner, belongs_to, pattern_by
from datastore.maintenance.raw_items import RawItems, head_of
from datastore.maintenance.segments import every_item
from datastore.model.entity import REGISTRY
from datastore.model.ownership import PartOf
from resolvers import demo
from resolvers.accounts.passwords import Passwords
from resolvers.demo.people import IDS


def test_the_parts_of_every_record_can_be_queried():
    parts = [entity for entity in REGISTRY.values() if isinstance(entity.owner, PartOf)]
    assert [entity.__name__ for entity in parts if pattern_by(entity, entity.owner.whole.key_holes) is None] == []


async def test_queries_and_a_backup_find_the_same_items_of_an_owner(table):
    await demo.load(table, Passwords(rounds=4))
    every = [orjson.dumps(item) async for item in every_item(table)]
    by_kind = {
        kind: [orjson.loads(item) for item in every if head_of(item).kind == kind]
        for kind in ("Tree", "Tenant", "Neighborhood")
    }
    owners = [
        *(Owner("user", user_id) for user_id in IDS.values()),
        *(Owner("tree", item["treeId"]["S"]) for item in by_kind["Tree"]),
        *(Owner("tenant", item["tenantId"]["S"]) for item in by_kind["Tenant"]),
        *(Owner("neighborhood", item["neighborhoodId"]["S"]) for item in by_kind["Neighborhood"]),
    ]
    assert {owner.kind for owner in owners} == {"user", "tree", "tenant", "neighborhood"}
    for owner in owners:
        found = [head_of(item) async for item in OwnedItems(RawItems(table), owner).find()]
        places = [head.place for head in found]
        assert len(places) == len(set(places)) > 1
        assert set(places) == belongs_to(owner, (iter(every) for _ in range(10)))
        assert found[0].kind == owner.root.__name__
        # Guards of unique values come along, each with its own record.
        guards = {head.pk for head in found if head.kind == "Unique"}
        assert bool(guards) is (owner.kind != "tree")


async def test_items_of_others_are_left_out(table):
    await demo.load(table, Passwords(rounds=4))
    maya, jonas = IDS["maya"], IDS["jonas"]
    items = [orjson.loads(item) async for item in OwnedItems(RawItems(table), Owner("user", maya)).find()]
    posts = [item for item in items if item["entityType"]["S"] == "Post"]
    assert {item["userId"]["S"] for item in posts} == {maya}
    follows = [item for item in items if item["entityType"]["S"] == "Follow"]
    assert all(maya in (item["followerId"]["S"], item["followingId"]["S"]) for item in follows)
    assert f"USER#{jonas}" not in {item["PK"]["S"] for item in items if item["entityType"]["S"] == "User"}


async def test_an_unknown_owner_has_no_items(table):
    for kind in ("user", "tree", "tenant", "neighborhood"):
        assert [item async for item in OwnedItems(RawItems(table), Owner(kind, "nobody")).find()] == []


@pytest.mark.parametrize("kind", ["user", "tree", "tenant", "neighborhood"])
def test_the_arguments_of_the_command_line_are_kinds_of_owners(kind):
    assert Owner(kind, "x").id_field in Owner(kind, "x").root.fields
