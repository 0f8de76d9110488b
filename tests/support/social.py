"""Test data for the social network, with exact counts."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.model.entity import Entity
from datastore.model.times import Time, as_time
from datastore.social import Comment, Follow, Like, Post, PostCounter
from schema.declare.ids import global_id
from tests.support.graph import Graph, mutation

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

CREATE = mutation("createPost", "post { id caption imageUrl author { username postCount } likeCount }")
UPDATE = mutation("updatePost", "post { caption imageUrl }")
DELETE = mutation("deletePost", "deletedPostId")
LIKE = mutation("likePost", "post { likeCount viewerHasLiked }")
UNLIKE = mutation("unlikePost", "post { likeCount viewerHasLiked }")
COMMENT = mutation("addComment", "comment { id content author { username } post { commentCount } }")
UPDATE_COMMENT = mutation("updateComment", "comment { content }")
DELETE_COMMENT = mutation("deleteComment", "deletedCommentId post { commentCount }")
FOLLOW = mutation("followUser", "user { username followerCount viewerFollows }")
UNFOLLOW = mutation("unfollowUser", "user { username followerCount viewerFollows }")


def minute(number: float) -> Time:
    return as_time(BEGINNING + timedelta(minutes=number))


class Society:
    """Writes records directly to the table, as the commands would store them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made = 0

    def _times(self) -> dict[str, Any]:
        self._made += 1
        moment = minute(self._made)
        return {"created_at": moment, "updated_at": moment}

    async def person(self, name: str, **fields: Any) -> User:
        return await self.graph.add_user(name, **{**self._times(), **fields})

    async def post(self, author: User, **fields: Any) -> Post:
        times = self._times()
        post_id = f"post{self._made:05d}"
        post = Post(
            **{
                "post_id": post_id,
                "user_id": author.user_id,
                "image_url": f"https://example.org/{post_id}.jpg",
                "feed_shard": 0,
                **times,
                **fields,
            }
        )
        await self._add(post, Update(author.own_key, add={"post_count": 1}))
        return post

    async def comment(self, author: User, post: Post, content: str = "Nice.") -> Comment:
        times = self._times()
        comment = Comment(
            post_id=post.post_id,
            comment_id=f"comment{self._made:05d}",
            user_id=author.user_id,
            content=content,
            **times,
        )
        await self._add(comment, Update(post.own_key, add={"comment_count": 1}))
        return comment

    async def like(self, person: User, post: Post) -> Like:
        like = Like(post_id=post.post_id, user_id=person.user_id, **self._times())
        await self._add(like, Update(post.own_key, add={"like_count": 1}))
        return like

    async def follow(self, follower: User, followed: User) -> Follow:
        follow = Follow(follower_id=follower.user_id, following_id=followed.user_id, **self._times())
        await self._add(
            follow,
            Update(follower.own_key, add={"following_count": 1}),
            Update(followed.own_key, add={"follower_count": 1}),
        )
        return follow

    async def _add(self, record: Entity, *counts: Update) -> None:
        await self.graph.table.put(record)
        for count in counts:
            await self.graph.table.update(count)


def ids(*records: Entity) -> list[str]:
    return [global_id(record) for record in records]


async def counted(graph: Graph) -> dict[str, Counter[str]]:
    """Counts of the stored items, next to the counters."""
    says: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for item in await graph.items():
        kind = item["entityType"]["S"]
        for name in ("likeCount", "commentCount", "postCount", "followerCount", "followingCount"):
            if name in item and "deletedAt" not in item:
                says[name] += int(item[name]["N"])
        if kind == "Post" and "deletedAt" not in item:
            found["postCount"] += 1
        found["likeCount"] += kind == "Like"
        found["commentCount"] += kind in ("Comment", "CardComment")
        found["followerCount"] += kind == "Follow"
        found["followingCount"] += kind == "Follow"
    return {"says": +says, "found": +found}


async def count_too_many_likes(graph: Graph, post: Post) -> None:
    """Each of its counts is fine, but their sum exceeds an Int, which shows when the answer is written."""
    await graph.table.update(Update(post.own_key, set={"like_count": 2**31 - 1, "counter_shards": 1}))
    await graph.table.put(PostCounter(post_id=post.post_id, shard=0, like_count=1))
