"""Live queries while reads fail or take long, and while clients leave."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from schema.live import live_queries, live_query
from tests.support.fault_proxy import Answer, Call, hang
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.live import follow, until
from tests.support.social import COMMENT, LIKE

FEED = """query @live(throttle: 50) { feed(first: 3) { nodes {
  caption author { username } comments(first: 5) { nodes { content } } } } }"""
LIKES = "query ($id: ID!) @live(throttle: 50) { post(by: {id: $id}) { likeCount author { username } } }"
OWN = "query ($id: ID!) @live(throttle: 50) { post(by: {id: $id}) { likeCount viewerHasLiked } }"


def about(text: str) -> Callable[[Any], bool]:
    return lambda request: text in str(request)


class Gate:
    """Holds back calls until it is opened."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, call: Call) -> Answer:
        self.reached.set()
        await self.opened.wait()
        return Answer.of(*await call.forward())


@pytest.fixture
async def tailing(faulty_graph):
    """The tail of the server behind the proxy runs."""
    (tail,) = faulty_graph.services.changes.tails
    running = asyncio.create_task(tail.run())
    yield
    running.cancel()


async def test_a_run_that_is_cut_off_leaves_nothing_that_no_one_watches(
    faulty_graph, tailing, proxy, graph, society, monkeypatch
):
    monkeypatch.setattr(live_query, "RETRY_AFTER", 0.01)
    ada, bob = await society.person("ada"), await society.person("bob")
    old = await society.post(ada, caption="Old.")
    await society.comment(bob, old, "One.")
    await graph.settle()
    live = await follow(faulty_graph, FEED)
    await live.take()
    faulty_graph.services.operations.live.seconds_of_a_run = 0.3
    is_broken = True
    for operation in ("GetItem", "BatchGetItem"):
        proxy.will(operation, hang, when=lambda request: is_broken and about(f"USER#{bob.user_id}")(request))

    new = await society.post(bob, caption="New.")
    await society.comment(ada, new, "First.")
    await graph.settle()
    await until(lambda: live.query._failures)
    for post, content in ((old, "Two."), (new, "Second.")):
        await graph.command(COMMENT, viewer_of(ada), postId=id_of(post), content=content)
    await graph.settle()
    is_broken = False

    fresh = (await graph.ask(FEED)).data
    while live.latest != fresh:
        await live.take()
    assert [len(node["comments"]["nodes"]) for node in fresh["feed"]["nodes"]] == [2, 2]


async def test_a_change_during_a_long_first_run_is_not_missed(
    faulty_graph, tailing, proxy, graph, society, monkeypatch
):
    monkeypatch.setattr(live_queries, "RECENT", 0.0)
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await graph.settle()
    live, gate = faulty_graph.services.operations.live, Gate()
    proxy.will("GetItem", gate, when=about(f"USER#{ada.user_id}"))

    following = asyncio.create_task(follow(faulty_graph, LIKES, id=id_of(post)))
    await until(gate.reached.is_set)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.settle()
    await until(lambda: any(change.key == post.own_key for _, change in live._recent))
    gate.opened.set()

    stream = await following
    while stream.latest["post"]["likeCount"] == 0:
        await stream.take()


async def test_a_viewer_whose_reads_take_long_holds_no_one_else_up(faulty_graph, proxy, graph, society):
    ada, bob, cid = [await society.person(name) for name in ("ada", "bob", "cid")]
    post = await society.post(ada)
    await graph.settle()
    gate = Gate()
    first = await follow(faulty_graph, OWN, viewer_of(ada), id=id_of(post))
    for operation in ("GetItem", "BatchGetItem"):
        proxy.will(operation, gate, when=about(f"#{bob.user_id}"))

    slow = asyncio.create_task(follow(faulty_graph, OWN, viewer_of(bob), id=id_of(post)))
    await until(gate.reached.is_set)
    other = await follow(faulty_graph, OWN, viewer_of(cid), id=id_of(post))
    assert not slow.done()
    gate.opened.set()

    assert first.latest == other.latest == (await slow).latest == {"post": {"likeCount": 0, "viewerHasLiked": False}}


async def test_a_client_that_leaves_while_its_query_is_split_takes_nothing_from_the_others(
    faulty_graph, tailing, proxy, graph, workshop
):
    people = [await workshop.person(name) for name in ("ada", "bob", "cid")]
    card = await workshop.card(people[0], await workshop.category("wood"), title="A chair")
    query = "query ($id: ID!) @live(throttle: 50) { card(by: {id: $id}) { title } }"
    following = {each.user_id: await follow(faulty_graph, query, viewer_of(each), id=id_of(card)) for each in people}
    shared = following[people[0].user_id].query
    gate = Gate()

    async def at_the_first(call: Call) -> Answer:
        return await gate(call) if shared.runs > 1 else Answer.of(*await call.forward())

    for operation in ("GetItem", "BatchGetItem", "Query"):
        proxy.will(operation, at_the_first, when=lambda request: "CHANGES" not in str(request))
    await graph.command(mutation("archiveCard", "card { id }"), viewer_of(people[0]), cardId=id_of(card))
    await graph.settle()
    await until(gate.reached.is_set)
    leaving, *staying = people[1:]
    following[leaving.user_id].stream.close()
    gate.opened.set()

    for person in staying:
        while following[person.user_id].latest["card"] is not None:
            await following[person.user_id].take()
    owner = following[people[0].user_id]
    await until(lambda: owner.query is not shared)
    assert owner.latest == {"card": {"title": "A chair"}}
    for person in (people[0], *staying):
        following[person.user_id].stream.close()
    assert len(faulty_graph.services.operations.live.watching) == 0
