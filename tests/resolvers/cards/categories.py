"""Mutations of categories, and trees of them."""

from datastore.cards import Category
from loaders.viewer import Viewer
from resolvers.cards.edges import DEEPEST
from tests.resolvers.cards.test_collection_commands import command
from tests.support.cards import Workshop
from tests.support.graph import Graph, id_of, problem

SHOWN = "category { id databaseId name description sortOrder childCount parent { databaseId } }"
CREATE = command("createCategory", SHOWN)
UPDATE = command("updateCategory", SHOWN)
MOVE = command("moveCategory", SHOWN)
REORDER = command("reorderCategories", "categories { databaseId sortOrder }")
ADMIN = Viewer(user_id="id-root", roles=frozenset({"admin"}))
TOO_DEEP = problem("INVALID", f"categories can be nested at most {DEEPEST} levels deep", "input", "parentId")


async def names_in(graph: Graph, parent: Category | None = None) -> list[str]:
    """The children, in their order, and as many as are counted."""
    children = "children(first: 100) { nodes { databaseId } totalCount }"
    if parent is None:
        top = (await graph.ask("{ categories(first: 100) { nodes { databaseId } } }")).data["categories"]
        return [node["databaseId"] for node in top["nodes"]]
    query = f"query ($id: ID!) {{ category(by: {{id: $id}}) {{ {children} }} }}"
    found = (await graph.ask(query, id=id_of(parent))).data["category"]["children"]
    assert found["totalCount"] == len(found["nodes"])
    return [node["databaseId"] for node in found["nodes"]]


async def chain(workshop: Workshop, *names: str) -> list[Category]:
    """Categories, each in the one before."""
    made: list[Category] = []
    for name in names:
        made.append(await workshop.category(name, made[-1] if made else None))
    return made
