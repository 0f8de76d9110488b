"""Creating, updating, publishing, archiving and deleting cards."""

import base64
import random
import time
import zlib

import orjson
import pytest

from datastore.cards import Card, CardStatus, VoteDirection
from tests.resolvers.cards.card_mutations import ARCHIVE, CREATE, DELETE, NO_CARD, PUBLISH, UPDATE, new, stored
from tests.resolvers.neighborhoods.test_site_commands import in_table
from tests.support.cards import do_all_jobs
from tests.support.graph import Asked, Graph, id_of, problem, viewer_of

MONTH = 30 * 24 * 3600


async def lists_with_a_card(graph: Graph) -> set[str]:
    """The indexes that the only card is in."""
    (item,) = await in_table(graph, "Card")
    return {item[f"GSI{n}PK"]["S"].partition("#")[0] + "/" + item[f"GSI{n}SK"]["S"].partition("#")[0]
            for n in range(1, 6) if f"GSI{n}PK" in item}  # fmt: skip


LISTED = {"CAT/CREATED", "USER/CREATED", "DATE/CREATED", "TYPE/CREATED"}


async def test_a_new_card_is_a_draft_for_thirty_days(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    earliest = int(time.time()) + MONTH

    asked = await graph.ask(CREATE, viewer_of(ada), input=new(wood))

    card = asked.data["createCard"]["card"]
    assert asked.data["createCard"] == {
        "card": {**card, "status": "DRAFT", "version": 1, "author": {"username": "ada"}, "category": {"name": "Wood"}},
        "problems": [],
    }
    assert asked.calls == {"TransactWriteItems": 1, "BatchGetItem": 1}
    made = await stored(graph, card["id"])
    assert earliest <= (made.expires_at or 0) <= int(time.time()) + MONTH
    assert (made.published_at, made.instructions, made.materials, made.tags) == (None, [], {}, [])
    assert await lists_with_a_card(graph) == {"USER/DRAFT"}


async def test_a_card_that_is_published_at_once_is_everywhere(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    said = {
        "description": " It shines. ",
        "imageUrls": ["https://example.org/a.jpg"],
        "instructions": [" Rub. ", " ", "Wait."],
        "materials": {"oil": "2 l"},
        "tools": ["rag"],
        "tags": ["Oil", "wood", "OIL", "wood", "b"],
        "estimatedTime": 0,
        "estimatedCost": {"amount": 3_000_000_000, "currency": "EUR"},
    }

    asked = await graph.ask(CREATE, viewer_of(ada), input=new(wood, publish=True, **said))
    await do_all_jobs(graph)

    made = await stored(graph, asked.data["createCard"]["card"]["id"])
    assert asked.data["createCard"]["card"]["status"] == "PUBLISHED"
    assert asked.calls == {"TransactWriteItems": 1, "BatchGetItem": 1}
    assert (made.description, made.image_urls) == ("It shines.", said["imageUrls"])
    assert (made.instructions, made.materials, made.tools) == (["Rub.", "Wait."], {"oil": "2 l"}, ["rag"])
    assert (made.tags, made.estimated_time) == (["Oil", "wood", "b"], 0)
    assert (made.estimated_cost, made.estimated_cost_currency) == (3_000_000_000, "EUR")
    assert (made.expires_at, made.listed_at, made.listed_on) == (None, made.published_at, made.created_at[:10])
    assert await lists_with_a_card(graph) == LISTED
    await graph.settle_search()
    found = await graph.ask('{ searchCards(text: "oil tab") { nodes { title } } }')
    assert found.data["searchCards"]["nodes"] == [{"title": "Oil a table"}]


async def test_what_is_left_out_of_an_update_stays_as_it_is(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    fields = {"description": "It shines.", "tags": ["oil"], "estimated_time": 5, "estimated_cost": 7}
    card = await workshop.card(ada, wood, **fields)
    given = {"cardId": id_of(card), "expectedVersion": 1, "description": None, "tags": ["wax"], "estimatedCost": None}

    asked = await graph.ask(UPDATE, viewer_of(ada), input=given)

    assert asked.data["updateCard"] == {
        "card": {
            "version": 2,
            "title": card.title,
            "description": None,
            "tags": ["wax"],
            "category": {"name": "Wood"},
        },
        "problems": [],
    }
    assert asked.calls == {"GetItem": 2, "TransactWriteItems": 1}
    after = await stored(graph, card)
    changed = {"description": None, "tags": ["wax"], "estimated_cost": None, "version": 2}
    assert after == card.changed(**changed, updated_at=after.updated_at)
    assert after.updated_at > card.updated_at


async def test_an_update_of_another_version_says_which_it_is(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood, version=5)

    payloads = [
        await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=version, title="Wax it")
        for version in (4, 6, 5)
    ]

    outdated = problem("CONFLICT", "the current version is 5; read it again", "input", "expectedVersion")
    refused = {"card": None, "problems": [{**outdated, "currentVersion": 5}]}
    assert payloads[:2] == [refused, refused]
    assert (payloads[2]["card"]["version"], payloads[2]["card"]["title"]) == (6, "Wax it")


async def test_a_card_moves_to_another_category_and_keeps_its_place(graph, workshop):
    ada = await workshop.person("ada")
    brass, iron = await workshop.category("brass"), await workshop.category("iron")
    older, card, newer = [await workshop.card(ada, category) for category in (iron, brass, iron)]
    await workshop.find_by_words(card)
    before = await graph.ask('{ searchCards(text: "brass") { nodes { databaseId } } }')

    await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, categoryId=id_of(iron))
    await do_all_jobs(graph)

    asked = await graph.ask(
        """{ categories { nodes { name cards { nodes { databaseId } } } }
            iron: searchCards(text: "iron") { nodes { databaseId } }
            brass: searchCards(text: "brass") { nodes { databaseId } } }"""
    )
    assert before.data == {"searchCards": {"nodes": [{"databaseId": card.card_id}]}}
    found_by_iron = asked.data.pop("iron")["nodes"]
    moved = [{"databaseId": each.card_id} for each in (newer, card, older)]
    assert asked.data == {
        "categories": {
            "nodes": [{"name": "Brass", "cards": {"nodes": []}}, {"name": "Iron", "cards": {"nodes": moved}}]
        },
        "brass": {"nodes": []},
    }
    # The cards are equally relevant.
    assert sorted(node["databaseId"] for node in found_by_iron) == sorted(each["databaseId"] for each in moved)


async def test_a_changed_draft_has_thirty_days_again(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    soon = int(time.time()) + 1_000
    card = await workshop.card(ada, wood, CardStatus.DRAFT, expires_at=soon)
    earliest = int(time.time()) + MONTH

    await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, title="Wax it")

    after = await stored(graph, card)
    assert earliest <= (after.expires_at or 0) <= int(time.time()) + MONTH
    assert await lists_with_a_card(graph) == {"USER/DRAFT"}


async def test_publishing_archiving_and_publishing_again(graph, workshop):
    ada, bob, wood = await workshop.person("ada"), await workshop.person("bob"), await workshop.category("wood")
    draft = await workshop.card(ada, wood, CardStatus.DRAFT)

    async def then(command: str) -> tuple[Asked, Card]:
        asked = await graph.ask(command, viewer_of(ada), input={"cardId": id_of(draft)})
        await do_all_jobs(graph)
        return asked, await stored(graph, draft)

    first, published = await then(PUBLISH)
    for voter, direction in ((ada, VoteDirection.UP), (bob, VoteDirection.DOWN)):
        await workshop.vote(voter, published, direction)
    published = await stored(graph, draft)
    found = await lists_with_a_card(graph)
    second, archived = await then(ARCHIVE)
    lost = await lists_with_a_card(graph)
    third, again = await then(PUBLISH)

    payloads = [dict(*asked.data.values()) for asked in (first, second, third)]
    assert [payload["card"] for payload in payloads] == [
        {"status": "PUBLISHED", "version": 2},
        {"status": "ARCHIVED", "version": 3},
        {"status": "PUBLISHED", "version": 4},
    ]
    assert [asked.calls for asked in (first, second, third)] == [{"GetItem": 1, "TransactWriteItems": 1}] * 3
    assert found == LISTED
    assert lost == {"USER/ARCHIVED"}
    assert (published.expires_at, published.listed_at, archived.listed_at) == (None, published.published_at, None)
    assert again == published.changed(version=4, updated_at=again.updated_at)


@pytest.mark.parametrize(("command", "status"), [(PUBLISH, CardStatus.PUBLISHED), (ARCHIVE, CardStatus.ARCHIVED)])
async def test_doing_it_again_changes_nothing(graph, workshop, command, status):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood, status)

    asked = await graph.ask(command, viewer_of(ada), input={"cardId": id_of(card)})

    (payload,) = asked.data.values()
    assert payload == {"card": {"status": status.value, "version": 1}, "problems": []}
    assert asked.calls == {"GetItem": 1}


async def test_a_draft_cannot_be_archived(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    draft = await workshop.card(ada, wood, CardStatus.DRAFT)

    payload = await graph.command(ARCHIVE, viewer_of(ada), cardId=id_of(draft))

    message = "a draft cannot be archived; publish it or delete it"
    assert payload["problems"] == [problem("INVALID", message, "input", "cardId")]


@pytest.mark.parametrize("status", CardStatus)
async def test_a_deleted_card_is_gone_at_once(graph, workshop, status):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood, status)

    asked = await graph.ask(DELETE, viewer_of(ada), input={"cardId": id_of(card)})
    again = await graph.command(DELETE, viewer_of(ada), cardId=id_of(card))

    assert asked.data["deleteCard"] == {"deletedCardId": id_of(card), "problems": []}
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert again == {"deletedCardId": None, "problems": [NO_CARD]}
    assert await lists_with_a_card(graph) == set()
    gone = await graph.ask("query ($id: ID!) { card(by: {id: $id}) { id } }", viewer_of(ada), id=id_of(card))
    assert gone.data == {"card": None}


CHANCE = random.Random(7)
TEXTS = {
    "short": ["Grüße, 世界 👩‍👩‍👧"],
    "long": ["Rub the oil in, along the grain. Wait. 木に油を塗る。 " * 25] * 20,
    "of chance": ["".join(chr(CHANCE.randrange(0x4E00, 0x9FFF)) for _ in range(600)) for _ in range(20)],
    "empty": [],
}


@pytest.mark.parametrize("kind", TEXTS)
async def test_instructions_and_materials_are_compressed_and_come_back_as_they_were(graph, workshop, kind):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    steps = [text.strip() for text in TEXTS[kind]]
    materials = {f"Öl {number}": {"text": text[:300], "n": [1.5, None, True]} for number, text in enumerate(steps[:10])}
    given = {"instructions": steps, "materials": materials}

    payload = await graph.command(CREATE, viewer_of(ada), **new(wood, **given))

    (item,) = await in_table(graph, "Card")
    for name, value in given.items():
        written = orjson.dumps(value)
        if len(written) < 1024:
            assert item[name] == {"S": written.decode()}
        else:
            packed = base64.b64decode(item[name]["B"])
            assert zlib.decompress(packed) == written
            assert len(packed) < len(written) / (20 if kind == "long" else 1)
    query = "query ($id: ID!) { card(by: {id: $id}) { instructions materials } }"
    assert (await graph.ask(query, viewer_of(ada), id=payload["card"]["id"])).data["card"] == given
    drafts = "{ viewer { cards(status: DRAFT) { nodes { instructions materials } } } }"
    assert (await graph.ask(drafts, viewer_of(ada))).data["viewer"]["cards"]["nodes"] == [given]
