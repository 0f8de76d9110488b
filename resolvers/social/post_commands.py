"""Commands of posts and likes."""

from typing import Annotated, NamedTuple

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.errors import Conflict
from datastore.client.writes import Delete, Put, Update, absent, exists, same
from datastore.model.keys import Key
from datastore.model.times import new_id, now
from datastore.social import Like, Post, PostCounter
from resolvers.accounts.guards import delete_marked, is_open, no_account, write_for_account
from resolvers.background.jobs import queued
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import HttpsUrl, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, refused
from resolvers.core.unset import UNSET, given
from resolvers.social.guards import fresh_post, is_listed, own_post, post_for
from resolvers.social.jobs import purge_post
from resolvers.social.post_counters import count

Caption = Text(at_most=2_200)


class DeletedPost(NamedTuple):
    deleted_post_id: Post


@access(requires=AccessRole.SIGNED_IN)
async def create_post(
    context: Context,
    *,
    image_url: Annotated[str, Doc("URL of the picture."), HttpsUrl()],
    caption: Annotated[str | None, Doc("Caption."), Caption] = None,
) -> Post:
    """Publishes a picture."""
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


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
async def update_post(
    context: Context,
    *,
    post_id: Annotated[Key[Post], Doc("ID of the post.")],
    caption: Annotated[str | None, Doc("New caption; null removes it."), Caption] = UNSET,
    image_url: Annotated[str, Doc("URL of another picture. A post always has one."), HttpsUrl()] = UNSET,
) -> Post:
    """Edits a post. Omitted fields keep their values."""
    post = await own_post(context, post_id)
    changed = post.changed(**given(caption=caption, image_url=image_url))
    await write_for_account(context, Update.of(post, changed, when=is_listed()))
    return await fresh_post(context.load, post_id)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
async def delete_post(context: Context, *, post_id: Annotated[Key[Post], Doc("ID of the post.")]) -> DeletedPost:
    """Deletes a post immediately, and its likes and comments in the background."""
    post = await own_post(context, post_id)
    hidden = post.changed(deleted_at=now(), feed_shard=None)
    account = Update(User.key(user_id=post.user_id), add={"post_count": -1}, when=is_open())
    try:
        await context.load.write(
            Update.of(post, hidden, when=is_listed() & same("counter_shards", post.counter_shards)),
            account,
            *(Delete(PostCounter.key(post_id=post.post_id, shard=n)) for n in range(post.counter_shards or 0)),
            queued(purge_post, post_id=post.post_id),
        )
    except Conflict as conflict:
        if account in conflict:
            raise no_account() from None
        # Either it is deleted already, which the next line reports, or its counts just moved into shards.
        await fresh_post(context.load, post_id)
        raise refused(ProblemCode.CONFLICT, "too many requests change this post; try again", at=post_id) from None
    return DeletedPost(post)


@access(requires=AccessRole.SIGNED_IN)
async def like_post(context: Context, *, post_id: Annotated[Key[Post], Doc("ID of the post.")]) -> Post:
    """Likes a post. Idempotent."""
    post = await post_for(context, post_id)
    like = Put(Like(post_id=post.post_id, user_id=context.signed_in), when=absent())
    await count(context, post, like, like_count=1)
    return await fresh_post(context.load, post_id)


@access(requires=AccessRole.SIGNED_IN)
async def unlike_post(context: Context, *, post_id: Annotated[Key[Post], Doc("ID of the post.")]) -> Post:
    """Removes the viewer's like from a post. Idempotent."""
    post = await post_for(context, post_id)
    like = Delete(Like.key(post_id=post.post_id, user_id=context.signed_in), when=exists() & absent("hidden_at"))
    if not await count(context, post, like, like_count=-1):
        await delete_marked(context, like.key)
    return await fresh_post(context.load, post_id)
