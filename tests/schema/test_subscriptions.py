"""Subscriptions: what is sent, what it costs, and who shares it."""

import pytest

from tests.support.graph import id_of, viewer_of
from tests.support.social import COMMENT
from tests.support.subscribing import subscribe

COMMENTS = """subscription ($post: ID!, $after: String) {
  commentAdded(postId: $post, after: $after) { cursor node { content author { username } } } }"""


@pytest.fixture
async def scene(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Rain.")
    await graph.settle()
    return ada, bob, post


async def comment(graph, viewer, post, *contents):
    for content in contents:
        await graph.command(COMMENT, viewer_of(viewer), postId=id_of(post), content=content)


async def test_comments_arrive_in_order(graph, scene):
    ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "One.", "Two.")
    await comment(graph, ada, post, "Three.")
    await graph.settle()

    assert await one.takes(3) == [
        {"content": "One.", "author": {"username": "bob"}},
        {"content": "Two.", "author": {"username": "bob"}},
        {"content": "Three.", "author": {"username": "ada"}},
    ]
    assert await one.is_silent()


async def test_a_client_goes_on_after_any_event(graph, scene):
    _ada, bob, post = scene
    contents = [f"{number}." for number in range(6)]
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, *contents[:4])
    await graph.settle()
    await comment(graph, bob, post, *contents[4:])
    await graph.settle()
    cursors = []
    for content in contents:
        assert (await one.take())["content"] == content
        cursors.append(one.cursor)
    one.close()

    for place, cursor in enumerate(cursors, start=1):
        again = await subscribe(graph, COMMENTS, post=id_of(post), after=cursor)
        assert [node["content"] for node in await again.takes(6 - place)] == contents[place:]
        assert await again.is_silent()
        again.close()


async def test_a_cursor_of_the_connection_begins_in_the_table(graph, scene):
    _ada, bob, post = scene
    await comment(graph, bob, post, "One.", "Two.", "Three.")
    await graph.settle()
    asked = await graph.ask(
        "query ($id: ID!) { post(by: {id: $id}) { comments(first: 1) { pageInfo { endCursor } } } }", id=id_of(post)
    )
    after = asked.data["post"]["comments"]["pageInfo"]["endCursor"]

    one = await subscribe(graph, COMMENTS, post=id_of(post), after=after)
    assert [node["content"] for node in await one.takes(2)] == ["Two.", "Three."]
    assert await one.is_silent()
    await comment(graph, bob, post, "Four.")
    await graph.settle()
    assert (await one.take())["content"] == "Four."
    assert await one.is_silent()
