"""The commands of the social network."""

import random
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, Retryable
from datastore.client.writes import Check, Condition, Delete, Put, Update, Write, absent, below, exists, same
from datastore.model.keys import Key
from datastore.model.times import new_id, now, seconds_from_now
from datastore.social import Comment, Follow, Like, Notification, NotificationKind, Post, PostCounter
from loaders.request import Loaders
from resolvers.accounts.guards import is_open, no_account, write_for_account
from resolvers.background.jobs import queued
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.social.jobs import purge_post

MAX_CAPTION = 2_200
MAX_COMMENT = 1_000
MAX_FOLLOWING = 2_000
NOTIFICATIONS_KEPT = timedelta(days=30)
COUNTER_SHARDS = 16
CONTENTION = 3
SHARDING_TIME = 1.0


class DeletedPost(NamedTuple):
    deleted_post_id: Post


class DeletedComment(NamedTuple):
    deleted_comment_id: Comment
    post: Post | None


async def create_post(
    context: Context,
    *,
    image_url: Annotated[str, Doc("The https address of the picture.")],
    caption: Annotated[str | None, Doc("What to say about it, up to 2,200 characters.")] = None,
) -> Post:
    """Publish a picture."""
    checks = Checks()
    image_url = checks.https_url("imageUrl", image_url)
    caption = checks.text("caption", caption, at_most=MAX_CAPTION)
    checks.done()
    user_id, post_id = context.signed_in, new_id()
    post = Post(
        post_id=post_id,
        user_id=user_id,
        image_url=image_url,
        caption=caption,
        feed_shard=context.options.feed_shard_of(post_id),
    )
    await write_for_account(context, Put(post, when=absent()), add={"post_count": 1})
    return post


async def update_post(
    context: Context,
    *,
    post_id: Annotated[Key[Post], Doc("The `id` of the post.")],
    caption: Annotated[str | None, Doc("What to say about it; null removes it.")] = UNSET,
    image_url: Annotated[str | None, Doc("The https address of another picture; a post is never without one.")] = UNSET,
) -> Post:
    """Change one's post. What is left out stays as it is."""
    checks = Checks()
    changes: dict[str, Any] = {}
    if caption is not UNSET:
        changes["caption"] = checks.text("caption", caption, at_most=MAX_CAPTION)
    if image_url is not UNSET:
        changes["image_url"] = checks.https_url("imageUrl", image_url or "")
    checks.done()
    post = await _own_post(context, post_id)
    await write_for_account(context, Update.of(post, post.changed(**changes), when=_is_listed()))
    return await _fresh_post(context.load, post_id)


async def delete_post(context: Context, *, post_id: Annotated[Key[Post], Doc("The `id` of the post.")]) -> DeletedPost:
    """Take one's post back. It is gone at once; its likes and comments are cleared away in the background."""
    post = await _own_post(context, post_id)
    hidden = post.changed(deleted_at=now(), feed_shard=None)
    account = Update(User.key(user_id=post.user_id), add={"post_count": -1}, when=is_open())
    try:
        await context.load.write(
            Update.of(post, hidden, when=_is_listed() & same("counter_shards", post.counter_shards)),
            account,
            *(Delete(PostCounter.key(post_id=post.post_id, shard=n)) for n in range(post.counter_shards or 0)),
            queued(purge_post, post_id=post.post_id),
        )
    except Conflict as conflict:
        if account in conflict:
            raise no_account() from None
        # Deleted already, which the next line says, or its counts moved into shards in the meantime.
        await _fresh_post(context.load, post_id)
        raise refused(
            ProblemCode.CONFLICT, "too much is happening to this post; try again", "input", "postId"
        ) from None
    return DeletedPost(post)


async def like_post(context: Context, *, post_id: Annotated[Key[Post], Doc("The `id` of the post.")]) -> Post:
    """Like a post. Liking it again changes nothing."""
    post = await _post_for(context, post_id)
    like = Put(Like(post_id=post.post_id, user_id=context.signed_in), when=absent())
    await _count(context, post, like, *_notices(context, NotificationKind.LIKE, post.user_id, post), like_count=1)
    return await _fresh_post(context.load, post_id)


async def unlike_post(context: Context, *, post_id: Annotated[Key[Post], Doc("The `id` of the post.")]) -> Post:
    """Take one's like back. Where there was none, nothing changes."""
    post = await _post_for(context, post_id)
    like = Delete(Like.key(post_id=post.post_id, user_id=context.signed_in), when=exists())
    await _count(context, post, like, like_count=-1)
    return await _fresh_post(context.load, post_id)


async def add_comment(
    context: Context,
    *,
    post_id: Annotated[Key[Post], Doc("The `id` of the post.")],
    content: Annotated[str, Doc("What to say, up to 1,000 characters.")],
) -> Comment:
    """Say something about a post."""
    checks = Checks()
    content = checks.required_text("content", content, at_most=MAX_COMMENT)
    checks.done()
    post = await _post_for(context, post_id)
    comment = Comment(post_id=post.post_id, comment_id=new_id(), user_id=context.signed_in, content=content)
    notices = _notices(context, NotificationKind.COMMENT, post.user_id, post)
    await _count(context, post, Put(comment, when=absent()), *notices, comment_count=1)
    return comment


async def update_comment(
    context: Context,
    *,
    comment_id: Annotated[Key[Comment], Doc("The `id` of the comment.")],
    content: Annotated[str, Doc("What to say instead, up to 1,000 characters.")],
) -> Comment:
    """Say it otherwise: for its author."""
    checks = Checks()
    content = checks.required_text("content", content, at_most=MAX_COMMENT)
    checks.done()
    comment, _ = await _comment(context, comment_id)
    if comment.user_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its author may change a comment", "input", "commentId")
    changed = comment.changed(content=content)
    await write_for_account(context, Update.of(comment, changed, when=exists()))
    return changed


async def delete_comment(
    context: Context, *, comment_id: Annotated[Key[Comment], Doc("The `id` of the comment.")]
) -> DeletedComment:
    """Remove a comment: for its author and for the author of the post."""
    comment, post = await _comment(context, comment_id)
    if context.signed_in not in (comment.user_id, post.user_id):
        message = "only its author and the author of the post may delete a comment"
        raise refused(ProblemCode.FORBIDDEN, message, "input", "commentId")
    if not await _count(context, post, Delete(comment_id, when=exists()), comment_count=-1):
        raise _no_such_comment()
    return DeletedComment(comment, await context.load.one(post.own_key))


async def follow_user(
    context: Context, *, user_id: Annotated[Key[User], Doc("The `id` of the person to follow.")]
) -> User:
    """Follow somebody. Following them again changes nothing."""
    follower_id = context.signed_in
    person = await context.load.one(user_id)
    if person is None:
        raise _no_such_user()
    if person.user_id == follower_id:
        raise refused(ProblemCode.INVALID, "nobody can follow themselves", "input", "userId")
    follow = Put(Follow(follower_id=follower_id, following_id=person.user_id), when=absent())
    me = Update(
        User.key(user_id=follower_id),
        add={"following_count": 1},
        when=is_open() & (absent("following_count") | below("following_count", MAX_FOLLOWING)),
    )
    them = Update(person.own_key, add={"follower_count": 1}, when=is_open())
    try:
        await context.load.write(follow, me, them, *_notices(context, NotificationKind.FOLLOW, person.user_id))
    except Conflict as conflict:
        if follow not in conflict:
            raise await _cannot_follow(context, conflict, them) from None
    return await _seen(context, user_id)


async def unfollow_user(
    context: Context, *, user_id: Annotated[Key[User], Doc("The `id` of the person to follow no more.")]
) -> User:
    """Follow somebody no more. Where one did not, nothing changes."""
    follower_id = context.signed_in
    person = await context.load.one(user_id)
    if person is None:
        raise _no_such_user()
    follow = Delete(Follow.key(follower_id=follower_id, following_id=person.user_id), when=exists())
    me = Update(User.key(user_id=follower_id), add={"following_count": -1}, when=is_open())
    try:
        await context.load.write(follow, me, Update(person.own_key, add={"follower_count": -1}, when=exists()))
    except Conflict as conflict:
        if me in conflict:
            raise no_account() from None
        if follow not in conflict:
            raise _no_such_user() from None
    return await _seen(context, user_id)


async def _cannot_follow(context: Context, conflict: Conflict, them: Update) -> Refused:
    if them in conflict:
        return _no_such_user()
    (me,) = await context.load.fresh(User.key(user_id=context.signed_in))
    if me is not None and me.following_count >= MAX_FOLLOWING:
        return refused(ProblemCode.INVALID, f"one can follow {MAX_FOLLOWING:,} people at most", "input", "userId")
    return no_account()


async def _count(context: Context, post: Post, link: Put | Delete, *others: Write, **counts: int) -> bool:
    """Write or remove a link together with its count; False if it was (or was not) there already."""
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    for _ in range(3):
        retries = context.load.table.usage.retries
        try:
            await context.load.write(link, _counter(post, counts), account, *others)
        except Conflict as conflict:
            if account in conflict:
                raise no_account() from None
            if link in conflict:
                return False
            # The post was deleted, or its counts moved into shards in the meantime.
            post = await _fresh_post(context.load, post.own_key)
            continue
        if context.load.table.usage.retries - retries >= CONTENTION and not post.counter_shards:
            await shard_counters(context.load, post)
        return True
    raise refused(ProblemCode.CONFLICT, "too much is happening to this post; try again")


def _counter(post: Post, counts: dict[str, int]) -> Update:
    if post.counter_shards:
        # A shard is there exactly as long as the post is: nothing else has to be checked, so nothing else is contended.
        shard = random.randrange(post.counter_shards)  # noqa: S311
        return Update(PostCounter.key(post_id=post.post_id, shard=shard), add=counts, when=exists())
    return Update(post.own_key, add=counts, when=_is_listed() & absent("counter_shards"))


async def shard_counters(load: Loaders, post: Post) -> None:
    """Count a post's likes and comments in several items from now on. What was counted stays where it is."""
    shards = [Put(PostCounter(post_id=post.post_id, shard=n), when=absent()) for n in range(COUNTER_SHARDS)]
    switch = Update(post.own_key, set={"counter_shards": COUNTER_SHARDS}, when=_is_listed() & absent("counter_shards"))
    # With a time of its own: the like is counted already, and its answer must not wait for this.
    apart = Loaders(load.table.using(Usage.lasting(SHARDING_TIME)), load.viewer)
    try:
        await apart.write(switch, *shards)
    except (Conflict, Retryable):
        return  # somebody else did it, the post is gone, or there is no time: the next one who has to wait will do it


def _notices(context: Context, kind: NotificationKind, whom: str, post: Post | None = None) -> list[Put]:
    if whom == context.signed_in:
        return []
    return [
        Put(
            Notification(
                user_id=whom,
                notification_id=new_id(),
                kind=kind,
                actor_id=context.signed_in,
                post_id=post.post_id if post else None,
                expires_at=seconds_from_now(NOTIFICATIONS_KEPT),
            )
        )
    ]


def _is_listed() -> Condition:
    return is_open() & absent("hidden_at")


async def _post_for(context: Context, key: Key[Post]) -> Post:
    """A post the viewer may act on."""
    _ = context.signed_in
    post = await context.load.one(key)
    if post is None:
        raise _no_such_post()
    return post


async def _own_post(context: Context, key: Key[Post]) -> Post:
    """As it is now: what will be changed is told from this copy."""
    _ = context.signed_in
    post = await _fresh_post(context.load, key)
    if post.user_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its author may do this", "input", "postId")
    return post


async def _fresh_post(load: Loaders, key: Key[Post]) -> Post:
    (post,) = await load.fresh(key)
    if post is None or post.deleted_at is not None or post.hidden_at is not None:
        raise _no_such_post()
    return post


async def _comment(context: Context, key: Key[Comment]) -> tuple[Comment, Post]:
    """A comment as it is now, and its post, if the viewer may see them."""
    _ = context.signed_in
    (comment,) = await context.load.fresh(key)
    post = await context.load.one(Post.key(post_id=comment.post_id)) if comment else None
    if comment is None or post is None or comment.hidden_at is not None:
        raise _no_such_comment()
    return comment, post


async def _seen(context: Context, key: Key[User]) -> User:
    person = await context.load.one(key)
    if person is None:
        raise _no_such_user()
    return person


def _no_such_post() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such post", "input", "postId")


def _no_such_comment() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such comment", "input", "commentId")


def _no_such_user() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such person", "input", "userId")
