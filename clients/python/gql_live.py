"""gql over WebSocket: a live query follows a change, and is started again on a new connection."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from checks import HEADERS, UNIQUE, URL, run
from gql import Client, GraphQLRequest
from gql.client import AsyncClientSession
from gql.transport.exceptions import TransportConnectionFailed
from gql.transport.httpx import HTTPXTransport
from gql.transport.websockets import WebsocketsTransport

LIVE = "query ($id: ID!) @live(throttle: 50) { post(by: { id: $id }) { caption } }"
CREATE = "mutation ($input: CreatePostInput!) { createPost(input: $input) { post { id } } }"
UPDATE = "mutation ($input: UpdatePostInput!) { updatePost(input: $input) { problems { code } } }"
PATIENCE = 20.0

http = Client(transport=HTTPXTransport(URL, headers=HEADERS))


def live() -> None:
    """gql: a live query shows the change of a mutation, and goes on after the connection was cut"""
    asyncio.run(asyncio.wait_for(follow(), PATIENCE))


async def follow() -> None:
    image = {"imageUrl": "https://example.org/1.jpg", "caption": f"gql {UNIQUE}"}
    post_id = (await mutate(CREATE, image))["createPost"]["post"]["id"]
    transport = WebsocketsTransport(URL.replace("http", "ws", 1), init_payload=HEADERS, connect_args={"proxy": None})
    client = Client(transport=transport)
    session: AsyncClientSession = await client.connect_async(reconnecting=True)  # type: ignore[no-untyped-call]
    captions = captions_of(session, post_id)
    assert await anext(captions) == image["caption"]
    await mutate(UPDATE, {"postId": post_id, "caption": "second"})
    assert await anext(captions) == "second"
    connection: Any = transport.adapter
    connection.websocket.transport.abort()
    await mutate(UPDATE, {"postId": post_id, "caption": "third"})
    while await anext(captions) != "third":
        pass
    await captions.aclose()
    await client.close_async()  # type: ignore[no-untyped-call]


async def captions_of(session: AsyncClientSession, post_id: str) -> AsyncGenerator[str, None]:
    """Yields the captions of a post. The client replaces a lost connection, and the query is sent again."""
    while True:
        try:
            async for result in session.subscribe(GraphQLRequest(LIVE, variable_values={"id": post_id})):
                yield result["post"]["caption"]
        except TransportConnectionFailed:
            await asyncio.sleep(0.2)


async def mutate(query: str, given: dict[str, str]) -> dict[str, Any]:
    request = GraphQLRequest(query, variable_values={"input": given})
    return await asyncio.to_thread(lambda: http.execute(request))


run(live)
