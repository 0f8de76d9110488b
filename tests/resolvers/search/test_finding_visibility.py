"""Search finds, counts and suggests nothing that the viewer may not see."""

from dataclasses import replace

from datastore.cms import ContentStatus, Product, ProductStatus
from datastore.neighborhoods import MembershipStatus, SiteStatus
from loaders.viewer import ANONYMOUS, Viewer
from tests.support.graph import id_of, viewer_of

FOUND = """query ($text: String!, $types: [SearchType!]) {
  search(query: $text, types: $types) { totalCount facets { types { value count } }
    nodes { __typename ... on Node { id } ... on Hashtag { name } } }
  suggest(prefix: $text, types: $types, first: 20) { node { ... on Node { id } } } }"""


async def seen(graph, text, viewer=ANONYMOUS, **variables):
    """Returns the IDs that are found. Asserts that as many are counted, and that no others are suggested."""
    data = (await graph.ask(FOUND, viewer, text=text, **variables)).data
    found = {node["id"] for node in data["search"]["nodes"]}
    assert data["search"]["totalCount"] == len(found)
    assert sum(each["count"] for each in data["search"]["facets"]["types"]) == len(found)
    assert {each["node"]["id"] for each in data["suggest"]} <= found
    return found


async def test_content_and_products_are_found_in_requests_about_their_tenant_only(graph, website):
    await website.tenant("acme")
    await website.tenant("other")
    page = await website.content("acme", title="Oak", status=ContentStatus.PUBLISHED)
    draft = await website.content("acme", title="Oak draft", status=ContentStatus.DRAFT)
    product = await website.thing(Product, title="Oak chair", status=ProductStatus.PUBLISHED)
    await graph.settle_search()
    visitor = Viewer(tenant_id="acme")
    staff = Viewer("eve", tenant_id="acme", tenants=frozenset({("acme", "viewer")}))
    assert await seen(graph, "oak") == set()
    assert await seen(graph, "oak", Viewer(tenant_id="other")) == set()
    assert await seen(graph, "oak", replace(staff, tenant_id="other")) == set()
    assert await seen(graph, "oak", visitor) == {id_of(page), id_of(product)}
    assert await seen(graph, "oak", staff) == {id_of(page), id_of(product), id_of(draft)}


async def test_people_in_trees(graph, kindred):
    ada, bob, eve = [await graph.add_user(name) for name in ("ada", "bob", "eve")]
    tree = await kindred.tree(ada, name="Oaks", public=True)
    dead = await kindred.person(tree, "Quercus", last_name="Oak")
    living = await kindred.person(tree, "Quentin", last_name="Oak", birth_date=None)
    await kindred.share(tree, bob)
    await graph.settle_search()
    people = {"types": ["PERSON"]}
    assert await seen(graph, "oak", **people) == {id_of(dead)}
    assert await seen(graph, "oak", viewer_of(eve), **people) == {id_of(dead)}
    assert await seen(graph, "quentin", viewer_of(eve), **people) == set()
    assert await seen(graph, "oak", viewer_of(ada), **people) == {id_of(dead), id_of(living)}
    assert await seen(graph, "oak", viewer_of(bob), **people) == {id_of(dead), id_of(living)}

    await graph.table.put(tree.changed(is_public=False))
    await graph.settle()
    assert await seen(graph, "oak", **people) == set()
    assert await seen(graph, "oak", viewer_of(bob), **people) == {id_of(dead), id_of(living)}


async def test_a_name_in_the_index_is_not_suggested_for_a_person_without_details(graph, kindred):
    tree = await kindred.tree(await graph.add_user("ada"), public=True)
    person = await kindred.person(tree, "Quentin", last_name="Oak")
    await graph.settle_search()
    assert await seen(graph, "quentin", types=["PERSON"]) == {id_of(person)}
    # The index does not know yet that the person may be living.
    await graph.table.put(person.changed(birth_date=None))
    asked = await graph.ask(FOUND, text="quentin", types=["PERSON"])
    assert asked.data["suggest"] == asked.data["search"]["nodes"] == []


async def test_private_neighborhoods_are_found_by_their_members(graph, town):
    ada, bob, eve = [await graph.add_user(name) for name in ("ada", "bob", "eve")]
    place = await town.neighborhood(ada, private=True, name="Oak street")
    await town.member(bob, place, status=MembershipStatus.INVITED)
    await graph.settle_search()
    assert await seen(graph, "oak") == set()
    assert await seen(graph, "oak", viewer_of(eve)) == set()
    assert await seen(graph, "oak", viewer_of(ada)) == {id_of(place)}
    assert await seen(graph, "oak", viewer_of(bob)) == {id_of(place)}


async def test_a_site_in_progress_is_found_by_its_owner(graph, town):
    ada, eve = [await graph.add_user(name) for name in ("ada", "eve")]
    draft = await town.site(ada, title="Oak draft", status=SiteStatus.DRAFT)
    public = await town.site(ada, title="Oak", status=SiteStatus.PUBLISHED)
    await graph.settle_search()
    assert await seen(graph, "oak", viewer_of(eve)) == {id_of(public)}
    assert await seen(graph, "oak", viewer_of(ada)) == {id_of(draft), id_of(public)}


async def test_the_works_of_a_deleted_account_are_neither_found_nor_counted(graph, workshop, society, town, kindred):
    ada, wood = await society.person("ada", bio="Likes oak"), await workshop.category("wood", name="Wood")
    card = await workshop.card(ada, wood, title="Oak table")
    post = await society.post(ada, caption="An oak")
    site = await town.site(ada, title="Oak", status=SiteStatus.PUBLISHED)
    tree = await kindred.tree(ada, name="Oaks", public=True)
    dead = await kindred.person(tree, "Quercus", last_name="Oak")
    await graph.settle_search()
    everything = {id_of(each) for each in (ada, card, post, site, tree, dead)}
    assert await seen(graph, "oak") == everything

    # At once, before the index knows, and afterwards.
    await graph.ask("mutation { deleteAccount { problems { code } } }", viewer_of(ada))
    assert await seen(graph, "oak") == set()
    await graph.settle(jobs=True)
    assert await seen(graph, "oak") == set()
    await graph.ask("mutation { restoreAccount { problems { code } } }", viewer_of(ada))
    await graph.settle(jobs=True)
    assert await seen(graph, "oak") == everything


async def test_a_hashtag_is_shown_while_a_post_has_it(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada, caption="A #garden in #Spring")
    await graph.settle_search()
    tags = """query ($text: String!) {
      search(query: $text, types: [HASHTAG]) { nodes { ... on Hashtag { name postCount } } } }"""
    assert (await graph.ask(tags, text="spri")).data["search"]["nodes"] == [{"name": "spring", "postCount": 1}]
    await graph.table.put(post.changed(caption="Only the #garden"))
    await graph.settle()
    assert (await graph.ask(tags, text="spri")).data["search"]["nodes"] == []
    assert (await graph.ask(tags, text="garden")).data["search"]["nodes"] == [{"name": "garden", "postCount": 1}]
