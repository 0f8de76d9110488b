"""Visibility rules of the social network."""

from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from loaders.viewer import Viewer
from loaders.visibility import never_shown, visibility

never_shown(PostCounter, because="it is part of the post's counts")


@visibility(Post)
def post_visible(post: Post, viewer: Viewer) -> bool:
    return post.deleted_at is None


@visibility(Comment, inside=Post)
@visibility(Like)
@visibility(Follow)
def link_visible(link: Comment | Like | Follow, viewer: Viewer) -> bool:
    """A link is as visible as both its ends, which have rules of their own."""
    return True


@visibility(Notification)
def notification_visible(notification: Notification, viewer: Viewer) -> bool:
    return viewer.is_user(notification.user_id)
