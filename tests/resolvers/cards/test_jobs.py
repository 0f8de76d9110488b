"""Jobs of cards: clearing a deleted card away, and indexing."""

from datastore.cards import CardComment, Vote
from resolvers.background.jobs import Worker
from resolvers.cards.jobs import purge_card
from tests.resolvers.cards.card_mutations import DELETE
from tests.resolvers.cards.scene import (
    UP,
    Scene,
    back_to,
    counts_of,
    cut_off,
    every_cut,
    everything,
    snapshot,
)
from tests.resolvers.cards.test_races import left_of
from tests.support.cards import counts, do_all_jobs
from tests.support.graph import id_of, viewer_of


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
        assert not enough or await left_of(graph, card) == []
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
    (job,) = await graph.jobs()

    assert (job.kind, job.subject) == ("purge_card", {"card_id": card.card_id})
    assert job.due_at > (await graph.table.get(card.own_key)).deleted_at
    assert await Worker(graph.table).do_what_is_due() == 0
