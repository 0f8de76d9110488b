"""The social network in the graph."""

import strawberry

from datastore import social as stored
from datastore.model.times import Time
from resolvers.social import commands, edges
from schema.accounts import User
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.edges import exists, linked, many, one, total
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, extend


@expose(stored.Post)
class Post(Node):
    like_count: int = total(edges.like_count)
    comment_count: int = total(edges.comment_count)
    author: User | None = one(edges.author)
    comments: Connection["Comment"] = many(edges.comments, count=edges.comment_count)
    likes: Connection[User] = linked(
        edges.likes,
        to=edges.liker,
        count=edges.like_count,
        liked_at=Carried(Time, "created_at", "When they began to like it."),
    )
    viewer_has_liked: bool = exists(edges.viewer_has_liked)


@expose(stored.Comment)
class Comment(Node):
    author: User | None = one(edges.author)
    post: Post | None = one(edges.commented_post)


@expose(stored.Notification)
class Notification(Node):
    actor: User | None = one(edges.actor)
    post: Post | None = one(edges.notified_post)


@extend(User)
class SocialUser:
    posts: Connection[Post] = many(edges.posts, count=lambda user: user.post_count)
    liked_posts: Connection[Post] = linked(
        edges.liked_posts, to=edges.liked_post, liked_at=Carried(Time, "created_at", "When they began to like it.")
    )
    comments: Connection[Comment] = many(edges.comments_by)
    followers: Connection[User] = linked(
        edges.followers,
        to=edges.follower,
        count=lambda user: user.follower_count,
        followed_at=Carried(Time, "created_at", "When they began to follow."),
    )
    following: Connection[User] = linked(
        edges.following,
        to=edges.followed,
        count=lambda user: user.following_count,
        followed_at=Carried(Time, "created_at", "When they began to be followed."),
    )
    viewer_follows: bool = exists(edges.viewer_follows)
    follows_viewer: bool = exists(edges.follows_viewer)
    home_feed: Connection[Post] | None = many(edges.home_feed, weight=1_000)
    notifications: Connection[Notification] | None = many(edges.notifications)


class Query:
    post: Post | None = one(edges.post)
    feed: Connection[Post] = many(edges.feed)


class PostPayload(Payload):
    post: Post | None = result("The post as it is now.")


class DeletePostPayload(Payload):
    deleted_post_id: strawberry.ID | None = result("The `id` of what is gone.")


class CommentPayload(Payload):
    comment: Comment | None = result("The comment as it is now.")


class DeleteCommentPayload(Payload):
    deleted_comment_id: strawberry.ID | None = result("The `id` of what is gone.")
    post: Post | None = result("The post it was about.")


class FollowPayload(Payload):
    user: User | None = result("The person it is about.")


class Mutation:
    create_post: PostPayload = command(commands.create_post)
    update_post: PostPayload = command(commands.update_post)
    delete_post: DeletePostPayload = command(commands.delete_post)
    like_post: PostPayload = command(commands.like_post)
    unlike_post: PostPayload = command(commands.unlike_post)
    add_comment: CommentPayload = command(commands.add_comment)
    update_comment: CommentPayload = command(commands.update_comment)
    delete_comment: DeleteCommentPayload = command(commands.delete_comment)
    follow_user: FollowPayload = command(commands.follow_user)
    unfollow_user: FollowPayload = command(commands.unfollow_user)
