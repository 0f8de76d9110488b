"""The social network in the graph."""

import strawberry

from datastore import social as stored
from datastore.times import Time
from resolvers import social, social_commands
from schema.connections import Carried, Connection
from schema.edges import command, exists, linked, many, one, total
from schema.problems import Payload, result
from schema.types import Node, expose, extend
from schema.users import User


@expose(stored.Post)
class Post(Node):
    like_count: int = total(social.like_count)
    comment_count: int = total(social.comment_count)
    author: User | None = one(social.author)
    comments: Connection["Comment"] = many(social.comments, count=social.comment_count)
    likes: Connection[User] = linked(
        social.likes,
        to=social.liker,
        count=social.like_count,
        liked_at=Carried(Time, "created_at", "When they began to like it."),
    )
    viewer_has_liked: bool = exists(social.viewer_has_liked)


@expose(stored.Comment)
class Comment(Node):
    author: User | None = one(social.author)
    post: Post | None = one(social.commented_post)


@expose(stored.Notification)
class Notification(Node):
    actor: User | None = one(social.actor)
    post: Post | None = one(social.notified_post)


@extend(User)
class SocialUser:
    posts: Connection[Post] = many(social.posts, count=lambda user: user.post_count)
    liked_posts: Connection[Post] = linked(
        social.liked_posts, to=social.liked_post, liked_at=Carried(Time, "created_at", "When they began to like it.")
    )
    comments: Connection[Comment] = many(social.comments_by)
    followers: Connection[User] = linked(
        social.followers,
        to=social.follower,
        count=lambda user: user.follower_count,
        followed_at=Carried(Time, "created_at", "When they began to follow."),
    )
    following: Connection[User] = linked(
        social.following,
        to=social.followed,
        count=lambda user: user.following_count,
        followed_at=Carried(Time, "created_at", "When they began to be followed."),
    )
    viewer_follows: bool = exists(social.viewer_follows)
    follows_viewer: bool = exists(social.follows_viewer)
    home_feed: Connection[Post] | None = many(social.home_feed, weight=1_000)
    notifications: Connection[Notification] | None = many(social.notifications)


class Query:
    post: Post | None = one(social.post)
    feed: Connection[Post] = many(social.feed)


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
    create_post: PostPayload = command(social_commands.create_post)
    update_post: PostPayload = command(social_commands.update_post)
    delete_post: DeletePostPayload = command(social_commands.delete_post)
    like_post: PostPayload = command(social_commands.like_post)
    unlike_post: PostPayload = command(social_commands.unlike_post)
    add_comment: CommentPayload = command(social_commands.add_comment)
    update_comment: CommentPayload = command(social_commands.update_comment)
    delete_comment: DeleteCommentPayload = command(social_commands.delete_comment)
    follow_user: FollowPayload = command(social_commands.follow_user)
    unfollow_user: FollowPayload = command(social_commands.unfollow_user)
