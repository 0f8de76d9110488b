"""Commands of comments on posts."""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Delete, Put, Update, absent, exists
from datastore.model.keys import Key
from datastore.model.times import new_id
from datastore.social import Comment, Post
from resolvers.accounts.guards import write_for_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, not_found, refused
from resolvers.social.guards import comment_for, post_for
from resolvers.social.post_counters import count

Content = Annotated[str, Doc("Text of the comment."), Text(at_most=1_000)]


class DeletedComment(NamedTuple):
    deleted_comment_id: Comment
    post: Post | None


@access(requires=AccessRole.SIGNED_IN)
async def add_comment(
    context: Context, *, post_id: Annotated[Key[Post], Doc("ID of the post.")], content: Content
) -> Comment:
    """Adds a comment to a post."""
    post = await post_for(context, post_id)
    comment = Comment(post_id=post.post_id, comment_id=new_id(), user_id=context.signed_in, content=content)
    await count(context, post, Put(comment, when=absent()), comment_count=1)
    return comment


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
async def update_comment(
    context: Context, *, comment_id: Annotated[Key[Comment], Doc("ID of the comment.")], content: Content
) -> Comment:
    """Edits a comment."""
    comment, _ = await comment_for(context, comment_id)
    if comment.user_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its author may edit a comment", at=comment_id)
    changed = comment.changed(content=content)
    await write_for_account(context, Update.of(comment, changed, when=exists()))
    return changed


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR, AccessRelation.POST_AUTHOR))
async def delete_comment(
    context: Context, *, comment_id: Annotated[Key[Comment], Doc("ID of the comment.")]
) -> DeletedComment:
    """Deletes a comment."""
    comment, post = await comment_for(context, comment_id)
    if context.signed_in not in (comment.user_id, post.user_id):
        message = "only its author and the author of the post may delete a comment"
        raise refused(ProblemCode.FORBIDDEN, message, at=comment_id)
    if not await count(context, post, Delete(comment_id, when=exists() & absent("hidden_at")), comment_count=-1):
        raise not_found(comment_id)
    return DeletedComment(comment, await context.load.one(post.own_key))


async def deleted_comment(context: Context, keys: object, *, comment_id: Key[Comment]) -> dict[str, Any]:
    """Replays `deleteComment`: its transaction does not name the post if the counts are in shards."""
    return {"post": await context.load.one(Post.key(post_id=comment_id.values["post_id"]))}
