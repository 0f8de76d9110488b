"""The table, the servers and the writers of the benchmark."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psutil

from benchmarks.peers.servers import ROOT, SECRET, Running, Server, environment, free_port, wait_for
from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.model.entity import Entity
from datastore.model.times import now
from datastore.social import Comment, Post
from resolvers.accounts.tokens import Tokens, TokenSettings
from schema.declare.ids import global_id

TABLE = "live"
COMMENTS = 10
POSTS_OF_AN_AUTHOR = 10
LIMITS = {
    "MAX_CONNECTIONS": "15000",
    "MAX_CONNECTIONS_PER_ADDRESS": "15000",
    "MAX_STREAMS": "15000",
    "MAX_STREAMS_PER_CLIENT": "15000",
    "RATE_LIMITS": "off",
}


@dataclass
class Scene:
    """An engine with posts, each with comments. Ten posts in a row have one author."""

    place: Place
    posts: list[Post]

    def id(self, number: int) -> dict[str, str]:
        return {"id": global_id(self.posts[number])}


@contextlib.contextmanager
def a_scene(posts: int) -> Iterator[Scene]:
    with engine.in_memory(moto=False) as running:
        place = Place(running.endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)
        place.ensure_table(TABLE)
        scene = Scene(place, _posts(posts))
        people = [
            User(user_id=f"p{n}", username=f"p{n}", email=f"p{n}@example.org")
            for n in range(posts // POSTS_OF_AN_AUTHOR + 20)
        ]
        asyncio.run(_write(place, [*people, *scene.posts, *_comments(scene.posts)]))
        yield scene


def _posts(count: int) -> list[Post]:
    return [
        Post(
            post_id=f"post{n:06d}",
            user_id=f"p{n // POSTS_OF_AN_AUTHOR}",
            image_url="https://example.org/a.jpg",
            caption=f"Caption {n}",
            comment_count=COMMENTS,
            feed_shard=0,
        )
        for n in range(count)
    ]


def _comments(posts: list[Post]) -> list[Comment]:
    return [
        Comment(
            post_id=post.post_id, comment_id=f"c{n}", user_id=post.user_id, content=f"Comment {n}", created_at=now()
        )
        for post in posts
        for n in range(COMMENTS)
    ]


async def _write(place: Place, records: list[Entity]) -> None:
    transport = Transport(region=LOCAL_REGION, endpoint=place.endpoint, credentials=place.credentials)
    await Table(transport, TABLE, Usage.lasting(600)).batch_write(puts=records)
    await transport.close()


@contextlib.contextmanager
def a_server(scene: Scene, port: int | None = None) -> Iterator[Running]:
    """Yields a server process on the table."""
    port = port or free_port()
    settings = {"DYNAMODB_ENDPOINT": str(scene.place.endpoint), "TABLE_NAME": TABLE, "PORT": str(port)}
    process = psutil.Popen(
        (sys.executable, "server.py", "serve", "--no-demo"),
        cwd=ROOT,
        env=environment(AUTH_SECRET=SECRET, **settings, **LIMITS),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(process, port, "Heartwood")
        yield Running(Server("heartwood", "Heartwood", ()), f"http://127.0.0.1:{port}/graphql", process)
    finally:
        process.terminate()
        process.wait()


class Writer:
    """A signed-in client that sends mutations to one server."""

    def __init__(self, url: str, user_id: str) -> None:
        self._url = url
        self._http = httpx.Client(headers={"authorization": f"Bearer {token(user_id)}"}, timeout=60, trust_env=False)

    def send(self, query: str, **variables: Any) -> dict[str, Any]:
        body = self._http.post(self._url, json={"query": query, "variables": variables}).json()
        if "errors" in body:
            raise SystemExit(f"the server refused a write of the benchmark: {body['errors']}")
        data: dict[str, Any] = body["data"]
        return data


def token(user_id: str) -> str:
    return Tokens(TokenSettings(SECRET)).issue(user_id)
