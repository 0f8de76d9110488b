"""gql over WebSocket: a subscription goes on at its last cursor on a new connection."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from checks import HEADERS, URL, run
from gql import Client, GraphQLRequest
from gql.client import AsyncClientSession
from gql.transport.exceptions import TransportConnectionFailed
from gql.transport.httpx import HTTPXTransport
from gql.transport.websockets import WebsocketsTransport

ADDED = """subscription ($postId: ID!, $after: String) {
  commentAdded(postId: $postId, after: $after) { cursor node { content } } }"""
CREATE = "mutation ($input: CreatePostInput!) { createPost(input: $input) { post { id } } }"
ADD = "mutation ($input: AddCommentInput!) { addComment(input: $input) { problems { code } } }"
LAST = "query ($id: ID!) { post(by: { id: $id }) { comments(last: 1) { edges { cursor } } } }"
PATIENCE = 20.0

http = Client(transport=HTTPXTransport(URL, headers=HEADERS))


def subscription() -> None:
    """gql: a subscription gets what mutations add, and goes on at its last cursor, without a gap or a duplicate"""
    asyncio.run(asyncio.wait_for(follow(), PATIENCE))


async def follow() -> None:
    post_id = (await send(CREATE, input={"imageUrl": "https://example.org/1.jpg"}))["createPost"]["post"]["id"]
    await comment(post_id, "before")
    transport = WebsocketsTransport(URL.replace("http", "ws", 1), init_payload=HEADERS, connect_args={"proxy": None})
    client = Client(transport=transport)
    session: AsyncClientSession = await client.connect_async(reconnecting=True)  # type: ignore[no-untyped-call]
    comments = comments_of(session, post_id, await newest(post_id))
    await comment(post_id, "first")
    assert await anext(comments) == "first"
    connection: Any = transport.adapter
    connection.websocket.transport.abort()
    await comment(post_id, "second")
    await comment(post_id, "third")
    assert [await anext(comments), await anext(comments)] == ["second", "third"]
    await comments.aclose()
    await client.close_async()  # type: ignore[no-untyped-call]


async def comments_of(session: AsyncClientSession, post_id: str, after: str) -> AsyncGenerator[str, None]:
    """Yields comments. The client replaces a lost connection, and the last cursor is sent."""
    while True:
        variables = {"postId": post_id, "after": after}
        try:
            async for result in session.subscribe(GraphQLRequest(ADDED, variable_values=variables)):
                after = result["commentAdded"]["cursor"]
                yield result["commentAdded"]["node"]["content"]
        except TransportConnectionFailed:
            await asyncio.sleep(0.2)


async def comment(post_id: str, content: str) -> None:
    answer = await send(ADD, input={"postId": post_id, "content": content})
    assert answer == {"addComment": {"problems": []}}


async def newest(post_id: str) -> str:
    """Returns the cursor of the newest comment, which may be in the list after a moment."""
    while True:
        if edges := (await send(LAST, id=post_id))["post"]["comments"]["edges"]:
            return str(edges[0]["cursor"])
        await asyncio.sleep(0.2)


async def send(query: str, **variables: Any) -> dict[str, Any]:
    request = GraphQLRequest(query, variable_values=variables)
    return await asyncio.to_thread(lambda: http.execute(request))


run(subscription)
