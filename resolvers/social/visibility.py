"""Visibility rules of the social network."""

from datastore.social import Comment, FeedAuthor, FeedEntry, FeedState, Follow, Like, Post, PostCounter, PostRank
from loaders.viewer import Viewer
from loaders.visibility import never_shown, shown_to_everyone, visibility

never_shown(PostCounter, because="it is part of the post's counts")
shown_to_everyone(Comment, inside=Post)
# A link is as visible as both its ends, which have rules of their own.
shown_to_everyone(Like, Follow, PostRank)


@visibility(Post)
def post_visible(post: Post, viewer: Viewer) -> bool:
    return post.deleted_at is None


@visibility(FeedEntry)
def feed_entry_visible(entry: FeedEntry, viewer: Viewer) -> bool:
    return viewer.is_user(entry.user_id)


@visibility(FeedState)
def feed_state_visible(state: FeedState, viewer: Viewer) -> bool:
    return viewer.is_user(state.user_id)


@visibility(FeedAuthor)
def feed_author_visible(author: FeedAuthor, viewer: Viewer) -> bool:
    return viewer.is_user(author.user_id)
