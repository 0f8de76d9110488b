"""Recipients of notifications of likes, comments and follows."""

from collections.abc import Sequence

from datastore.accounts import User
from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.notifications import NotificationKind
from datastore.social import Comment, Follow, Like, Post
from loaders.request import Loaders
from resolvers.background.processors import processor
from resolvers.notifications.notices import AT_ONCE, Notice, Notices

NOTICES = Notices()


@NOTICES.of(Like)
async def likes(load: Loaders, likes: Sequence[Like]) -> list[Notice]:
    return await _on_posts(load, NotificationKind.LIKE, likes)


@NOTICES.of(Comment)
async def comments(load: Loaders, comments: Sequence[Comment]) -> list[Notice]:
    return await _on_posts(load, NotificationKind.COMMENT, comments)


async def _on_posts(load: Loaders, kind: NotificationKind, works: Sequence[Like | Comment]) -> list[Notice]:
    posts = await load.fresh(*(Post.key(post_id=work.post_id) for work in works))
    return [
        Notice(work.own_key, kind, [post.user_id], post.own_key, work.user_id, work.created_at)
        for work, post in zip(works, posts, strict=True)
        if post is not None
    ]


@NOTICES.of(Follow)
async def follows(load: Loaders, follows: Sequence[Follow]) -> list[Notice]:
    return [
        Notice(
            follow.own_key,
            NotificationKind.FOLLOW,
            [follow.following_id],
            User.key(user_id=follow.following_id),
            follow.follower_id,
            follow.created_at,
        )
        for follow in follows
    ]


@processor(Like, Comment, Follow, at_once=AT_ONCE)
async def notify_social(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
    """Keeps the notifications of likes, comments and follows."""
    return await NOTICES.kept(load, changes)
