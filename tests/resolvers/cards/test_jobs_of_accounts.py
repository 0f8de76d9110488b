"""Works of an account that is deleted, restored or purged."""

import asyncio
from typing import Any

from datastore.cards import Card, CardComment, CardRank
from datastore.changes.change import Change, What
from datastore.client.writes import Update
from datastore.model.entity import decode
from datastore.model.times import now
from resolvers.accounts import lifecycle
from resolvers.accounts.lifecycle import match_works_to_account, purge_account
from resolvers.background.jobs import Worker
from resolvers.cards.processors import rank_cards
from tests.conftest import THOROUGH
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.resolvers.cards.scene import Scene, back_to, counts_of, cut_off, every_cut, everything, snapshot
from tests.resolvers.cards.test_comment_commands import comment_counts
from tests.resolvers.cards.test_races import left_of
from tests.resolvers.neighborhoods.test_site_commands import in_table
from tests.resolvers.social.test_races import past_its_grace
from tests.support.cards import counts, do_all_jobs
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import ids

WORLD = """query ($ada: ID!, $bob: ID!, $adas: ID!, $bobs: ID!, $said: ID!, $kept: ID!) {
    ada: user(by: {id: $ada}) { cards { nodes { id } } cardComments { nodes { id } } collections { nodes { id } } }
    bob: user(by: {id: $bob}) { cardComments { nodes { id } } collections { nodes { cardCount cards { nodes { id }
    } } } }
    adas: card(by: {id: $adas}) { id }
    bobs: card(by: {id: $bobs}) { commentCount voteScore comments { nodes { id } }
        votes { nodes { direction voter { username } } } }
    said: node(id: $said) { id } kept: collection(by: {id: $kept}) { id }
    topCards { nodes { id } } controversialCards { nodes { id } } cardsOn(date: "2026-01-01") { nodes { id } }
    searchCards(text: "wood") { nodes { id } } categories { nodes { cards { nodes { id } } } } }"""


def shown(*records: Any) -> dict[str, Any]:
    return {"nodes": [{"id": id} for id in ids(*records)]}


async def world(graph: Graph, scene: Scene) -> dict[str, Any]:
    records = {
        "ada": scene.ada,
        "bob": scene.bob,
        "adas": scene.adas[0],
        "bobs": scene.bobs,
        "said": scene.comments["ada on bob"],
        "kept": scene.collections["ada"],
    }
    return (await graph.ask(WORLD, **{name: id_of(record) for name, record in records.items()})).data


async def test_what_a_deleted_account_made_is_hidden_and_out_of_all_lists(graph, workshop):
    scene = await Scene.of(workshop)

    await graph.ask(DELETE_ACCOUNT, viewer_of(scene.ada))
    await do_all_jobs(graph)

    only = shown(scene.bobs)
    assert await world(graph, scene) == {
        "ada": None,
        "bob": {
            "cardComments": shown(scene.comments["bob on bob"]),
            "collections": {"nodes": [{"cardCount": 1, "cards": only}]},
        },
        "adas": None,
        "bobs": {
            "commentCount": 1,
            "voteScore": 0,
            "comments": shown(scene.comments["bob on bob"]),
            "votes": {
                "nodes": [
                    {"direction": "UP", "voter": {"username": "eve"}},
                    {"direction": "DOWN", "voter": {"username": "bob"}},
                ]
            },
        },
        "said": None,
        "kept": None,
        "topCards": only,
        "controversialCards": only,
        "cardsOn": only,
        "searchCards": only,
        "categories": {"nodes": [{"cards": only}]},
    }


async def test_restoring_an_account_brings_everything_back_as_it_was(graph, workshop):
    scene = await Scene.of(workshop)
    before, seen_before = await snapshot(graph), await world(graph, scene)

    await graph.ask(DELETE_ACCOUNT, viewer_of(scene.ada))
    await do_all_jobs(graph)
    assert await snapshot(graph) != before
    await graph.ask(RESTORE_ACCOUNT, viewer_of(scene.ada))
    await do_all_jobs(graph)

    assert await snapshot(graph) == before
    assert await world(graph, scene) == seen_before


async def test_deleting_and_restoring_an_account_at_once_ends_as_the_account_does(graph, workshop):
    scene = await Scene.of(workshop)
    before = await snapshot(graph)
    for command in (DELETE_ACCOUNT, RESTORE_ACCOUNT):
        await graph.ask(command, viewer_of(scene.ada))

    await asyncio.gather(*(Worker(graph.table).do_what_is_due() for _ in range(3)))
    await do_all_jobs(graph)

    assert await snapshot(graph) == before


async def test_hiding_goes_on_wherever_it_was_cut_off(graph, workshop, engine_name):
    scene = await Scene.of(workshop)
    user = {"user_id": scene.ada.user_id}
    await graph.ask(DELETE_ACCOUNT, viewer_of(scene.ada))
    before = await everything(graph)

    for most in every_cut(engine_name, step=3):
        enough = await cut_off(graph, most, match_works_to_account, **user)
        await match_works_to_account(graph.context().load, **user)
        await do_all_jobs(graph)

        after = [decode(item) for item in (await snapshot(graph)).values() if "entityType" in item]
        works = [each for each in after if isinstance(each, Card | CardComment) and each.author_id == scene.ada.user_id]
        assert len(works) == 6
        assert all(each.hidden_at for each in works)
        if enough:
            break
        await back_to(graph, before)
    assert most > 10


async def test_restoring_goes_on_wherever_it_was_cut_off(graph, workshop, engine_name):
    scene = await Scene.of(workshop)
    user = {"user_id": scene.ada.user_id}
    open_world = await snapshot(graph)
    await graph.ask(DELETE_ACCOUNT, viewer_of(scene.ada))
    await do_all_jobs(graph)
    await graph.ask(RESTORE_ACCOUNT, viewer_of(scene.ada))
    before = await everything(graph)

    for most in every_cut(engine_name, step=3):
        enough = await cut_off(graph, most, match_works_to_account, **user)
        await match_works_to_account(graph.context().load, **user)
        await do_all_jobs(graph)

        assert await snapshot(graph) == open_world
        if enough:
            break
        await back_to(graph, before)
    assert most > 10


async def exact(graph: Graph, scene: Scene) -> None:
    """Asserts the state after Ada's account is purged, with exact counts."""
    # Jobs are done later, and so is what the processor of the analytics keeps.
    items = [item for item in await everything(graph) if item["entityType"]["S"] not in ("Job", "CountedObject")]
    assert [item["PK"]["S"] for item in items if scene.ada.user_id in repr(item)] == []
    assert await left_of(graph, scene.adas[0]) == []
    assert await counts(graph, scene.bobs) == {"says": (1, 1, 0), "found": (1, 1, 0)}
    said = scene.comments["bob on bob"]
    assert await counts(graph, said) == {"says": (1, 1, 0), "found": (1, 1, 0)}
    assert await comment_counts(graph, scene.bobs) == (1, 1)
    assert [await counts_of(graph, each) for each in scene.collections.values()] == [None, 1, None]
    load = graph.context().load
    for write in await rank_cards(load, [Change(scene.bobs.own_key, What.CHANGED, now())]):
        await load.write(write)
    rank = await graph.table.get(CardRank.key(card_id=scene.bobs.card_id), consistent=True)
    assert (rank.score, rank.controversy) == (0, 2_000)
    left = [item for item in await in_table(graph, "Vote") if item["userId"]["S"] != "id-bob"]
    assert sorted(item["targetId"]["S"] for item in left) == sorted([scene.bobs.card_id, said.comment_id])


async def test_a_purged_account_leaves_nothing_and_all_counts_right(graph, workshop):
    scene = await Scene.of(workshop)
    await past_its_grace(graph, scene.ada)
    await do_all_jobs(graph)

    await exact(graph, scene)


async def test_purging_an_account_goes_on_wherever_it_was_cut_off(graph, workshop, engine_name):
    scene = await Scene.of(workshop)
    user = {"user_id": scene.ada.user_id}
    await graph.table.update(Update(scene.ada.own_key, set={"deleted_at": now(), "expires_at": 1}))
    await match_works_to_account(graph.context().load, **user)
    before = await everything(graph)

    for most in every_cut(engine_name, step=2 if THOROUGH else 11):
        enough = await cut_off(graph, most, purge_account, **user)
        await lifecycle.purge_account(graph.context().load, **user)
        await do_all_jobs(graph)

        await exact(graph, scene)
        if enough:
            break
        await back_to(graph, before)
    assert most > 10
