"""Filters and orders of lists of cards, each with its calls."""

from datetime import UTC, datetime
from typing import Any

import pytest

from datastore.cards import CardStatus, Difficulty
from datastore.model.times import as_time
from loaders import pages
from schema.build import build
from schema.http.protocol import GraphQLRequest
from tests.schema.hostile import cost, whole
from tests.support.cards import Workshop
from tests.support.graph import listed, viewer_of
from tests.support.social import ids

EASY, HARD = Difficulty.BEGINNER, Difficulty.EXPERT
IN_CATEGORY = 'category(by: { databaseId: "wood" }) { cards%s { nodes { id } } }'
PAGE = """query ($size: Int, $after: String) { category(by: { databaseId: "wood" }) {
    cards(difficulty: EXPERT, first: $size, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } } }"""


async def add_cards(workshop: Workshop) -> list[Any]:
    ada = await workshop.person("ada")
    wood = await workshop.category("wood")
    return [
        await workshop.card(ada, wood, difficulty=EASY, tags=["Oak"], estimated_time=30),
        await workshop.card(ada, wood, difficulty=HARD, tags=["oak", "Pine"], estimated_time=90),
        await workshop.card(ada, wood, difficulty=HARD, tags=["pine"], estimated_time=20),
        await workshop.card(ada, wood, difficulty=HARD, tags=[], estimated_time=None),
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("(difficulty: EXPERT)", [3, 2, 1]),
        ("(difficulty: ADVANCED)", []),
        ("(difficulty: null, tags: null, maxEstimatedTime: null)", [3, 2, 1, 0]),
        ('(tags: ["OAK"])', [1, 0]),
        ('(tags: ["oak", " pine"])', [1]),
        ("(tags: [])", [3, 2, 1, 0]),
        ("(maxEstimatedTime: 30)", [2, 0]),
        ("(maxEstimatedTime: -1)", []),
        ('(difficulty: EXPERT, tags: ["pine"], maxEstimatedTime: 89)', [2]),
        ("(orderBy: OLDEST_FIRST)", [0, 1, 2, 3]),
        ("(orderBy: NEWEST_FIRST)", [3, 2, 1, 0]),
        ("(orderBy: OLDEST_FIRST, difficulty: EXPERT, last: 2)", [2, 3]),
    ],
)
async def test_cards_of_a_category(graph, workshop, arguments, found):
    cards = await add_cards(workshop)

    asked = await graph.ask("{ " + IN_CATEGORY % arguments + " }")

    assert asked.data["category"]["cards"] == listed(*(cards[place] for place in found))
    assert asked.calls == {"GetItem": 1, "Query": 1}


async def test_every_list_of_cards_takes_the_filters(graph, workshop):
    cards = await add_cards(workshop)
    date = cards[0].listed_on
    query = """query ($date: Date!) {
        cardsOn(date: $date, difficulty: EXPERT, orderBy: OLDEST_FIRST) { nodes { id } }
        topCards(tags: ["oak"], difficulty: EXPERT) { nodes { id } }
        controversialCards(maxEstimatedTime: 10) { nodes { id } }
        user(by: { username: "ada" }) { cards(maxEstimatedTime: 30, orderBy: OLDEST_FIRST) { nodes { id } } } }"""

    asked = await graph.ask(query, date=date)

    assert asked.data == {
        "cardsOn": listed(*cards[1:]),
        "topCards": listed(cards[1]),
        "controversialCards": listed(),
        "user": {"cards": listed(cards[0], cards[2])},
    }
    assert asked.calls == {"Query": 5, "BatchGetItem": 1}


async def test_trending_cards_are_filtered_in_their_order(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    today = {"created_at": as_time(datetime.now(UTC))}
    easy, hard = [await workshop.card(ada, wood, difficulty=each, **today) for each in (EASY, HARD)]

    asked = await graph.ask(
        """{ all: trendingCards(days: 1) { nodes { id } }
            some: trendingCards(days: 1, difficulty: EXPERT) { nodes { id } } }"""
    )

    assert {node["id"] for node in asked.data["all"]["nodes"]} == {*ids(easy, hard)}
    assert asked.data["some"] == listed(hard)
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}


async def test_drafts_are_filtered_for_their_author(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    draft = await workshop.card(ada, wood, CardStatus.DRAFT, difficulty=HARD)
    await workshop.card(ada, wood, CardStatus.DRAFT, difficulty=EASY)
    query = '{ user(by: { username: "ada" }) { cards(status: DRAFT, difficulty: EXPERT) { nodes { id } } } }'

    assert (await graph.ask(query, viewer_of(ada))).data["user"]["cards"] == listed(draft)
    bob = await workshop.person("bob")
    assert (await graph.ask(query, viewer_of(bob))).data["user"]["cards"] is None


async def test_a_page_without_matches_ends_after_its_budget_and_goes_on(graph, workshop, monkeypatch):
    monkeypatch.setattr(pages, "READS_A_PAGE", 2)
    monkeypatch.setattr(pages, "REFILL", 2)
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    hard = await workshop.card(ada, wood, difficulty=HARD)
    for _ in range(5):
        await workshop.card(ada, wood, difficulty=EASY)

    first = await graph.ask(PAGE, size=1)
    after = first.data["category"]["cards"]["pageInfo"]["endCursor"]
    second = await graph.ask(PAGE, size=1, after=after)
    elsewhere = await graph.ask(PAGE.replace("EXPERT", "ADVANCED"), size=1, after=after)

    assert first.data["category"]["cards"]["nodes"] == []
    assert first.data["category"]["cards"]["pageInfo"]["hasNextPage"] is True
    assert first.calls == {"GetItem": 1, "Query": 2}
    assert second.data["category"]["cards"]["nodes"] == [{"id": ids(hard)[0]}]
    assert second.data["category"]["cards"]["pageInfo"]["hasNextPage"] is False
    assert "is not a cursor of this list" in elsewhere.error["message"]


QUERY = "query ($tags: [String!]%s) { topCards(first: 5, tags: $tags) { nodes { title } } }"


@pytest.mark.parametrize(
    ("query", "variables", "records"),
    [
        ("{ topCards(first: 5) { nodes { title } } }", {}, 5),
        ("{ topCards(first: 5, difficulty: null) { nodes { title } } }", {}, 5),
        ("{ topCards(first: 5, difficulty: EXPERT) { nodes { title } } }", {}, 1_000),
        ("{ topCards(first: 5, maxEstimatedTime: 0) { nodes { title } } }", {}, 1_000),
        (QUERY % "", {}, 5),
        (QUERY % "", {"tags": None}, 5),
        (QUERY % "", {"tags": ["oak"]}, 1_000),
        (QUERY % ' = ["oak"]', {}, 1_000),
        (QUERY % ' = ["oak"]', {"tags": None}, 5),
    ],
)
def test_a_filter_without_an_index_pays_for_all_that_it_may_read(query, variables, records):
    assert cost(query, build()._schema, **variables) == whole(records, 5)


async def test_the_same_document_costs_more_with_a_filter(graph):
    costs = []
    for variables in ({}, {"tags": ["oak"]}, {"tags": None}, {"tags": ["pine"]}):
        context = graph.context()
        await graph.services.executor.run(GraphQLRequest(QUERY % "", variables), context, may_mutate=False)
        costs.append(context.cost)

    assert costs == [whole(5, 5), whole(1_000, 5), whole(5, 5), whole(1_000, 5)]
