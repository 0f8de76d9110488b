"""Edges of family trees: every path to people and links, with its calls."""

from typing import Any, NamedTuple

import pytest

from datastore.accounts import User
from datastore.genealogy import Gender, Marriage, MarriageStatus, Parentage, ParentageKind, Person, Tree, TreeRole
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, viewer_of


class Family(NamedTuple):
    """Four generations: Father was married twice, and Uncle adopted Dot."""

    owner: User
    tree: Tree
    people: dict[str, Person]

    def __getitem__(self, name: str) -> Person:
        return self.people[name]


async def a_family(kindred: Kindred, **fields: Any) -> Family:
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner, **fields)
    people: dict[str, Person] = {}
    for name, gender, born, *parents in (
        ("Grandpa", "M", "1850"),
        ("Grandma", "F", "ABT 1855"),
        ("Uncle", "M", "1878", "Grandpa", "Grandma"),
        ("Father", "M", "1880-05", "Grandpa", "Grandma"),
        ("Mother", "F", "1882"),
        ("Stepmother", "F", "1890"),
        ("Ben", "M", "1908-03-01", "Father", "Mother"),
        ("Ada", "F", "1906", "Father", "Mother"),
        ("Cal", "M", "1912", "Father", "Stepmother"),
        ("Dot", "F", "1910"),
        ("Eve", "F", "1915", "Ada"),
    ):
        given = {"gender": Gender.MALE if gender == "M" else Gender.FEMALE, "birth_date": born}
        people[name] = await kindred.person(tree, name, *(people[parent] for parent in parents), **given)
    adopted = {"adoption_date": "1911-11", "notes": "By the court."}
    await kindred.parent(tree, people["Uncle"], people["Dot"], ParentageKind.ADOPTIVE, **adopted)
    await kindred.parent(tree, people["Stepmother"], people["Ada"], ParentageKind.STEP)
    # The second marriage is written first, and its second spouse is the person who was added first.
    second = {"marriage_date": "1911", "marriage_place": "Lund"}
    await kindred.married(tree, people["Father"], people["Stepmother"], **second)
    first = {"marriage_date": "ABT 1904", "divorce_date": "1910", "notes": "In haste."}
    await kindred.married(tree, people["Mother"], people["Father"], status=MarriageStatus.DIVORCED, **first)
    await kindred.married(tree, people["Grandpa"], people["Grandma"], marriage_date="1875-06-01")
    return Family(owner, tree, people)


async def test_the_trees_of_a_user_are_newest_first(graph, kindred):
    owner = await kindred.user("owner")
    for name in ("First", "Second", "Third"):
        await kindred.tree(owner, name=name)
    query = (
        "query ($id: ID!, $after: String) { user(by: {id: $id}) { trees(first: 2, after: $after) { nodes { name "
        "} %s } } }"
    )
    query %= "pageInfo { hasNextPage endCursor }"

    first = await graph.ask(query, viewer_of(owner), id=id_of(owner))
    page = first.data["user"]["trees"]
    second = await graph.ask(query, viewer_of(owner), id=id_of(owner), after=page["pageInfo"]["endCursor"])

    assert page["nodes"] == [{"name": "Third"}, {"name": "Second"}]
    assert page["pageInfo"]["hasNextPage"]
    assert second.data["user"]["trees"]["nodes"] == [{"name": "First"}]
    assert first.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_a_tree_by_its_id(graph, kindred):
    family = await a_family(kindred, name="The Owners", description="All of us.")
    query = """query ($id: ID!) { tree(by: {id: $id}) {
        databaseId name description isPublic personCount viewerRole createdAt owner { username } rootPerson { id }
        } }"""

    asked = await graph.ask(query, viewer_of(family.owner), id=id_of(family.tree))

    assert asked.data["tree"] == {
        "databaseId": family.tree.tree_id,
        "name": "The Owners",
        "description": "All of us.",
        "isPublic": False,
        "personCount": 11,
        "viewerRole": "OWNER",
        "createdAt": str(family.tree.created_at),
        "owner": {"username": "owner"},
        "rootPerson": None,
    }
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1}


async def test_a_tree_by_its_tree_id(graph, kindred):
    family = await a_family(kindred)
    query = "query ($treeId: String!) { tree(by: {databaseId: $treeId}) { id } }"

    asked = await graph.ask(query, viewer_of(family.owner), treeId=family.tree.tree_id)
    missing = await graph.ask(query, viewer_of(family.owner), treeId="nothing")

    assert asked.data["tree"] == {"id": id_of(family.tree)}
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}
    assert missing.data["tree"] is None


async def test_a_person_by_id_and_by_person_id(graph, kindred):
    family = await a_family(kindred)
    said = {
        "middleName": "Maria",
        "lastName": "Owner",
        "birthName": "Other",
        "preferredName": "Mia",
        "suffix": "II",
        "gender": "OTHER",
        "birthDate": "JULIAN 5 OCT 1700",
        "birthPlace": "Lund",
        "deathDate": "BET 1750 AND 1752",
        "deathPlace": "Malmö",
        "isDeceased": True,
        "photoUrl": "https://example.org/mia.jpg",
        "version": 3,
    }
    stored = {"gender": Gender.OTHER, "version": 3, "is_deceased": True, "middle_name": "Maria", "last_name": "Owner"}
    stored |= {"birth_name": "Other", "preferred_name": "Mia", "suffix": "II", "birth_place": "Lund"}
    stored |= {"birth_date": said["birthDate"], "death_date": said["deathDate"], "death_place": "Malmö"}
    person = await kindred.person(family.tree, "Anna", **stored, photo_url=said["photoUrl"])
    fields = f"id databaseId firstName biography createdAt updatedAt {' '.join(said)} tree {{ name }}"
    by_id = f"query ($id: ID!) {{ person(by: {{id: $id}}) {{ {fields} }} }}"
    by_person_id = f"query ($id: String!) {{ person(by: {{databaseId: $id}}) {{ {fields} }} }}"

    asked = await graph.ask(by_id, viewer_of(family.owner), id=id_of(person))
    found = await graph.ask(by_person_id, viewer_of(family.owner), id=person.person_id)

    assert asked.data["person"] == {
        "id": id_of(person),
        "databaseId": person.person_id,
        "firstName": "Anna",
        "biography": "The life of Anna.",
        "createdAt": str(person.created_at),
        "updatedAt": str(person.updated_at),
        **said,
        "tree": {"name": family.tree.name},
    }
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1}
    assert found.data["person"] == asked.data["person"]
    # Lists omit the biography.
    assert found.calls == {"Query": 1, "GetItem": 1, "BatchGetItem": 1}


@pytest.mark.engine_contract
async def test_persons_relationships_and_marriages_of_a_tree(graph, kindred):
    family = await a_family(kindred)
    fields = {
        "persons": "totalCount nodes { firstName }",
        "parentages": "nodes { kind adoptionDate notes parent { firstName } child { firstName } }",
        "marriages": "nodes { status marriageDate marriagePlace divorceDate notes %s }",
    }
    fields["marriages"] %= "person1 { firstName } person2 { firstName }"

    async def read(name: str) -> Any:
        query = f"query ($id: ID!) {{ tree(by: {{id: $id}}) {{ {name} {{ {fields[name]} }} }} }}"
        return await graph.ask(query, viewer_of(family.owner), id=id_of(family.tree))

    persons, relationships, marriages = [await read(name) for name in fields]

    assert persons.data["tree"]["persons"] == {
        "totalCount": 11,
        "nodes": [{"firstName": name} for name in family.people],
    }
    assert persons.calls == {"GetItem": 1, "BatchGetItem": 1, "Query": 1}
    links = relationships.data["tree"]["parentages"]["nodes"]
    assert len(links) == 13
    assert {
        "kind": "ADOPTIVE",
        "adoptionDate": "1911-11",
        "notes": "By the court.",
        "parent": {"firstName": "Uncle"},
        "child": {"firstName": "Dot"},
    } in links
    assert [link["parent"]["firstName"] for link in links] == [
        *["Grandpa"] * 2,
        *["Grandma"] * 2,
        "Uncle",
        *["Father"] * 3,
        *["Mother"] * 2,
        *["Stepmother"] * 2,
        "Ada",
    ]
    assert relationships.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 1}
    couples = marriages.data["tree"]["marriages"]["nodes"]
    assert [couple["marriageDate"] for couple in couples] == ["1875-06-01", "ABT 1904", "1911"]
    assert couples[1] == {
        "status": "DIVORCED",
        "marriageDate": "ABT 1904",
        "marriagePlace": None,
        "divorceDate": "1910",
        "notes": "In haste.",
        "person1": {"firstName": "Father"},
        "person2": {"firstName": "Mother"},
    }
    assert marriages.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 1}


async def test_a_long_list_of_persons_is_read_in_pages(graph, kindred):
    family = await a_family(kindred)
    query = """query ($id: ID!, $after: String) { tree(by: {id: $id}) { persons(first: 4, after: $after) {
        nodes { firstName } pageInfo { endCursor hasNextPage } } } }"""
    names, after = [], None
    for more in (True, True, False):
        asked = await graph.ask(query, viewer_of(family.owner), id=id_of(family.tree), after=after)
        page = asked.data["tree"]["persons"]
        names += [node["firstName"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        assert page["pageInfo"]["hasNextPage"] is more

    assert names == [*family.people]


async def relatives(graph: Graph, family: Family, name: str, fields: str) -> Any:
    query = f"query ($id: ID!) {{ person(by: {{id: $id}}) {{ {fields} }} }}"
    return await graph.ask(query, viewer_of(family.owner), id=id_of(family[name]))


async def test_parents_and_children_come_with_how_they_are_that(graph, kindred):
    family = await a_family(kindred)
    edge = "edges { kind adoptionDate notes node { firstName } }"

    parents = await relatives(graph, family, "Ada", f"parents {{ {edge} }}")
    adopted = await relatives(graph, family, "Dot", f"parents {{ {edge} }}")
    children = await relatives(graph, family, "Father", f"children {{ {edge} }}")

    plain = {"adoptionDate": None, "notes": None}
    assert parents.data["person"]["parents"]["edges"] == [
        {"kind": "BIOLOGICAL", **plain, "node": {"firstName": "Father"}},
        {"kind": "BIOLOGICAL", **plain, "node": {"firstName": "Mother"}},
        {"kind": "STEP", **plain, "node": {"firstName": "Stepmother"}},
    ]
    assert parents.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 1}
    assert adopted.data["person"]["parents"]["edges"] == [
        {
            "kind": "ADOPTIVE",
            "adoptionDate": "1911-11",
            "notes": "By the court.",
            "node": {"firstName": "Uncle"},
        }
    ]
    assert children.data["person"]["children"]["edges"] == [
        {"kind": "BIOLOGICAL", **plain, "node": {"firstName": name}} for name in ("Ben", "Ada", "Cal")
    ]
    assert children.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 1}


async def test_spouses_are_found_from_both_sides_in_the_order_of_marriage(graph, kindred):
    family = await a_family(kindred)
    edge = "edges { status marriageDate marriagePlace divorceDate notes node { firstName } }"

    asked = {name: await relatives(graph, family, name, f"spouses {{ {edge} }}") for name in ("Father", "Mother")}

    first = {"status": "DIVORCED", "marriageDate": "ABT 1904", "marriagePlace": None, "divorceDate": "1910"}
    first["notes"] = "In haste."
    second = {"status": "MARRIED", "marriageDate": "1911", "marriagePlace": "Lund", "divorceDate": None, "notes": None}
    assert asked["Father"].data["person"]["spouses"]["edges"] == [
        {**first, "node": {"firstName": "Mother"}},
        {**second, "node": {"firstName": "Stepmother"}},
    ]
    assert asked["Mother"].data["person"]["spouses"]["edges"] == [{**first, "node": {"firstName": "Father"}}]
    assert asked["Father"].calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 2}


@pytest.mark.engine_contract
async def test_spouses_are_read_in_pages_in_both_directions(graph, kindred):
    family = await a_family(kindred)
    page = "spouses(%s) { nodes { firstName } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } }"

    first = (await relatives(graph, family, "Father", page % "first: 1")).data["person"]["spouses"]
    cursor = first["pageInfo"]["endCursor"]
    second = (await relatives(graph, family, "Father", page % f'first: 1, after: "{cursor}"')).data["person"]
    last = (await relatives(graph, family, "Father", page % "last: 1")).data["person"]["spouses"]

    assert first["nodes"] == [{"firstName": "Mother"}]
    assert first["pageInfo"]["hasNextPage"]
    assert second["spouses"]["nodes"] == last["nodes"] == [{"firstName": "Stepmother"}]
    assert not second["spouses"]["pageInfo"]["hasNextPage"]


async def test_siblings_and_half_siblings_are_the_eldest_first(graph, kindred):
    family = await a_family(kindred)
    fields = "siblings { firstName } halfSiblings { firstName }"

    asked = {name: await relatives(graph, family, name, fields) for name in ("Ada", "Cal", "Uncle", "Dot")}

    assert {name: answer.data["person"] for name, answer in asked.items()} == {
        "Ada": {"siblings": [{"firstName": "Ben"}], "halfSiblings": [{"firstName": "Cal"}]},
        "Cal": {"siblings": [], "halfSiblings": [{"firstName": "Ada"}, {"firstName": "Ben"}]},
        "Uncle": {"siblings": [{"firstName": "Father"}], "halfSiblings": []},
        "Dot": {"siblings": [], "halfSiblings": []},
    }
    # The tree is one page, read once for both.
    assert asked["Ada"].calls == {"GetItem": 1, "BatchGetItem": 1, "Query": 1}


async def test_whom_a_tree_is_shared_with_and_which_trees_are_shared_with_one(graph, kindred):
    family = await a_family(kindred, name="Ours")
    reader, editor = await kindred.user("reader"), await kindred.user("editor")
    shares = [
        await kindred.share(family.tree, reader, TreeRole.READER),
        await kindred.share(family.tree, editor, TreeRole.EDITOR),
    ]
    of_tree = "query ($id: ID!) { tree(by: {id: $id}) { sharedWith { edges { role sharedAt node { username } } } } }"
    mine = "{ viewer { treesSharedWithMe { edges { role sharedAt node { name viewerRole } } } } }"

    asked = await graph.ask(of_tree, viewer_of(family.owner), id=id_of(family.tree))
    shared = await graph.ask(mine, viewer_of(editor))
    others = [await graph.ask(of_tree, viewer_of(who), id=id_of(family.tree)) for who in (reader, editor)]

    assert asked.data["tree"]["sharedWith"]["edges"] == [
        {"role": "EDITOR", "sharedAt": str(shares[1].created_at), "node": {"username": "editor"}},
        {"role": "READER", "sharedAt": str(shares[0].created_at), "node": {"username": "reader"}},
    ]
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 1}
    assert shared.data["viewer"]["treesSharedWithMe"]["edges"] == [
        {"role": "EDITOR", "sharedAt": str(shares[1].created_at), "node": {"name": "Ours", "viewerRole": "EDITOR"}}
    ]
    # The viewer, the tree, and its owner.
    assert shared.calls == {"GetItem": 3, "Query": 1}
    assert [answer.data["tree"] for answer in others] == [{"sharedWith": None}] * 2


async def test_the_root_person(graph, kindred):
    family = await a_family(kindred, root_person_id="person00004")
    query = "query ($id: ID!) { tree(by: {id: $id}) { rootPerson { firstName } } }"

    asked = await graph.ask(query, viewer_of(family.owner), id=id_of(family.tree))

    assert asked.data["tree"]["rootPerson"] == {"firstName": "Uncle"}
    assert asked.calls == {"GetItem": 2, "BatchGetItem": 1}


async def test_links_are_nodes_of_their_own(graph, kindred):
    family = await a_family(kindred)
    table = graph.table
    (link,) = (await table.query(Parentage.parents_of(child_id=family["Dot"].person_id), limit=5)).records
    (couple,) = (await table.query(Marriage.by_second_person(person2_id=family["Mother"].person_id), limit=5)).records
    query = """query ($ids: [ID!]!) { nodes(ids: $ids) {
        ... on Parentage { kind child { firstName } } ... on Marriage { status person2 { firstName } } } }"""

    asked = await graph.ask(query, viewer_of(family.owner), ids=[id_of(link), id_of(couple)])

    assert asked.data["nodes"] == [
        {"kind": "ADOPTIVE", "child": {"firstName": "Dot"}},
        {"status": "DIVORCED", "person2": {"firstName": "Mother"}},
    ]
    assert asked.calls == {"BatchGetItem": 3}
