"""Visibility rules of the social network."""

from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from loaders.viewer import Viewer
from loaders.visibility import never_shown, shown_to_everyone, visibility

never_shown(PostCounter, because="it is part of the post's counts")
shown_to_everyone(Comment, inside=Post)
# A link is as visible as both its ends, which have rules of their own.
shown_to_everyone(Like, Follow)


@visibility(Post)
def post_visible(post: Post, viewer: Viewer) -> bool:
    return post.deleted_at is None


@visibility(Notification)
def notification_visible(notification: Notification, viewer: Viewer) -> bool:
    return viewer.is_user(notification.user_id)
