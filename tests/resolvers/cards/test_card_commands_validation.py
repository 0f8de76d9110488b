"""Cards that are refused, and the largest that are accepted."""

import orjson
import pytest

from datastore.cards import CardStatus, Category, Difficulty
from resolvers.cards.card_commands import CONTENT
from tests.resolvers.cards.card_mutations import CREATE, EMPTY, PUBLISH, UPDATE, new, stored
from tests.resolvers.neighborhoods.test_site_commands import NO_OBJECT, NOT_KEPT, in_table, nested, of_bytes
from tests.support.graph import id_of, problem, viewer_of

NULL = "this cannot be null; leave it out to keep it as it is"
NOTHING_TO_DO = problem("INVALID", "a published card needs at least one instruction", "input", "instructions")
NO_URL = "a URL begins with https://, has no user name and at most 2048 bytes"


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
        ("estimatedCost", {"amount": -1, "currency": "EUR"}, "this is -1; it cannot be less than 0"),
        ("estimatedCost", {"amount": 1, "currency": "eur"}, "a currency is three letters A-Z, such as EUR"),
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

    bad = new(wood, materials=[], estimatedCost={"amount": -1, "currency": "EUR"}) | {"title": ""}
    payload = await graph.command(CREATE, viewer_of(ada), **bad)

    assert payload["problems"] == [
        problem("INVALID", EMPTY, "input", "title"),
        problem("INVALID", NO_OBJECT, "input", "materials"),
        problem("INVALID", "this is -1; it cannot be less than 0", "input", "estimatedCost"),
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


NOT_NULL = ["title", "categoryId", "difficulty", "imageUrls", "instructions", "materials", "tools", "tags"]


async def test_what_may_not_be_null(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    card = await workshop.card(ada, wood)
    nothing = {"cardId": id_of(card), "expectedVersion": 1, **dict.fromkeys(NOT_NULL)}

    payload = await graph.command(UPDATE, viewer_of(ada), **nothing)

    expected = [problem("INVALID", NULL, "input", field) for field in NOT_NULL]
    assert [{**each, "currentVersion": None} for each in expected] == payload["problems"]
