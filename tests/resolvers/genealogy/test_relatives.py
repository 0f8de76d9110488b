"""Kinship in the graph: computed from one read of the tree for all fields and trees of all shapes."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from datastore.client.writes import Update
from datastore.genealogy import WHOLE_TREE, Parentage, ParentageKind, Person, Tree
from datastore.model.dates import HistoricDate
from resolvers.genealogy.relatives import A_PAGE
from tests.resolvers.genealogy.test_edges import Family, a_family, relatives
from tests.support.genealogy import Kindred
from tests.support.graph import Asked, Graph, id_of, viewer_of

KIN = "person { firstName } generation"
# The person, the records of the visibility rule, and the tree, which is one page.
ONE_READING = {"GetItem": 1, "BatchGetItem": 1, "Query": 1}


def named(*names: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"person": {"firstName": name}, "generation": generation} for name, generation in names]


async def test_ancestors_are_the_nearest_first(graph, kindred):
    family = await a_family(kindred)

    asked = await relatives(graph, family, "Eve", f"ancestors {{ {KIN} }}")
    parents = await relatives(graph, family, "Eve", f"ancestors(generations: 2) {{ {KIN} }}")

    near = [("Ada", 1), ("Father", 2), ("Mother", 2)]
    assert asked.data["person"]["ancestors"] == named(*near, ("Grandpa", 3), ("Grandma", 3))
    assert asked.calls == ONE_READING
    assert parents.data["person"]["ancestors"] == named(*near)
    assert parents.calls == ONE_READING


async def test_descendants_are_the_nearest_first_in_the_order_of_birth(graph, kindred):
    family = await a_family(kindred)

    asked = await relatives(graph, family, "Grandma", f"descendants {{ {KIN} }}")

    younger = [("Dot", 2), ("Ada", 2), ("Ben", 2), ("Cal", 2), ("Eve", 3)]
    assert asked.data["person"]["descendants"] == named(("Uncle", 1), ("Father", 1), *younger)
    assert asked.calls == ONE_READING


async def test_common_ancestors_say_how_far_away_both_are(graph, kindred):
    family = await a_family(kindred)
    fields = 'commonAncestors(withPersonId: "%s") { person { firstName } generations otherGenerations }'

    asked = await relatives(graph, family, "Eve", fields % id_of(family["Dot"]))

    assert asked.data["person"]["commonAncestors"] == [
        {"person": {"firstName": name}, "generations": 3, "otherGenerations": 2} for name in ("Grandpa", "Grandma")
    ]
    assert asked.calls == ONE_READING


RELATIONSHIP = """kinship(toPersonId: "%s") {
    name generationsUp generationsDown marriages cousinDegree removal half
    path { person { firstName } link kind status } }"""


def degree(up: int, down: int, marriages: int = 0, **more: Any) -> dict[str, Any]:
    said = {"generationsUp": up, "generationsDown": down, "marriages": marriages}
    return {**said, "cousinDegree": None, "removal": None, "half": False, **more}


def step(name: str, link: str | None = None, kind: str | None = None, status: str | None = None) -> dict[str, Any]:
    return {"person": {"firstName": name}, "link": link, "kind": kind, "status": status}


async def test_a_relationship_has_a_name_a_degree_and_the_way(graph, kindred):
    family = await a_family(kindred)

    asked = await relatives(graph, family, "Eve", RELATIONSHIP % id_of(family["Dot"]))

    assert asked.data["person"]["kinship"] == {
        "name": "adoptive first cousin once removed",
        **degree(3, 2, cousinDegree=1, removal=1),
        "path": [
            step("Eve"),
            step("Ada", "PARENT", "BIOLOGICAL"),
            step("Father", "PARENT", "BIOLOGICAL"),
            step("Grandpa", "PARENT", "BIOLOGICAL"),
            step("Uncle", "CHILD", "BIOLOGICAL"),
            step("Dot", "CHILD", "ADOPTIVE"),
        ],
    }
    assert asked.calls == {"GetItem": 2, "BatchGetItem": 1, "Query": 1}


@pytest.mark.parametrize(
    ("one", "other", "name", "expected"),
    [
        ("Ada", "Grandma", "grandmother", degree(2, 0)),
        ("Ada", "Stepmother", "step-mother", degree(1, 0)),
        ("Ada", "Cal", "half-brother", degree(1, 1, half=True)),
        ("Ada", "Uncle", "uncle", degree(2, 1)),
        ("Mother", "Stepmother", "wife of the ex-husband", degree(0, 0, 2)),
        ("Father", "Mother", "ex-wife", degree(0, 0, 1)),
        ("Mother", "Grandpa", "father of the ex-husband", degree(1, 0, 1)),
        ("Ada", "Ada", "self", degree(0, 0)),
    ],
)
async def test_what_people_of_a_tree_are_to_each_other(graph, kindred, one, other, name, expected):
    family = await a_family(kindred)

    asked = await relatives(graph, family, one, RELATIONSHIP % id_of(family[other]))

    found = asked.data["person"]["kinship"]
    del found["path"]
    assert found == {"name": name, **expected}


async def test_of_people_without_a_way_between_them(graph, kindred):
    family = await a_family(kindred)
    alone = await kindred.person(family.tree, "Alone")

    asked = await relatives(graph, family, "Ada", RELATIONSHIP % id_of(alone))

    assert asked.data["person"]["kinship"] == {"name": "not related", **degree(0, 0), "path": []}


async def test_people_of_another_tree_are_no_relatives(graph, kindred):
    family = await a_family(kindred)
    other = await kindred.person(await kindred.tree(family.owner), "Other")
    fields = """kinship(toPersonId: "%s") { name } commonAncestors(withPersonId: "%s") { generations }"""

    asked = await relatives(graph, family, "Ada", fields % (id_of(other), id_of(other)))

    assert asked.data["person"] == {"kinship": None, "commonAncestors": []}


GRAPH = """query ($id: ID!, $around: ID!, $generations: Int! = 2) { tree(by: {id: $id}) {
    familyGraph(aroundPersonId: $around, generations: $generations) {
        people { person { firstName } generation }
        parentages { kind parent { firstName } child { firstName } }
        marriages { status person1 { firstName } person2 { firstName } }
        leftOut } } }"""


async def graph_around(graph: Graph, family: Family, name: str, **variables: Any) -> Asked:
    around = id_of(family[name])
    return await graph.ask(GRAPH, viewer_of(family.owner), id=id_of(family.tree), around=around, **variables)


async def test_the_family_around_somebody_has_all_links_between_whom_it_shows(graph, kindred):
    family = await a_family(kindred)

    asked = await graph_around(graph, family, "Ada", generations=1)

    found = asked.data["tree"]["familyGraph"]
    assert found["people"] == named(("Ada", 0), ("Father", -1), ("Mother", -1), ("Stepmother", -1), ("Eve", 1))
    assert [
        (link["parent"]["firstName"], link["child"]["firstName"], link["kind"]) for link in found["parentages"]
    ] == [
        ("Father", "Ada", "BIOLOGICAL"),
        ("Mother", "Ada", "BIOLOGICAL"),
        ("Stepmother", "Ada", "STEP"),
        ("Ada", "Eve", "BIOLOGICAL"),
    ]
    assert found["marriages"] == [
        {"status": status, "person1": {"firstName": "Father"}, "person2": {"firstName": name}}
        for name, status in (("Mother", "DIVORCED"), ("Stepmother", "MARRIED"))
    ]
    assert found["leftOut"] == 0
    # The people at the ends of the links are read by key, in one batch.
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 1}


async def test_around_nobody_is_nothing(graph, kindred):
    family = await a_family(kindred)
    nobody = id_of(replace(family["Ada"], person_id="nobody"))

    asked = await graph.ask(GRAPH, viewer_of(family.owner), id=id_of(family.tree), around=nobody)

    assert asked.data["tree"]["familyGraph"] == {"people": [], "parentages": [], "marriages": [], "leftOut": 0}


async def test_all_kinship_of_one_query_reads_the_tree_once(graph, kindred):
    family = await a_family(kindred)
    names = "person { firstName }"
    query = f"""query ($tree: ID!, $eve: ID!, $dot: ID!) {{
        tree(by: {{id: $tree}}) {{ familyGraph(aroundPersonId: $eve) {{ people {{ {names} }} }} }}
        eve: person(by: {{id: $eve}}) {{
            ancestors {{ generation }} descendants {{ generation }}
            commonAncestors(withPersonId: $dot) {{ generations }} kinship(toPersonId: $dot) {{ name }} }}
        dot: person(by: {{id: $dot}}) {{ ancestors(generations: 1) {{ generation }} kinship(toPersonId: $eve) {{
        name }} }} }}"""
    ids = {"tree": id_of(family.tree), "eve": id_of(family["Eve"]), "dot": id_of(family["Dot"])}

    asked = await graph.ask(query, viewer_of(family.owner), **ids)

    assert asked.data["dot"] == {
        "ancestors": [{"generation": 1}],
        "kinship": {"name": "adoptive first cousin once removed"},
    }
    assert asked.data["eve"] == {
        "ancestors": [{"generation": generation} for generation in (1, 2, 2, 3, 3)],
        "descendants": [],
        "commonAncestors": [{"generations": 3}] * 2,
        "kinship": {"name": "adoptive first cousin once removed"},
    }
    assert len(asked.data["tree"]["familyGraph"]["people"]) == 5
    # The tree and both people, the owner, and the tree's only page.
    assert asked.calls == {"BatchGetItem": 2, "Query": 1}


async def test_two_trees_of_one_query_are_each_read_once(graph, kindred):
    family = await a_family(kindred)
    other = await kindred.tree(family.owner)
    parent = await kindred.person(other, "Parent")
    child = await kindred.person(other, "Child", parent)
    query = """query ($one: ID!, $other: ID!) {
        one: person(by: {id: $one}) { ancestors { generation } }
        other: person(by: {id: $other}) { ancestors { generation } descendants { generation } } }"""

    asked = await graph.ask(query, viewer_of(family.owner), one=id_of(family["Ada"]), other=id_of(child))

    assert asked.data["other"] == {"ancestors": [{"generation": 1}], "descendants": []}
    assert asked.calls["Query"] == 2


async def in_a_line(kindred: Kindred, tree: Tree, number: int) -> list[Person]:
    """Each has one child, and a long biography that does not compress."""
    people = [
        Person(
            user_id=tree.user_id,
            tree_id=tree.tree_id,
            person_id=f"line{place:05d}",
            first_name=f"Person {place}",
            birth_date=HistoricDate(str(100 + place)),
            biography="".join(chr(0x4E00 + (place * 7919 + letter * letter * 31) % 20_000) for letter in range(700)),
            parent_ids=[f"line{place - 1:05d}"] if place else [],
        )
        for place in range(number)
    ]
    links = [
        Parentage(user_id=tree.user_id, tree_id=tree.tree_id, parent_id=one.person_id, child_id=other.person_id)
        for one, other in pairwise(people)
    ]
    await kindred.graph.table.batch_write(puts=[*people, *links, tree.changed(person_count=number)])
    return people


async def test_a_large_tree_is_read_in_as_many_pages_as_its_bytes_need(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    people = await in_a_line(kindred, tree, 600)
    pages, after = 0, None
    while pages == 0 or after is not None:
        within = WHOLE_TREE.partition_of(Person.of_tree(tree_id=tree.tree_id))
        page = await graph.table.query(within, limit=A_PAGE, after=after)
        pages, after = pages + 1, page.more
    query = """query ($id: ID!, $to: ID!) { person(by: {id: $id}) {
        ancestors(generations: 100) { generation } descendants(generations: 100) { person { firstName } }
        kinship(toPersonId: $to) { name generationsUp } } }"""

    asked = await graph.ask(query, viewer_of(owner), id=id_of(people[300]), to=id_of(people[0]))

    assert pages > 1
    assert asked.calls["Query"] == pages
    found = asked.data["person"]
    assert [each["generation"] for each in found["ancestors"]] == list(range(1, 101))
    assert [each["person"]["firstName"] for each in found["descendants"]] == [f"Person {n}" for n in range(301, 401)]
    assert found["kinship"]["generationsUp"] == 300


async def test_a_family_of_many_is_cut_off_and_says_so(graph, kindred, monkeypatch):
    monkeypatch.setattr("resolvers.genealogy.relatives.MOST_PEOPLE", 3)
    family = await a_family(kindred)

    asked = await graph_around(graph, family, "Father", generations=1)

    assert asked.data["tree"]["familyGraph"]["people"] == named(("Father", 0), ("Grandpa", -1), ("Grandma", -1))
    assert asked.data["tree"]["familyGraph"]["leftOut"] == 5


async def test_so_many_relatives_come_as_are_asked_for(graph, kindred):
    family = await a_family(kindred)
    fields = """ancestors(first: 2) { generation } commonAncestors(first: 1, withPersonId: "%s") { generations }"""

    eve = await relatives(graph, family, "Eve", fields % id_of(family["Ben"]))
    descendants = await relatives(graph, family, "Grandpa", f"descendants(first: 3) {{ {KIN} }}")

    assert eve.data["person"] == {
        "ancestors": [{"generation": 1}, {"generation": 2}],
        "commonAncestors": [{"generations": 2}],
    }
    assert descendants.data["person"]["descendants"] == named(("Uncle", 1), ("Father", 1), ("Dot", 2))


@pytest.mark.parametrize("first", [0, -1, 1_001])
async def test_relatives_are_at_most_a_thousand(graph, kindred, first):
    family = await a_family(kindred)

    asked = await relatives(graph, family, "Ada", f"ancestors(first: {first}) {{ generation }}")

    assert asked.error["message"] == f"`first` is {first}; it goes from 1 to 1,000"
    assert asked.body["data"] == {"person": {"ancestors": None}}


async def test_a_loop_in_the_data_stops_nothing(graph, kindred):
    family = await a_family(kindred)
    await kindred.parent(family.tree, family["Eve"], family["Grandpa"])
    await kindred.parent(family.tree, family["Ada"], family["Ada"], ParentageKind.ADOPTIVE)
    await graph.table.update(Update(family["Ada"].own_key, set={"parent_ids": [family["Ada"].person_id]}))
    fields = f"""ancestors(generations: 100) {{ {KIN} }} descendants(generations: 100) {{ {KIN} }}
        siblings {{ firstName }} parents {{ nodes {{ firstName }} }} kinship(toPersonId:
        "{id_of(family["Grandpa"])}") {{
        name }}"""

    asked = await relatives(graph, family, "Eve", fields)
    drawn = await graph_around(graph, family, "Eve", generations=100)

    found = asked.data["person"]
    everybody = [("Ada", 1), ("Father", 2), ("Mother", 2), ("Grandpa", 3), ("Grandma", 3)]
    assert found["ancestors"] == named(*everybody)
    assert [each["generation"] for each in found["descendants"]] == [1, 2, 2, 3, 3, 3, 3]
    assert found["kinship"] == {"name": "son"}
    assert len(drawn.data["tree"]["familyGraph"]["people"]) == 11


@pytest.mark.parametrize(
    "fields",
    [
        "ancestors { person { parents(first: 100) { nodes { id } } } }",
        "ancestors(first: 1000) { person { parents(first: 10) { nodes { id } } } }",
        "siblings { parents(first: 100) { nodes { id } } }",
        'kinship(toPersonId: "%s") { path { person { parents(first: 100) { nodes { id } } } } }',
        'tree { familyGraph(aroundPersonId: "%s") { people { person { parents(first: 10) { nodes { id } } } } } }',
        'tree { familyGraph(aroundPersonId: "%s") { marriages { person1 { parents(first: 10) { nodes { id } } } } } }',
    ],
)
async def test_what_is_asked_of_each_relative_counts_as_often_as_there_may_be_some(graph, kindred, fields):
    family = await a_family(kindred)

    asked = await relatives(graph, family, "Ada", fields.replace("%s", id_of(family["Eve"])))

    assert asked.error["extensions"] == {"code": "OVER_LIMIT"}
    assert asked.calls == {}


@pytest.mark.parametrize("generations", [0, -1, 101, 2**31 - 1])
@pytest.mark.parametrize("field", ["ancestors", "descendants", "familyGraph"])
async def test_generations_go_from_1_to_100(graph, kindred, field, generations):
    family = await a_family(kindred)
    if field == "familyGraph":
        asked = await graph_around(graph, family, "Ada", generations=generations)
    else:
        asked = await relatives(graph, family, "Ada", f"{field}(generations: {generations}) {{ generation }}")

    assert asked.error["message"] == f"`generations` is {generations}; it goes from 1 to 100"
    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.body["data"] == {"tree" if field == "familyGraph" else "person": {field: None}}


async def test_an_id_of_something_else_is_no_person(graph, kindred):
    family = await a_family(kindred)

    asked = await relatives(graph, family, "Ada", f'kinship(toPersonId: "{id_of(family.owner)}") {{ name }}')

    assert asked.error["message"] == f"'{id_of(family.owner)}' is an id of type User; send one of type Person"
