"""Visibility of cards and everything on them, by every path, and who may change them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from datastore.accounts import User
from datastore.cards import Card, CardStatus, Category, VoteDirection
from datastore.client.writes import Update
from datastore.model.times import now
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.cards.ranking import in_place
from tests.resolvers.cards.card_mutations import ARCHIVE, CREATE, DELETE, NO_CARD, PUBLISH, UPDATE, new, stored
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED, in_table
from tests.resolvers.neighborhoods.test_visibility import anything
from tests.support.cards import Workshop
from tests.support.graph import Graph, id_of, problem, viewer_of

UP, DOWN = VoteDirection

# Every path to a card and to what belongs to it, by its name below.
PATHS = {
    "card": "card(by: {id: $card}) { title }",
    "node": "node(id: $card) { ... on Card { title } }",
    "node, nothing but its id": "node(id: $card) { id }",
    "of a category": "category(by: {id: $category}) { cards { nodes { title } } }",
    "of a user": "user(by: {id: $author}) { cards { nodes { title } } }",
    "drafts": "user(by: {id: $author}) { cards(status: DRAFT) { nodes { title } } }",
    "archive": "user(by: {id: $author}) { cards(status: ARCHIVED) { nodes { title } } }",
    "of a day": "cardsOn(date: $day) { nodes { title } }",
    "top": "topCards { nodes { title } }",
    "controversial": "controversialCards { nodes { title } }",
    "trending": "trendingCards { nodes { title } }",
    "found": 'searchCards(text: "oil") { nodes { title } }',
    "of a collection": "collection(by: {id: $collection}) { cards { nodes { title } } }",
    "of a comment": "node(id: $comment) { ... on CardComment { card { title } } }",
    "of a vote": "node(id: $vote) { ... on Vote { card { title } } }",
    "comment": "node(id: $comment) { id }",
    "comments of a user": "user(by: {id: $talker}) { cardComments { nodes { id } } }",
    "vote": "node(id: $vote) { id }",
    "vote on a comment": "node(id: $opinion) { id }",
    "votes of a user": "user(by: {id: $talker}) { votes { nodes { id } } }",
}
LISTS = {"of a category", "of a user", "of a day", "top", "controversial", "trending", "found"}
SHELVES = {"of a user", "drafts", "archive"}
BY_ID = PATHS.keys() - LISTS - SHELVES
EVERYWHERE = BY_ID | LISTS

# One whose account is deleted still sees what is theirs, until that is hidden.
VIEWERS = ["nobody", "stranger", "admin", "author", "author without account"]
AUTHOR = VIEWERS[3:]
SEEN: dict[str, dict[str, set[str]]] = {
    "published": dict.fromkeys(VIEWERS, EVERYWHERE),
    "draft": dict.fromkeys(AUTHOR, BY_ID | {"drafts"}),
    "expired draft": {},
    "archived": dict.fromkeys(AUTHOR, BY_ID | {"archive"}),
    "deleted": {},
    "deleted draft": {},
    "hidden": {},
    "hidden draft": {},
    "hidden archived": {},
}


async def card_that_is(kind: str, workshop: Workshop, author: User, category: Category) -> Card:
    """Published, expired, deleted and hidden just now."""
    status = next((status for status in CardStatus if status.value.lower() in kind), CardStatus.PUBLISHED)
    at = now()
    fields = {"title": "Oil it", "created_at": at, "updated_at": at, **({"expires_at": 1} if "expired" in kind else {})}
    card = await workshop.card(author, category, status, **fields)
    gone = {"deleted": "deleted_at", "hidden": "hidden_at"}.get(kind.split()[0])
    return in_place(card, **{gone: at}) if gone else card


@pytest.mark.parametrize("kind", SEEN)
async def test_who_sees_a_card_and_what_is_about_it(graph, workshop, kind):
    """Creates cards with everything that can belong to a card."""
    author, talker, other = [await workshop.person(name) for name in ("author", "talker", "other")]
    wood = await workshop.category("wood")
    card = await card_that_is(kind, workshop, author, wood)
    comment = await workshop.comment(talker, card)
    given = {
        "card": card,
        "category": wood,
        "author": author,
        "talker": talker,
        "comment": comment,
        "vote": await workshop.vote(talker, card, UP),
        "opinion": await workshop.vote(talker, comment, UP),
        "collection": await workshop.collection(talker, card),
    }
    await workshop.vote(other, card, DOWN)
    await workshop.find_by_words(card)
    if kind.startswith("hidden"):
        await close(graph, author)
    viewers = {
        "nobody": ANONYMOUS,
        "stranger": viewer_of(talker),
        "admin": Viewer("id-admin", frozenset({"admin"})),
        "author": viewer_of(author),
        "author without account": viewer_of(author),
    }
    variables = {name: id_of(record) for name, record in given.items()}

    for name, viewer in viewers.items():
        if name == "author without account":
            await close(graph, author)
        asked = await graph.ask(every_path(given), viewer, **variables, day=card.created_at[:10])

        assert led_to_something(asked.shown) == SEEN[kind].get(name, set()), name


async def close(graph: Graph, user: User) -> None:
    """As if what is done about its cards were still to be done."""
    await graph.table.update(Update(user.own_key, set={"deleted_at": now(), "expires_at": 4_000_000_000}))


def every_path(names: Iterable[str]) -> str:
    declared = ", ".join(f"${name}: ID!" for name in names)
    fields = " ".join(f"p{number}: {path}" for number, path in enumerate(PATHS.values()))
    return f"query ({declared}, $day: Date!) {{ {fields} }}"


def led_to_something(data: dict[str, Any]) -> set[str]:
    return {name for name, found in zip(PATHS, data.values(), strict=True) if anything(found)}


async def test_what_a_deleted_account_said_is_hidden_and_its_votes_count_without_a_name(graph, workshop):
    author, gone = await workshop.person("author"), await workshop.person("gone")
    card = await workshop.card(author, await workshop.category("wood"))
    said = await workshop.comment(author, card)
    hidden = await workshop.comment(gone, card, hidden_at=now())
    votes = [await workshop.vote(gone, card, UP), await workshop.vote(author, hidden, UP)]
    await close(graph, gone)

    asked = await graph.ask(
        """query ($card: ID!, $ids: [ID!]!) { nodes(ids: $ids) { id }
            card(by: {id: $card}) { comments { nodes { id } } votes { totalCount nodes { direction voter { id } } }
            } }""",
        viewer_of(gone),
        card=id_of(card),
        ids=[id_of(record) for record in (said, hidden, *votes)],
    )

    assert asked.data == {
        "nodes": [{"id": id_of(said)}, None, {"id": id_of(votes[0])}, None],
        "card": {
            "comments": {"nodes": [{"id": id_of(said)}]},
            "votes": {"totalCount": 1, "nodes": [{"direction": "UP", "voter": {"id": id_of(gone)}}]},
        },
    }
    by_others = await graph.ask(
        "query ($id: ID!) { card(by: {id: $id}) { votes { nodes { voter { id } } } } }", id=id_of(card)
    )
    assert by_others.data["card"]["votes"]["nodes"] == [{"voter": None}]


@pytest.mark.parametrize("viewer", ["nobody", "stranger", "admin", "owner"])
@pytest.mark.parametrize("kind", ["public", "private", "of a deleted account"])
async def test_who_sees_a_collection(graph, workshop, kind, viewer):
    owner, other = await workshop.person("owner"), await workshop.person("other")
    card = await workshop.card(other, await workshop.category("wood"))
    collection = await workshop.collection(owner, card, is_public=kind != "private")
    if kind == "of a deleted account":
        await close(graph, owner)
    viewers = {
        "nobody": ANONYMOUS,
        "stranger": viewer_of(other),
        "admin": viewer_of(other, "admin"),
        "owner": viewer_of(owner),
    }

    asked = await graph.ask(
        """query ($id: ID!, $owner: ID!, $name: String!) { node(id: $id) { id } collection(by: {id: $id}) { id }
            byKey: collection(by: {databaseId: $name}) { id } user(by: {id: $owner}) { collections { nodes { id } }
            } }""",
        viewers[viewer],
        id=id_of(collection),
        owner=id_of(owner),
        name=collection.collection_id,
    )

    found = [anything(each) for each in asked.data.values()]
    assert found == [viewer == "owner" or kind == "public"] * 4


NOT_ONES_OWN = problem("FORBIDDEN", "only its author may do this", "input", "cardId")
OF_THE_AUTHOR = {UPDATE: {"expectedVersion": 1, "title": "Mine"}, PUBLISH: {}, ARCHIVE: {}, DELETE: {}}
REFUSED = {
    "nobody's": UNAUTHENTICATED,
    "another's": NOT_ONES_OWN,
    "an administrator's": NOT_ONES_OWN,
    "another's draft": NO_CARD,
    "another's archived": NO_CARD,
    "expired draft": NO_CARD,
    "deleted": NO_CARD,
    "hidden": NO_CARD,
    "of no card": NO_CARD,
    "of a closed account": NO_ACCOUNT,
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("command", OF_THE_AUTHOR, ids=["update", "publish", "archive", "delete"])
async def test_only_an_author_with_an_account_changes_a_card(graph, workshop, command, kind):
    closed = {"deleted_at": now()} if kind == "of a closed account" else {}
    ada, bob = await workshop.person("ada", **closed), await workshop.person("bob")
    # One that the command would change.
    status = next((status for status in CardStatus if status.value.lower() in kind), CardStatus.PUBLISHED)
    status = CardStatus.ARCHIVED if command == PUBLISH and kind == "of a closed account" else status
    gone = {f"{kind}_at": now()} if kind in ("deleted", "hidden") else {}
    expired = {"expires_at": 1} if kind.startswith("expired") else {}
    card = await workshop.card(ada, await workshop.category("wood"), status, **gone, **expired)
    target = replace(card, card_id="nothing") if kind == "of no card" else card
    viewers = {"nobody's": ANONYMOUS, "an administrator's": viewer_of(bob, "admin")}
    viewer = viewers.get(kind) or viewer_of(bob if kind.startswith("another's") else ada)

    payload = await graph.command(command, viewer, cardId=id_of(target), **OF_THE_AUTHOR[command])

    assert [{**each, "currentVersion": None} for each in payload["problems"]] == [
        {**REFUSED[kind], "currentVersion": None}
    ]
    assert await stored(graph, card) == card


async def test_nobody_makes_a_card_without_a_token_or_without_an_account(graph, workshop):
    ada, wood = await workshop.person("ada", deleted_at=now()), await workshop.category("wood")

    for viewer, expected in ((ANONYMOUS, UNAUTHENTICATED), (viewer_of(ada), NO_ACCOUNT)):
        assert await graph.command(CREATE, viewer, **new(wood)) == {"card": None, "problems": [expected]}
    assert await in_table(graph, "Card") == []


async def test_the_id_of_something_else_is_told(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")

    payloads = [
        await graph.command(PUBLISH, viewer_of(ada), cardId=id_of(wood)),
        await graph.command(CREATE, viewer_of(ada), **new(wood) | {"categoryId": id_of(ada)}),
        await graph.command(PUBLISH, viewer_of(ada), cardId="card00001"),
    ]

    assert [[each["code"] for each in payload["problems"]] for payload in payloads] == [["INVALID"]] * 3
