"""Trending posts: by likes and comments, newer ones first."""

from datetime import UTC, datetime, timedelta

import pytest

from datastore.model.times import as_time
from datastore.social import PostRank
from resolvers.core.rankings import heat
from resolvers.social.post_counters import shard_counters
from tests.support.graph import id_of, viewer_of

TRENDING = "query ($days: Int! = 7) { trendingPosts(days: $days) { nodes { caption likeCount } } }"
LIKE = "mutation ($input: LikePostInput!) { likePost(input: $input) { problems { code } } }"
DELETE = "mutation ($input: DeletePostInput!) { deletePost(input: $input) { problems { code } } }"


def ago(days: float) -> str:
    return as_time(datetime.now(UTC) - timedelta(days=days))


async def test_posts_people_like_and_discuss_come_first(graph, society):
    ann, bob = await society.person("ann"), await society.person("bob")
    made = [("quiet", 0.0), ("liked", 0.0), ("discussed", 0.0), ("old", 20.0)]
    posts = {caption: await society.post(ann, caption=caption, created_at=ago(days)) for caption, days in made}
    for person in (ann, bob):
        await graph.command(LIKE, viewer_of(person), postId=id_of(posts["liked"]))
        await society.comment(person, posts["discussed"])
    await graph.settle()

    asked = await graph.ask(TRENDING)

    nodes = asked.data["trendingPosts"]["nodes"]
    assert [(node["caption"], node["likeCount"]) for node in nodes] == [("discussed", 0), ("liked", 2), ("quiet", 0)]
    assert asked.calls == {"Query": 7, "BatchGetItem": 1}


async def test_likes_in_shards_count(graph, society):
    ann = await society.person("ann")
    post = await society.post(ann, created_at=ago(0))
    await shard_counters(graph.context().load, post)
    people = [await society.person(f"p{number}") for number in range(10)]
    for person in people:
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))
    await graph.settle()

    rank = await graph.table.get(PostRank.key(post_id=post.post_id))

    assert rank.heat == heat(10, post.created_at)


async def test_a_deleted_post_loses_its_rank(graph, society):
    ann = await society.person("ann")
    post = await society.post(ann, created_at=ago(0))
    await graph.settle()
    before = await graph.table.get(PostRank.key(post_id=post.post_id))

    await graph.command(DELETE, viewer_of(ann), postId=id_of(post))
    await graph.settle()

    assert before is not None
    assert await graph.table.get(PostRank.key(post_id=post.post_id)) is None


@pytest.mark.parametrize("days", [0, 15])
async def test_the_days_have_bounds(graph, days):
    asked = await graph.ask(TRENDING, days=days)

    assert asked.error["message"] == f"`days` is {days}; it goes from 1 to 14"
