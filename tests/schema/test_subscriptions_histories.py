"""Subscriptions over random histories, with cuts at random times: each addition comes once, and in order."""

import random

import pytest

from schema.live import channel, resuming, subscriber
from tests.support.graph import id_of, viewer_of
from tests.support.social import COMMENT, CREATE, DELETE, DELETE_COMMENT, UPDATE_COMMENT
from tests.support.subscribing import subscribe

COMMENTS = """subscription ($post: ID!, $after: String) {
  commentAdded(postId: $post, after: $after) { cursor node { id } } }"""
POSTS = "subscription ($after: String) { postAdded(after: $after) { cursor node { id } } }"
LISTS = """query ($post: ID!) { feed(last: 100) { edges { cursor node { id } } }
  post(by: {id: $post}) { comments(first: 100) { edges { cursor node { id } } } } }"""
PICTURE = "https://example.org/rain.jpg"


class Client:
    """Follows a list, loses its connection now and then, and goes on with its last cursor."""

    def __init__(self, graph, query, **variables):
        self.graph = graph
        self.query = query
        self.variables = variables
        self.received = []
        self.after = None
        self.subscribed = None

    async def connect(self):
        self.subscribed = await subscribe(self.graph, self.query, **self.variables, after=self.after)

    async def read(self, most):
        for _ in range(most):
            if await self.subscribed.is_silent():
                return
            self.received.append((await self.subscribed.take())["id"])
            self.after = self.subscribed.cursor

    def cut(self):
        self.subscribed.close()


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
async def test_every_addition_comes_once_and_in_order(graph, society, monkeypatch, seed):
    monkeypatch.setattr(channel, "CHANGES_KEPT", 3)
    monkeypatch.setattr(subscriber, "AT_ONCE", 2)
    monkeypatch.setattr(resuming, "RECORDS_AT_ONCE", 2)
    chance = random.Random(seed)
    people = [await society.person(name) for name in ("ada", "bob", "cyd")]
    place = await society.post(people[0])
    await graph.settle()
    clients = [Client(graph, COMMENTS, post=id_of(place)), Client(graph, POSTS)]
    for client in clients:
        await client.connect()
    made = [[], []]
    alive = [{}, {}]

    async def change():
        kind, author = chance.randrange(2), viewer_of(chance.choice(people))
        if chance.random() < 0.65 or not alive[kind]:
            given = {"postId": id_of(place), "content": "Hello."} if not kind else {"imageUrl": PICTURE}
            payload = await graph.command((COMMENT, CREATE)[kind], author, **given)
            name = payload[("comment", "post")[kind]]["id"]
            made[kind].append(name)
            alive[kind][name] = author
        else:
            name = chance.choice([*alive[kind]])
            if not kind and chance.random() < 0.5:
                await graph.command(UPDATE_COMMENT, alive[kind][name], commentId=name, content="Edited.")
            else:
                given = {("commentId", "postId")[kind]: name}
                await graph.command((DELETE_COMMENT, DELETE)[kind], alive[kind].pop(name), **given)

    for _ in range(40):
        await change()
        if chance.random() < 0.4:
            await graph.settle()
        for client in clients:
            if chance.random() < 0.4:
                await client.read(chance.randrange(1, 4))
            if client.after and chance.random() < 0.25:
                client.cut()
                await client.connect()
    await graph.settle()
    for client in clients:
        await client.read(1_000)

    for client, names, left in zip(clients, made, alive, strict=True):
        assert len(set(client.received)) == len(client.received)
        assert client.received == [name for name in names if name in {*client.received}]
        assert {*left} <= {*client.received} <= {*names}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
async def test_any_cursor_of_a_connection_leads_to_the_rest_of_its_list(graph, society, monkeypatch, seed):
    monkeypatch.setattr(resuming, "RECORDS_AT_ONCE", 2)
    chance = random.Random(seed)
    ada = await society.person("ada")
    place = await society.post(ada)
    for _ in range(12):
        await graph.command(COMMENT, viewer_of(ada), postId=id_of(place), content="Hello.")
        await graph.command(CREATE, viewer_of(ada), imageUrl=PICTURE)
        if chance.random() < 0.3:
            await graph.settle()
    data = (await graph.ask(LISTS, post=id_of(place))).data
    feed = data["feed"]["edges"][::-1]
    comments = data["post"]["comments"]["edges"]

    for query, edges, given in ((POSTS, feed, {}), (COMMENTS, comments, {"post": id_of(place)})):
        start = chance.randrange(len(edges))
        client = Client(graph, query, **given)
        client.after = edges[start]["cursor"]
        await client.connect()
        while len(client.received) < len(edges) - start - 1:
            await client.read(chance.randrange(1, 3))
            client.cut()
            await client.connect()
        await client.read(10)
        assert client.received == [edge["node"]["id"] for edge in edges[start + 1 :]]
