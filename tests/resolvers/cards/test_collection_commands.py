"""Collections of cards, in the order they were added or arranged."""

import asyncio
import random
from typing import Any

import pytest

from datastore.accounts import User
from datastore.cards import Card, CardStatus, Collection, CollectionCard
from loaders.viewer import Viewer
from resolvers.cards import collection_commands
from tests.resolvers.social.test_faults import in_conflict
from tests.support.cards import Workshop, do_all_jobs
from tests.support.fault_proxy import FOR_EVER, cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, problem, viewer_of

SHOWN = "collection { id name description isPublic cardCount cards { nodes { databaseId } totalCount } }"


def command(name: str, shown: str = SHOWN) -> str:
    of_type = name[0].upper() + name[1:]
    return (
        f"mutation ($input: {of_type}Input!) {{ {name}(input: $input) {{ {shown} problems {{ code message path }} }} }}"
    )


CREATE = command("createCollection")
UPDATE = command("updateCollection")
DELETE = command("deleteCollection", "deletedCollectionId")
ADD = command("addToCollection")
REMOVE = command("removeFromCollection")
MOVE = command("moveInCollection")
READ = "query ($id: ID!) { collection(by: {id: $id}) { cardCount cards(first: 100) { nodes { databaseId } } } }"

NO_COLLECTION = problem("NOT_FOUND", "there is no such collection", "input", "collectionId")
NO_CARD = problem("NOT_FOUND", "there is no such card", "input", "cardId")
NOT_THEIRS = problem("FORBIDDEN", "only its owner may do this", "input", "collectionId")


def ids(cards: list[Card]) -> list[str]:
    return [card.card_id for card in cards]


def listed(collection: dict[str, Any]) -> list[str]:
    return [node["databaseId"] for node in collection["cards"]["nodes"]]


async def stocked(workshop: Workshop, number: int = 5) -> tuple[User, list[Card], Collection]:
    """Returns a user, cards of others, and a collection of them."""
    ada, author = await workshop.person("ada"), await workshop.person("author")
    wood = await workshop.category("wood")
    cards = [await workshop.card(author, wood) for _ in range(number)]
    return ada, cards, await workshop.collection(ada, *cards)


async def counted(graph: Graph, collection: Collection) -> tuple[int, int]:
    """Returns the count of a collection and the number of its items."""
    stored: Any = await graph.table.get(collection.own_key, consistent=True)
    within = CollectionCard.within(collection_id=collection.collection_id)
    page = await graph.table.query(within, limit=1_000, consistent=True)
    return stored.card_count, len(page.records)


async def test_a_collection_is_begun_changed_and_deleted(graph, workshop):
    ada, cards, _ = await stocked(workshop)
    began = await graph.command(CREATE, viewer_of(ada), name="  Oak ", description="All of it.")
    made = began["collection"]
    await graph.command(ADD, viewer_of(ada), collectionId=made["id"], cardId=id_of(cards[0]))

    renamed = await graph.command(UPDATE, viewer_of(ada), collectionId=made["id"], name="Ash")
    bare = await graph.command(UPDATE, viewer_of(ada), collectionId=made["id"], description=None, isPublic=False)
    gone = await graph.command(DELETE, viewer_of(ada), collectionId=made["id"])

    empty = {"nodes": [], "totalCount": 0}
    one = {"nodes": [{"databaseId": cards[0].card_id}], "totalCount": 1}
    said = {"id": made["id"], "name": "Oak", "description": "All of it.", "isPublic": True}
    assert began == {"collection": {**said, "cardCount": 0, "cards": empty}, "problems": []}
    assert renamed["collection"] == {**said, "name": "Ash", "cardCount": 1, "cards": one}
    assert bare["collection"] == {
        **said, "name": "Ash", "description": None, "isPublic": False, "cardCount": 1, "cards": one,
    }  # fmt: skip
    assert gone == {"deletedCollectionId": made["id"], "problems": []}
    assert (await graph.ask(READ, viewer_of(ada), id=made["id"])).data["collection"] is None


async def test_what_was_in_a_deleted_collection_is_cleared_away_and_the_cards_stay(graph, workshop):
    ada, cards, collection = await stocked(workshop)

    await graph.command(DELETE, viewer_of(ada), collectionId=id_of(collection))
    await do_all_jobs(graph)

    within = CollectionCard.within(collection_id=collection.collection_id)
    assert (await graph.table.query(within, limit=10)).records == []
    assert await graph.table.get(cards[0].own_key) is not None


@pytest.mark.parametrize(
    ("name", "input", "calls"),
    [
        ("createCollection", {"name": "Oak"}, {"TransactWriteItems": 1}),
        ("updateCollection", {"name": "Oak"}, {"BatchGetItem": 1, "TransactWriteItems": 1}),
        ("deleteCollection", {}, {"BatchGetItem": 1, "TransactWriteItems": 1}),
        ("addToCollection", {"cardId": 5}, {"BatchGetItem": 2, "TransactWriteItems": 1}),
        ("removeFromCollection", {"cardId": 2}, {"BatchGetItem": 2, "TransactWriteItems": 1}),
        ("moveInCollection", {"cardId": 3}, {"BatchGetItem": 1, "GetItem": 1, "Query": 1, "TransactWriteItems": 1}),
        (
            "moveInCollection",
            {"cardId": 3, "afterCardId": 0},
            {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 1},
        ),
    ],
)
async def test_what_each_command_costs(graph, workshop, name, input, calls):
    ada, cards, _ = await stocked(workshop, 6)
    collection = await workshop.collection(ada, *cards[:5])
    given = {key: value if key == "name" else id_of(cards[value]) for key, value in input.items()}
    if name != "createCollection":
        given["collectionId"] = id_of(collection)
    shown = "deletedCollectionId" if name == "deleteCollection" else "collection { name }"

    asked = await graph.ask(command(name, shown), viewer_of(ada), input=given)

    assert asked.data[name]["problems"] == []
    assert asked.calls == calls


async def test_what_is_wrong_with_a_collection_is_said_at_once(graph, workshop):
    ada, _, collection = await stocked(workshop)
    wrong = {"name": " ", "description": "x" * 1_001}
    problems = [
        problem("INVALID", "this needs at least one character", "input", "name"),
        problem("INVALID", "this has 1001 characters; at most 1000 are allowed", "input", "description"),
    ]

    made = await graph.command(CREATE, viewer_of(ada), **wrong)
    changed = await graph.command(UPDATE, viewer_of(ada), collectionId=id_of(collection), **wrong)
    null = await graph.command(UPDATE, viewer_of(ada), collectionId=id_of(collection), name=None, isPublic=None)

    assert made == {"collection": None, "problems": problems}
    assert changed == {"collection": None, "problems": problems}
    assert null["problems"] == [
        problem("INVALID", "this cannot be null; leave it out to keep it as it is", "input", "name"),
        problem("INVALID", "this cannot be null; leave it out to keep it as it is", "input", "isPublic"),
    ]


async def test_cards_are_in_the_order_they_were_added_each_once(graph, workshop):
    ada, cards, _ = await stocked(workshop)
    collection = await workshop.collection(ada)
    added = [cards[2], cards[0], cards[4], cards[2], cards[1], cards[0]]

    for card in added:
        payload = await graph.command(ADD, viewer_of(ada), collectionId=id_of(collection), cardId=id_of(card))
        assert payload["problems"] == []

    assert listed(payload["collection"]) == ids([cards[2], cards[0], cards[4], cards[1]])
    assert payload["collection"]["cardCount"] == 4
    assert await counted(graph, collection) == (4, 4)


async def test_taking_out_what_is_not_in_it_changes_nothing(graph, workshop):
    ada, cards, collection = await stocked(workshop, 3)

    for _ in range(2):
        payload = await graph.command(REMOVE, viewer_of(ada), collectionId=id_of(collection), cardId=id_of(cards[1]))

        assert payload["problems"] == []
        assert listed(payload["collection"]) == ids([cards[0], cards[2]])
        assert payload["collection"]["cardCount"] == 2


@pytest.mark.parametrize("kind", ["draft", "another's draft", "archived", "no card"])
async def test_only_what_everybody_sees_can_be_added(graph, workshop, kind):
    ada, _, collection = await stocked(workshop, 1)
    author = await workshop.person("bob") if kind == "another's draft" else ada
    status = CardStatus.ARCHIVED if kind == "archived" else CardStatus.DRAFT
    card = await workshop.card(author, await workshop.category("iron"), status)
    if kind == "no card":
        await graph.table.delete(card.own_key)

    payload = await graph.command(ADD, viewer_of(ada), collectionId=id_of(collection), cardId=id_of(card))

    assert payload == {"collection": None, "problems": [NO_CARD]}
    assert await counted(graph, collection) == (1, 1)


async def test_adds_and_removals_at_once_are_counted_exactly(graph, faulty_graph, proxy, workshop, engine_name):
    ada, cards, _ = await stocked(workshop, 20 if engine_name != "moto" else 6)
    collection = await workshop.collection(ada)
    chance = random.Random(11)
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.05)

    async def fickle(card: Card, turns: int) -> None:
        for turn in range(turns):
            payload = await faulty_graph.command(
                REMOVE if turn % 2 else ADD, viewer_of(ada), collectionId=id_of(collection), cardId=id_of(card)
            )
            assert payload["problems"] == []

    await asyncio.gather(*(fickle(card, 3 + place % 2) for place, card in enumerate(cards)))

    assert await counted(graph, collection) == (len(cards) // 2, len(cards) // 2)


async def test_one_card_added_many_times_at_once_is_in_it_once(graph, workshop):
    ada, cards, _ = await stocked(workshop, 1)
    collection = await workshop.collection(ada)
    given = {"collectionId": id_of(collection), "cardId": id_of(cards[0])}

    payloads = await asyncio.gather(*(graph.command(ADD, viewer_of(ada), **given) for _ in range(8)))

    assert [payload["problems"] for payload in payloads] == [[]] * 8
    assert await counted(graph, collection) == (1, 1)


async def test_a_full_collection_takes_no_more_however_many_come_at_once(graph, workshop, monkeypatch):
    monkeypatch.setattr(collection_commands, "MAX_CARDS", 3)
    ada, cards, _ = await stocked(workshop)
    collection = await workshop.collection(ada)
    here = {"collectionId": id_of(collection)}

    payloads = await asyncio.gather(*(graph.command(ADD, viewer_of(ada), **here, cardId=id_of(card)) for card in cards))
    late = await graph.command(ADD, viewer_of(ada), **here, cardId=id_of(await another(workshop)))

    refusals = [payload["problems"] for payload in payloads if payload["problems"]]
    full = [problem("INVALID", "a collection holds at most 3 cards; create another one", "input", "collectionId")]
    assert refusals == [full] * 2
    assert late["problems"] == full
    assert await counted(graph, collection) == (3, 3)


async def another(workshop: Workshop) -> Card:
    return await workshop.card(await workshop.person("bob"), await workshop.category("iron"))


async def test_a_private_collection_looks_like_none(graph, workshop):
    ada, cards, _ = await stocked(workshop, 2)
    bob = await workshop.person("bob")
    private = await workshop.collection(ada, cards[0], is_public=False)
    query = """query ($id: ID!, $own: String!, $user: ID!) {
      node(id: $id) { id }
      collection(by: {id: $id}) { id }
      byKey: collection(by: {databaseId: $own}) { id }
      user(by: {id: $user}) { collections { nodes { databaseId } } } }"""
    given = {"id": id_of(private), "own": private.collection_id, "user": id_of(ada)}
    nothing = {"node": None, "collection": None, "byKey": None}

    for viewer in (viewer_of(bob), viewer_of(bob, "admin"), graph.context().viewer):
        asked = await graph.ask(query, viewer, **given)
        found = asked.data.pop("user")["collections"]["nodes"]
        assert asked.data == nothing
        assert private.collection_id not in [node["databaseId"] for node in found]
        assert len(found) == 1
    own = await graph.ask(query, viewer_of(ada), **given)
    assert own.data["node"] == own.data["collection"] == own.data["byKey"] == {"id": id_of(private)}
    assert len(own.data["user"]["collections"]["nodes"]) == 2


@pytest.mark.parametrize("name", ["update", "delete", "addTo", "removeFrom", "moveIn"])
@pytest.mark.parametrize(("public", "expected"), [(True, NOT_THEIRS), (False, NO_COLLECTION)])
async def test_nobody_else_changes_a_collection_nor_learns_of_a_private_one(graph, workshop, name, public, expected):
    ada, cards, _ = await stocked(workshop, 2)
    bob = await workshop.person("bob")
    collection = await workshop.collection(ada, *cards, is_public=public)
    card = {} if name in ("update", "delete") else {"cardId": id_of(cards[0])}
    asking = command(f"{name}Collection", "deletedCollectionId" if name == "delete" else "collection { id }")

    theirs = await graph.command(asking, viewer_of(bob), collectionId=id_of(collection), **card)
    unsigned = await graph.command(asking, collectionId=id_of(collection), **card)

    assert theirs["problems"] == [expected]
    assert [each["code"] for each in unsigned["problems"]] == ["UNAUTHENTICATED"]
    assert await counted(graph, collection) == (2, 2)


async def test_collections_go_with_the_account(graph, workshop):
    ada, _, collection = await stocked(workshop, 1)
    card = await another(workshop)
    await graph.table.put(ada.changed(deleted_at=ada.created_at))

    asked = await graph.ask(READ, id=id_of(collection))
    added = await graph.command(ADD, viewer_of(ada), collectionId=id_of(collection), cardId=id_of(card))
    made = await graph.command(CREATE, viewer_of(ada), name="Late")

    assert asked.data["collection"] is None
    assert added["problems"] == made["problems"] == [problem("NOT_FOUND", "there is no open account for this token")]


async def test_cards_one_may_not_see_are_left_out_of_honest_pages(graph, workshop):
    ada, cards, collection = await stocked(workshop, 9)
    for card in cards[::3]:
        await graph.table.put(card.changed(status=CardStatus.ARCHIVED, listed_at=None))
    query = """query ($id: ID!, $after: String) { collection(by: {id: $id}) { cards(first: 2, after: $after) {
        nodes { databaseId } totalCount pageInfo { hasNextPage endCursor } } } }"""
    found: list[str] = []
    after = None

    for page in range(3):
        asked = await graph.ask(query, viewer_of(ada), id=id_of(collection), after=after)
        shown = asked.data["collection"]["cards"]
        found += [node["databaseId"] for node in shown["nodes"]]
        after = shown["pageInfo"]["endCursor"]
        assert shown["pageInfo"]["hasNextPage"] is (page < 2)
        assert shown["totalCount"] == 9

    assert found == [card.card_id for place, card in enumerate(cards) if place % 3]


async def test_pages_go_both_ways_and_say_when_each_was_added(graph, workshop):
    _, cards, collection = await stocked(workshop, 6)
    query = """query ($id: ID!, $before: String) { collection(by: {id: $id}) { cards(last: 3, before: $before) {
        edges { addedAt node { databaseId } } pageInfo { startCursor hasPreviousPage } } } }"""

    last = (await graph.ask(query, id=id_of(collection))).data["collection"]["cards"]
    asked = await graph.ask(query, id=id_of(collection), before=last["pageInfo"]["startCursor"])

    first = asked.data["collection"]["cards"]
    edges = first["edges"] + last["edges"]
    assert [edge["node"]["databaseId"] for edge in edges] == ids(cards)
    assert [edge["addedAt"] for edge in edges] == sorted(edge["addedAt"] for edge in edges)
    assert (last["pageInfo"]["hasPreviousPage"], first["pageInfo"]["hasPreviousPage"]) == (True, False)
    # The collection with its owner, the places, and the cards.
    assert asked.calls == {"BatchGetItem": 2, "Query": 1}


async def test_a_deleted_card_leaves_every_collection(graph, workshop):
    _, cards, collection = await stocked(workshop, 3)
    bob = await workshop.person("bob")
    other = await workshop.collection(bob, cards[1])

    await graph.command(command("deleteCard", "deletedCardId"), Viewer(user_id="id-author"), cardId=id_of(cards[1]))
    await do_all_jobs(graph)

    assert await counted(graph, collection) == (2, 2)
    assert await counted(graph, other) == (0, 0)
