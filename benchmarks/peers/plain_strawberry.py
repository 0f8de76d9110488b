"""The benchmark schema in plain Strawberry: its ASGI app on Starlette and uvicorn, boto3 in threads."""

import os
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import jwt
import orjson
import strawberry
import uvicorn
from graphql import GraphQLError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.extensions import ParserCache, ValidationCache
from strawberry.types import Info

from benchmarks.peers import plain_like
from benchmarks.peers.plain_table import Context, Item, Range, encode_id, is_listed, parts_of

MAX_IDS = 100
FEW = 5

See = Callable[[list[Item]], Awaitable[list[Any]]]
Asking = Info[Context, None]
First = Annotated[int, strawberry.argument(description="Page size.")]


def global_id(*parts: str) -> strawberry.ID:
    return strawberry.ID(encode_id(*parts))


@strawberry.interface
class Node:
    id: strawberry.ID


@strawberry.type
class PageInfo:
    has_next_page: bool


@strawberry.type
class User(Node):
    user_id: strawberry.Private[str]
    username: str
    display_name: str | None
    bio: str | None
    follower_count: int
    following_count: int
    post_count: int

    @classmethod
    def of(cls, item: Item) -> "User":
        user_id = item["userId"]["S"]
        return cls(
            id=global_id("User", user_id),
            user_id=user_id,
            username=item["username"]["S"],
            display_name=text(item, "displayName"),
            bio=text(item, "bio"),
            follower_count=number(item, "followerCount"),
            following_count=number(item, "followingCount"),
            post_count=number(item, "postCount"),
        )

    @strawberry.field
    async def followers(self, info: Asking, first: First = 20) -> "UserFollowersConnection | None":
        async def followers(links: list[Item]) -> list[Any]:
            found = await info.context.users.load_many([link["followerId"]["S"] for link in links])
            return [User.of(item) for item in found if item is not None]

        within = Range("GSI2", f"USER#{self.user_id}", "FOLLOWER#", newest_first=True)
        nodes, page_info = await page(info, within, first, followers)
        return UserFollowersConnection(nodes=nodes, page_info=page_info, total_count=self.follower_count)

    @strawberry.field
    async def posts(self, info: Asking, first: First = 20) -> "UserPostsConnection | None":
        within = Range("GSI1", f"USER#{self.user_id}", "POST#", newest_first=True)
        nodes, page_info = await page(info, within, first, visible_posts)
        return UserPostsConnection(nodes=nodes, page_info=page_info, total_count=self.post_count)


@strawberry.type
class Post(Node):
    item: strawberry.Private[Item]
    image_url: str
    caption: str | None
    created_at: str

    @classmethod
    def of(cls, item: Item) -> "Post":
        return cls(
            id=global_id("Post", item["postId"]["S"]),
            item=item,
            image_url=item["imageUrl"]["S"],
            caption=text(item, "caption"),
            created_at=item["createdAt"]["S"],
        )

    @strawberry.field
    async def like_count(self, info: Asking) -> int:
        return await info.context.total(self.item, "likeCount")

    @strawberry.field
    async def comment_count(self, info: Asking) -> int:
        return await info.context.total(self.item, "commentCount")

    @strawberry.field
    async def author(self, info: Asking) -> User | None:
        return await user(info, self.item["userId"]["S"])

    @strawberry.field
    async def viewer_has_liked(self, info: Asking) -> bool:
        viewer_id = info.context.viewer_id
        return viewer_id is not None and await info.context.likes.load(self.item["postId"]["S"]) is not None

    @strawberry.field
    async def comments(self, info: Asking, first: First = 20) -> "PostCommentsConnection | None":
        async def visible_comments(items: list[Item]) -> list[Any]:
            return [Comment.of(item) for item in items if "hiddenAt" not in item]

        within = Range(None, f"POST#{self.item['postId']['S']}", "COMMENT#")
        nodes, page_info = await page(info, within, first, visible_comments)
        return PostCommentsConnection(nodes=nodes, page_info=page_info, post=self.item)


@strawberry.type
class Comment(Node):
    user_id: strawberry.Private[str]
    content: str
    created_at: str

    @classmethod
    def of(cls, item: Item) -> "Comment":
        post_id, created_at, comment_id = item["postId"]["S"], item["createdAt"]["S"], item["commentId"]["S"]
        return cls(
            id=global_id("Comment", post_id, created_at, comment_id),
            user_id=item["userId"]["S"],
            content=item["content"]["S"],
            created_at=created_at,
        )

    @strawberry.field
    async def author(self, info: Asking) -> User | None:
        return await user(info, self.user_id)


@strawberry.type
class UserFollowersConnection:
    nodes: list[User]
    page_info: PageInfo
    total_count: int


@strawberry.type
class UserPostsConnection:
    nodes: list[Post]
    page_info: PageInfo
    total_count: int


@strawberry.type
class PostCommentsConnection:
    nodes: list[Comment]
    page_info: PageInfo
    post: strawberry.Private[Item]

    @strawberry.field
    async def total_count(self, info: Asking) -> int:
        return await info.context.total(self.post, "commentCount")


@strawberry.type
class PostConnection:
    nodes: list[Post]
    page_info: PageInfo


@strawberry.type
class Problem:
    code: str
    message: str
    path: list[str]


@strawberry.type
class PostPayload:
    problems: list[Problem]
    post: Post | None


@strawberry.input
class LikePostInput:
    post_id: strawberry.ID


@strawberry.input
class UserBy:
    id: strawberry.ID | None = None
    username: str | None = None


@strawberry.input
class PostBy:
    id: strawberry.ID


@strawberry.type
class Query:
    @strawberry.field
    async def node(self, info: Asking, id: strawberry.ID) -> Node | None:
        return await any_node(info, id)

    @strawberry.field
    def nodes(self, info: Asking, ids: list[strawberry.ID]) -> list[Node | None]:
        if len(ids) > MAX_IDS:
            raise GraphQLError(f"ask for {MAX_IDS} at a time")
        return [any_node(info, id) for id in ids]  # type: ignore[misc]

    @strawberry.field
    async def user(self, info: Asking, by: UserBy) -> User | None:
        if by.id:
            return await user(info, parts_of(by.id, "User"))
        within = Range("GSI1", f"USERNAME#{(by.username or '').strip().lower()}", "USER", limit=FEW)
        items, _ = await info.context.ranges.load(within)
        return next((User.of(item) for item in items if info.context.may_see_user(item)), None)

    @strawberry.field
    async def post(self, info: Asking, by: PostBy) -> Post | None:
        return await post(info, parts_of(by.id, "Post"))

    @strawberry.field
    async def feed(self, info: Asking, first: First = 20) -> PostConnection | None:
        within = Range("GSI3", "FEED", "POST#", newest_first=True)
        nodes, page_info = await page(info, within, first, visible_posts)
        return PostConnection(nodes=nodes, page_info=page_info)


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def like_post(self, info: Asking, input: LikePostInput) -> PostPayload | None:
        try:
            item = await plain_like.like_post(info.context, parts_of(input.post_id, "Post"))
        except plain_like.Refused as refusal:
            problem = Problem(code=refusal.code, message=refusal.message, path=list(refusal.path))
            return PostPayload(problems=[problem], post=None)
        return PostPayload(problems=[], post=Post.of(item))


def text(item: Item, name: str) -> str | None:
    attribute = item.get(name)
    return attribute["S"] if attribute else None


def number(item: Item, name: str) -> int:
    attribute = item.get(name)
    return int(attribute["N"]) if attribute else 0


async def user(info: Asking, user_id: str) -> User | None:
    item = await info.context.users.load(user_id)
    return User.of(item) if item is not None else None


async def post(info: Asking, post_id: str) -> Post | None:
    item = await info.context.posts.load(post_id)
    return Post.of(item) if item is not None else None


async def any_node(info: Asking, id: str) -> Node | None:
    name, *_ = parts_of(id)
    if name == "User":
        return await user(info, parts_of(id, "User"))
    return await post(info, parts_of(id, "Post"))


async def visible_posts(items: list[Item]) -> list[Any]:
    return [Post.of(item) for item in items if is_listed(item)]


async def page(info: Asking, within: Range, size: int, see: See) -> tuple[list[Any], PageInfo]:
    nodes, more = await info.context.page(within, size, see)
    return nodes, PageInfo(has_next_page=more)


class Application(GraphQL[Context, None]):
    """GraphQL view with a custom context and orjson, as Strawberry's documentation recommends."""

    async def get_context(self, request: Request | WebSocket, response: Any) -> Context:  # noqa: ARG002
        authorization = request.headers.get("authorization")
        return Context(_viewer_id(authorization) if authorization else None)

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data)


def _viewer_id(authorization: str) -> str:
    token = authorization.partition(" ")[2]
    options: Any = {"require": ["sub", "exp"]}
    return str(jwt.decode(token, os.environ["AUTH_SECRET"], ["HS256"], leeway=30, options=options)["sub"])


schema = strawberry.Schema(Query, Mutation, extensions=[ParserCache(), ValidationCache()], types=[User, Post, Comment])
app = Starlette()
app.add_route("/graphql", Application(schema, graphql_ide=None))

if __name__ == "__main__":
    uvicorn.run(
        app, port=int(os.environ["PORT"]), loop="uvloop", http="httptools", access_log=False, log_level="warning"
    )
