"""People of a tree by name, birth and ID, with their calls: hidden people are neither found nor placed."""

from typing import Any

import pytest

from datastore.genealogy import DEAD, LIVING, Person, Tree
from tests.resolvers.genealogy.test_visibility_living import INSIDE, SECRET, STRANGERS, Scene
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, mutation, viewer_of

LIST = """query ($id: ID!, $first: Int, $after: String) { tree(by: { id: $id }) {
    persons(first: $first, after: $after %s) {
        totalCount nodes { firstName } pageInfo { hasNextPage endCursor } } } }"""
PEOPLE = {
    "Zoe": {"last_name": "Ämter", "birth_date": "1950-05-15"},
    "Ada": {"last_name": "Smith", "birth_date": "ABT 1850"},
    "Bob": {"last_name": "Smithson", "birth_date": "1850-02-03"},
    "Cid": {"last_name": "smith", "birth_date": "44 BCE"},
    "Dan": {"last_name": None, "birth_date": None, "is_deceased": True},
    "Eve": {"last_name": "O#Neill", "birth_date": "(long ago)", "is_deceased": True},
    "Fay": {"last_name": "Smith", "birth_date": "2001", "is_deceased": False},
}
BY_NAME = ["Dan", "Zoe", "Eve", "Ada", "Cid", "Fay", "Bob"]
BY_BIRTH = ["Cid", "Ada", "Bob", "Zoe", "Fay", "Eve", "Dan"]


async def add_people(kindred: Kindred) -> tuple[Any, Tree]:
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner, public=True, person_count=0)
    for name, fields in PEOPLE.items():
        await kindred.person(tree, name, **{"is_deceased": True, **fields})
    return owner, tree


async def found(graph: Graph, tree: Tree, viewer: Any, arguments: str, **given: Any) -> list[str]:
    asked = await graph.ask(LIST % f", {arguments}" if arguments else LIST % "", viewer, id=id_of(tree), **given)
    return [node["firstName"] for node in asked.data["tree"]["persons"]["nodes"]]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ("", [*PEOPLE]),
        ("orderBy: ID", [*PEOPLE]),
        ("orderBy: NAME", BY_NAME),
        ("orderBy: BIRTH_YEAR", BY_BIRTH),
        ('lastNameStartsWith: "SMÍTH"', ["Ada", "Cid", "Fay", "Bob"]),
        ('lastNameStartsWith: "o n"', ["Eve"]),
        ('lastNameStartsWith: "a", orderBy: NAME', ["Zoe"]),
        ("bornFrom: 1850", ["Ada", "Bob", "Zoe", "Fay"]),
        ("bornTo: 1850", ["Cid", "Ada", "Bob"]),
        ("bornFrom: 1851, bornTo: 2000, orderBy: BIRTH_YEAR", ["Zoe"]),
        ("bornFrom: 2000, bornTo: 1900", []),
        ('lastNameStartsWith: "smith", bornFrom: 1850', ["Ada", "Fay", "Bob"]),
        ('lastNameStartsWith: "smith", bornTo: 1849', ["Cid"]),
    ],
)
async def test_the_owner_sees_everybody_in_every_order(graph, kindred, arguments, names):
    owner, tree = await add_people(kindred)

    assert await found(graph, tree, viewer_of(owner), arguments) == names


async def test_a_shorter_name_comes_before_a_longer_one_that_begins_with_it(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    for first, last in [("Eve", "Berg-Smith"), ("Dan", "Berg Smith"), ("Cid Ada", "Berg"), ("Cid", "Berg")]:
        await kindred.person(tree, first, last_name=last)

    by_name = await found(graph, tree, viewer_of(owner), "orderBy: NAME")
    by_both_names = [
        await found(graph, tree, viewer_of(owner), f'lastNameStartsWith: "berg{text}"') for text in (",c", "  c", " c")
    ]

    assert by_name == ["Cid", "Cid Ada", "Dan", "Eve"]
    assert by_both_names == [[], [], []]


async def test_an_order_takes_a_query_for_the_dead_and_one_for_the_living(graph, kindred):
    owner, tree = await add_people(kindred)
    query = LIST % ", orderBy: NAME"

    for_owner = await graph.ask(query, viewer_of(owner), id=id_of(tree))
    for_stranger = await graph.ask(query, id=id_of(tree))

    assert for_owner.data["tree"]["persons"]["totalCount"] == 7
    assert for_owner.calls == {"GetItem": 1, "BatchGetItem": 1, "Query": 2}
    assert for_stranger.calls == {"GetItem": 2, "Query": 1}


@pytest.mark.parametrize("order", ["NAME", "BIRTH_YEAR"])
async def test_pages_are_the_list(graph, kindred, order):
    owner, tree = await add_people(kindred)
    query, pages, after = LIST % f", orderBy: {order}", [], None
    while True:
        asked = await graph.ask(query, viewer_of(owner), id=id_of(tree), first=2, after=after)
        page = asked.data["tree"]["persons"]
        pages.append([node["firstName"] for node in page["nodes"]])
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break

    wanted = BY_NAME if order == "NAME" else BY_BIRTH
    assert pages == [wanted[at : at + 2] for at in range(0, 7, 2)]


async def test_the_number_of_people_is_not_that_of_a_filter(graph, kindred):
    owner, tree = await add_people(kindred)

    asked = await graph.ask(LIST % ", bornFrom: 1850", viewer_of(owner), id=id_of(tree))

    assert asked.data["tree"]["persons"]["totalCount"] is None


@pytest.mark.parametrize(
    "arguments",
    ['lastNameStartsWith: "a", orderBy: ID', "bornTo: 1900, orderBy: NAME", "bornFrom: 0", "bornTo: 10000"],
)
async def test_what_no_index_serves_is_refused(graph, kindred, arguments):
    owner, tree = await add_people(kindred)

    asked = await graph.ask(LIST % f", {arguments}", viewer_of(owner), id=id_of(tree))

    assert asked.error["extensions"]["code"] == "INVALID"


async def test_a_change_is_another_place(graph, kindred):
    owner, tree = await add_people(kindred)
    (fay,) = (await graph.table.query(Person.by_name(tree_id=tree.tree_id, life=LIVING), limit=10)).records
    update = mutation("updatePerson", "person { firstName }")

    await graph.command(
        update, viewer_of(owner), personId=id_of(fay), expectedVersion=1, lastName="Aaron", isDeceased=True
    )
    stored = await graph.table.query(Person.by_name(tree_id=tree.tree_id, life=DEAD), limit=10)

    assert [person.first_name for person in stored.records] == ["Dan", "Fay", "Zoe", "Eve", "Ada", "Cid", "Bob"]


ARGUMENTS = [
    "orderBy: NAME",
    "orderBy: BIRTH_YEAR",
    f'lastNameStartsWith: "{SECRET}"',
    f'lastNameStartsWith: "{SECRET[0]}"',
    'lastNameStartsWith: ""',
    "bornFrom: 1987",
    "bornFrom: 1985, bornTo: 1995",
    "bornTo: 2000",
    f'lastNameStartsWith: "{SECRET}", bornFrom: 1980',
    'orderBy: NAME, lastNameStartsWith: "", bornTo: 1990',
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
async def test_strangers_learn_nothing_about_the_living(graph, kindred, arguments):
    """A tree with hidden people answers a stranger as the same tree without them, down to the calls."""
    scene = await Scene.of(graph, kindred)
    query = LIST.replace("totalCount", "") % f", {arguments}"

    async def answers() -> dict[str, Any]:
        asked = {name: await graph.ask(query, scene.viewer(name), id=id_of(scene.tree), first=1) for name in STRANGERS}
        return {name: (each.data, each.calls) for name, each in asked.items()}

    before = await answers()
    hidden = [person.own_key for name, person in scene.people.items() if name not in ("Old", "Friend")]
    await graph.table.batch_write(deletes=hidden)

    assert await answers() == before


async def test_the_living_are_listed_for_those_the_tree_is_shared_with(graph, kindred):
    scene = await Scene.of(graph, kindred)
    arguments = f'lastNameStartsWith: "{SECRET}", bornFrom: 1980'

    for name in INSIDE:
        assert await found(graph, scene.tree, scene.viewer(name), arguments) == [SECRET] * 3
    for name in STRANGERS:
        assert await found(graph, scene.tree, scene.viewer(name), arguments) == []
        assert await found(graph, scene.tree, scene.viewer(name), "orderBy: NAME") == ["Friend", "Old"]


async def test_an_index_that_lags_shows_no_living_person(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner, public=True)
    person = await kindred.person(tree, "Sue", last_name=SECRET, birth_date="2001")
    person.__dict__["life"] = DEAD
    await graph.table.put(person)

    assert await found(graph, tree, viewer_of(await kindred.user("eve")), f'lastNameStartsWith: "{SECRET}"') == []
    assert await found(graph, tree, viewer_of(owner), f'lastNameStartsWith: "{SECRET}"') == ["Sue"]
