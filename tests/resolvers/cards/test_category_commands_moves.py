"""Categories move with their contents; under concurrency they stay a tree with exact counts."""

import asyncio
import random

import pytest

from datastore.cards import ROOT, Category
from resolvers.cards.edges import DEEPEST
from tests.resolvers.cards.categories import ADMIN, CREATE, MOVE, REORDER, TOO_DEEP, chain, names_in
from tests.resolvers.social.test_faults import in_conflict
from tests.support.fault_proxy import FOR_EVER, cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, problem

LOOP = problem("INVALID", "a category cannot move into itself or one of its subcategories", "input", "parentId")


async def all_categories(graph: Graph) -> dict[str, Category]:
    found = {}
    for item in await graph.items():
        if item["entityType"]["S"] == "Category":
            key = Category.key(category_id=item["categoryId"]["S"])
            record = await graph.table.get(key, consistent=True)
            assert record is not None
            found[record.category_id] = record
    return found


async def is_a_tree(graph: Graph) -> bool:
    """Every category reaches the top, and what is in each is counted."""
    found = await all_categories(graph)
    for category in found.values():
        above, steps = category.parent_id, 0
        while above != ROOT:
            above, steps = found[above].parent_id, steps + 1
            assert steps <= len(found), f"{category.category_id} is in a loop"
        inside = sum(other.parent_id == category.category_id for other in found.values())
        assert category.child_count == inside, category.category_id
    return True


async def test_a_category_moves_with_all_that_is_in_it(graph, workshop):
    one, two, three = await chain(workshop, "one", "two", "three")
    other = await workshop.category("other")
    await workshop.category("first", other)

    inside = await graph.command(MOVE, ADMIN, categoryId=id_of(two), parentId=id_of(other))
    path = await graph.ask("query ($id: ID!) { category(by: {id: $id}) { path } }", id=id_of(three))

    assert inside["problems"] == []
    assert inside["category"]["parent"] == {"databaseId": "other"}
    assert path.data["category"]["path"] == ["Other", "Two", "Three"]
    assert await names_in(graph, other) == ["first", "two"]
    assert await names_in(graph, one) == []

    top = await graph.command(MOVE, ADMIN, categoryId=id_of(two))

    assert top["category"]["parent"] is None
    assert await names_in(graph) == ["one", "other", "two"]
    assert await names_in(graph, two) == ["three"]
    assert await is_a_tree(graph)


async def test_a_category_moves_up_and_down_on_its_own_path(graph, workshop):
    one, two, three = await chain(workshop, "one", "two", "three")

    up = await graph.command(MOVE, ADMIN, categoryId=id_of(three), parentId=id_of(one))
    up_children = [await names_in(graph, each) for each in (one, two)]
    down = await graph.command(MOVE, ADMIN, categoryId=id_of(three), parentId=id_of(two))

    assert up["problems"] == down["problems"] == []
    assert up_children == [["two", "three"], []]
    assert [await names_in(graph, each) for each in (one, two)] == [["two"], ["three"]]
    assert await is_a_tree(graph)


async def test_where_it_is_already_a_category_stays_in_its_place(graph, workshop):
    top = await workshop.category("top")
    first, second = await workshop.category("first", top), await workshop.category("second", top)

    asked = await graph.ask(MOVE, ADMIN, input={"categoryId": id_of(first), "parentId": id_of(top)})

    assert asked.data["moveCategory"]["problems"] == []
    assert await names_in(graph, top) == [first.category_id, second.category_id]


@pytest.mark.parametrize("into", [0, 1, 2])
async def test_nothing_is_part_of_itself(graph, workshop, into):
    made = await chain(workshop, "one", "two", "three")

    payload = await graph.command(MOVE, ADMIN, categoryId=id_of(made[0]), parentId=id_of(made[into]))

    assert payload == {"category": None, "problems": [LOOP]}
    assert await is_a_tree(graph)


async def test_nothing_moves_so_deep_that_what_is_in_it_would_be_too_deep(graph, workshop):
    moved = await chain(workshop, "a0", "a1", "a2")
    await workshop.category("side", moved[0])
    there = await chain(workshop, *(f"b{level:02d}" for level in range(DEEPEST - 2)))

    too_deep = await graph.command(MOVE, ADMIN, categoryId=id_of(moved[0]), parentId=id_of(there[-1]))
    fits = await graph.ask(MOVE, ADMIN, input={"categoryId": id_of(moved[0]), "parentId": id_of(there[-2])})

    assert too_deep == {"category": None, "problems": [TOO_DEEP]}
    assert fits.data["moveCategory"]["problems"] == []
    assert fits.calls["Query"] == 1 + 2  # the last place there, and two levels
    path = await graph.ask('{ category(by: {databaseId: "a2"}) { path } }')
    assert len(path.data["category"]["path"]) == DEEPEST
    assert await is_a_tree(graph)


async def test_what_is_too_large_to_be_looked_through_does_not_move(graph, workshop):
    top, large = await workshop.category("top"), await workshop.category("large", child_count=1_001)

    payload = await graph.command(MOVE, ADMIN, categoryId=id_of(large), parentId=id_of(top))

    message = "it has over 1,000 subcategories; move some of them first"
    assert payload == {"category": None, "problems": [problem("INVALID", message, "input", "categoryId")]}


async def test_nothing_moves_from_or_to_nowhere(graph, workshop):
    wood, nothing = await workshop.category("wood"), id_of(Category(category_id="no", name="No"))

    moved = await graph.command(MOVE, ADMIN, categoryId=nothing, parentId=id_of(wood))
    into = await graph.command(MOVE, ADMIN, categoryId=id_of(wood), parentId=nothing)
    made = await graph.command(CREATE, ADMIN, name="x", parentId=nothing)

    message = "there is no such category"
    assert moved["problems"] == [problem("NOT_FOUND", message, "input", "categoryId")]
    assert into["problems"] == made["problems"] == [problem("NOT_FOUND", message, "input", "parentId")]


async def test_of_two_opposite_moves_at_once_one_is_refused(graph, workshop):
    for turn in range(5):
        one, two = await workshop.category(f"one{turn}"), await workshop.category(f"two{turn}")

        payloads = await asyncio.gather(
            graph.command(MOVE, ADMIN, categoryId=id_of(one), parentId=id_of(two)),
            graph.command(MOVE, ADMIN, categoryId=id_of(two), parentId=id_of(one)),
        )

        assert sorted([payload["problems"] for payload in payloads], key=len) == [[], [LOOP]]
    assert await is_a_tree(graph)


async def test_many_random_moves_at_once_leave_a_tree(graph, faulty_graph, proxy, workshop, engine_name):
    chance = random.Random(5)
    made = await chain(workshop, *(f"c{number:02d}" for number in range(8)))
    made += [await workshop.category(f"d{number}") for number in range(4)]
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.05)

    async def mover(number: int) -> set[str]:
        own = random.Random(number)
        codes: set[str] = set()
        for _ in range(10):
            category, parent = own.choice(made), own.choice([*made, None])
            into = {"parentId": id_of(parent)} if parent else {}
            payload = await faulty_graph.command(MOVE, ADMIN, categoryId=id_of(category), **into)
            codes |= {each["code"] for each in payload["problems"]}
        return codes

    codes = await asyncio.gather(*map(mover, range(8 if engine_name != "moto" else 3)))

    assert set().union(*codes) <= {"INVALID", "CONFLICT"}
    assert await is_a_tree(graph)


async def test_categories_made_at_once_are_counted(graph, workshop):
    top = await workshop.category("top")

    payloads = await asyncio.gather(
        *(graph.command(CREATE, ADMIN, name=f"C {number}", parentId=id_of(top)) for number in range(6)),
        *(graph.command(CREATE, ADMIN, name="Twin", parentId=id_of(top)) for _ in range(2)),
    )

    assert sorted(each["code"] for payload in payloads for each in payload["problems"]) == ["TAKEN"]
    assert sorted(await names_in(graph, top)) == [*(f"c-{number}" for number in range(6)), "twin"]
    assert await is_a_tree(graph)


async def test_what_is_moved_while_its_siblings_are_arranged_stays_where_it_went(graph, workshop):
    top, other = await workshop.category("top"), await workshop.category("other")
    inside = [await workshop.category(name, top) for name in "abcd"]

    await asyncio.gather(
        graph.command(REORDER, ADMIN, parentId=id_of(top), categoryIds=[*map(id_of, inside[::-1])]),
        graph.command(MOVE, ADMIN, categoryId=id_of(inside[0]), parentId=id_of(other)),
    )

    assert await names_in(graph, other) == ["a"]
    assert await is_a_tree(graph)
