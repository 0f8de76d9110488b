"""Creating, renaming and arranging categories."""

from typing import Any

import pytest

from datastore.cards import CardStatus, Category
from resolvers.cards import category_commands
from resolvers.cards.edges import DEEPEST
from tests.resolvers.cards.categories import ADMIN, CREATE, MOVE, REORDER, TOO_DEEP, UPDATE, chain, names_in
from tests.resolvers.cards.test_collection_commands import command
from tests.support.cards import do_all_jobs
from tests.support.fault_proxy import denied, nothing_wrong
from tests.support.graph import id_of, problem, viewer_of

BAD_ID = problem(
    "INVALID",
    "this is 1 to 40 letters a-z, digits and dashes, with a letter or digit at each end",
    "input",
    "databaseId",
)


async def test_a_category_is_made_the_last_of_its_siblings(graph, workshop):
    first = await graph.command(CREATE, ADMIN, name="  Wood & Wool ", description="All of it.")
    second = await graph.command(CREATE, ADMIN, name="Iron", databaseId=" METAL-work ")
    inner = await graph.command(CREATE, ADMIN, name="Øak für Äpfel", parentId=first["category"]["id"])

    given = {"name": "Wood & Wool", "description": "All of it.", "childCount": 0, "parent": None}
    made = {**given, "id": first["category"]["id"], "databaseId": "wood-wool", "sortOrder": 0}
    assert first == {"category": made, "problems": []}
    assert (second["category"]["databaseId"], second["category"]["sortOrder"]) == ("metal-work", 1)
    assert inner["category"]["databaseId"] == "oak-fur-apfel"
    assert inner["category"]["parent"] == {"databaseId": "wood-wool"}
    wood: Any = await graph.table.get(Category.key(category_id="wood-wool"))
    assert await names_in(graph) == ["wood-wool", "metal-work"]
    assert await names_in(graph, wood) == ["oak-fur-apfel"]


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"name": "Wood"}, [problem("TAKEN", "the category ID wood is taken", "input", "databaseId")]),
        (
            {"name": "Other", "databaseId": "WOOD"},
            [problem("TAKEN", "the category ID wood is taken", "input", "databaseId")],
        ),
        ({"name": "x", "databaseId": "-x"}, [BAD_ID]),
        ({"name": "x", "databaseId": "a#b"}, [BAD_ID]),
        ({"name": "x", "databaseId": "a b"}, [BAD_ID]),
        ({"name": "x", "databaseId": "ä"}, [BAD_ID]),
        ({"name": "x", "databaseId": "a" * 41}, [BAD_ID]),
        ({"name": "✨"}, [BAD_ID]),
        ({"name": " "}, [problem("INVALID", "this needs at least one character", "input", "name")]),
        (
            {"name": "x" * 201, "description": "\x07"},
            [
                problem("INVALID", "this has 201 characters; at most 200 are allowed", "input", "name"),
                problem("INVALID", "control characters are not allowed", "input", "description"),
            ],
        ),
    ],
)
async def test_what_cannot_be_made(graph, workshop, given, problems):
    await workshop.category("wood")

    assert await graph.command(CREATE, ADMIN, **given) == {"category": None, "problems": problems}
    assert await names_in(graph) == ["wood"]


async def test_a_long_name_makes_an_id_that_fits(graph):
    payload = await graph.command(CREATE, ADMIN, name="Boards " * 20)

    assert payload["problems"] == []
    assert payload["category"]["databaseId"] == "boards-boards-boards-boards-boards-board"


@pytest.mark.parametrize(
    ("name", "given", "calls"),
    [
        ("createCategory", {"name": "New"}, {"Query": 1, "TransactWriteItems": 1}),
        ("createCategory", {"name": "New", "parentId": 2}, {"GetItem": 3, "Query": 1, "TransactWriteItems": 1}),
        ("updateCategory", {"name": "New", "categoryId": 0}, {"GetItem": 1, "TransactWriteItems": 1}),
        ("moveCategory", {"categoryId": 2}, {"GetItem": 1, "Query": 1, "TransactWriteItems": 1}),
        ("moveCategory", {"categoryId": 3, "parentId": 1}, {"GetItem": 3, "Query": 1, "TransactWriteItems": 1}),
    ],
)
@pytest.mark.engine_contract
async def test_what_each_command_costs(graph, workshop, name, given, calls):
    made = [*await chain(workshop, "a", "b", "c"), await workshop.category("d")]
    given = {key: value if key == "name" else id_of(made[value]) for key, value in given.items()}

    asked = await graph.ask(command(name, "category { databaseId }"), ADMIN, input=given)

    assert asked.data[name]["problems"] == []
    assert asked.calls == calls


@pytest.mark.parametrize("name", ["create", "update", "move", "reorder"])
async def test_categories_are_changed_by_administrators_only(graph, workshop, name):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    given = {"create": {"name": "x"}, "reorder": {"categoryIds": [id_of(wood)]}}.get(name, {"categoryId": id_of(wood)})
    asking = {"create": CREATE, "update": UPDATE, "move": MOVE, "reorder": REORDER}[name]

    signed_in = await graph.ask(asking, viewer_of(ada), input=given)
    unsigned = await graph.command(asking, **given)

    (payload,) = signed_in.data.values()
    assert payload["problems"] == [problem("FORBIDDEN", "this requires a token with the role `admin`")]
    assert signed_in.calls == {}
    assert [each["code"] for each in unsigned["problems"]] == ["UNAUTHENTICATED"]


async def test_cards_of_a_category_with_another_name_are_found_by_it(graph, workshop):
    author, wood = await workshop.person("author"), await workshop.category("wood", name="Timber")
    cards = [await workshop.card(author, wood) for _ in range(3)]
    draft = await workshop.card(author, wood, CardStatus.DRAFT)
    await workshop.find_by_words(*cards, draft)
    search = "query ($text: String!) { searchCards(text: $text) { nodes { databaseId } } }"

    payload = await graph.command(UPDATE, ADMIN, categoryId=id_of(wood), name="Joinery", description=None)
    await do_all_jobs(graph)

    assert (payload["category"]["name"], payload["category"]["databaseId"]) == ("Joinery", "wood")
    found = (await graph.ask(search, text="joinery")).data["searchCards"]["nodes"]
    assert {node["databaseId"] for node in found} == {card.card_id for card in cards}
    assert (await graph.ask(search, text="timber")).data["searchCards"]["nodes"] == []


async def test_what_is_left_out_of_an_update_stays(graph, workshop):
    wood = await workshop.category("wood", name="Timber", description="Old.")

    same = await graph.command(UPDATE, ADMIN, categoryId=id_of(wood))
    bare = await graph.command(UPDATE, ADMIN, categoryId=id_of(wood), description=None)
    null = await graph.command(UPDATE, ADMIN, categoryId=id_of(wood), name=None)
    gone = await graph.command(UPDATE, ADMIN, categoryId=id_of(Category(category_id="no", name="no")), name="x")

    assert (same["category"]["name"], same["category"]["description"]) == ("Timber", "Old.")
    assert (bare["category"]["name"], bare["category"]["description"]) == ("Timber", None)
    assert null["problems"] == [
        problem("INVALID", "this cannot be null; leave it out to keep it as it is", "input", "name")
    ]
    assert gone["problems"] == [problem("NOT_FOUND", "there is no such category", "input", "categoryId")]


async def test_these_come_first_then_the_rest_as_they_were(graph, workshop):
    top = await workshop.category("top")
    made = [await workshop.category(name, top, sort_order=place) for place, name in enumerate("abcde")]
    given = {"parentId": id_of(top), "categoryIds": [id_of(made[place]) for place in (3, 1, 3)]}

    payload = await graph.command(REORDER, ADMIN, **given)
    again = await graph.ask(REORDER, ADMIN, input=given)

    order = ["d", "b", "a", "c", "e"]
    arranged = [{"databaseId": name, "sortOrder": place} for place, name in enumerate(order, 5)]
    assert payload == {"categories": arranged, "problems": []}
    assert again.data["reorderCategories"]["categories"] == arranged
    assert again.calls == {"Query": 1}
    assert await names_in(graph, top) == order


async def test_more_than_fifty_are_arranged_in_batches(graph, workshop):
    top = await workshop.category("top")
    names = [f"c{number:03d}" for number in range(120)]
    made = [Category(category_id=name, name=name, parent_id="top", sort_order=n) for n, name in enumerate(names)]
    await graph.table.batch_write(puts=[*made, top.changed(child_count=120)])

    asked = await graph.ask(REORDER, ADMIN, input={"parentId": id_of(top), "categoryIds": [*map(id_of, made[::-1])]})

    assert [each["databaseId"] for each in asked.data["reorderCategories"]["categories"]] == names[::-1]
    assert asked.calls == {"Query": 1, "TransactWriteItems": 3}
    page = await graph.table.query(Category.children_of(parent_id="top"), limit=200)
    assert [record.category_id for record in page.records] == names[::-1]


@pytest.mark.parametrize("first", [0, 1_000])
async def test_arranging_that_was_cut_off_and_is_done_again_ends_in_the_same_order(
    graph, faulty_graph, proxy, monkeypatch, first
):
    """Ids go against the order, so that two in the same place would change theirs."""
    monkeypatch.setattr(category_commands, "WRITES_AT_ONCE", 4)
    made = [Category(category_id=f"c{99 - n}", name="C", sort_order=first + n) for n in range(14)]
    await graph.table.batch_write(puts=made)
    given = {"categoryIds": [id_of(made[-1]), id_of(made[5])]}
    proxy.will("TransactWriteItems", nothing_wrong, 2)
    proxy.will("TransactWriteItems", denied, 1)

    cut = await faulty_graph.ask(REORDER, ADMIN, input=given)
    again = await graph.command(REORDER, ADMIN, **given)

    assert cut.error["extensions"]["code"] == "INTERNAL"
    order = [made[13], made[5], *made[:5], *made[6:13]]
    assert [each["databaseId"] for each in again["categories"]] == [each.category_id for each in order]
    assert await names_in(graph) == [each.category_id for each in order]


async def test_strangers_are_not_arranged(graph, workshop):
    top, other = await workshop.category("top"), await workshop.category("other")
    a, x = await workshop.category("a", top), await workshop.category("x", other)
    nothing = Category(category_id="nothing", name="Nothing")

    inside = await graph.command(REORDER, ADMIN, parentId=id_of(top), categoryIds=[*map(id_of, (a, x, nothing))])
    at_the_top = await graph.command(REORDER, ADMIN, categoryIds=[id_of(other), id_of(a)])
    no_id = await graph.command(REORDER, ADMIN, categoryIds=[id_of(other), "top"])

    message = "{}: not in this category; send IDs of its subcategories"
    assert inside["problems"] == [problem("INVALID", message.format("x, nothing"), "input", "categoryIds")]
    assert at_the_top["problems"] == [problem("INVALID", message.format("a"), "input", "categoryIds")]
    no_such_id = "'top' is not an id; use the field `id` of something this API returned"
    assert no_id["problems"] == [problem("INVALID", no_such_id, "input", "categoryIds")]
    assert await names_in(graph) == ["top", "other"]


async def test_categories_go_so_deep_and_no_deeper(graph, workshop):
    made = await chain(workshop, *(f"l{level:02d}" for level in range(DEEPEST - 1)))

    last = await graph.command(CREATE, ADMIN, name="Last", parentId=id_of(made[-1]))
    deeper = await graph.command(CREATE, ADMIN, name="Deeper", parentId=last["category"]["id"])

    assert last["problems"] == []
    assert deeper == {"category": None, "problems": [TOO_DEEP]}
    path = await graph.ask("query ($id: ID!) { category(by: {id: $id}) { path } }", id=last["category"]["id"])
    assert len(path.data["category"]["path"]) == DEEPEST


async def test_a_category_called_root_is_one_like_any_other(graph):
    root = await graph.command(CREATE, ADMIN, name="Root", databaseId="ROOT")
    await graph.command(CREATE, ADMIN, name="Leaf", parentId=root["category"]["id"])

    asked = await graph.ask("{ categories { nodes { databaseId children { nodes { databaseId } } } } }")

    inside = {"nodes": [{"databaseId": "leaf"}]}
    assert asked.data["categories"]["nodes"] == [{"databaseId": "root", "children": inside}]
