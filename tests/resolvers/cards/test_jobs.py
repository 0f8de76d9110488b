"""Cards are purged, hidden and restored in the background, even after an interruption."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from datastore.accounts import User
from datastore.cards import Card, CardComment, CardStatus, Collection, Vote, VoteDirection
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.client.writes import Update
from datastore.jobs import Job
from datastore.model.codec import Item
from datastore.model.entity import decode
from datastore.model.times import now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.accounts import lifecycle
from resolvers.accounts.lifecycle import match_works_to_account, purge_account
from resolvers.background import jobs
from resolvers.background.jobs import Worker
from resolvers.cards import jobs as cards_jobs
from resolvers.cards.jobs import purge_card
from resolvers.cards.ranking import needs_ranking
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.resolvers.cards.test_card_commands import DELETE
from tests.resolvers.cards.test_category_commands import UPDATE as UPDATE_CATEGORY
from tests.resolvers.cards.test_comment_commands import comment_counts
from tests.resolvers.cards.test_races import left_of
from tests.resolvers.neighborhoods.test_site_commands import in_table
from tests.resolvers.social.test_races import past_its_grace
from tests.support.cards import Workshop, counts, do_all_jobs
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import ids

UP, DOWN = VoteDirection
KINDS = ("Card", "CardComment", "Vote", "Collection", "CollectionCard", "SearchTerm")


@dataclass
class Scene:
    """Two people who have done everything to each other, and a third one who looks on."""

    ada: User
    bob: User
    adas: list[Card]
    bobs: Card
    comments: dict[str, CardComment]
    collections: dict[str, Collection]

    @classmethod
    async def of(cls, workshop: Workshop) -> "Scene":
        ada, bob, eve = [await workshop.person(name) for name in ("ada", "bob", "eve")]
        wood = await workshop.category("wood")
        adas = [await workshop.card(ada, wood, status) for status in (CardStatus.PUBLISHED, *CardStatus)]
        bobs = await workshop.card(bob, wood)
        card = adas[0]
        comments = {
            f"{author.username} on {owner}": await workshop.comment(author, target)
            for author in (ada, bob)
            for owner, target in (("ada", card), ("bob", bobs))
        }
        for voter, direction in ((ada, UP), (bob, DOWN), (eve, UP)):
            for target in (card, bobs, *comments.values()):
                await workshop.vote(voter, target, direction)
        collections = {
            "ada": await workshop.collection(ada, card, bobs),
            "bob": await workshop.collection(bob, bobs, card),
            "secret": await workshop.collection(ada, bobs, is_public=False),
        }
        await workshop.find_by_words(*adas, bobs)
        return cls(ada, bob, adas, bobs, comments, collections)


async def snapshot(graph: Graph) -> dict[tuple[str, str], Any]:
    """All there is of cards, to the last attribute, and what they are found by.

    How often votes changed is not told, but for whether the last change is ranked.
    """
    items = [item for item in await everything(graph) if item["entityType"]["S"] in KINDS]
    for item in items:
        changes, ranked = item.pop("voteChanges", None), item.pop("rankedChanges", None)
        if "listedAt" in item:
            item["isRanked"] = {"BOOL": changes == ranked}
    return {(item["PK"]["S"], item["SK"]["S"]): item.get("words") or item for item in items}


async def everything(graph: Graph) -> list[Item]:
    return [item async for item in graph.table.every_item_for_maintenance()]


async def back_to(graph: Graph, items: list[Item]) -> None:
    """Make the table what it was."""
    there = {record.own_key: record for record in map(decode, items)}
    gone = [record.own_key for record in map(decode, await everything(graph)) if record.own_key not in there]
    await graph.table.batch_write(puts=there.values(), deletes=gone)


async def counts_of(graph: Graph, collection: Collection) -> int | None:
    stored = await graph.table.get(collection.own_key, consistent=True)
    return stored.card_count if stored else None


@dataclass
class OnlySoManyCalls(Usage):
    """Allows a number of calls, regardless of the time a call takes."""

    most: int = 0

    @property
    def seconds_left(self) -> float:
        return 60.0 if self.calls.total() < self.most else 0.0


async def cut_off(graph: Graph, most: int, work: Callable[..., Awaitable[None]], **subject: str) -> bool:
    """Do a job with so many calls. Whether these were enough."""
    usage = OnlySoManyCalls(deadline=0.0, most=most)
    try:
        await work(Loaders(graph.services.table.using(usage), ANONYMOUS, consistent=True), **subject)
    except DatastoreError:
        return False
    return True


def every_cut(engine_name: str, step: int = 1) -> range:
    """After how many calls to cut; on the slow engine now and then."""
    return range(0, 1_000, step if engine_name != "moto" else 25)


async def test_a_deleted_card_is_cleared_away_with_all_that_was_about_it(graph, workshop):
    scene = await Scene.of(workshop)
    card = scene.adas[0]
    before = await snapshot(graph)
    gone_collection = await workshop.collection(scene.bob, card)
    await graph.table.batch_write(deletes=[gone_collection.own_key])

    await graph.command(DELETE, viewer_of(scene.ada), cardId=id_of(card))
    await do_all_jobs(graph)

    assert await left_of(graph, card) == []
    after = await snapshot(graph)
    said = [comment.comment_id for comment in scene.comments.values() if comment.card_id == card.card_id]
    kept = {place: item for place, item in before.items() if not any(id in repr(item) for id in (card.card_id, *said))}
    counted = {scene.collections[name].own_key[1:] for name in ("ada", "bob")}
    assert {place: item for place, item in after.items() if place not in counted} == {
        place: item for place, item in kept.items() if place not in counted and f"CARD#{card.card_id}" not in place
    }
    assert [await counts_of(graph, each) for each in scene.collections.values()] == [1, 1, 1]
    assert (await counts(graph, scene.bobs))["says"] == (2, 1, 1)


async def test_more_than_a_batch_is_cleared_away(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"), comment_count=120)
    comments = [
        CardComment(card_id=card.card_id, comment_id=f"c{n:03d}", author_id="id-ada", content="x") for n in range(120)
    ]
    votes = [Vote(user_id=f"u{n:03d}", target_id=card.card_id, card_id=card.card_id, direction=UP) for n in range(130)]
    on_comment = [
        Vote(
            user_id=f"u{n:03d}",
            target_id="c007",
            card_id=card.card_id,
            direction=UP,
            commented_at=comments[7].created_at,
        )
        for n in range(110)
    ]
    await graph.table.batch_write(puts=[*comments, *votes, *on_comment])

    await graph.command(DELETE, viewer_of(ada), cardId=id_of(card))
    await do_all_jobs(graph)

    assert await left_of(graph, card) == []


async def test_clearing_a_card_away_goes_on_wherever_it_was_cut_off(graph, workshop, engine_name):
    scene = await Scene.of(workshop)
    card = scene.adas[0]
    await graph.command(DELETE, viewer_of(scene.ada), cardId=id_of(card))
    before = await everything(graph)

    for most in every_cut(engine_name):
        enough = await cut_off(graph, most, purge_card, card_id=card.card_id)
        assert enough is (await left_of(graph, card) == [])
        await purge_card(graph.context().load, card_id=card.card_id)

        assert await left_of(graph, card) == []
        assert [await counts_of(graph, each) for each in scene.collections.values()] == [1, 1, 1]
        if enough:
            break
        await back_to(graph, before)
    assert most > 10


async def test_a_card_is_not_cleared_away_before_the_indexes_have_what_was_written_last(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))

    await graph.command(DELETE, viewer_of(ada), cardId=id_of(card))
    (job,) = (await graph.table.query(Job.within(), limit=5)).records

    assert (job.kind, job.subject) == ("purge_card", {"card_id": card.card_id})
    assert job.due_at > (await graph.table.get(card.own_key)).deleted_at
    assert await Worker(graph.table).do_what_is_due() == 0


WORLD = """query ($ada: ID!, $bob: ID!, $adas: ID!, $bobs: ID!, $said: ID!, $kept: ID!) {
    ada: user(id: $ada) { cards { nodes { id } } cardComments { nodes { id } } collections { nodes { id } } }
    bob: user(id: $bob) { cardComments { nodes { id } } collections { nodes { cardCount cards { nodes { id } } } } }
    adas: card(id: $adas) { id }
    bobs: card(id: $bobs) { commentCount voteScore comments { nodes { id } }
        votes { nodes { direction voter { username } } } }
    said: node(id: $said) { id } kept: collection(id: $kept) { id }
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
    terms = {item["cardId"]["S"] for item in await in_table(graph, "SearchTerm")}
    assert terms == {scene.bobs.card_id}


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
        assert {item["cardId"]["S"] for item in await in_table(graph, "SearchTerm")} == {scene.bobs.card_id}
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


@pytest.mark.parametrize("kind", ["a category", "an account"])
async def test_indexing_many_cards_gets_on_however_little_time_a_job_has(graph, workshop, monkeypatch, kind):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    cards = [await workshop.card(ada, wood) for _ in range(12)]
    await workshop.find_by_words(*cards)
    if kind == "a category":
        await graph.command(UPDATE_CATEGORY, viewer_of(ada, "admin"), categoryId=id_of(wood), name="Iron")
        wanted = {card.card_id: "iron" for card in cards}
    else:
        await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
        wanted = {}
    monkeypatch.setattr(cards_jobs, "BATCH", 4)
    monkeypatch.setattr(jobs.Usage, "lasting", lambda _: OnlySoManyCalls(deadline=0.0, most=60))

    await do_all_jobs(graph)

    terms = await in_table(graph, "SearchTerm")
    assert not [item for item in terms if item["term"]["S"] == "wood"]
    assert {item["cardId"]["S"]: item["term"]["S"] for item in terms if item["term"]["S"] == "iron"} == wanted


async def exact(graph: Graph, scene: Scene) -> None:
    """Asserts the state after Ada's account is purged, with exact counts."""
    items = await everything(graph)
    assert [item["PK"]["S"] for item in items if item["PK"]["S"] != "JOBS" and scene.ada.user_id in repr(item)] == []
    assert await left_of(graph, scene.adas[0]) == []
    assert await counts(graph, scene.bobs) == {"says": (1, 1, 0), "found": (1, 1, 0)}
    said = scene.comments["bob on bob"]
    assert await counts(graph, said) == {"says": (1, 1, 0), "found": (1, 1, 0)}
    assert await comment_counts(graph, scene.bobs) == (1, 1)
    assert [await counts_of(graph, each) for each in scene.collections.values()] == [None, 1, None]
    bobs = await graph.table.get(scene.bobs.own_key, consistent=True)
    assert (bobs.ranked_score, bobs.controversy, needs_ranking(bobs)) == (0, 2_000, False)
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

    for most in every_cut(engine_name, step=2):
        enough = await cut_off(graph, most, purge_account, **user)
        await lifecycle.purge_account(graph.context().load, **user)
        await do_all_jobs(graph)

        await exact(graph, scene)
        if enough:
            break
        await back_to(graph, before)
    assert most > 10
