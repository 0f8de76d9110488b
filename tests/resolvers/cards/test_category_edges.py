"""Reading the tree of categories: depth, cost, and damaged data."""

import pytest

from datastore.cards import CardStatus, Category
from resolvers.cards.edges import DEEPEST
from schema.build import build
from schema.execution.limits import Limits
from tests.resolvers.cards.categories import ADMIN, MOVE, TOO_DEEP, chain
from tests.schema.hostile import cost, whole
from tests.support.graph import id_of


async def test_the_tree_is_read_one_level_at_a_time(graph, workshop):
    top, other = await workshop.category("top"), await workshop.category("other")
    middle = await workshop.category("middle", top)
    leaf = await workshop.category("leaf", middle)
    await workshop.category("next", top)
    await workshop.category("far", other)
    tree = "query ($depth: Int!) { categoryTree(depth: $depth) { databaseId } }"
    below = "query ($id: ID!, $depth: Int!) { category(by: {id: $id}) { descendants(depth: $depth) { databaseId } } }"

    found = {depth: await graph.ask(tree, depth=depth) for depth in (1, 2, 3, DEEPEST)}
    inside = await graph.ask(below, id=id_of(top), depth=2)
    nothing = await graph.ask(below, id=id_of(leaf), depth=1)

    names = {depth: [each["databaseId"] for each in asked.data["categoryTree"]] for depth, asked in found.items()}
    assert names[1] == ["top", "other"]
    assert names[2] == ["top", "middle", "next", "other", "far"]
    assert names[3] == names[DEEPEST] == ["top", "middle", "leaf", "next", "other", "far"]
    # One for the top, one for each of two that have something in them, and one for the one further down.
    assert [asked.calls["Query"] for asked in found.values()] == [1, 3, 4, 4]
    assert [each["databaseId"] for each in inside.data["category"]["descendants"]] == ["middle", "leaf", "next"]
    assert inside.calls == {"GetItem": 1, "Query": 2}
    assert nothing.data["category"]["descendants"] == []


async def test_what_is_above_is_read_once_for_all(graph, workshop):
    top, middle, leaf = await chain(workshop, "top", "middle", "leaf")
    await workshop.category("sister", middle)
    query = """query ($id: ID!) { category(by: {id: $id}) {
      parent { databaseId } ancestors { databaseId } path } }"""
    many = "query ($id: ID!) { category(by: {id: $id}) { children { nodes { path parent { name } } } } }"

    asked = await graph.ask(query, id=id_of(leaf))
    top_asked = await graph.ask(query, id=id_of(top))
    both = await graph.ask(many, id=id_of(middle))

    assert asked.data["category"] == {
        "parent": {"databaseId": "middle"},
        "ancestors": [{"databaseId": "top"}, {"databaseId": "middle"}],
        "path": ["Top", "Middle", "Leaf"],
    }
    assert asked.calls == {"GetItem": 3}
    assert top_asked.data["category"] == {"parent": None, "ancestors": [], "path": ["Top"]}
    assert top_asked.calls == {"GetItem": 1}
    assert [node["path"] for node in both.data["category"]["children"]["nodes"]] == [
        ["Top", "Middle", "Leaf"],
        ["Top", "Middle", "Sister"],
    ]
    assert both.calls == {"GetItem": 2, "Query": 1}


async def test_a_category_by_its_identifier_and_its_cards(graph, workshop):
    author, wood = await workshop.person("author"), await workshop.category("wood")
    cards = [await workshop.card(author, wood) for _ in range(3)]
    await workshop.card(author, wood, CardStatus.DRAFT)
    query = "query ($id: String!) { category(by: {databaseId: $id}) { cards { nodes { databaseId } } } }"

    asked = await graph.ask(query, id=" WOOD ")
    nothing = await graph.ask(query, id="nothing")
    hostile = await graph.ask(query, id="wood#METADATA")

    found = asked.data["category"]["cards"]["nodes"]
    assert [node["databaseId"] for node in found] == [card.card_id for card in reversed(cards)]
    assert asked.calls == {"GetItem": 1, "Query": 1}
    assert nothing.data["category"] is None
    assert hostile.error["extensions"]["code"] == "INVALID"


@pytest.mark.parametrize("depth", [0, -1, DEEPEST + 1])
async def test_the_depth_has_bounds(graph, workshop, depth):
    top = await workshop.category("top")

    tree = await graph.ask("query ($depth: Int!) { categoryTree(depth: $depth) { name } }", depth=depth)
    below = await graph.ask(
        "query ($id: ID!, $depth: Int!) { category(by: {id: $id}) { descendants(depth: $depth) { name } } }",
        id=id_of(top),
        depth=depth,
    )

    for asked in (tree, below):
        assert asked.error["message"] == f"`depth` is {depth}; it must be from 1 to {DEEPEST}"
        assert asked.error["extensions"] == {"code": "INVALID"}


async def test_a_loop_in_damaged_data_hangs_nothing(graph, workshop):
    one, two, three = await chain(workshop, "one", "two", "three")
    await graph.table.batch_write(
        puts=[one.changed(parent_id="three", child_count=1), three.changed(child_count=1), two.changed(child_count=1)]
    )

    above = await graph.ask("query ($id: ID!) { category(by: {id: $id}) { ancestors { name } path } }", id=id_of(one))
    below = await graph.ask(
        "query ($id: ID!) { category(by: {id: $id}) { descendants(depth: 32) { databaseId } } }", id=id_of(one)
    )
    moved = await graph.command(MOVE, ADMIN, categoryId=id_of(await workshop.category("x")), parentId=id_of(two))

    assert len(above.data["category"]["ancestors"]) == DEEPEST
    assert above.calls == {"GetItem": 3}
    assert [each["databaseId"] for each in below.data["category"]["descendants"]] == ["two", "three", "one"]
    assert below.calls == {"GetItem": 1, "Query": 3}
    assert moved["problems"] == [TOO_DEEP]


async def test_a_category_that_is_missing_ends_the_way_up(graph, workshop):
    lost = await workshop.category("lost", parent_id="gone")

    asked = await graph.ask(
        "query ($id: ID!) { category(by: {id: $id}) { parent { name } ancestors { name } path } }", id=id_of(lost)
    )

    assert asked.data["category"] == {"parent": None, "ancestors": [], "path": ["Lost"]}


async def test_over_a_thousand_categories_are_too_many_for_one_answer(graph, workshop):
    tops = [Category(category_id=f"t{n}", name="T", sort_order=n, child_count=250) for n in range(4)]
    inner = [Category(category_id=f"{top.category_id}-{n}", name="I", parent_id=top.category_id) for top in tops
             for n in range(250)]  # fmt: skip
    await graph.table.batch_write(puts=[*tops, *inner])

    over = await graph.ask("{ categoryTree(depth: 2) { name } }")
    fits = await graph.ask("{ categoryTree(depth: 1) { name descendants: childCount } }")

    assert over.error["message"] == "these are over 1,000 categories; request fewer levels, or start further down"
    assert over.error["extensions"] == {"code": "INVALID"}
    assert [each["descendants"] for each in fits.data["categoryTree"]] == [250] * 4


@pytest.mark.parametrize(
    ("query", "records", "leaves"),
    [
        ("{ categoryTree { name } }", 1_000, 1_000),
        ("{ categoryTree { name parent { name } } }", 1_000 + 1_000, 2_000),
        ("{ categoryTree { cards(first: 5) { nodes { title author { username } } } } }", 1_000 * (1 + 5 + 5), 10_000),
        ("{ categories(first: 3) { nodes { descendants { name } } } }", 3 + 3 * 1_000, 3_000),
        ("{ categories(first: 3) { nodes { ancestors { children(first: 2) { nodes { name } } } } } }", 3 + 30 + 60, 60),
        ('{ searchCards(text: "x", first: 5) { nodes { author { username } } } }', 50 + 5, 5),
    ],
)
def test_a_list_of_many_multiplies_what_is_inside_it(query: str, records: int, leaves: int) -> None:
    assert cost(query, build()._schema, Limits(cost=10**9)) == whole(records, leaves)


async def test_a_query_that_could_read_too_many_is_refused_before_anything_is_read(graph, workshop):
    await workshop.category("top")

    asked = await graph.ask("{ categoryTree { cards { nodes { title } } } }")

    assert asked.error["message"] == (
        "categoryTree.cards costs 22,000 of at most 10,000; ask for smaller pages or fewer fields"
    )
    assert asked.calls == {}
