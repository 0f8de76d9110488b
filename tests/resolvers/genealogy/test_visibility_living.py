"""In a public tree, strangers see no details of people who may be living, by any path."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from datastore.accounts import User
from datastore.genealogy import Gender, MarriageStatus, ParentageKind, Person, Tree, TreeRole
from loaders.viewer import ANONYMOUS, Viewer
from tests.schema.test_tree_chart import get
from tests.support.copies import copied
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, viewer_of

SECRET = "Zanzibar"
# Years of hidden dates. Nothing else in a response has these years.
SECRET_YEARS = ("1987", "1989", "2011", "2013", "1990")
TODAY = datetime.now(UTC).date()
STRANGERS = ["nobody", "stranger", "former"]
INSIDE = ["reader", "editor", "owner"]

PERSON = """id databaseId firstName middleName lastName birthName preferredName suffix gender birthDate birthPlace
    deathDate deathPlace isDeceased biography photoUrl version createdAt updatedAt"""
PARENTAGE = "kind adoptionDate notes createdAt updatedAt"
MARRIAGE = "status marriageDate marriagePlace divorceDate notes createdAt updatedAt"


@dataclass
class Scene:
    """Old, who is dead, had Sue, Joe and Zoe; Sue was married to Max, and then to Old's friend, who is dead too."""

    graph: Graph
    users: dict[str, User]
    tree: Tree
    people: dict[str, Person]
    links: dict[str, Any]

    @classmethod
    async def of(cls, graph: Graph, kindred: Kindred) -> "Scene":
        *written, kindred.made = await copied(graph, cls, lambda: cls._written(kindred))
        return cls(graph, *written)

    @staticmethod
    async def _written(kindred: Kindred) -> tuple[Any, ...]:
        """Returns the attributes of a scene after its graph, and the number of records of the factory."""
        users = {name: await kindred.user(name) for name in ("owner", "reader", "editor", "stranger", "former")}
        tree = await kindred.tree(users["owner"], public=True, name="Ours", person_count=0)
        for name, role in (("reader", TreeRole.READER), ("editor", TreeRole.EDITOR)):
            await kindred.share(tree, users[name], role)
        kept = f"1 OCCU {SECRET}\n1 SOUR @S1@\n2 PAGE {SECRET}"
        old = await kindred.person(
            tree, "Old", gender=Gender.MALE, death_date="1999", biography="He was old.", kept=kept, xref="I1"
        )
        friend = await kindred.person(tree, "Friend", gender=Gender.MALE, is_deceased=True, birth_date="1980")
        sue = await kindred.person(tree, SECRET, old, **secrets(Gender.FEMALE, "1987-06-05", kept=kept, xref="I7"))
        joe = await kindred.person(tree, SECRET, old, **secrets(Gender.MALE, "1989", kept=kept, xref="I8"))
        zoe = await kindred.person(tree, SECRET, **secrets(Gender.OTHER, "ABT 1990"))
        max_ = await kindred.person(tree, SECRET, **secrets(Gender.MALE, None))
        said = {"adoption_date": "1990-01-01", "notes": SECRET}
        people = {"Old": old, "Friend": friend, "Sue": sue, "Joe": joe, "Zoe": zoe, "Max": max_}
        wed = {"marriage_place": SECRET, "notes": SECRET}
        links = {
            "adoption": await kindred.parent(tree, old, zoe, ParentageKind.ADOPTIVE, **said),
            # Sorted by identifier, the second marriage comes first.
            "second": await kindred.married(tree, sue, friend, marriage_date="2013-03-02", **wed),
            "first": await kindred.married(
                tree, sue, max_, marriage_date="2011", divorce_date="2013", status=MarriageStatus.DIVORCED, **wed
            ),
        }
        return users, tree, people, links, kindred.made

    def viewer(self, name: str) -> Viewer:
        return viewer_of(self.users[name]) if name in self.users else ANONYMOUS

    async def ask(self, query: str, name: str) -> Any:
        document, variables = self.query(query)
        return (await self.graph.ask(document, self.viewer(name), **variables)).data

    def query(self, fields: str) -> tuple[str, dict[str, str]]:
        """Returns a query, with the IDs of all records it names as variables."""
        declared = {each: id_of(record) for each, record in {**self.people, **self.links}.items()}
        declared["tree"] = id_of(self.tree)
        used = {each: given for each, given in declared.items() if f"${each}" in fields}
        declaration = f"query ({', '.join(f'${each}: ID!' for each in used)})" if used else ""
        return f"{declaration} {{ {fields} }}", used


def secrets(gender: Gender, born: str | None, **fields: Any) -> dict[str, Any]:
    names = ("middle_name", "last_name", "birth_name", "preferred_name", "suffix", "birth_place", "death_place")
    said = dict.fromkeys((*names, "biography"), SECRET)
    return {
        **said,
        "gender": gender,
        "birth_date": born,
        "photo_url": f"https://{SECRET}.example",
        "version": 7,
    } | fields


def tells(answer: Any) -> bool:
    text = str(answer)
    return SECRET.lower() in text.lower() or any(year in text for year in SECRET_YEARS)


def living(person: Person) -> dict[str, Any]:
    names = ["middleName", "lastName", "birthName", "preferredName", "suffix"]
    hidden = [*names, "birthDate", "birthPlace", "deathDate", "deathPlace"]
    return {
        "id": id_of(person),
        "databaseId": person.person_id,
        "firstName": "Living",
        **dict.fromkeys([*hidden, "biography", "photoUrl"]),
        "gender": "UNKNOWN",
        "isDeceased": False,
        "version": 1,
        "createdAt": str(person.created_at),
        "updatedAt": str(person.created_at),
    }


PATHS = {
    "person": f"person(by: {{id: $Sue}}) {{ {PERSON} }}",
    "by databaseId": f'person(by: {{databaseId: "person00010"}}) {{ {PERSON} }}',
    "node": f"node(id: $Sue) {{ ... on Person {{ {PERSON} }} }}",
    "persons": f"tree(by: {{id: $tree}}) {{ persons {{ nodes {{ {PERSON} }} }} }}",
    "parentages": f"tree(by: {{id: $tree}}) {{ parentages {{ nodes {{ {PARENTAGE} child {{ {PERSON} }} }} }} }}",
    "marriages": f"tree(by: {{id: $tree}}) {{ marriages {{ nodes {{ {MARRIAGE} person1 {{ {PERSON} }} }} }} }}",
    "parentage": f"node(id: $adoption) {{ ... on Parentage {{ {PARENTAGE} }} }}",
    "marriage": f"node(id: $first) {{ ... on Marriage {{ {MARRIAGE} }} }}",
    "children": f"person(by: {{id: $Old}}) {{ children {{ edges {{ kind adoptionDate notes node {{ {PERSON} }} }} "
                f"}} }}",
    "parents": "person(by: {id: $Zoe}) { parents { edges { kind adoptionDate notes node { firstName } } } }",
    "spouses": """person(by: {id: $Sue}) { spouses { edges {
        marriageDate marriagePlace divorceDate notes node { firstName birthDate } } } }""",
    "spouses of one who is dead": """person(by: {id: $Friend}) { spouses { edges {
        marriageDate marriagePlace divorceDate notes node { firstName } } } }""",
    "siblings": f"person(by: {{id: $Joe}}) {{ siblings {{ {PERSON} }} halfSiblings {{ {PERSON} }} }}",
    "descendants": "person(by: {id: $Old}) { descendants { person { firstName lastName birthDate gender } } }",
    "ancestors": "person(by: {id: $Sue}) { lastName ancestors { person { firstName } } }",
    "kinship": "person(by: {id: $Sue}) { kinship(toPersonId: $Joe) { name path { person { firstName gender } } "
                    "} }",
    "graph": """tree(by: {id: $tree}) { familyGraph(aroundPersonId: $Sue) {
        people { person { firstName gender birthDate } } parentages { kind adoptionDate notes }
        marriages { marriageDate marriagePlace divorceDate notes } } }""",
    "GEDCOM": "exportGedcom(treeId: $tree)",
    "GEDCOM 5.5.1": "exportGedcom(treeId: $tree, version: V5_5_1)",
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
async def test_nothing_is_told_of_the_living(graph, kindred, path):
    scene = await Scene.of(graph, kindred)

    found = {name: await scene.ask(PATHS[path], name) for name in (*STRANGERS, *INSIDE)}

    assert [name for name in found if tells(found[name])] == INSIDE
    assert found["nobody"] == found["stranger"] == found["former"]
    assert found["reader"] == found["editor"] == found["owner"]


@pytest.mark.parametrize("asked", ["?person={Sue}", "?person={Old}&line=descendants", "?person={Joe}"])
async def test_nothing_is_told_of_the_living_in_a_picture(graph, kindred, asked):
    scene = await Scene.of(graph, kindred)
    path = f"/trees/{scene.tree.tree_id}.svg" + asked.format(**{n: p.person_id for n, p in scene.people.items()})

    found = {name: (await get(graph, path, scene.users.get(name))).text for name in (*STRANGERS, *INSIDE)}

    assert [name for name in found if tells(found[name])] == INSIDE
    assert all("Living" in found[name] for name in STRANGERS)
    boxes = [line for line in found["stranger"].split("<g ") if ">Living<" in line]
    assert boxes
    assert all("UNKNOWN" in box for box in boxes)


async def test_the_living_are_there_with_their_links(graph, kindred):
    scene = await Scene.of(graph, kindred)
    query = f"""person(by: {{id: $Sue}}) {{ {PERSON}
        parents {{ edges {{ kind node {{ firstName }} }} }}
        spouses {{ edges {{ status marriageDate notes node {{ firstName }} }} }}
        siblings {{ firstName databaseId }} halfSiblings {{ databaseId }}
        kinship(toPersonId: $Joe) {{ name }} }}
        old: person(by: {{id: $Old}}) {{ kinship(toPersonId: $Sue) {{ name }} children {{ nodes {{ databaseId
        firstName }} }} }}"""

    found = await scene.ask(query, "stranger")

    joe, zoe = scene.people["Joe"], scene.people["Zoe"]
    hidden = {"status": None, "marriageDate": None, "notes": None}
    assert found["person"] == {
        **living(scene.people["Sue"]),
        "parents": {"edges": [{"kind": None, "node": {"firstName": "Old"}}]},
        "spouses": {
            "edges": [
                {**hidden, "node": {"firstName": "Friend"}},
                {**hidden, "node": {"firstName": "Living"}},
            ]
        },
        "siblings": [{"firstName": "Living", "databaseId": each.person_id} for each in (joe, zoe)],
        "halfSiblings": [],
        "kinship": {"name": "sibling"},
    }
    assert found["old"] == {
        "kinship": {"name": "child"},
        "children": {
            "nodes": [
                {"databaseId": scene.people[name].person_id, "firstName": "Living"} for name in ("Sue", "Joe", "Zoe")
            ]
        },
    }


async def test_those_a_tree_is_shared_with_are_told_in_the_words_of_the_family(graph, kindred):
    scene = await Scene.of(graph, kindred)
    query = """person(by: {id: $Sue}) { kinship(toPersonId: $Joe) { name }
        spouses { edges { marriageDate node { databaseId } } } }
        old: person(by: {id: $Old}) { kinship(toPersonId: $Sue) { name } }"""

    found = await scene.ask(query, "reader")

    first, second = scene.people["Max"].person_id, scene.people["Friend"].person_id
    assert found == {
        "person": {
            "kinship": {"name": "brother"},
            "spouses": {
                "edges": [
                    {"marriageDate": "2011", "node": {"databaseId": first}},
                    {"marriageDate": "2013-03-02", "node": {"databaseId": second}},
                ]
            },
        },
        "old": {"kinship": {"name": "daughter"}},
    }


async def test_neither_an_adoption_nor_a_divorce_of_the_living_is_told(graph, kindred):
    scene = await Scene.of(graph, kindred)
    query = """five: exportGedcom(treeId: $tree, version: V5_5_1) seven: exportGedcom(treeId: $tree)
        person(by: {id: $Old}) { kinship(toPersonId: $Zoe) { name path { link kind status } } }
        sue: person(by: {id: $Sue}) { kinship(toPersonId: $Max) { name path { link kind status } } }"""
    path = f"/trees/{scene.tree.tree_id}.svg?person={scene.people['Old'].person_id}&line=descendants"

    async def told(name: str) -> tuple[Any, bool]:
        drawn = (await get(graph, path, scene.users.get(name))).text
        return await scene.ask(query, name), "link ADOPTIVE" in drawn or "by adoption" in drawn.lower()

    found, is_drawn = await told("reader")
    assert found["person"]["kinship"]["name"] == "adoptive child"
    assert found["sue"]["kinship"]["name"] == "ex-husband"
    assert is_drawn
    assert "1 DIV" in found["five"]
    assert "2 PEDI adopted" in found["five"]
    found, is_drawn = await told("stranger")
    unsaid = {"kind": None, "status": None}
    assert found["person"]["kinship"] == {
        "name": "child",
        "path": [{"link": None, **unsaid}, {"link": "CHILD", **unsaid}],
    }
    assert found["sue"]["kinship"] == {
        "name": "spouse",
        "path": [{"link": None, **unsaid}, {"link": "SPOUSE", **unsaid}],
    }
    assert not is_drawn
    assert "DIV" not in found["five"] + found["seven"]
    assert "ADOP" not in (found["five"] + found["seven"]).upper()


async def test_the_dead_are_shown_in_full(graph, kindred):
    scene = await Scene.of(graph, kindred)

    found = await scene.ask(f"person(by: {{id: $Old}}) {{ {PERSON} }}", "nobody")

    assert found == await scene.ask(f"person(by: {{id: $Old}}) {{ {PERSON} }}", "owner")
    assert (found["person"]["biography"], found["person"]["deathDate"]) == ("He was old.", "1999")


async def test_brothers_and_sisters_are_in_no_order_that_tells_their_age(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner, public=True)
    parent = await kindred.person(tree, "Parent")
    youngest, eldest, dead = [
        await kindred.person(tree, "Child", parent, birth_date=born, is_deceased=born == "1960")
        for born in ("1990", "1950", "1960")
    ]
    another = await kindred.person(tree, "Child", parent, birth_date="1940")
    query = """query ($id: ID!, $parent: ID!) { person(by: {id: $id}) { siblings { databaseId } }
        parent: person(by: {id: $parent}) { descendants { person { databaseId } } } }"""

    async def seen_by(viewer: Viewer) -> list[list[str]]:
        found = (await graph.ask(query, viewer, id=id_of(another), parent=id_of(parent))).data
        siblings = [each["databaseId"] for each in found["person"]["siblings"]]
        return [siblings, [each["person"]["databaseId"] for each in found["parent"]["descendants"]]]

    by_age = [person.person_id for person in (another, eldest, dead, youngest)]
    as_added = [person.person_id for person in (dead, youngest, eldest, another)]
    assert await seen_by(viewer_of(owner)) == [by_age[1:], by_age]
    assert await seen_by(ANONYMOUS) == [as_added[:-1], as_added]


def years_ago(number: int, days: int = 0) -> date:
    """Returns the date a number of years before today, or before a day some days from now."""
    day = TODAY + timedelta(days=days)
    return day.replace(year=day.year - number, day=28 if (day.month, day.day) == (2, 29) else day.day)


LAST_DAY_OF_YEAR = (TODAY.month, TODAY.day) == (12, 31)
RULE: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"birth_date": f"{years_ago(110)}"}, False),
    ({"birth_date": f"{years_ago(110, -1)}"}, False),
    ({"birth_date": f"{years_ago(110, 3)}"}, True),
    ({"birth_date": f"{years_ago(1)}"}, True),
    ({"birth_date": f"{TODAY.year - 110}"}, not LAST_DAY_OF_YEAR),
    ({"birth_date": f"{TODAY.year - 111}"}, False),
    ({"birth_date": f"BEF {TODAY.year - 110}"}, False),
    ({"birth_date": f"BEF {TODAY.year - 108}"}, True),
    ({"birth_date": "AFT 1700"}, True),
    ({"birth_date": f"BET 1700 AND {TODAY.year - 50}"}, True),
    ({"birth_date": "BET 1700 AND 1720"}, False),
    ({"birth_date": f"ABT {TODAY.year - 110}"}, True),
    ({"birth_date": "ABT 1700"}, False),
    ({"birth_date": "(in the winter)"}, True),
    ({"birth_date": "JULIAN 5 OCT 1700"}, False),
    ({"birth_date": f"{TODAY.year - 20}", "death_date": f"{TODAY.year - 1}"}, False),
    ({"birth_date": f"{TODAY.year - 20}", "death_date": "(at sea)"}, True),
    ({"birth_date": f"{TODAY.year - 20}", "is_deceased": True}, False),
    ({"is_deceased": True}, False),
    ({"death_date": "BEF 2000"}, False),
    ({"death_date": "AFT 1950"}, False),
    ({"death_place": "Lund"}, True),
]


@pytest.mark.parametrize(("said", "may_live"), RULE, ids=[f"{said}" for said, _ in RULE])
async def test_who_may_be_living(graph, kindred, said, may_live):
    owner = await kindred.user("owner")
    person = await kindred.person(await kindred.tree(owner, public=True), "Name", **{"birth_date": None, **said})
    query = "query ($id: ID!) { person(by: {id: $id}) { firstName } }"

    asked = await graph.ask(query, id=id_of(person))

    assert asked.data["person"] == {"firstName": "Living" if may_live else "Name"}
