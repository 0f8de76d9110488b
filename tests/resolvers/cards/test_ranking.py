"""Trending cards: by votes, comments and views, newer ones first."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from datastore.accounts import User
from datastore.cards import Card, CardCommentRank, CardRank, CardStatus, Category
from datastore.client.writes import Update
from datastore.model.times import Time, as_time
from loaders import merge, pages
from resolvers.cards.counts import counts_key
from resolvers.core.rankings import heat
from tests.resolvers.cards.card_mutations import ARCHIVE, DELETE, PUBLISH
from tests.resolvers.cards.test_comment_commands import SAY, UNSAY
from tests.resolvers.cards.test_vote_commands import VOTE, people_named
from tests.support.cards import Workshop
from tests.support.graph import Graph, id_of, viewer_of

TRENDING = "query ($days: Int! = 7) { trendingCards(days: $days) { nodes { title } } }"
PAGED = """query ($first: Int, $after: String, $last: Int, $before: String, $days: Int! = 7) {
  trendingCards(first: $first, after: $after, last: $last, before: $before, days: $days) {
    nodes { title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""

# Early today: nothing in these tests is about the hour.
MORNING = datetime.now(UTC).replace(hour=0, minute=0, second=1, microsecond=0)


class Stall:
    """Cards of a few days."""

    def __init__(self, workshop: Workshop, author: User, category: Category) -> None:
        self._workshop = workshop
        self._author = author
        self._category = category

    async def card(self, title: str, *, days: float = 0, **fields: Any) -> Card:
        moment = as_time(MORNING - timedelta(days=days))
        given = {"title": title, "created_at": moment, "published_at": moment, **fields}
        return await self._workshop.card(self._author, self._category, **given)

    async def votes(self, card: Card, score: int) -> None:
        await self._workshop.count(card, vote_score=score)


@pytest.fixture
async def stall(workshop: Workshop) -> Stall:
    return Stall(workshop, await workshop.person("author"), await workshop.category("wood"))


async def trending(graph: Graph, **given: Any) -> list[str]:
    asked = await graph.ask(TRENDING, **given)
    return [node["title"] for node in asked.data["trendingCards"]["nodes"]]


async def test_of_the_same_age_the_one_with_more_votes_is_hotter(graph, stall):
    for score in (0, -7, 12, 3, -2, 150):
        await stall.card(str(score), vote_score=score)

    assert await trending(graph) == ["150", "12", "3", "0", "-2", "-7"]


async def test_a_comment_counts_as_two_votes_and_twenty_views_as_one(graph, stall):
    await stall.card("10 votes", vote_score=10)
    await stall.card("6 comments", comment_count=6)
    await stall.card("220 views", view_count=220)
    await stall.card("some of each", vote_score=5, comment_count=2, view_count=81)
    await stall.card("talked about and voted down", vote_score=-30, comment_count=16)

    assert await trending(graph) == [
        "some of each",
        "6 comments",
        "220 views",
        "10 votes",
        "talked about and voted down",
    ]


async def test_ten_times_as_much_makes_up_for_a_day(graph, stall):
    await stall.card("new", vote_score=5)
    await stall.card("a day old, not quite", days=1, vote_score=49)
    await stall.card("a day old", days=1, vote_score=51)
    await stall.card("two days old", days=2, vote_score=520)
    await stall.card("two days old, not quite", days=2, vote_score=480)
    await stall.card("fresh and unknown")
    await stall.card("old and disliked", days=3, vote_score=-100)
    await stall.card("old and unknown", days=3)

    assert await trending(graph) == [
        "two days old",
        "a day old",
        "new",
        "a day old, not quite",
        "two days old, not quite",
        "fresh and unknown",
        "old and unknown",
        "old and disliked",
    ]


async def test_of_equals_the_newest_come_first(graph, stall):
    for number in range(4):
        await stall.card(str(number), vote_score=7)

    assert await trending(graph) == ["3", "2", "1", "0"]


async def test_only_so_many_days_are_looked_at(graph, stall):
    for age in range(16):
        await stall.card(f"{age}", days=age, vote_score=10 ** (age // 2))

    assert sorted(await trending(graph, days=1), key=int) == ["0"]
    assert sorted(await trending(graph, days=3), key=int) == ["0", "1", "2"]
    assert sorted(await trending(graph), key=int) == [str(age) for age in range(7)]
    assert sorted(await trending(graph, days=14), key=int) == [str(age) for age in range(14)]


@pytest.mark.parametrize("days", [0, -1, 15, 10_000])
async def test_the_days_have_bounds(graph, days):
    asked = await graph.ask(TRENDING, days=days)

    assert asked.error["message"] == f"`days` is {days}; it goes from 1 to 14"
    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.calls == {}


@pytest.mark.parametrize("days", [1, 7, 14])
async def test_it_costs_a_query_a_day(graph, stall, days):
    for age in range(3):
        await stall.card(str(age), days=age)

    asked = await graph.ask(TRENDING, days=days)

    assert len(asked.data["trendingCards"]["nodes"]) == min(days, 3)
    assert asked.calls == {"Query": days, "BatchGetItem" if days > 1 else "GetItem": 1}


async def test_what_lists_leave_out_is_read_for_the_page_alone(graph, stall):
    for number in range(5):
        await stall.card(str(number), vote_score=number)

    asked = await graph.ask("{ trendingCards(first: 2, days: 1) { nodes { title instructions author { username } } } }")

    node = {"instructions": ["Begin.", "End."], "author": {"username": "author"}}
    assert asked.data["trendingCards"]["nodes"] == [{"title": "4", **node}, {"title": "3", **node}]
    assert asked.calls == {"Query": 1, "BatchGetItem": 1, "GetItem": 1}


async def test_drafts_and_archived_cards_are_in_no_ranking(graph, stall):
    await stall.card("shown")
    await stall.card("draft", status=CardStatus.DRAFT)
    await stall.card("archived", status=CardStatus.ARCHIVED)

    assert await trending(graph) == ["shown"]


async def all_pages(graph: Graph, size: int, *, backward: bool = False) -> list[list[str]]:
    found: list[list[str]] = []
    cursor = None
    while True:
        paging = {"last": size, "before": cursor} if backward else {"first": size, "after": cursor}
        page = (await graph.ask(PAGED, **paging)).data["trendingCards"]
        found.append([node["title"] for node in page["nodes"]])
        info = page["pageInfo"]
        if not info["hasPreviousPage" if backward else "hasNextPage"]:
            return found
        cursor = info["startCursor" if backward else "endCursor"]


async def test_pages_go_both_ways_also_through_equals(graph, stall):
    for number in range(7):
        await stall.card(str(number), days=number % 2, vote_score=9)

    order = ["6", "4", "2", "0", "5", "3", "1"]
    assert await trending(graph) == order
    assert await all_pages(graph, 3) == [order[:3], order[3:6], order[6:]]
    assert await all_pages(graph, 3, backward=True) == [order[4:], order[1:4], order[:1]]
    assert await all_pages(graph, 7) == [order]


async def test_pages_are_full_of_what_may_be_seen_however_much_is_hidden(graph, stall, monkeypatch):
    """An index may list an unpublished card for a moment."""
    monkeypatch.setattr(pages, "REFILL", 3)
    monkeypatch.setattr(merge, "REFILL", 3)
    for number in range(12):
        card = await stall.card(str(number), vote_score=number + 2)
        if number % 4:
            await graph.table.put(card.changed(status=CardStatus.ARCHIVED))

    assert await all_pages(graph, 1) == [["8"], ["4"], ["0"]]
    assert await all_pages(graph, 2) == [["8", "4"], ["0"]]
    assert await all_pages(graph, 2, backward=True) == [["4", "0"], ["8"]]


async def test_a_card_that_rises_between_two_pages_is_not_in_the_way(graph, stall):
    cards = [await stall.card(str(number), vote_score=10 * number + 10) for number in range(6)]
    first = (await graph.ask(PAGED, first=2)).data["trendingCards"]
    await stall.votes(cards[0], 1_000)
    await graph.table.delete(cards[4].own_key)

    second = (await graph.ask(PAGED, first=2, after=first["pageInfo"]["endCursor"])).data["trendingCards"]
    back = (await graph.ask(PAGED, last=5, before=second["pageInfo"]["startCursor"])).data["trendingCards"]

    assert [node["title"] for node in first["nodes"]] == ["5", "4"]
    assert [node["title"] for node in second["nodes"]] == ["3", "2"]
    assert [node["title"] for node in back["nodes"]] == ["0", "5"]


async def test_a_cursor_belongs_to_its_days(graph, stall):
    for number in range(3):
        await stall.card(str(number))
    first = (await graph.ask(PAGED, first=1)).data["trendingCards"]

    other = await graph.ask(PAGED, first=1, after=first["pageInfo"]["endCursor"], days=3)

    assert other.error["extensions"]["code"] == "INVALID"


async def test_the_best_of_a_day_is_found_however_many_came_after_it(graph, stall):
    await stall.card("best", vote_score=3)
    for number in range(250):
        at = as_time(MORNING + timedelta(milliseconds=number))
        await stall.card(str(number), created_at=at, published_at=at)

    asked = await graph.ask("{ trendingCards(days: 1, first: 1) { nodes { title voteScore } } }")

    assert asked.data["trendingCards"]["nodes"] == [{"title": "best", "voteScore": 3}]
    assert asked.calls == {"Query": 1, "BatchGetItem": 1, "GetItem": 1}


async def test_no_score_is_too_large_or_too_small_to_be_ranked(graph, stall):
    for score in (2**31 - 1, -(2**31), 1, 0, -1):
        await stall.card(str(score), vote_score=score)

    assert await trending(graph) == ["2147483647", "-1", "0", "1", "-2147483648"]


def test_ten_times_the_points_are_worth_as_much_as_a_day():
    assert heat(100, Time("2026-01-01T12:00:00.000Z")) == heat(10, Time("2026-01-02T12:00:00.000Z"))


async def test_the_processor_ranks_by_votes_comments_and_views(graph, workshop, stall):
    quiet, busy = await stall.card("quiet", vote_score=1), await stall.card("busy")
    people = await people_named(graph, 3)
    for person in people:
        await graph.command(VOTE, viewer_of(person), targetId=id_of(busy), ballot="UP")
    await graph.command(SAY, viewer_of(people[0]), cardId=id_of(busy), content="Hm.")
    await graph.table.update(Update(counts_key(busy.card_id), add={"view_count": 100}))

    await graph.settle()

    assert await trending(graph) == ["busy", "quiet"]
    rank = await graph.table.get(CardRank.key(card_id=busy.card_id))
    assert (rank.score, rank.heat) == (3, heat(3 + 2 + 5, busy.published_at))
    assert (await graph.table.get(CardRank.key(card_id=quiet.card_id))).score == 1


@pytest.mark.parametrize("command", [ARCHIVE, DELETE])
async def test_a_card_that_is_no_longer_public_loses_its_rank(graph, workshop, command):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))

    await graph.command(command, viewer_of(ada), cardId=id_of(card))
    await graph.settle()

    assert await graph.table.get(CardRank.key(card_id=card.card_id)) is None


async def test_a_published_draft_is_ranked(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"), CardStatus.DRAFT)

    await graph.command(PUBLISH, viewer_of(ada), cardId=id_of(card))
    await graph.settle()

    assert (await graph.ask("{ topCards { nodes { voteScore } } }")).data["topCards"]["nodes"] == [{"voteScore": 0}]
    assert await trending(graph) == [card.title]


async def test_recent_cards_go_back_any_number_of_days(graph, stall):
    for age in (0, 1, 40, 400):
        await stall.card(str(age), days=age)
    await stall.card("draft", status=CardStatus.DRAFT)
    recent = "query ($days: Int) { recentCards(days: $days) { nodes { title } } }"

    found = {days: await graph.ask(recent, days=days) for days in (1, 2, 41, 100_000, None)}

    titles = {days: [node["title"] for node in asked.data["recentCards"]["nodes"]] for days, asked in found.items()}
    everything = ["0", "1", "40", "400"]
    assert titles == {1: ["0"], 2: ["0", "1"], 41: everything[:3], 100_000: everything, None: everything}
    assert all(asked.calls == {"Query": 1} for asked in found.values())


async def test_recent_cards_are_of_at_least_a_day(graph):
    asked = await graph.ask("{ recentCards(days: 0) { nodes { title } } }")

    assert asked.error["message"] == "`days` is 0; it goes from 1 to 100,000"


async def test_comments_are_listed_by_score(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    said = {text: await workshop.comment(ada, card, content=text) for text in ("good", "bad", "new")}
    for text, ballot in (("good", "UP"), ("bad", "DOWN")):
        await graph.command(VOTE, viewer_of(bob), targetId=id_of(said[text]), ballot=ballot)
    await graph.settle()
    query = """query ($card: String!, $order: CommentOrder!) {
      card(by: {databaseId: $card}) { comments(orderBy: $order) { totalCount nodes { content voteScore } } } }"""

    found = {order: await graph.ask(query, card=card.card_id, order=order) for order in ("TOP", "OLDEST_FIRST")}

    top, oldest = (asked.data["card"]["comments"] for asked in found.values())
    assert [node["content"] for node in top["nodes"]] == ["good", "new", "bad"]
    assert [node["voteScore"] for node in top["nodes"]] == [1, 0, -1]
    assert [node["content"] for node in oldest["nodes"]] == ["good", "bad", "new"]
    assert (top["totalCount"], oldest["totalCount"]) == (3, 3)
    assert found["TOP"].calls == {"GetItem": 2, "Query": 1, "BatchGetItem": 1}
    assert found["OLDEST_FIRST"].calls == {"GetItem": 2, "Query": 1}


async def test_a_deleted_comment_loses_its_rank(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(ada, await workshop.category("wood"))
    comment = await workshop.comment(ada, card)

    await graph.command(UNSAY, viewer_of(ada), commentId=id_of(comment))
    await graph.settle()

    assert (await graph.table.query(CardCommentRank.within(card_id=card.card_id), limit=5)).records == []
