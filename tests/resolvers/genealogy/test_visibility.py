"""Visibility of trees, people and links: every kind of viewer, by every path."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.genealogy import Tree, TreeRole, TreeShare
from datastore.model.entity import Entity
from datastore.model.times import now
from loaders.viewer import ANONYMOUS, Viewer
from tests.resolvers.genealogy.test_relatives import RELATIONSHIP
from tests.resolvers.neighborhoods.test_visibility import anything
from tests.schema.test_tree_chart import get
from tests.support.copies import copied
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, viewer_of

INSIDE = ["reader", "editor", "owner"]
SHARED = ["reader", "editor"]
OWNER = ["owner"]
SIGNED_IN = ["operator", "stranger", "former", *INSIDE]
EVERYBODY = ["nobody", *SIGNED_IN]


# People and records by name, and the number of records of the factory.
Written = tuple[dict[str, User], dict[str, Entity], int]


@dataclass
class Scene:
    """A tree of people who died long ago, and one viewer of each kind."""

    graph: Graph
    people: dict[str, User]
    records: dict[str, Entity]

    @classmethod
    async def of(cls, graph: Graph, kindred: Kindred, *, public: bool) -> "Scene":
        people, records, kindred.made = await copied(
            graph, (cls, public), lambda: cls._written(graph, kindred, public=public)
        )
        return cls(graph, people, records)

    @staticmethod
    async def _written(graph: Graph, kindred: Kindred, *, public: bool) -> Written:
        people = {name: await kindred.user(name) for name in ("owner", "reader", "editor", "former", "stranger")}
        tree = await kindred.tree(people["owner"], public=public, name="Ours", root_person_id="person00006")
        parent = await kindred.person(tree, "Parent")
        child = await kindred.person(tree, "Child", parent)
        sibling = await kindred.person(tree, "Sibling", parent)
        link = await kindred.parent(tree, child, await kindred.person(tree, "Grandchild"))
        couple = await kindred.married(tree, child, await kindred.person(tree, "Spouse"))
        for name, role in (("reader", TreeRole.READER), ("editor", TreeRole.EDITOR), ("former", TreeRole.EDITOR)):
            await kindred.share(tree, people[name], role)
        await graph.command(UNSHARE, viewer_of(people["owner"]), treeId=id_of(tree), userId=id_of(people["former"]))
        records = {"tree": tree, "parent": parent, "child": child, "sibling": sibling, "link": link, "couple": couple}
        return people, {**records, **people}, kindred.made

    def viewer(self, name: str) -> Viewer:
        if name == "operator":
            return Viewer("id-operator", frozenset({"admin", "builder"}))
        return viewer_of(self.people[name]) if name in self.people else ANONYMOUS

    async def seen_by(self, path: "Path") -> list[str]:
        """Returns the kinds of viewers who see something at a path."""
        return [name for name in EVERYBODY if await self._is_seen(path, name)]

    async def _is_seen(self, path: "Path", name: str) -> bool:
        if path.query.startswith("/"):
            answer = await get(self.graph, path.query, self.people.get(name))
            return bool(answer.status_code == 200)
        variables = {variable: id_of(self.records[of]) for variable, of in path.variables.items()}
        return anything((await self.graph.ask(path.query, self.viewer(name), **variables)).shown)


UNSHARE = "mutation ($input: UnshareTreeInput!) { unshareTree(input: $input) { problems { message } } }"


class Path(NamedTuple):
    query: str
    variables: dict[str, str]
    private: list[str] = INSIDE
    public: list[str] = EVERYBODY


def node(record: str, fields: str) -> Path:
    return Path(f"query ($id: ID!) {{ node(id: $id) {{ {fields} }} }}", {"id": record})


def of_tree(fields: str, private: list[str] = INSIDE, public: list[str] = EVERYBODY) -> Path:
    return Path(f"query ($id: ID!) {{ tree(by: {{id: $id}}) {{ {fields} }} }}", {"id": "tree"}, private, public)


def of_person(fields: str, **variables: str) -> Path:
    declared = "".join(f", ${name}: ID!" for name in variables)
    return Path(
        f"query ($id: ID!{declared}) {{ person(by: {{id: $id}}) {{ {fields} }} }}", {"id": "child", **variables}
    )


def of_owner(fields: str, private: list[str] = INSIDE, public: list[str] = EVERYBODY) -> Path:
    return Path(f"query ($id: ID!) {{ user(by: {{id: $id}}) {{ {fields} }} }}", {"id": "owner"}, private, public)


PATHS = {
    # The tree.
    "by id": of_tree("name"),
    "tree by databaseId": Path('{ tree(by: {databaseId: "tree00005"}) { name } }', {}),
    "node of the tree": node("tree", "id"),
    "nodes": Path("query ($id: ID!) { nodes(ids: [$id]) { id } }", {"id": "tree"}),
    "trees of its owner": of_owner("trees { nodes { name } }"),
    "edges of these": of_owner("trees { edges { cursor } }"),
    "trees shared with oneself": Path("{ viewer { treesSharedWithMe { nodes { name } } } }", {}, SHARED, SHARED),
    "roles in these": Path("{ viewer { treesSharedWithMe { edges { role } } } }", {}, SHARED, SHARED),
    "trees shared with another": Path(
        "query ($id: ID!) { user(by: {id: $id}) { treesSharedWithMe { nodes { name } } } }",
        {"id": "reader"},
        ["reader"],
        ["reader"],
    ),
    "whom it is shared with": of_tree("sharedWith { edges { role node { username } } }", OWNER, OWNER),
    "one's role": of_tree("viewerRole"),
    # People.
    "person": of_person("firstName"),
    "by databaseId": Path('{ person(by: {databaseId: "person00007"}) { firstName } }', {}),
    "node of a person": node("child", "... on Person { firstName }"),
    "node of a person, nothing but its id": node("child", "id"),
    "root": of_tree("rootPerson { firstName }"),
    "how many": of_tree("personCount persons { totalCount }"),
    "persons": of_tree("persons { nodes { firstName } }"),
    "tree of a person": of_person("tree { name }"),
    # Links.
    "node of a parentage": node("link", "... on Parentage { kind }"),
    "people of a parentage": node("link", "... on Parentage { parent { firstName } child { firstName } }"),
    "node of a marriage": node("couple", "... on Marriage { status }"),
    "people of a marriage": node("couple", "... on Marriage { person1 { firstName } person2 { firstName } }"),
    "parentages": of_tree("parentages { nodes { kind } }"),
    "marriages": of_tree("marriages { edges { node { status } } }"),
    "parents": of_person("parents { nodes { firstName } }"),
    "children": of_person("children { edges { kind node { firstName } } }"),
    "spouses": of_person("spouses { edges { status node { firstName } } }"),
    "siblings": of_person("siblings { firstName }"),
    "half-siblings": of_person("halfSiblings { firstName } siblings { firstName }"),
    # Fields computed from the whole tree.
    "ancestors": of_person("ancestors { person { firstName } }"),
    "descendants": of_person("descendants { generation }"),
    "common ancestors": of_person("commonAncestors(withPersonId: $other) { generations }", other="sibling"),
    "kinship": of_person("kinship(toPersonId: $other) { name path { person { firstName } } }", other="sibling"),
    "graph": Path(
        "query ($id: ID!, $around: ID!) { tree(by: {id: $id}) { familyGraph(aroundPersonId: $around) { people { "
        "generation } } } }",
        {"id": "tree", "around": "child"},
    ),
    "GEDCOM": Path("query ($id: ID!) { exportGedcom(treeId: $id) }", {"id": "tree"}),
    "GEDCOM 5.5.1": Path("query ($id: ID!) { exportGedcom(treeId: $id, version: V5_5_1) }", {"id": "tree"}),
    "picture": Path("/trees/tree00005.svg", {}),
    "picture of a person": Path("/trees/tree00005.svg?person=person00007&line=descendants", {}),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("privacy", ["private", "public"])
async def test_who_sees_what(graph, kindred, privacy, path):
    scene = await Scene.of(graph, kindred, public=privacy == "public")

    assert await scene.seen_by(PATHS[path]) == getattr(PATHS[path], privacy)


@pytest.mark.parametrize("path", PATHS)
async def test_of_a_deleted_tree_nobody_sees_anything(graph, kindred, path):
    scene = await Scene.of(graph, kindred, public=True)
    await graph.table.update(Update(scene.records["tree"].own_key, set={"deleted_at": now()}))

    assert await scene.seen_by(PATHS[path]) == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("privacy", ["private", "public"])
async def test_of_a_tree_whose_owner_has_left_only_they_see_anything(graph, kindred, privacy, path):
    scene = await Scene.of(graph, kindred, public=privacy == "public")
    await graph.table.update(Update(scene.people["owner"].own_key, set={"deleted_at": now()}))

    seen = await scene.seen_by(PATHS[path])

    assert seen == ["owner"] * ("owner" in getattr(PATHS[path], privacy))


async def test_a_deleted_person_is_seen_by_nobody_and_neither_are_the_links(graph, kindred):
    scene = await Scene.of(graph, kindred, public=True)
    await graph.table.update(Update(scene.records["child"].own_key, set={"deleted_at": now()}))
    query = """query ($ids: [ID!]!, $tree: ID!, $parent: ID!, $child: ID!) {
        nodes(ids: $ids) { id }
        person(by: {databaseId: "person00007"}) { id }
        tree(by: {id: $tree}) { persons { nodes { firstName } } parentages { nodes { child { firstName } } }
            marriages { nodes { status } } familyGraph(aroundPersonId: $parent) { people { person { firstName } } } }
        parent: person(by: {id: $parent}) { children { nodes { firstName } } descendants { person { firstName } }
            kinship(toPersonId: $child) { name } } }"""
    ids = [id_of(scene.records[name]) for name in ("child", "link", "couple")]
    given = {name: id_of(scene.records[name]) for name in ("tree", "parent", "child")}

    for name in ("nobody", "owner"):
        asked = await graph.ask(query, scene.viewer(name), ids=ids, **given)

        sibling = [{"firstName": "Sibling"}]
        assert asked.data == {
            "nodes": [None] * 3,
            "person": None,
            "tree": {
                "persons": {"nodes": [{"firstName": each} for each in ("Parent", "Sibling", "Grandchild", "Spouse")]},
                "parentages": {"nodes": [{"child": {"firstName": "Sibling"}}]},
                "marriages": {"nodes": []},
                "familyGraph": {"people": [{"person": {"firstName": each}} for each in ("Parent", "Sibling")]},
            },
            "parent": {
                "children": {"nodes": sibling},
                "descendants": [{"person": each} for each in sibling],
                "kinship": None,
            },
        }


async def test_from_one_s_own_tree_no_way_leads_into_another_s(graph, kindred):
    scene = await Scene.of(graph, kindred, public=False)
    own = await kindred.person(await kindred.tree(scene.people["stranger"]), "Own")
    fields = RELATIONSHIP + ' commonAncestors(withPersonId: "%s") { generations }'
    fields = fields.replace("%s", id_of(scene.records["child"]))
    query = f"query ($id: ID!) {{ person(by: {{id: $id}}) {{ {fields} }} }}"

    asked = await graph.ask(query, scene.viewer("stranger"), id=id_of(own))

    assert asked.data["person"] == {"kinship": None, "commonAncestors": []}


async def test_a_share_of_another_tree_is_none_of_this_one(graph, kindred):
    """Two trees have the same identifier."""
    scene = await Scene.of(graph, kindred, public=False)
    stranger = scene.people["stranger"]
    tree = scene.records["tree"]
    assert isinstance(tree, Tree)
    forged = TreeShare(
        shared_with_id=stranger.user_id, tree_id=tree.tree_id, user_id=stranger.user_id, role=TreeRole.EDITOR
    )
    await graph.table.put(forged)

    asked = await graph.ask(PATHS["by id"].query, scene.viewer("stranger"), id=id_of(tree))

    assert asked.data["tree"] is None


COMMANDS = {
    "updateTree": "{ treeId: $tree, name: $text }",
    "deleteTree": "{ treeId: $tree }",
    "shareTree": "{ treeId: $tree, userId: $user, role: READER }",
    "unshareTree": "{ treeId: $tree, userId: $user }",
    "leaving": "{ treeId: $tree, userId: $oneself }",
    "addPerson": "{ treeId: $tree, firstName: $text }",
    "importGedcom": "{ treeId: $tree, content: $file }",
    "updatePerson": "{ personId: $person, expectedVersion: 1, firstName: $text }",
    "deletePerson": "{ personId: $person }",
    "addChild": "{ parentId: $person, firstName: $text }",
    "addChild of two": "{ parentId: $person, otherParentId: $other, firstName: $text }",
    "linkParent": "{ parentId: $person, childId: $other }",
    "linkParent to nobody": "{ parentId: $person, childId: $nobody }",
    "linkParent to one's own": "{ parentId: $own, childId: $person }",
    "linkSpouses": "{ person1Id: $person, person2Id: $other }",
    "linkSpouses with one's own": "{ person1Id: $own, person2Id: $person }",
    "unlinkParent": "{ parentageId: $link }",
    "updateMarriage": "{ marriageId: $couple, notes: $text }",
    "unlinkSpouses": "{ marriageId: $couple }",
}
TYPES = dict.fromkeys(("tree", "user", "oneself", "person", "other", "nobody", "own", "link", "couple"), "ID!")


def all_commands() -> str:
    fields = []
    for number, (name, given) in enumerate(COMMANDS.items()):
        command = {"leaving": "unshareTree"}.get(name, name.split()[0])
        fields.append(f"c{number}: {command}(input: {given}) {{ problems {{ code message path }} }}")
    declared = ", ".join(f"${name}: {of}" for name, of in {**TYPES, "text": "String!", "file": "String!"}.items())
    return f"mutation ({declared}) {{ {' '.join(fields)} }}"


async def items(graph: Graph) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns all items of the table."""
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in await graph.items()}


def of_nobody(scene: Scene) -> dict[str, str]:
    """Returns well-formed IDs of records that do not exist."""
    made = {}
    for name in ("tree", "child", "sibling", "link", "couple"):
        given = vars(scene.records[name])
        missing = {field: f"no-{value}" for field, value in given.items() if field.endswith("_id") and value}
        made[name] = id_of(replace(scene.records[name], **{**missing, "user_id": given["user_id"]}))
    return made


@pytest.mark.parametrize("viewer", ["stranger", "former"])
async def test_what_one_may_not_see_looks_like_what_is_not_there(graph, kindred, viewer):
    scene = await Scene.of(graph, kindred, public=False)
    own = await kindred.person(await kindred.tree(scene.people[viewer]), "Own")
    hidden = {name: id_of(scene.records[name]) for name in ("tree", "child", "sibling", "link", "couple")}
    missing = of_nobody(scene)
    same = {
        "user": id_of(scene.people["reader"]),
        "oneself": id_of(scene.people[viewer]),
        "own": id_of(own),
        "nobody": missing["sibling"],
        "text": "Mine",
        "file": "0 HEAD\n0 @I1@ INDI\n1 NAME X\n0 TRLR\n",
    }
    before = await items(graph)

    answers = []
    for ids in (hidden, missing):
        given = {"tree": ids["tree"], "person": ids["child"], "other": ids["sibling"]}
        given |= {"link": ids["link"], "couple": ids["couple"]}
        answers.append((await graph.ask(all_commands(), scene.viewer(viewer), **same, **given)).data)

    assert answers[0] == answers[1]
    assert {problem["code"] for payload in answers[0].values() for problem in payload["problems"]} == {"NOT_FOUND"}
    assert all(len(payload["problems"]) == 1 for payload in answers[0].values())
    assert await items(graph) == before
