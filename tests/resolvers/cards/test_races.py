"""Cards, comments and votes that change at the same time stay consistent."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from datastore.cards import Card, CardComment, CardRank, CardStatus, VoteDirection
from datastore.client.writes import Update
from datastore.model.times import now
from resolvers.accounts.lifecycle import match_works_to_account
from resolvers.accounts.visibility_sync import purge_works
from resolvers.cards.jobs import purge_card
from resolvers.cards.ranking import in_place
from tests.resolvers.cards.card_mutations import ARCHIVE, DELETE, NO_CARD, NO_COMMENT, PUBLISH, UPDATE, stored
from tests.resolvers.cards.test_comment_commands import EDIT, SAY, UNSAY, comment_counts
from tests.resolvers.cards.test_vote_commands import VOTE, people_named
from tests.resolvers.neighborhoods.test_site_commands import in_table
from tests.resolvers.social.test_faults import in_conflict
from tests.support.cards import Workshop, counts, do_all_jobs
from tests.support.fault_proxy import FOR_EVER, Answer, Call, Fault, cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, problem, viewer_of

ADD = "mutation ($input: AddToCollectionInput!) { addToCollection(input: $input) { problems { code } } }"


async def left_of(graph: Graph, card: Card) -> list[tuple[str, str]]:
    """Returns the items that mention this card, except jobs."""
    items = [item for item in await graph.items() if item["entityType"]["S"] != "Job"]
    return [(item["PK"]["S"], item["SK"]["S"]) for item in items if card.card_id in repr(item)]


def meanwhile(happens: Callable[[], Awaitable[object]]) -> Fault:
    """Something that happens after a command has decided and before it writes."""

    async def first(call: Call) -> Answer:
        await happens()
        return Answer.of(*await call.forward())

    return first


async def test_comments_come_and_go_while_the_database_throttles_and_loses_answers(
    graph, faulty_graph, proxy, engine_name
):
    workshop = Workshop(graph)
    card = await workshop.card(await workshop.person("author"), await workshop.category("wood"))
    people = await people_named(graph, 20 if engine_name != "moto" else 6)
    chance = random.Random(3)
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.1)
    deletes = [chance.random() < 0.5 for _ in people]

    async def talk(person, takes_it_back: bool) -> None:
        for _ in range(2):
            said = await faulty_graph.command(SAY, viewer_of(person), cardId=id_of(card), content="Hm.")
            assert said["problems"] == []
        if takes_it_back:
            # Twice at once: it is gone once.
            unsaid = await asyncio.gather(
                *(faulty_graph.command(UNSAY, viewer_of(person), commentId=said["comment"]["id"]) for _ in range(2))
            )
            assert sorted(len(payload["problems"]) for payload in unsaid) == [0, 1]

    await asyncio.gather(*map(talk, people, deletes))

    expected = 2 * len(people) - sum(deletes)
    assert await comment_counts(graph, card) == (expected, expected)


async def test_of_many_changes_to_one_version_one_is_made(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))

    payloads = await asyncio.gather(
        *(
            graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, title=f"Title {number}")
            for number in range(8)
        )
    )

    (winner,) = [payload["card"] for payload in payloads if not payload["problems"]]
    outdated = problem("CONFLICT", "the current version is 2; read it again", "input", "expectedVersion")
    refused = [payload["problems"] for payload in payloads if payload["problems"]]
    assert refused == [[{**outdated, "currentVersion": 2}]] * 7
    after = await stored(graph, card)
    assert (after.version, after.title) == (2, winner["title"])


@pytest.mark.parametrize("status", [CardStatus.PUBLISHED, CardStatus.ARCHIVED])
async def test_publishing_and_archiving_at_once_ends_as_one_of_them(graph, workshop, status):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"), status)
    await workshop.find_by_words(card)

    payloads = await asyncio.gather(
        *(graph.command(command, viewer_of(ada), cardId=id_of(card)) for command in (PUBLISH, ARCHIVE) * 3)
    )
    await do_all_jobs(graph)

    codes = {each["code"] for payload in payloads for each in payload["problems"]}
    assert codes <= {"CONFLICT"}
    after = await stored(graph, card)
    assert after == in_place(after, updated_at=after.updated_at)
    found = await graph.ask('{ searchCards(text: "card") { nodes { status } } topCards { nodes { status } } }')
    listed = [{"status": "PUBLISHED"}] if after.status is CardStatus.PUBLISHED else []
    assert found.data == {"searchCards": {"nodes": listed}, "topCards": {"nodes": listed}}


async def test_of_a_card_that_is_deleted_while_everybody_is_at_it_nothing_is_left(graph, workshop, engine_name):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    people = await people_named(graph, 8 if engine_name != "moto" else 3)
    collections = [await workshop.collection(person) for person in people]

    async def busy(person, collection) -> None:
        said = await graph.command(SAY, viewer_of(person), cardId=id_of(card), content="Hm.")
        await graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot="UP")
        if said["comment"]:
            await graph.command(VOTE, viewer_of(person), targetId=said["comment"]["id"], ballot="DOWN")
        await graph.command(ADD, viewer_of(person), collectionId=id_of(collection), cardId=id_of(card))

    async def delete() -> None:
        await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, title="Wax it")
        deleted = await graph.command(DELETE, viewer_of(ada), cardId=id_of(card))
        assert deleted["problems"] == []

    await asyncio.gather(*map(busy, people, collections), delete())
    await do_all_jobs(graph)

    assert await left_of(graph, card) == []
    assert {item["cardCount"]["N"] for item in await in_table(graph, "Collection")} == {"0"}


async def test_a_comment_that_is_cleared_away_with_its_card_meanwhile_is_not_there(graph, faulty_graph, proxy):
    workshop = Workshop(graph)
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(ada, card)

    async def purge() -> None:
        await graph.command(DELETE, viewer_of(ada), cardId=id_of(card))
        await purge_card(graph.context().load, card_id=card.card_id)

    proxy.will("TransactWriteItems", meanwhile(purge), 1)
    payload = await faulty_graph.command(UNSAY, viewer_of(ada), commentId=id_of(comment))

    assert payload == {"deletedCommentId": None, "card": None, "problems": [NO_COMMENT]}


async def test_a_comment_that_is_deleted_meanwhile_is_not_brought_back_by_an_edit(graph, faulty_graph, proxy):
    workshop = Workshop(graph)
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(ada, card)

    async def delete() -> None:
        await graph.command(UNSAY, viewer_of(ada), commentId=id_of(comment))

    proxy.will("TransactWriteItems", meanwhile(delete), 1)
    payload = await faulty_graph.command(EDIT, viewer_of(ada), commentId=id_of(comment), content="Hm.")

    assert payload["problems"] == [problem("CONFLICT", "it changed in the meantime; try again")]
    assert await comment_counts(graph, card) == (0, 0)


@pytest.mark.parametrize("kind", ["archived", "deleted", "hidden"])
async def test_nothing_is_said_about_a_card_that_goes_meanwhile(graph, faulty_graph, proxy, kind):
    workshop = Workshop(graph)
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))

    async def goes() -> None:
        if kind == "hidden":
            await graph.table.update(Update(ada.own_key, set={"deleted_at": now()}))
            await match_works_to_account(graph.context().load, user_id=ada.user_id)
        else:
            command = DELETE if kind == "deleted" else ARCHIVE
            await graph.command(command, viewer_of(ada), cardId=id_of(card))

    proxy.will("TransactWriteItems", meanwhile(goes), 1)
    payload = await faulty_graph.command(SAY, viewer_of(bob), cardId=id_of(card), content="Hm.")

    assert payload == {"comment": None, "problems": [NO_CARD]}
    assert await comment_counts(graph, card) == (0, 0)


@pytest.mark.parametrize("kind", ["archived", "hidden"])
async def test_a_card_that_comes_back_while_a_vote_is_withdrawn_is_ranked_by_what_is_left(
    graph, faulty_graph, proxy, kind
):
    workshop = Workshop(graph)
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    for voter in (ada, bob):
        await workshop.vote(voter, card, VoteDirection.UP)
    if kind == "archived":
        await graph.command(ARCHIVE, viewer_of(ada), cardId=id_of(card))
    else:
        await graph.table.put(in_place(card, hidden_at=now()))

    async def voter_is_purged() -> None:
        await purge_works(graph.context().load, bob.user_id)
        await do_all_jobs(graph)

    proxy.will("TransactWriteItems", meanwhile(voter_is_purged), 1)
    if kind == "archived":
        await faulty_graph.command(PUBLISH, viewer_of(ada), cardId=id_of(card))
    else:
        await match_works_to_account(faulty_graph.context().load, user_id=ada.user_id)
    await do_all_jobs(graph)

    assert (await stored(graph, card)).status is CardStatus.PUBLISHED
    assert (await counts(graph, card))["says"] == (1, 0, 1)
    assert (await graph.table.get(CardRank.key(card_id=card.card_id))).score == 1


@pytest.mark.parametrize("command", [ARCHIVE, DELETE], ids=["archived", "deleted"])
async def test_a_card_that_is_ranked_while_it_goes_is_in_no_ranking(graph, faulty_graph, proxy, command):
    workshop = Workshop(graph)
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))

    async def votes_are_ranked() -> None:
        for voter, ballot in ((ada, "UP"), (bob, "DOWN")):
            await graph.command(VOTE, viewer_of(voter), targetId=id_of(card), ballot=ballot)
        await do_all_jobs(graph)

    proxy.will("TransactWriteItems", meanwhile(votes_are_ranked), 1)
    payload = await faulty_graph.command(command, viewer_of(ada), cardId=id_of(card))

    await graph.settle()
    assert payload["problems"] == []
    (item,) = await in_table(graph, "Card")
    assert not {"GSI1PK", "GSI3PK", "GSI4PK"} & item.keys()
    assert await in_table(graph, "CardRank") == []


async def test_hiding_what_is_deleted_meanwhile_leaves_nothing(graph, faulty_graph, proxy):
    workshop = Workshop(graph)
    ada, bob = await workshop.person("ada"), await workshop.person("bob", deleted_at=now())
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(bob, card)

    async def delete() -> None:
        await graph.command(UNSAY, viewer_of(ada), commentId=id_of(comment))

    proxy.will("TransactWriteItems", meanwhile(delete), 1)
    await match_works_to_account(faulty_graph.context().load, user_id=bob.user_id)

    await graph.settle()
    assert await comment_counts(graph, card) == (0, 0)
    assert {sk for _, sk in await left_of(graph, card)} == {"METADATA", "COUNTS#0", "RANK"}


async def test_two_who_publish_a_draft_at_once_publish_it_once(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"), CardStatus.DRAFT)

    payloads = await asyncio.gather(*(graph.command(PUBLISH, viewer_of(ada), cardId=id_of(card)) for _ in range(6)))

    assert payloads == [{"card": {"status": "PUBLISHED", "version": 2}, "problems": []}] * 6


@pytest.mark.parametrize("mishap", [throttled, in_conflict, error_500, cut_before, cut_after])
async def test_a_command_is_done_once_whatever_happens_to_the_write(graph, faulty_graph, proxy, engine_name, mishap):
    if engine_name == "moto" and mishap is cut_after:
        pytest.skip("moto ignores ClientRequestToken")
    workshop = Workshop(graph)
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    proxy.will("TransactWriteItems", mishap, 2)

    said = await faulty_graph.command(SAY, viewer_of(ada), cardId=id_of(card), content="Hm.")
    changed = await faulty_graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, title="Wax it")

    assert (said["problems"], changed["problems"]) == ([], [])
    assert await comment_counts(graph, card) == (1, 1)
    page = await graph.table.query(CardComment.within(card_id=card.card_id), limit=5)
    assert [comment.content for comment in page.records] == ["Hm."]
    assert (await stored(graph, card)).version == 2
