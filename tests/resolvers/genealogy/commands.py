"""Mutations, refusals and helpers that the tests of family trees share."""

from typing import Any

from datastore.accounts import User
from datastore.genealogy import Tree
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, mutation, problem

PERSON = """id databaseId firstName middleName lastName birthName preferredName suffix gender birthDate birthPlace
    deathDate deathPlace isDeceased biography photoUrl version"""
CREATE = mutation("createTree", "tree { id databaseId name description isPublic personCount viewerRole }")
UPDATE_TREE = mutation("updateTree", "tree { name description isPublic rootPerson { firstName } }")
DELETE_TREE = mutation("deleteTree", "deletedTreeId")
SHARE = mutation("shareTree", "tree { sharedWith { edges { role node { username } } } }")
UNSHARE = mutation("unshareTree", "tree { name sharedWith { edges { role node { username } } } }")
ADD = mutation("addPerson", f"person {{ {PERSON} tree {{ personCount }} }}")
UPDATE = f"""mutation ($input: UpdatePersonInput!) {{ updatePerson(input: $input) {{
    person {{ {PERSON} }} problems {{ code message path currentVersion }} }} }}"""
DELETE = mutation("deletePerson", "deletedPersonId tree { personCount rootPerson { id } }")
NO_TREE = problem("NOT_FOUND", "there is no such tree", "input", "treeId")
ONLY_OWNER = problem("FORBIDDEN", "only its owner may do this", "input", "treeId")
ONLY_EDITORS = "only its owner and its editors may do this"


async def a_tree(kindred: Kindred, **fields: Any) -> tuple[User, Tree]:
    owner = await kindred.user("owner")
    return owner, await kindred.tree(owner, **fields)


async def stored(graph: Graph, record: Any) -> Any:
    return await graph.table.get(record.own_key, consistent=True)


ADD_CHILD = mutation(
    "addChild",
    """person { id databaseId firstName lastName gender birthDate birthPlace
        parents { edges { kind node { firstName } } } tree { personCount } }""",
)
LINK = mutation("linkParent", "parentage { id kind adoptionDate notes parent { firstName } child { firstName } }")
UNLINK = mutation("unlinkParent", "deletedParentageId child { firstName parents { nodes { firstName } } }")
MARRY = mutation(
    "linkSpouses",
    "marriage { id status marriageDate marriagePlace divorceDate notes person1 { firstName } person2 { firstName } }",
)
CHANGE_MARRIAGE = mutation("updateMarriage", "marriage { status marriageDate marriagePlace divorceDate notes }")
DIVORCE = mutation("unlinkSpouses", "deletedMarriageId")
LINKED_ALREADY = "these two people are already linked"
OWN_ANCESTOR = problem("INVALID", "a person cannot be their own ancestor", "input", "parentId")
TOO_MANY = problem(
    "INVALID",
    "a child has at most two biological parents; choose another kind for this one",
    "input",
    "kind",
)
BORN_BEFORE = "the child was born before the parent; send `ignoreWarnings: true` if that is correct"
NO_PERSON = "there is no such person"
