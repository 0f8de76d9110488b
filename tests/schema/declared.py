"""Types, edges and commands that the tests of declarations declare, rightly or wrongly."""

from typing import Annotated, Any, NamedTuple

import strawberry
from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.social import Comment, Post
from loaders.filtered import Filtered
from loaders.needs import Step
from loaders.viewer import Viewer
from resolvers.core.context import Context
from schema.declare.hints import Types
from schema.declare.problems import Payload, result
from schema.declare.types import Node

HERE = __name__


def graphql(entity: type[Entity]) -> Any:
    """Stands for the type of an entity."""
    return type(entity.__name__, (Node,), {"__annotations__": {}})


POST, COMMENT, USER = graphql(Post), graphql(Comment), graphql(User)
TYPES = Types({POST: Post, COMMENT: Comment, USER: User}, Node)


@strawberry.type
class Size:
    width: int
    height: int


class Width(NamedTuple):
    width: int


def title(post: Post) -> str | None:
    """Title."""


def untyped(post: Post):  # type: ignore[no-untyped-def]
    """Something."""


def size(post: Post) -> Step[Width | None]:
    """Size."""
    yield from ()
    return None


def misspelled(post: Post, veiwer: Viewer) -> Key[User]:
    """Author."""
    raise NotImplementedError


def misspelled_alone(veiwer: Viewer) -> Key[User]:
    """Author."""
    raise NotImplementedError


def positional(post: Post, number: Annotated[int, Doc("Number.")]) -> Key[User]:
    """Author."""
    raise NotImplementedError


def unmarked_filter(*, caption: Annotated[str, Doc("Caption.")]) -> Filtered[Post]:
    """Posts."""
    raise NotImplementedError


def wrong_viewer(post: Post, viewer: User) -> Key[User]:
    """Author."""
    raise NotImplementedError


def user_count(user: User) -> int:
    return user.post_count


def is_own(comment: Comment, viewer: Viewer) -> bool:
    return viewer.is_user(comment.user_id)


class CommentPayload(Payload):
    comment: COMMENT | None = result("The comment.")


class DeletePayload(Payload):
    deleted_post_id: strawberry.ID | None = result("ID of the deleted post.")
    comment: COMMENT | None = result("The comment.")


class Deleted(NamedTuple):
    deleted_post_id: Post
    post: Post


class DeletedComment(NamedTuple):
    deleted_post_id: str
    comment: Post


async def like_post(context: Context) -> Post:
    """Likes a post."""
    raise NotImplementedError


async def delete_post(context: Context) -> Deleted:
    """Deletes a post."""
    raise NotImplementedError


async def delete_comment(context: Context) -> DeletedComment:
    """Deletes a comment."""
    raise NotImplementedError


async def add_comment(contxt: Context) -> Comment:
    """Adds a comment."""
    raise NotImplementedError


async def edit_comment(context: Context, text: str) -> Comment:
    """Edits a comment."""
    raise NotImplementedError
