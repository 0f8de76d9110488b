"""Scenario in which DynamoDB applies a mutation, but no response arrives, and the client repeats the mutation."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.chaos.client import Client, Got
from benchmarks.chaos.scenarios import Figures, Scale, at_least, at_most, scenario
from benchmarks.chaos.scene import Scene, person, scene
from datastore.cards import Card, Category
from datastore.maintenance.segments import every_item
from resolvers.demo.people import IDS
from schema.declare.ids import global_id
from tests.support.fault_proxy import cut_after

WRITES = ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")
REPEATS = 20
TENANT = "repair-cafe"


class Kind(NamedTuple):
    """A mutation, its input, and the entity whose items tell how often it was applied."""

    mutation: str
    creates: str
    input: dict[str, Any]

    @property
    def document(self) -> str:
        type_name = self.mutation[0].upper() + self.mutation[1:] + "Input"
        selection = "{ problems { code message } }"
        return f"mutation($input: {type_name}!) {{ {self.mutation}(input: $input) {selection} }}"


async def kinds(on: Scene) -> list[Kind]:
    """Returns mutations of all five applications, with objects of the demo."""
    post = await on.add_post("lost")
    (card,) = (await on.table.query(Card.by_score(), limit=1)).records
    category = Category.key(category_id=card.category_id)
    (category_record,) = (await on.table.get_many([category])).values()
    assert isinstance(category_record, Category)
    card_id, post_id = global_id(card), global_id(post)
    return [
        Kind("createPost", "Post", {"imageUrl": "https://example.org/p.jpg", "caption": "once"}),
        Kind("addComment", "Comment", {"postId": post_id, "content": "once"}),
        Kind("likePost", "Like", {"postId": post_id}),
        Kind("followUser", "Follow", {"userId": global_id(person(99))}),
        Kind("createNeighborhood", "Neighborhood", {"name": "Once Street"}),
        Kind("createSite", "Site", {"title": "Once", "template": "plain", "subdomain": "only-once"}),
        Kind("createCard", "Card", {"title": "O", "categoryId": global_id(category_record), "difficulty": "BEGINNER"}),
        Kind("addCardComment", "CardComment", {"cardId": card_id, "content": "once"}),
        Kind("vote", "Vote", {"targetId": card_id, "ballot": "UP"}),
        Kind("createCollection", "Collection", {"name": "Once"}),
        Kind("createTree", "Tree", {"name": "Once"}),
        Kind("createContent", "Content", {"title": "Once"}),
        Kind("createProduct", "Product", {"title": "Once"}),
    ]


@scenario(
    "All responses to a write are lost; then the client repeats the mutation with its key",
    outcome_unknown=at_least(1),
    told_to_try_again=at_most(0),
    duplicates=at_most(0),
    repeats_refused=at_most(0),
    repeats_unanswered=at_most(0),
)
async def lost_responses(folder: Path, scale: Scale) -> Figures:
    unknown = told = duplicates = refused = unanswered = 0
    async with scene(folder, REQUEST_TIMEOUT="1") as on:
        mutations = await kinds(on)
        for kind in mutations:
            client, key = _client(on, kind), {"idempotency-key": f"lost-{kind.mutation}", "x-tenant-id": TENANT}
            for operation in WRITES:
                on.proxy.will(operation, cut_after)
            lost = await client.ask(kind.document, key, input=kind.input)
            unknown += lost.outcomes == ["UNKNOWN"]
            told += any("try again" in error["message"].lower() for error in lost.body.get("errors", ()))
            on.proxy.recover()
            applied = await _count(on, kind)
            repeats = [await _until_answered(client, kind, key) for _ in range(scale.of(1, 3))]
            unanswered += sum(not got.is_fine for got in repeats)
            refused += sum(bool(_problems(got, kind)) for got in repeats)
            duplicates += await _count(on, kind) - max(applied, 1)
            await client.close()
    return {
        "mutations": len(mutations),
        "outcome_unknown": unknown / len(mutations),
        "told_to_try_again": told,
        "duplicates": duplicates,
        "repeats_refused": refused,
        "repeats_unanswered": unanswered,
    }


def _client(on: Scene, kind: Kind) -> Client:
    if kind.creates in ("Content", "Product"):
        return on.client(IDS["maya"], tenants={TENANT: "editor"})
    return on.client(person(7).user_id)


async def _until_answered(client: Client, kind: Kind, headers: dict[str, str]) -> Got:
    for _ in range(REPEATS):
        got = await client.ask(kind.document, headers, input=kind.input)
        if got.is_fine:
            break
        await asyncio.sleep(0.5)
    return got


def _problems(got: Got, kind: Kind) -> list[Any]:
    return ((got.body.get("data") or {}).get(kind.mutation) or {}).get("problems") or []


async def _count(on: Scene, kind: Kind) -> int:
    entities = Counter([item["entityType"]["S"] async for item in every_item(on.table)])
    return entities[kind.creates]
