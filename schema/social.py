"""The social network in the schema."""

import strawberry

from datastore import social as stored
from datastore.model.times import Time
from resolvers.social import comment_commands, edges, follow_commands, post_commands, ranking
from schema.accounts import User
from schema.declare.appended import Addition, appended
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.edges import exists, linked, many, one, total
from schema.declare.lookups import lookup
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
        liked_at=Carried(Time, "created_at", "Time of the like."),
    )
    viewer_has_liked: bool = exists(edges.viewer_has_liked)


@expose(stored.Comment)
class Comment(Node):
    author: User | None = one(edges.author)
    post: Post | None = one(edges.commented_post)


@extend(User)
class SocialUser:
    posts: Connection[Post] = many(edges.posts, count="post_count")
    liked_posts: Connection[Post] = linked(
        edges.liked_posts, to=edges.liked_post, liked_at=Carried(Time, "created_at", "Time of the like.")
    )
    comments: Connection[Comment] = many(edges.comments_by)
    followers: Connection[User] = linked(
        edges.followers,
        to=edges.follower,
        count="follower_count",
        followed_at=Carried(Time, "created_at", "Time the follow began."),
    )
    following: Connection[User] = linked(
        edges.following,
        to=edges.followed,
        count="following_count",
        followed_at=Carried(Time, "created_at", "Time the follow began."),
    )
    viewer_follows: bool = exists(edges.viewer_follows)
    follows_viewer: bool = exists(edges.follows_viewer)
    home_feed: Connection[Post] | None = many(edges.home_feed, weight=1_000)


class Query:
    post: Post | None = lookup(edges.post_by_database_id)
    feed: Connection[Post] = many(edges.feed)
    trending_posts: Connection[Post] = linked(ranking.trending_posts, to=ranking.ranked_post)


class PostPayload(Payload):
    post: Post | None = result("The post.")


class DeletePostPayload(Payload):
    deleted_post_id: strawberry.ID | None = result("ID of the deleted record.")


class CommentPayload(Payload):
    comment: Comment | None = result("The comment.")


class DeleteCommentPayload(Payload):
    deleted_comment_id: strawberry.ID | None = result("ID of the deleted record.")
    post: Post | None = result("The post that the comment was on.")


class FollowPayload(Payload):
    user: User | None = result("The user that is followed or unfollowed.")


class Mutation:
    create_post: PostPayload = command(post_commands.create_post)
    update_post: PostPayload = command(post_commands.update_post)
    delete_post: DeletePostPayload = command(post_commands.delete_post)
    like_post: PostPayload = command(post_commands.like_post)
    unlike_post: PostPayload = command(post_commands.unlike_post)
    add_comment: CommentPayload = command(comment_commands.add_comment)
    update_comment: CommentPayload = command(comment_commands.update_comment)
    delete_comment: DeleteCommentPayload = command(
        comment_commands.delete_comment, replay=comment_commands.deleted_comment
    )
    follow_user: FollowPayload = command(follow_commands.follow_user)
    unfollow_user: FollowPayload = command(follow_commands.unfollow_user)


class Subscription:
    post_added: Addition[Post] = appended(Query.feed)
    home_feed_post_added: Addition[Post] = appended(SocialUser.home_feed, of_viewer=True)
    comment_added: Addition[Comment] = appended(Post.comments)
