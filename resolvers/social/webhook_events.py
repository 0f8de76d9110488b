"""Events of the social network that webhooks are told about."""

from collections.abc import Sequence

from datastore.social import Comment, Follow, Post
from datastore.webhooks import USER, HookOwner, WebhookEvent
from loaders.needs import Items, Step
from resolvers.social.edges import author, commented_post, followed, follower
from resolvers.webhooks.events import tells, user


def _author_of_post(comment: Comment) -> Step[Sequence[HookOwner]]:
    (post,) = yield Items([commented_post(comment)])
    return [HookOwner(USER, post.user_id)] if post is not None else []


tells(
    WebhookEvent.POST_CREATED,
    Post,
    at=lambda post: post.created_at,
    told=user("user_id"),
    fields=("post_id", "image_url", "caption", "created_at"),
)
tells(
    WebhookEvent.POST_DELETED,
    Post,
    at=lambda post: post.deleted_at,
    told=user("user_id"),
    fields=("post_id",),
    of_hidden=True,
)
tells(
    WebhookEvent.COMMENT_CREATED,
    Comment,
    at=lambda comment: comment.created_at,
    told=_author_of_post,
    fields=("comment_id", "content", "created_at"),
    links={"authorId": author, "postId": commented_post},
)
tells(
    WebhookEvent.FOLLOW_CREATED,
    Follow,
    at=lambda follow: follow.created_at,
    told=user("following_id"),
    fields=("created_at",),
    links={"followerId": follower, "followedId": followed},
    has_id=False,
)
