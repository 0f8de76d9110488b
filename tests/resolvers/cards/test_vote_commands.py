"""Votes: each counts once under concurrency, and the rankings follow."""

import asyncio
import random
from dataclasses import replace

import pytest

from datastore.accounts import User
from datastore.cards import CardCounts, CardRank, CardStatus, Vote, VoteDirection
from datastore.changes.change import Change, What
from datastore.client.budget import Usage
from datastore.client.writes import Check, Put, exists
from datastore.model.times import now
from resolvers.cards.counts import counting, counts_key, spread_counts
from resolvers.cards.processors import rank_cards
from resolvers.core.contention import CONTENTION, COUNTER_SHARDS
from tests.resolvers.cards.card_mutations import ARCHIVE, DELETE, PUBLISH
from tests.resolvers.social.test_faults import in_conflict
from tests.support.cards import Workshop, counts
from tests.support.fault_proxy import FOR_EVER, cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, problem, viewer_of

VOTE = """
mutation ($input: VoteInput!) {
  vote(input: $input) {
    vote { direction }
    card { upvoteCount downvoteCount voteScore viewerVote { direction } }
    comment { upvoteCount downvoteCount voteScore viewerVote { direction } }
    problems { code message path }
  }
}
"""
OUTBOX_UNITS = 2
TOP = "{ topCards { nodes { databaseId voteScore } } }"
CONTROVERSIAL = "{ controversialCards { nodes { databaseId } } }"


async def people_named(graph: Graph, number: int) -> list[User]:
    people = [User(user_id=f"u{n}", username=f"u{n}", email=f"u{n}@example.org") for n in range(number)]
    await graph.table.batch_write(puts=people)
    return people


def voted(ups: int, downs: int, own: str | None) -> dict:
    vote = {"direction": own} if own else None
    return {"upvoteCount": ups, "downvoteCount": downs, "voteScore": ups - downs, "viewerVote": vote}


@pytest.mark.parametrize("kind", ["card", "comment"])
async def test_a_vote_counts_moves_by_two_and_can_be_withdrawn(graph, workshop, kind):
    ada = await workshop.person("ada")
    target = await workshop.card(ada, await workshop.category("wood"))
    if kind == "comment":
        target = await workshop.comment(ada, target)
    steps = [("UP", 1, 0), ("UP", 1, 0), ("DOWN", 0, 1), ("UP", 1, 0), ("WITHDRAW", 0, 0), ("WITHDRAW", 0, 0)]

    for ballot, ups, downs in steps:
        payload = await graph.command(VOTE, viewer_of(ada), targetId=id_of(target), ballot=ballot)

        own = None if ballot == "WITHDRAW" else ballot
        assert payload["problems"] == []
        assert payload["vote"] == ({"direction": own} if own else None)
        assert payload[kind] == voted(ups, downs, own)
        assert payload["comment" if kind == "card" else "card"] is None
        assert await counts(graph, target) == {"says": (ups, downs, ups - downs), "found": (ups, downs, ups - downs)}


@pytest.mark.engine_contract
async def test_a_vote_costs_two_reads_and_a_transaction(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    query = "mutation ($input: VoteInput!) { vote(input: $input) { card { voteScore } } }"

    asked = await graph.ask(query, viewer_of(ada), input={"targetId": id_of(card), "ballot": "UP"})

    assert asked.data == {"vote": {"card": {"voteScore": 1}}}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}


async def test_many_people_vote_and_change_their_minds_at_once(graph, workshop, engine_name):
    """The score is the sum of the votes."""
    author = await workshop.person("author")
    card = await workshop.card(author, await workshop.category("wood"))
    number, turns = (200, 3) if engine_name != "moto" else (40, 2)
    people = await people_named(graph, number)
    chance = random.Random(7)
    wishes = [[chance.choice(["UP", "DOWN", "WITHDRAW"]) for _ in range(turns)] for _ in people]

    async def fickle(person: User, ballots: list[str]) -> None:
        for ballot in ballots:
            payload = await graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot=ballot)
            assert payload["problems"] == []

    await asyncio.gather(*map(fickle, people, wishes))

    ups = sum(ballots[-1] == "UP" for ballots in wishes)
    downs = sum(ballots[-1] == "DOWN" for ballots in wishes)
    assert await counts(graph, card) == {"says": (ups, downs, ups - downs), "found": (ups, downs, ups - downs)}
    await graph.settle()
    assert (await graph.ask(TOP)).data["topCards"]["nodes"] == [{"databaseId": card.card_id, "voteScore": ups - downs}]


async def test_votes_are_exact_while_the_database_throttles_and_loses_answers(graph, faulty_graph, proxy, engine_name):
    workshop = Workshop(graph)
    card = await workshop.card(await workshop.person("author"), await workshop.category("wood"))
    people = await people_named(graph, 30 if engine_name != "moto" else 8)
    chance = random.Random(5)
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.1)
    proxy.will("BatchGetItem", throttled, FOR_EVER, when=lambda _: chance.random() < 0.2)
    wishes = [[chance.choice(["UP", "DOWN"]) for _ in range(4)] for _ in people]

    async def fickle(person: User, ballots: list[str]) -> None:
        for ballot in ballots:
            payload = await faulty_graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot=ballot)
            assert payload["problems"] == []
            assert payload["card"]["viewerVote"] == {"direction": ballot}

    await asyncio.gather(*map(fickle, people, wishes))

    ups = sum(ballots[-1] == "UP" for ballots in wishes)
    downs = len(wishes) - ups
    assert await counts(graph, card) == {"says": (ups, downs, ups - downs), "found": (ups, downs, ups - downs)}


async def test_one_person_voting_many_times_at_once_has_one_vote(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    ballots = ["UP", "DOWN"] * 4

    payloads = await asyncio.gather(
        *(graph.command(VOTE, viewer_of(ada), targetId=id_of(card), ballot=ballot) for ballot in ballots)
    )

    assert {each["code"] for payload in payloads for each in payload["problems"]} <= {"CONFLICT"}
    found = await counts(graph, card)
    assert found["says"] == found["found"]
    assert sum(found["found"][:2]) == 1


async def test_the_lists_follow_the_votes_by_a_processor_and_negative_scores_sort_right(graph, workshop):
    author, wood = await workshop.person("author"), await workshop.category("wood")
    people = await people_named(graph, 12)
    cards = {score: await workshop.card(author, wood) for score in (-11, -2, 0, 2, 10)}
    for score, card in cards.items():
        for person in people[: abs(score)]:
            ballot = "UP" if score > 0 else "DOWN"
            await graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot=ballot)

    await graph.settle()

    asked = await graph.ask(TOP)
    assert [node["voteScore"] for node in asked.data["topCards"]["nodes"]] == [10, 2, 0, -2, -11]
    assert asked.calls == {"Query": 1, "BatchGetItem": 2}


async def test_ties_are_stable(graph, workshop):
    author, wood = await workshop.person("author"), await workshop.category("wood")
    cards = [await workshop.card(author, wood) for _ in range(4)]
    page = (
        "query ($after: String) { topCards(first: 2, after: $after) { nodes { databaseId } pageInfo { endCursor } } }"
    )

    first = (await graph.ask(page)).data["topCards"]
    second = (await graph.ask(page, after=first["pageInfo"]["endCursor"])).data["topCards"]

    found = [node["databaseId"] for node in first["nodes"] + second["nodes"]]
    assert found == [card.card_id for card in reversed(cards)]


async def test_controversial_is_what_many_are_divided_about(graph, workshop):
    author, wood = await workshop.person("author"), await workshop.category("wood")
    people = await people_named(graph, 8)
    for votes in ("UUUUDDDD", "UD", "UUUUUUUU", "UUUUUUUD", "UUUDDD"):
        card = await workshop.card(author, wood, title=votes)
        for person, vote in zip(people, votes, strict=False):
            await workshop.vote(person, card, VoteDirection.UP if vote == "U" else VoteDirection.DOWN)

    asked = await graph.ask("{ controversialCards { nodes { title } } }")

    titles = [node["title"] for node in asked.data["controversialCards"]["nodes"]]
    assert titles == ["UUUUDDDD", "UUUDDD", "UD", "UUUUUUUD"]
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}


async def test_a_card_that_millions_are_divided_about_is_ranked_as_well(graph, workshop):
    ada = await workshop.person("ada")
    many = {"upvote_count": 2_500_000, "downvote_count": 2_500_000, "vote_score": 0}
    card = await workshop.card(ada, await workshop.category("wood"), **many)

    await graph.command(VOTE, viewer_of(ada), targetId=id_of(card), ballot="UP")
    await graph.settle()

    assert (await graph.ask(CONTROVERSIAL)).data["controversialCards"]["nodes"] == [{"databaseId": card.card_id}]
    assert (await graph.ask(TOP)).data["topCards"]["nodes"] == [{"databaseId": card.card_id, "voteScore": 1}]


async def test_many_votes_are_ranked_with_one_write(graph, workshop):
    author = await workshop.person("author")
    card = await workshop.card(author, await workshop.category("wood"))
    for person in await people_named(graph, 5):
        await graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot="UP")
    key = CardRank.key(card_id=card.card_id)
    assert (await graph.table.get(key)).score == 0
    load = graph.context().load
    changes = [Change(counts_key(card.card_id), What.CHANGED, now()) for _ in range(5)]

    (write,) = await rank_cards(load, changes)
    await load.write(write)

    assert (await graph.table.get(key)).score == 5
    assert await rank_cards(load, changes) == []


@pytest.mark.parametrize("steps", [0, 40], ids=["small card", "large card"])
async def test_a_vote_writes_eight_units_whatever_the_size_of_the_card(graph, workshop, steps):
    """Account 2, vote 4 with its two indexes, counts 2. What records the change is a rider of every transaction."""
    ada = await workshop.person("ada")
    text = [f"{step} {random.Random(step).randbytes(100).hex()}" for step in range(steps)]
    card = await workshop.card(ada, await workshop.category("wood"), instructions=["Begin.", *text])
    vote = Put(Vote(user_id=ada.user_id, target_id=card.card_id, direction=VoteDirection.UP, card_id=card.card_id))
    counted = counting(card, {"upvote_count": 1, "vote_score": 1})
    usage = Usage.lasting(10)

    await graph.table.using(usage).transact(Check(ada.own_key, when=exists()), vote, counted)

    assert usage.write_units - OUTBOX_UNITS == 8


async def test_contended_votes_move_into_shards_and_are_counted_in_all_of_them(graph, faulty_graph, proxy):
    workshop = Workshop(graph)
    card = await workshop.card(await workshop.person("author"), await workshop.category("wood"))
    people = await people_named(graph, 12)
    proxy.will("TransactWriteItems", in_conflict, times=CONTENTION)

    await faulty_graph.command(VOTE, viewer_of(people[0]), targetId=id_of(card), ballot="UP")
    for person in people[1:]:
        payload = await graph.command(VOTE, viewer_of(person), targetId=id_of(card), ballot="UP")
        assert payload["problems"] == []

    assert (await graph.table.get(card.own_key)).count_shards == COUNTER_SHARDS
    assert payload["card"]["voteScore"] == 12
    used = (await graph.table.query(CardCounts.within(card_id=card.card_id), limit=50)).records
    assert len(used) == COUNTER_SHARDS
    assert sum(shard.upvote_count > 0 for shard in used) > 1
    await graph.settle()
    assert (await graph.ask(TOP)).data["topCards"]["nodes"] == [{"databaseId": card.card_id, "voteScore": 12}]


async def test_a_sharded_card_is_archived_published_and_deleted_with_its_counts(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"), vote_score=5, upvote_count=5)
    await spread_counts(graph.context().load, card)
    shards = CardCounts.within(card_id=card.card_id)

    states = []
    for command in (ARCHIVE, PUBLISH, DELETE):
        await graph.command(command, viewer_of(ada), cardId=id_of(card))
        page = await graph.table.query(shards, limit=50, consistent=True)
        states.append((len(page.records), {shard.listed_at for shard in page.records}))

    assert states == [(COUNTER_SHARDS, {None}), (COUNTER_SHARDS, {card.listed_at}), (0, set())]


@pytest.mark.parametrize("kind", ["draft", "archived", "deleted", "another's draft", "no card", "another thing"])
async def test_what_cannot_be_voted_on(graph, workshop, kind):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    wood = await workshop.category("wood")
    status = {"draft": CardStatus.DRAFT, "archived": CardStatus.ARCHIVED, "another's draft": CardStatus.DRAFT}
    card = await workshop.card(
        bob if kind.startswith("another's") else ada, wood, status.get(kind, CardStatus.PUBLISHED)
    )
    target = id_of(card)
    if kind == "deleted":
        card = card.changed(deleted_at=card.created_at, listed_at=None)
        await graph.table.put(card)
    elif kind == "no card":
        target = id_of(replace(card, card_id="nothing"))
    elif kind == "another thing":
        target = id_of(ada)

    payload = await graph.command(VOTE, viewer_of(ada), targetId=target, ballot="UP")

    expected = problem("NOT_FOUND", "there is no such card or comment", "input", "targetId")
    if kind == "another thing":
        message = "you can vote on a Card or a CardComment, but this is the ID of a User"
        expected = problem("INVALID", message, "input", "targetId")
    assert payload["problems"] == [expected]
    assert (await graph.table.query(Vote.by_voter(user_id=ada.user_id), limit=5)).records == []


async def test_nobody_votes_without_a_token_or_without_an_account(graph, workshop):
    ada = await workshop.person("ada", deleted_at="2026-01-01T00:00:00.000Z")
    card = await workshop.card(await workshop.person("bob"), await workshop.category("wood"))

    anonymous = await graph.command(VOTE, targetId=id_of(card), ballot="UP")
    closed = await graph.command(VOTE, viewer_of(ada), targetId=id_of(card), ballot="UP")

    assert [each["code"] for each in anonymous["problems"]] == ["UNAUTHENTICATED"]
    assert closed["problems"] == [problem("NOT_FOUND", "there is no open account for this token")]
    assert (await counts(graph, card))["says"] == (0, 0, 0)
