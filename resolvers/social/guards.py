"""Posts and comments that the viewer may act on."""

from datastore.client.writes import Condition, absent
from datastore.model.keys import Key
from datastore.social import Comment, Post
from loaders.request import Loaders
from resolvers.accounts.guards import is_open
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, not_found, refused


def is_listed() -> Condition:
    """The post is neither deleted nor hidden."""
    return is_open() & absent("hidden_at")


async def post_for(context: Context, key: Key[Post]) -> Post:
    """A post that the viewer sees."""
    post = await context.load.one(key)
    if post is None:
        raise not_found(key)
    return post


async def own_post(context: Context, key: Key[Post]) -> Post:
    """The viewer's own post. Strongly consistent: changes are computed from this copy."""
    post = await fresh_post(context.load, key)
    if post.user_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its author may do this", at=key)
    return post


async def fresh_post(load: Loaders, key: Key[Post]) -> Post:
    """Strongly consistent read."""
    (post,) = await load.fresh(key)
    if post is None or post.deleted_at is not None or post.hidden_at is not None:
        raise not_found(key)
    return post


async def comment_for(context: Context, key: Key[Comment]) -> tuple[Comment, Post]:
    """A comment that the viewer sees, read with strong consistency, and its post."""
    (comment,) = await context.load.fresh(key)
    post = await context.load.one(Post.key(post_id=comment.post_id)) if comment else None
    if comment is None or post is None or comment.hidden_at is not None:
        raise not_found(key)
    return comment, post
