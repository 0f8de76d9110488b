"""Lists that take a text to search for."""

from datastore.cms import ContentStatus, Product, ProductStatus
from loaders.viewer import Viewer
from resolvers.search.finding import Wanted
from tests.support.graph import id_of, listed, viewer_of


async def test_contents_and_products_of_a_tenant(graph, website):
    await website.tenant("acme")
    page = await website.content("acme", title="Oak", content_type="article")
    await website.content("acme", title="Oak page")
    draft = await website.content("acme", title="Oak draft", content_type="article", status=ContentStatus.DRAFT)
    chair = await website.thing(Product, title="Oak chair", status=ProductStatus.PUBLISHED)
    await website.thing(Product, title="Pine chair", status=ProductStatus.PUBLISHED)
    await graph.settle_search()
    query = """query ($status: ContentStatus) {
        contents(search: "oak", type: "article", status: $status) { nodes { id } }
        products(search: "oaks") { nodes { id } } }"""
    asked = await graph.ask(query, Viewer(tenant_id="acme"))
    assert asked.data == {"contents": listed(page), "products": listed(chair)}
    staff = Viewer("eve", tenant_id="acme", tenants=frozenset({("acme", "viewer")}))
    asked = await graph.ask(query, staff, status="DRAFT")
    assert asked.data["contents"] == listed(draft)


async def test_neighborhoods_and_people_of_a_tree(graph, town, kindred):
    ada = await graph.add_user("ada")
    place = await town.neighborhood(ada, name="Oak street")
    await town.neighborhood(ada, name="Pine street")
    tree, other = await kindred.tree(ada), await kindred.tree(ada)
    oak = await kindred.person(tree, "Quercus", last_name="Oak", birth_date="1840")
    await kindred.person(tree, "Quentin", last_name="Oak")
    await kindred.person(other, "Quirin", last_name="Oak")
    await graph.settle_search()
    asked = await graph.ask(
        """query ($id: ID!) { neighborhoods(search: "oak") { nodes { id } }
            node(id: $id) { ... on Tree { persons(search: "oak", bornTo: 1849) { nodes { id } } } } }""",
        viewer_of(ada),
        id=id_of(tree),
    )
    assert asked.data == {"neighborhoods": listed(place), "node": {"persons": listed(oak)}}


async def test_search_has_an_order_of_its_own(graph):
    asked = await graph.ask('{ neighborhoods(search: "oak", orderBy: NAME) { nodes { id } } }')
    message = "`search` has an order of its own; leave `nameStartsWith` and `orderBy` out"
    assert asked.error["message"].endswith(message)


def test_cursors_are_good_for_all_processes():
    # The order of a set of texts is another one in each process.
    wanted = Wanted("oak", tags=frozenset("hgfedcba"), types=frozenset({"User", "Post", "Card"}))
    types, tags = "['Card', 'Post', 'User']", "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']"
    assert wanted.identity == f"['oak', {types}, None, 'query', False, None, [], {tags}, [], [], []]"
