"""Counts the DynamoDB calls and capacity units of a home feed: merged from its authors, and from its entries.

Prints pages of a reader who follows many people, some of them merged on reading, and what a post costs per follower.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from benchmarks import bulk
from benchmarks.peers.servers import SECRET
from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.model.entity import Entity
from datastore.model.times import as_time, new_id
from datastore.social import FeedAuthor, FeedMode, Follow, Post
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.social.feed_entries import match_entries
from resolvers.social.feed_jobs import build_home_feed, spread_post
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings

TABLE = "home-feed"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
POSTS = 3
READER, STAR = "reader", "star"
PAGE = """query ($after: String) { viewer { homeFeed(first: 20, after: $after) {
    nodes { id caption } pageInfo { endCursor } } } }"""


def records(people: int, followers: int) -> Iterator[Entity]:
    """A reader who follows people with three posts each, and an author with followers."""
    yield _user(READER)
    yield _user(STAR, follower_count=followers)
    for number in range(people):
        author = f"author{number}"
        yield _user(author, post_count=POSTS, follower_count=1)
        yield Follow(follower_id=READER, following_id=author)
        for turn in range(POSTS):
            yield _post(author, turn * people + number)
    for turn in range(20):
        yield _post(STAR, 10**5 + turn)
    for number in range(followers):
        yield Follow(follower_id=f"follower{number}", following_id=STAR)


def _user(user_id: str, **counts: int) -> User:
    return User(user_id=user_id, username=user_id, email=f"{user_id}@example.org", **counts)


def _post(author: str, minutes: int) -> Post:
    at = as_time(BEGINNING + timedelta(minutes=minutes))
    caption = "A picture of the day, with a caption of the usual length, and a word or two more. " * 3
    return Post(post_id=new_id(), user_id=author, image_url="https://example.org/a.jpg", caption=caption, created_at=at)


class Measurement:
    """Counts what requests and jobs use."""

    def __init__(self, endpoint: str) -> None:
        settings = Settings(
            dynamodb_endpoint=endpoint, table_name=TABLE, auth_secret=SECRET, request_timeout=300, log_level="ERROR"
        )
        self.services = Services.at(Place(endpoint, LOCAL_REGION, keeps_data=False), settings, SECRET)
        # As in AWS, where the stream records changes.
        self.table = Table(self.services.table.transport, TABLE, Usage.lasting(600))

    def loaders(self) -> Loaders:
        return Loaders(self.table.using(Usage.lasting(600)), ANONYMOUS, consistent=True)

    async def pages(self, what: str) -> list[list[str]]:
        """Prints the cost of the first two pages, and returns their posts."""
        shown, after = [], None
        for number in (1, 2):
            context = self.services.context_of(Viewer(READER), "192.0.2.1", None)
            answer = await self.services.executor.run(GraphQLRequest(PAGE, {"after": after}), context, may_mutate=False)
            page = answer.body["data"]["viewer"]["homeFeed"]
            after = page["pageInfo"]["endCursor"]
            shown.append([node["id"] for node in page["nodes"]])
            _print(f"{what}, page {number}", context.load.table.usage)
        return shown

    async def run(self, people: int, merged: int, followers: int) -> int:
        before = await self.pages(f"merged from {people:,} authors")
        await self.table.batch_write(
            puts=[
                FeedAuthor(user_id=f"author{number}", mode=FeedMode.MERGED, changed_at=as_time(BEGINNING))
                for number in range(merged)
            ]
        )
        load = self.loaders()
        await build_home_feed(load, user_id=READER)
        _print("building the feed", load.table.usage)
        after = await self.pages(f"from entries, {merged} authors merged")
        load = self.loaders()
        await self.table.put(Follow(follower_id=READER, following_id=STAR))
        await match_entries(load, READER, {STAR: FeedMode.COPIED})
        _print("matching a follow, once", load.table.usage)
        post = _post(STAR, 10**6)
        await self.table.put(post)
        load = self.loaders()
        await spread_post(load, post_id=post.post_id, author_id=STAR, created_at=post.created_at)
        _print(f"copying a post to {followers:,} followers", load.table.usage)
        each = load.table.usage
        print(f"  per follower: {each.write_units / followers:.2f} write, {each.read_units / followers:.2f} read units")
        await self.services.table.transport.close()
        self.services.passwords.close()
        self.services.mail.close()
        same = before == after
        print("the pages are equal" if same else "the pages differ")
        return 0 if same else 1


def _print(what: str, usage: Usage) -> None:
    calls = ", ".join(f"{count:,} {name}" for name, count in usage.calls.items())
    print(f"{what:<44}{usage.read_units:>9,.1f} read{usage.write_units:>9,.1f} write units  {calls}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.home_feed", description=__doc__)
    parser.add_argument("--people", type=int, default=1_045, help="people that the reader follows (1045)")
    parser.add_argument("--merged", type=int, default=0, help="how many of them are merged on reading (0)")
    parser.add_argument("--followers", type=int, default=1_000, help="followers of an author who posts (1000)")
    arguments = parser.parse_args()
    sizes = arguments.people, arguments.merged, arguments.followers
    try:
        with bulk.filled({TABLE: records(arguments.people, arguments.followers)}) as running:
            return asyncio.run(Measurement(running.endpoint).run(*sizes))
    except engine.EngineFailed as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
