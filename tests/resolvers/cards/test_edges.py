"""The access patterns of cards, each with its calls."""

from typing import Any

import pytest

from datastore.cards import CardStatus, VoteDirection
from loaders.viewer import ANONYMOUS
from tests.support.cards import Workshop
from tests.support.fault_proxy import FOR_EVER, Answer, Call
from tests.support.graph import id_of, viewer_of
from tests.support.social import ids, minute

UP, DOWN = VoteDirection
DRAFT, PUBLISHED, ARCHIVED = CardStatus


def nodes(*records: Any) -> dict[str, Any]:
    """A list of these, of which one asked for the `id`."""
    return {"nodes": [{"id": id} for id in ids(*records)]}


async def test_a_card_by_its_id(graph, workshop):
    ada = await workshop.person("ada")
    card = await workshop.card(
        ada,
        await workshop.category("wood"),
        title="Oil a table",
        description="It shines.",
        image_urls=["https://example.org/table.jpg"],
        tools=["rag"],
        tags=["oil"],
        estimated_time=90,
        estimated_cost=20,
        estimated_cost_currency="EUR",
    )

    asked = await graph.ask(
        """query ($id: ID!) { card(by: {id: $id}) {
            id databaseId title description imageUrls instructions materials tools tags difficulty
            estimatedTime
            estimatedCost { amount currency } status publishedAt version viewCount commentCount upvoteCount
            downvoteCount voteScore
            createdAt updatedAt } }""",
        id=id_of(card),
    )

    assert asked.data["card"] == {
        "id": id_of(card),
        "databaseId": "card00003",
        "title": "Oil a table",
        "description": "It shines.",
        "imageUrls": ["https://example.org/table.jpg"],
        "instructions": ["Begin.", "End."],
        "materials": {"wood": "some"},
        "tools": ["rag"],
        "tags": ["oil"],
        "difficulty": "BEGINNER",
        "estimatedTime": 90,
        "estimatedCost": {"amount": 20, "currency": "EUR"},
        "status": "PUBLISHED",
        "publishedAt": minute(3),
        "version": 1,
        "viewCount": 0,
        "commentCount": 0,
        "upvoteCount": 0,
        "downvoteCount": 0,
        "voteScore": 0,
        "createdAt": minute(3),
        "updatedAt": minute(3),
    }
    assert asked.calls == {"GetItem": 2}


@pytest.mark.engine_contract
async def test_the_page_of_a_card_is_three_calls(graph, workshop):
    ada, bob, eve = [await workshop.person(name) for name in ("ada", "bob", "eve")]
    card = await workshop.card(ada, await workshop.category("wood"))
    said = [await workshop.comment((bob, eve)[number % 2], card) for number in range(5)]
    await workshop.vote(bob, card, DOWN)
    await workshop.vote(bob, said[1])

    asked = await graph.ask(
        """query ($id: ID!) { card(by: {id: $id}) { title voteScore viewerVote { direction }
            category { name } author { username } comments(first: 3) { totalCount
                nodes { content voteScore viewerVote { direction } author { username } }
                pageInfo { hasNextPage } } } }""",
        viewer_of(bob),
        id=id_of(card),
    )

    def comment(number: int, author: str, score: int = 0) -> dict:
        own = {"direction": "UP"} if score else None
        return {
            "content": said[number].content,
            "voteScore": score,
            "viewerVote": own,
            "author": {"username": author},
        }

    assert asked.data["card"] == {
        "title": card.title,
        "voteScore": -1,
        "viewerVote": {"direction": "DOWN"},
        "category": {"name": "Wood"},
        "author": {"username": "ada"},
        "comments": {
            "totalCount": 5,
            "nodes": [comment(0, "bob"), comment(1, "eve", 1), comment(2, "bob")],
            "pageInfo": {"hasNextPage": True},
        },
    }
    # The card; its comments; and, once these are known, everything that it and they lead to.
    assert asked.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_the_cards_of_a_category_newest_first(graph, workshop):
    ada = await workshop.person("ada")
    wood, iron = await workshop.category("wood"), await workshop.category("iron")
    oak = await workshop.category("oak", wood)
    first, _, _, last = [await workshop.card(ada, category) for category in (wood, iron, oak, wood)]

    asked = await graph.ask('{ category(by: {databaseId: " WOOD "}) { name cards { nodes { id } } } }', viewer_of(ada))

    assert asked.data["category"] == {"name": "Wood", "cards": nodes(last, first)}
    assert asked.calls == {"GetItem": 1, "Query": 1}


async def test_the_cards_of_an_author_by_status(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    wood = await workshop.category("wood")
    made = [await workshop.card(ada, wood, status) for status in (PUBLISHED, DRAFT, ARCHIVED) * 2]
    await workshop.card(bob, wood)
    query = """query ($id: ID!) { user(by: {id: $id}) {
        cards { nodes { id } } drafts: cards(status: DRAFT) { nodes { id } }
        archive: cards(status: ARCHIVED) { nodes { id } } } }"""

    own = await graph.ask(query, viewer_of(ada), id=id_of(ada))
    anonymous, of_another = [
        await graph.ask(query, viewer, id=id_of(ada)) for viewer in (ANONYMOUS, viewer_of(bob, "admin"))
    ]

    assert own.data["user"] == {
        "cards": nodes(made[3], made[0]),
        "drafts": nodes(made[4], made[1]),
        "archive": nodes(made[5], made[2]),
    }
    assert own.calls == {"GetItem": 1, "Query": 3}
    for asked in (anonymous, of_another):
        assert asked.shown["user"] == {"cards": nodes(made[3], made[0]), "drafts": None, "archive": None}
        assert asked.calls == {"GetItem": 1, "Query": 1}
    assert of_another.errors == []
    assert set(anonymous.errors) == {("user.drafts", "UNAUTHENTICATED"), ("user.archive", "UNAUTHENTICATED")}


async def test_the_cards_of_a_day_in_utc(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    times = ["2026-02-27T23:59:59.999Z", "2026-02-28T00:00:00.000Z", "2026-02-28T23:59:59.999Z"]
    before, first, last = [await workshop.card(ada, wood, created_at=time, updated_at=time) for time in times]
    after = await workshop.card(
        ada, wood, created_at="2026-02-01T00:00:00.000Z", published_at="2026-03-01T00:00:00.000Z"
    )
    await workshop.card(ada, wood, DRAFT, created_at=times[1])
    query = "query ($date: Date!) { cardsOn(date: $date) { nodes { id } } }"

    days = {"2026-02-27": [before], "2026-02-28": [last, first], "2026-03-01": [after], "2026-02-01": []}
    for day, found in days.items():
        asked = await graph.ask(query, date=day)

        assert asked.data["cardsOn"] == nodes(*found)
        assert asked.calls == {"Query": 1}


@pytest.mark.parametrize(
    "date", ["2026-02-29", "2026-13-01", "2026-1-1", "20260101", "2026-W01-1", "today", "", "2026-01-01T00:00:00Z"]
)
async def test_a_day_that_is_none_is_told_with_what_to_write(graph, date):
    query = "query ($date: Date!) { cardsOn(date: $date) { nodes { id } } }"

    asked = await graph.ask(query, date=date)
    literal = await graph.ask(f'{{ cardsOn(date: "{date}") {{ nodes {{ id }} }} }}')
    number = await graph.ask(query, date=20260101)

    message = f"{date!r} is not a day; write it like 2026-01-31"
    assert message in asked.error["message"]
    assert message in literal.error["message"]
    assert "a Date is text; write it like 2026-01-31" in number.error["message"]
    assert [each.calls for each in (asked, literal, number)] == [{}, {}, {}]


RANKED = """query ($first: Int, $after: String, $last: Int, $before: String) {
    %s(first: $first, after: $after, last: $last, before: $before) {
        nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }"""


@pytest.mark.parametrize("name", ["topCards", "controversialCards"])
@pytest.mark.engine_contract
async def test_pages_of_a_ranking_in_both_directions(graph, workshop, name):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    people = [await workshop.person(f"p{number}") for number in range(10)]
    cards = []
    for number in range(5):
        card = await workshop.card(ada, wood)
        # The later ones have more votes; half of these are against it where it is about being divided.
        for voter in people[: 2 * number + 2]:
            is_down = name == "controversialCards" and int(voter.username[1:]) % 2
            await workshop.vote(voter, card, DOWN if is_down else UP)
        cards.insert(0, card)
    query = RANKED % name

    async def page(**given: Any) -> tuple[dict, dict]:
        asked = await graph.ask(query, **given)
        found = asked.data[name]
        assert asked.calls == {"Query": 1, "BatchGetItem" if len(found["nodes"]) > 1 else "GetItem": 1}
        return {"nodes": found["nodes"]}, found["pageInfo"]

    first, at_first = await page(first=2)
    second, at_second = await page(first=2, after=at_first["endCursor"])
    third, at_third = await page(first=2, after=at_second["endCursor"])
    back, at_back = await page(last=2, before=at_third["startCursor"])
    bottom, at_bottom = await page(last=2)

    assert [first, second, third] == [nodes(*cards[:2]), nodes(*cards[2:4]), nodes(*cards[4:])]
    assert [at["hasNextPage"] for at in (at_first, at_second, at_third)] == [True, True, False]
    assert (back, at_back["hasPreviousPage"]) == (second, True)
    assert (bottom, at_bottom["hasPreviousPage"]) == (nodes(*cards[3:]), True)


@pytest.mark.parametrize("kind", ["card", "comment"])
async def test_the_votes_on_something_newest_first(graph, workshop, kind):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    target = card if kind == "card" else await workshop.comment(ada, card)
    votes = [await workshop.vote(bob, target, DOWN), await workshop.vote(ada, target, UP)]

    asked = await graph.ask(
        """query ($id: ID!) { node(id: $id) {
            ... on Card { votes { totalCount nodes { ...V } } }
            ... on CardComment { votes { totalCount nodes { ...V } } } } }
        fragment V on Vote { id direction createdAt voter { username } card { id } comment { id } }""",
        id=id_of(target),
    )

    def vote(which: int, direction: str, voter: str) -> dict:
        return {
            "id": id_of(votes[which]),
            "direction": direction,
            "createdAt": votes[which].created_at,
            "voter": {"username": voter},
            "card": {"id": id_of(card)},
            "comment": None if kind == "card" else {"id": id_of(target)},
        }

    assert asked.data["node"]["votes"] == {"totalCount": 2, "nodes": [vote(1, "UP", "ada"), vote(0, "DOWN", "bob")]}
    # A comment is read together with the card that it is inside of.
    assert (
        asked.calls
        == {"card": {"GetItem": 1, "Query": 1, "BatchGetItem": 1}, "comment": {"Query": 1, "BatchGetItem": 2}}[kind]
    )


async def test_what_a_user_thinks_says_and_keeps(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    wood = await workshop.category("wood")
    first, second = await workshop.card(ada, wood), await workshop.card(ada, wood)
    said = [await workshop.comment(bob, card) for card in (first, second)]
    await workshop.vote(bob, first, DOWN)
    await workshop.vote(bob, said[1], UP)
    shown = await workshop.collection(bob, second, first)
    secret = await workshop.collection(bob, is_public=False)
    query = """query ($id: ID!) { user(by: {id: $id}) {
        votes { nodes { direction card { id } comment { id } } } cardComments { nodes { content card { id } } }
        collections { nodes { name isPublic cardCount cards { totalCount edges { addedAt node { id } } } } } } }"""

    asked = await graph.ask(query, id=id_of(bob))
    own = await graph.ask(query, viewer_of(bob), id=id_of(bob))

    kept = {
        "name": shown.name,
        "isPublic": True,
        "cardCount": 2,
        "cards": {
            "totalCount": 2,
            "edges": [
                {"addedAt": minute(11), "node": {"id": id_of(second)}},
                {"addedAt": minute(12), "node": {"id": id_of(first)}},
            ],
        },
    }
    hidden = {"name": secret.name, "isPublic": False, "cardCount": 0, "cards": {"totalCount": 0, "edges": []}}
    assert asked.data["user"] == {
        "votes": {
            "nodes": [
                {"direction": "UP", "card": {"id": id_of(second)}, "comment": {"id": id_of(said[1])}},
                {"direction": "DOWN", "card": {"id": id_of(first)}, "comment": None},
            ]
        },
        "cardComments": {
            "nodes": [
                {"content": said[1].content, "card": {"id": id_of(second)}},
                {"content": said[0].content, "card": {"id": id_of(first)}},
            ]
        },
        "collections": {"nodes": [kept]},
    }
    assert own.data["user"] == asked.data["user"] | {"collections": {"nodes": [kept, hidden]}}
    # The user; three lists and the cards of the one collection; and the cards, of which all of them are made.
    assert asked.calls == {"GetItem": 1, "Query": 4, "BatchGetItem": 1}


async def test_a_list_with_authors_comments_and_commenters_costs_the_least_there_can_be(graph, workshop):
    people = [await workshop.person(f"person{number}") for number in range(5)]
    wood = await workshop.category("wood")
    for number in range(20):
        card = await workshop.card(people[number % 5], wood)
        await workshop.comment(people[(number + 1) % 5], card)

    asked = await graph.ask(
        """{ topCards(first: 20) { nodes { databaseId author { username } category { name }
            comments(first: 5) { nodes { author { username } } } } } }"""
    )

    assert sorted(asked.data["topCards"]["nodes"], key=lambda node: node["databaseId"]) == [
        {
            "databaseId": f"card{2 * number + 7:05d}",
            "author": {"username": f"person{number % 5}"},
            "category": {"name": "Wood"},
            "comments": {"nodes": [{"author": {"username": f"person{(number + 1) % 5}"}}]},
        }
        for number in range(20)
    ]
    assert asked.calls == {"Query": 21, "BatchGetItem": 2}


async def test_lists_ask_for_no_instructions_and_no_materials(faulty_graph, proxy, graph):
    workshop = Workshop(graph)
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    cards = [await workshop.card(ada, wood, instructions=[f"Step {number}."]) for number in range(3)]
    await workshop.find_by_words(*cards)
    await faulty_graph.settle_search()
    collection = await workshop.collection(ada, *cards)
    sent: list[dict] = []

    async def heard(call: Call) -> Answer:
        sent.append(call.request)
        return Answer.of(*await call.forward())

    for operation in ("Query", "BatchGetItem", "GetItem"):
        proxy.will(operation, heard, FOR_EVER)
    lists = [
        "topCards { nodes { title } }",
        'cardsOn(date: "2026-01-01") { nodes { title } }',
        "categories { nodes { cards { nodes { title } } } }",
        'user(by: {username: "ada"}) { cards { nodes { title } } }',
        'searchCards(text: "card") { nodes { title } }',
        "topCards { nodes { title comments { nodes { content } } votes { nodes { direction } } } }",
    ]
    await workshop.vote(ada, cards[2])
    await workshop.comment(ada, cards[1])
    for query in lists:
        await faulty_graph.ask(f"{{ {query} }}")
    requests = [request for asked in sent for request in asked.get("RequestItems", {"": asked}).values()]
    titled = [request for request in requests if "title" in request["ExpressionAttributeNames"].values()]

    assert len(titled) == len(lists)
    for request in titled:
        assert not {"instructions", "materials"} & set(request["ExpressionAttributeNames"].values())

    sent.clear()
    heavy = await faulty_graph.ask("{ topCards { nodes { title instructions materials } } }")
    kept = await faulty_graph.ask(
        "query ($id: ID!) { collection(by: {id: $id}) { cards { nodes { instructions } } } }", id=id_of(collection)
    )

    assert heavy.data["topCards"]["nodes"] == [
        {"title": card.title, "instructions": card.instructions, "materials": {"wood": "some"}}
        for card in reversed(cards)
    ]
    assert heavy.calls == {"Query": 1, "BatchGetItem": 1}
    assert kept.data["collection"]["cards"]["nodes"] == [{"instructions": card.instructions} for card in cards]
