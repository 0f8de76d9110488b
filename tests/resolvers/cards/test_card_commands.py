"""Commands of cards: effects, refusals and calls."""

import base64
import random
import time
import zlib
from typing import Any

import orjson
import pytest

from datastore.cards import Card, CardStatus, Category, Difficulty, VoteDirection
from resolvers.cards.card_commands import CONTENT
from tests.resolvers.neighborhoods.test_site_commands import NO_OBJECT, NOT_KEPT, in_table, nested, of_bytes
from tests.support.cards import do_all_jobs
from tests.support.graph import Asked, Graph, id_of, mutation, problem, viewer_of

CREATE = mutation("createCard", "card { id status version author { username } category { name } }")
UPDATE = mutation("updateCard", "card { version title description tags category { name } }").replace(
    "problems { code", "problems { currentVersion code"
)
PUBLISH = mutation("publishCard", "card { status version }")
ARCHIVE = mutation("archiveCard", "card { status version }")
DELETE = mutation("deleteCard", "deletedCardId")

MONTH = 30 * 24 * 3600
NO_CARD = problem("NOT_FOUND", "there is no such card", "input", "cardId")
NO_COMMENT = problem("NOT_FOUND", "there is no such card comment", "input", "commentId")
NULL = "this cannot be null; leave it out to keep it as it is"
NOTHING_TO_DO = problem("INVALID", "a published card needs at least one instruction", "input", "instructions")
EMPTY = "this needs at least one character"
NO_URL = "a URL begins with https://, has no user name and at most 2048 bytes"


def new(category: Category, **given: Any) -> dict[str, Any]:
    return {"title": "Oil a table", "categoryId": id_of(category), "difficulty": "EXPERT", **given}


async def stored(graph: Graph, id_or_card: Card | str) -> Card:
    """As it is in the table."""
    wanted = id_or_card if isinstance(id_or_card, str) else id_of(id_or_card)
    cards = [item["cardId"]["S"] for item in await in_table(graph, "Card")]
    keys = [Card.key(card_id=card_id) for card_id in cards]
    found = [await graph.table.get(key, consistent=True) for key in keys]
    return next(card for card in found if card and id_of(card) == wanted)


async def lists_with_a_card(graph: Graph) -> set[str]:
    """The indexes that the only card is in."""
    (item,) = await in_table(graph, "Card")
    return {item[f"GSI{n}PK"]["S"].partition("#")[0] + "/" + item[f"GSI{n}SK"]["S"].partition("#")[0]
            for n in range(1, 6) if f"GSI{n}PK" in item}  # fmt: skip


LISTED = {"CAT/CREATED", "USER/CREATED", "DATE/CREATED", "VOTETYPE/SCORE"}


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
        "estimatedCost": 1_000_000_000,
    }

    asked = await graph.ask(CREATE, viewer_of(ada), input=new(wood, publish=True, **said))
    await do_all_jobs(graph)

    made = await stored(graph, asked.data["createCard"]["card"]["id"])
    assert asked.data["createCard"]["card"]["status"] == "PUBLISHED"
    assert asked.calls == {"TransactWriteItems": 1, "BatchGetItem": 1}
    assert (made.description, made.image_urls) == ("It shines.", said["imageUrls"])
    assert (made.instructions, made.materials, made.tools) == (["Rub.", "Wait."], {"oil": "2 l"}, ["rag"])
    assert (made.tags, made.estimated_time, made.estimated_cost) == (["Oil", "wood", "b"], 0, 1_000_000_000)
    assert (made.expires_at, made.listed_at, made.listed_on) == (None, made.published_at, made.created_at[:10])
    assert await lists_with_a_card(graph) == LISTED
    found = await graph.ask('{ searchCards(text: "oil tab") { nodes { title } } }')
    assert found.data["searchCards"]["nodes"] == [{"title": "Oil a table"}]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", " ", EMPTY),
        ("title", "x" * 121, "this has 121 characters; at most 120 are allowed"),
        ("title", "a\x00b", "control characters are not allowed"),
        ("description", "x" * 5_001, "this has 5001 characters; at most 5000 are allowed"),
        ("imageUrls", ["http://example.org/a.jpg"], NO_URL),
        ("imageUrls", ["https://ada@example.org/a.jpg"], NO_URL),
        ("imageUrls", ["https://example.org/a.jpg"] * 11, "these are 11; at most 10 are allowed"),
        ("imageUrls", ["https://example.org/" + "ö" * 1_015], NO_URL),
        ("instructions", ["x"] * 201, "these are 201; at most 200 are allowed"),
        ("instructions", ["x", "x" * 5_001], "this has 5001 characters; at most 5000 are allowed"),
        ("instructions", ["ö" * 4_997] * 4 + ["x" * 9], "this has 40,001 bytes; at most 40,000 are allowed"),
        ("materials", [], NO_OBJECT),
        ("materials", "{}", NO_OBJECT),
        ("materials", of_bytes(10_001), "this has 10,001 bytes; at most 10,000 are allowed"),
        ("materials", nested(101), NOT_KEPT),
        ("materials", {"n": 2**70}, NOT_KEPT),
        ("tools", ["x"] * 51, "these are 51; at most 50 are allowed"),
        ("tools", ["x" * 101], "this has 101 characters; at most 100 are allowed"),
        ("tags", [str(number) for number in range(11)], "these are 11; at most 10 are allowed"),
        ("tags", ["x" * 41], "this has 41 characters; at most 40 are allowed"),
        ("estimatedTime", -1, "this is -1; it goes from 0 to 5,000,000"),
        ("estimatedTime", 5_000_001, "this is 5,000,001; it goes from 0 to 5,000,000"),
        ("estimatedCost", 1_000_000_001, "this is 1,000,000,001; it goes from 0 to 1,000,000,000"),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_a_card_that_is_refused(graph, workshop, field, value, message):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood)
    change = {"cardId": id_of(card), "expectedVersion": 1, field: value}

    asked = [
        await graph.ask(CREATE, viewer_of(ada), input=new(wood) | {field: value}),
        await graph.ask(UPDATE, viewer_of(ada), input=change),
    ]

    expected = problem("INVALID", message, "input", field)
    assert asked[0].data["createCard"] == {"card": None, "problems": [expected]}
    assert asked[1].data["updateCard"] == {"card": None, "problems": [expected | {"currentVersion": None}]}
    assert [each.calls for each in asked] == [{}, {}]
    assert len(await in_table(graph, "Card")) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "ö" * 120),
        ("instructions", ["ö" * 4_997] * 4 + ["x" * 8]),
        ("imageUrls", ["https://example.org/" + "ö" * 1_014]),
        ("materials", of_bytes(10_000)),
        ("tags", ["x" * 40]),
        ("estimatedTime", 5_000_000),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_as_much_as_is_allowed_is_fine(graph, workshop, field, value):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")

    assert (await graph.command(CREATE, viewer_of(ada), **new(wood) | {field: value}))["problems"] == []


async def test_a_card_has_so_many_bytes_in_all(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    most_of_it = {"instructions": ["ö" * 4_990] * 4, "materials": of_bytes(10_000), "tools": ["x" * 100] * 50}
    card = await workshop.card(ada, wood, difficulty=Difficulty.EXPERT, **most_of_it)
    said = {name: getattr(card, name) for name in CONTENT} | {"description": ""}
    room = 60_000 - len(orjson.dumps(said))
    given = {"cardId": id_of(card), "expectedVersion": 1}
    anew = new(wood) | most_of_it | {"title": card.title}

    over = [
        await graph.command(UPDATE, viewer_of(ada), **given, description="x" * (room + 1)),
        await graph.command(CREATE, viewer_of(ada), **anew | {"description": "x" * (room + 1)}),
    ]
    full = [
        await graph.command(UPDATE, viewer_of(ada), **given, description="x" * room),
        await graph.command(CREATE, viewer_of(ada), **anew | {"description": "x" * room}),
    ]

    too_large = "the card has 60,001 bytes in all; at most 60,000 are allowed"
    assert [[each["message"] for each in payload["problems"]] for payload in over] == [[too_large], [too_large]]
    assert [payload["problems"] for payload in full] == [[], []]


async def test_all_that_is_wrong_with_a_card_is_said_at_once(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")

    bad = new(wood, materials=[], estimatedCost=-1) | {"title": ""}
    payload = await graph.command(CREATE, viewer_of(ada), **bad)

    assert payload["problems"] == [
        problem("INVALID", EMPTY, "input", "title"),
        problem("INVALID", NO_OBJECT, "input", "materials"),
        problem("INVALID", "this is -1; it goes from 0 to 1,000,000,000", "input", "estimatedCost"),
    ]


async def test_a_card_needs_a_category_that_is_there_and_instructions_to_be_published(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    nowhere = Category(category_id="nowhere", name="Nowhere")
    draft = await workshop.card(ada, wood, CardStatus.DRAFT, instructions=[])
    card = await workshop.card(ada, wood)
    edit = {"cardId": id_of(card), "expectedVersion": 1}

    payloads = [
        await graph.command(CREATE, viewer_of(ada), **new(nowhere)),
        await graph.command(UPDATE, viewer_of(ada), **edit, categoryId=id_of(nowhere)),
        await graph.command(CREATE, viewer_of(ada), **new(wood, publish=True, instructions=[" "])),
        await graph.command(PUBLISH, viewer_of(ada), cardId=id_of(draft)),
        await graph.command(UPDATE, viewer_of(ada), **edit, instructions=[]),
    ]

    no_category = problem("NOT_FOUND", "there is no such category", "input", "categoryId")
    problems = [{**each, "currentVersion": None} for payload in payloads for each in payload["problems"]]
    unpublishable = {**NOTHING_TO_DO, "path": ["input", "cardId"]}
    expected = [no_category, no_category, NOTHING_TO_DO, unpublishable, NOTHING_TO_DO]
    assert problems == [{**each, "currentVersion": None} for each in expected]
    assert {card.version for card in [await stored(graph, each) for each in (draft, card)]} == {1}


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


NOT_NULL = ["title", "categoryId", "difficulty", "imageUrls", "instructions", "materials", "tools", "tags"]


async def test_what_may_not_be_null(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood)
    nothing = {"cardId": id_of(card), "expectedVersion": 1, **dict.fromkeys(NOT_NULL)}

    payload = await graph.command(UPDATE, viewer_of(ada), **nothing)

    expected = [problem("INVALID", NULL, "input", field) for field in NOT_NULL]
    assert [{**each, "currentVersion": None} for each in expected] == payload["problems"]


async def test_a_card_moves_to_another_category_and_keeps_its_place(graph, workshop):
    ada = await workshop.person("ada")
    wood, iron = await workshop.category("wood"), await workshop.category("iron")
    older, card, newer = [await workshop.card(ada, category) for category in (iron, wood, iron)]
    await workshop.find_by_words(card)

    await graph.command(UPDATE, viewer_of(ada), cardId=id_of(card), expectedVersion=1, categoryId=id_of(iron))
    await do_all_jobs(graph)

    asked = await graph.ask(
        """{ categories { nodes { name cards { nodes { cardId } } } }
            iron: searchCards(text: "iron") { nodes { cardId } }
            wood: searchCards(text: "wood") { nodes { cardId } } }"""
    )
    moved = [{"cardId": each.card_id} for each in (newer, card, older)]
    assert asked.data == {
        "categories": {
            "nodes": [{"name": "Wood", "cards": {"nodes": []}}, {"name": "Iron", "cards": {"nodes": moved}}]
        },
        "iron": {"nodes": [{"cardId": card.card_id}]},
        "wood": {"nodes": []},
    }


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
    found = [await lists_with_a_card(graph), len(await in_table(graph, "SearchTerm"))]
    second, archived = await then(ARCHIVE)
    lost = [await lists_with_a_card(graph), len(await in_table(graph, "SearchTerm"))]
    third, again = await then(PUBLISH)

    payloads = [dict(*asked.data.values()) for asked in (first, second, third)]
    assert [payload["card"] for payload in payloads] == [
        {"status": "PUBLISHED", "version": 2},
        {"status": "ARCHIVED", "version": 3},
        {"status": "PUBLISHED", "version": 4},
    ]
    assert [asked.calls for asked in (first, second, third)] == [{"GetItem": 1, "TransactWriteItems": 1}] * 3
    assert found == [LISTED, 5]
    assert lost == [{"USER/ARCHIVED"}, 0]
    assert (published.expires_at, published.listed_at, archived.ranked_score) == (None, published.published_at, None)
    assert again == published.changed(version=4, updated_at=again.updated_at)
    assert len(await in_table(graph, "SearchTerm")) == 5


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
    gone = await graph.ask("query ($id: ID!) { card(id: $id) { id } }", viewer_of(ada), id=id_of(card))
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
    query = "query ($id: ID!) { card(id: $id) { instructions materials } }"
    assert (await graph.ask(query, viewer_of(ada), id=payload["card"]["id"])).data["card"] == given
    drafts = "{ viewer { cards(status: DRAFT) { nodes { instructions materials } } } }"
    assert (await graph.ask(drafts, viewer_of(ada))).data["viewer"]["cards"]["nodes"] == [given]
