"""Live answers lose what a viewer may no longer see and gain what it may, by every path of the visibility tests."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from datastore.client.writes import Update
from datastore.cms import ContentStatus, Product, ProductStatus
from datastore.model.times import now
from datastore.neighborhoods import NeighborhoodPrivacy
from loaders.viewer import ANONYMOUS, Viewer
from schema.http.protocol import GraphQLRequest
from tests.resolvers.cards import test_visibility as cards
from tests.resolvers.cms import test_visibility as cms
from tests.resolvers.genealogy import test_visibility as genealogy
from tests.resolvers.genealogy import test_visibility_living as living
from tests.resolvers.neighborhoods import test_visibility as neighborhoods
from tests.support.cms import EDITOR, STRANGER, VISITOR
from tests.support.graph import Graph, id_of, mutation, viewer_of
from tests.support.live import Following, follow_any


class Matrix:
    """Queries that viewers of all kinds follow."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.followed: list[tuple[GraphQLRequest, Viewer, Following]] = []

    async def add(self, query: str, viewer: Viewer, variables: dict[str, Any]) -> None:
        request = GraphQLRequest(query, variables)
        following = await follow_any(self.graph, request, viewer)
        assert following is not None, query
        self.followed.append((request, viewer, following))

    async def bodies(self) -> list[str]:
        """Returns the live answers, after comparing each with the answer of now."""
        await self.graph.settle()
        for *_, following in self.followed:
            following.query.refresh()
        await self.followed[0][2].catch_up()
        for request, viewer, following in self.followed:
            fresh = await self.graph.ask(request.query, viewer, **request.variables)
            assert following.body == fresh.body, (request.query, viewer)
        return [json.dumps(following.body) for *_, following in self.followed]


@pytest.fixture
async def matrix(graph: Graph) -> AsyncIterator[Matrix]:
    matrix = Matrix(graph)
    yield matrix
    for *_, following in matrix.followed:
        following.stream.close()


async def set_fields(graph: Graph, record: Any, **fields: Any) -> None:
    await graph.table.update(Update(record.own_key, set=fields))


async def test_of_a_neighborhood(graph, town, matrix):
    scene = await neighborhoods.Scene.of(graph, town, private=False)
    for path in neighborhoods.PATHS.values():
        variables = {name: id_of(scene.records[of]) for name, of in path.variables.items()}
        for name in ("anonymous", "pending", "invited", "member"):
            await matrix.add(path.query, scene.viewer(name), variables)
    public = await matrix.bodies()

    await set_fields(graph, scene.records["place"], privacy=NeighborhoodPrivacy.PRIVATE)
    private = await matrix.bodies()
    await set_fields(graph, scene.records["place"], privacy=NeighborhoodPrivacy.PUBLIC)
    assert await matrix.bodies() == public
    await set_fields(graph, scene.records["place"], deleted_at=now())
    deleted = await matrix.bodies()

    assert public != private != deleted


async def test_of_a_tree(graph, kindred, matrix):
    scene = await genealogy.Scene.of(graph, kindred, public=True)
    for path in genealogy.PATHS.values():
        variables = {name: id_of(scene.records[of]) for name, of in path.variables.items()}
        for name in ("nobody", "reader", "owner") if not path.query.startswith("/") else ():
            await matrix.add(path.query, scene.viewer(name), variables)
    public = await matrix.bodies()

    await set_fields(graph, scene.records["tree"], is_public=False)
    private = await matrix.bodies()
    reader = {"treeId": id_of(scene.records["tree"]), "userId": id_of(scene.people["reader"])}
    await graph.command(genealogy.UNSHARE, viewer_of(scene.people["owner"]), **reader)
    unshared = await matrix.bodies()
    await set_fields(graph, scene.records["tree"], deleted_at=now())

    assert public != private != unshared != await matrix.bodies()


async def test_of_the_living(graph, kindred, matrix):
    scene = await living.Scene.of(graph, kindred)
    for path in living.PATHS.values():
        query, variables = scene.query(path)
        for name in ("stranger", "reader"):
            await matrix.add(query, scene.viewer(name), variables)
    before = await matrix.bodies()
    assert [living.tells(body) for body in before] == [False, True] * len(living.PATHS)

    for person in scene.people.values():
        await set_fields(graph, person, death_date="2020")
    after = await matrix.bodies()

    assert all(map(living.tells, after))


async def test_of_a_card(graph, workshop, matrix):
    author, talker = await workshop.person("author"), await workshop.person("talker")
    wood = await workshop.category("wood")
    card = await workshop.card(author, wood, title="Oil it", created_at=now())
    comment = await workshop.comment(talker, card)
    given = {
        "card": card,
        "category": wood,
        "author": author,
        "talker": talker,
        "comment": comment,
        "vote": await workshop.vote(talker, card, cards.UP),
        "opinion": await workshop.vote(talker, comment, cards.UP),
        "collection": await workshop.collection(talker, card),
    }
    variables = {name: id_of(record) for name, record in given.items()} | {"day": card.created_at[:10]}
    await graph.settle_search()
    for viewer in (ANONYMOUS, viewer_of(talker), viewer_of(author), Viewer("id-admin", frozenset({"admin"}))):
        await matrix.add(cards.every_path(given), viewer, variables)
    published = await matrix.bodies()

    await graph.command(mutation("archiveCard", "problems { code }"), viewer_of(author), cardId=id_of(card))
    archived = await matrix.bodies()
    await graph.command(mutation("deleteCard", "problems { code }"), viewer_of(author), cardId=id_of(card))

    assert published != archived != await matrix.bodies()


async def test_of_a_website(graph, website, matrix):
    await website.tenant("acme", "acme.example.org")
    content = await website.content(node_id="hidden", slug="/hidden", title=cms.SECRET, status=ContentStatus.PUBLISHED)
    product = await website.thing(Product, product_id="hidden", title=cms.SECRET, status=ProductStatus.PUBLISHED)
    for query in cms.WITH_A_TENANT.values():
        for viewer in (VISITOR, STRANGER, EDITOR):
            await matrix.add(query, viewer, {})
    shown = await matrix.bodies()
    assert any(cms.SECRET in body for body in shown[::3])

    for record, status in ((content, ContentStatus.DRAFT), (product, ProductStatus.DRAFT)):
        await graph.table.put(replace(record, status=status))
    hidden = await matrix.bodies()

    assert not any(cms.SECRET in body for body in (*hidden[::3], *hidden[1::3]))
    assert any(cms.SECRET in body for body in hidden[2::3])
