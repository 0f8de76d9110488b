"""Wrong declarations: each stops the start, with a message that names the class, the field and the fix."""

import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from datastore.accounts import Unique, User
from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody
from datastore.model.times import Time
from datastore.social import Post
from resolvers.social import edges
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.declarations import WrongDeclarations, check, entity_mistakes
from schema.declare.edges import absent, computed, derived, exists, heavy, linked, many, one, total
from schema.declare.types import Node
from tests.schema.declared import (
    COMMENT,
    HERE,
    POST,
    TYPES,
    USER,
    CommentPayload,
    DeletePayload,
    Size,
    add_comment,
    delete_comment,
    delete_post,
    edit_comment,
    is_own,
    like_post,
    misspelled,
    misspelled_alone,
    positional,
    size,
    title,
    unmarked_filter,
    untyped,
    user_count,
    wrong_viewer,
)

EDGES = "resolvers.social.edges"


def mistakes(cls: str, annotation: Any, edge: Any) -> list[str]:
    """The mistakes of a schema whose class Post, Query or Mutation has the one field `it`."""
    declared = type(cls, (), {"__annotations__": {"it": annotation}, "it": edge})
    domain = ModuleType("domain")
    vars(domain)[cls] = declared
    try:
        check(TYPES, {Post: declared} if cls == "Post" else {}, [domain])
    except WrongDeclarations as error:
        first, *found = str(error).splitlines()
        assert first == "these declarations of the schema are wrong:"
        return found
    return []


RIGHT = {
    "one": ("Post", USER | None, one(edges.author)),
    "one of a root": ("Query", POST | None, one(edges.post_by_database_id)),
    "any node": ("Post", Node | None, one(edges.author)),
    "many": ("Post", Connection[COMMENT], many(edges.comments, count=edges.comment_count)),
    "merged": ("Query", Connection[POST], many(edges.feed)),
    "linked": (
        "Post",
        Connection[USER],
        linked(edges.likes, to=edges.liker, count="like_count", liked_at=Carried(Time, "created_at", "Time.")),
    ),
    "exists": ("Post", bool, exists(edges.viewer_has_liked)),
    "total": ("Post", int, total(edges.like_count)),
    "derived": ("Post", str | None, derived(title)),
}


@pytest.mark.parametrize(("cls", "annotation", "edge"), RIGHT.values(), ids=RIGHT.keys())
def test_right_declarations_have_no_mistakes(cls, annotation, edge):
    assert mistakes(cls, annotation, edge) == []


WRONG = {
    "one of another type": (
        "Post",
        COMMENT | None,
        one(edges.author),
        f"Post.it is declared as Comment, but {EDGES}.author returns Key[User]: declare User, or return Key[Comment]",
    ),
    "one that may not be null": (
        "Post",
        USER,
        one(edges.author),
        "Post.it is declared as User, but a record may be missing or hidden: declare User | None",
    ),
    "one with a condition for another entity": (
        "Post",
        USER | None,
        one(edges.author, only=is_own),
        f"Post.it calls {HERE}.is_own with a User, but its comment is annotated Comment: "
        "annotate User, or choose another function",
    ),
    "many of another type": (
        "Post",
        Connection[USER],
        many(edges.comments),
        f"Post.it is declared as User, but {EDGES}.comments returns Range[Comment]: "
        "declare Comment, or return Range[User]",
    ),
    "many that are a step of another type": (
        "Query",
        Connection[COMMENT],
        many(edges.feed),
        f"Query.it is declared as Comment, but {EDGES}.feed returns Merge[Post]: "
        "declare Post, or return Range[Comment]",
    ),
    "a filter that is not marked": (
        "Query",
        Connection[POST],
        many(unmarked_filter),
        f"Query.it calls {HERE}.unmarked_filter, which may return a Filtered: "
        "mark the argument that filters with UNINDEXED",
    ),
    "links to another type": (
        "Post",
        Connection[COMMENT],
        linked(edges.likes, to=edges.liker),
        f"Post.it is declared as Comment, but {EDGES}.liker returns Key[User]: declare User, or return Key[Comment]",
    ),
    "links of another kind": (
        "Post",
        Connection[USER],
        linked(edges.likes, to=edges.follower),
        f"Post.it calls {EDGES}.follower with a Like, but its follow is annotated Follow: "
        "annotate Like, or choose another function",
    ),
    "another parent": (
        "Post",
        Connection[COMMENT],
        many(edges.comments_by),
        f"Post.it calls {EDGES}.comments_by with a Post, but its user is annotated User: "
        "annotate Post, or choose another function",
    ),
    "exists of no key": (
        "Post",
        bool,
        exists(edges.comments),
        f"Post.it needs a Key, but {EDGES}.comments returns Range[Comment]",
    ),
    "exists of another type": (
        "Post",
        str,
        exists(edges.author),
        "Post.it is declared as str, but is a bool: declare bool",
    ),
    "absent of no key": (
        "Post",
        bool,
        absent(edges.comment_count),
        f"Post.it needs a Key, but {EDGES}.comment_count returns int | Total",
    ),
    "a total of no number": (
        "Post",
        int,
        total(edges.author),
        f"Post.it needs an int or a Total, but {EDGES}.author returns Key[User]",
    ),
    "a total of another type": (
        "Post",
        str,
        total(edges.like_count),
        "Post.it is declared as str, but is an int: declare int",
    ),
    "a derived value of another type": (
        "Post",
        int | None,
        derived(title),
        f"Post.it is declared as int | None, but {HERE}.title returns str | None: "
        "declare str | None, or change the annotation",
    ),
    "a derived value that may be null": (
        "Post",
        str,
        derived(title),
        f"Post.it is declared as str, but {HERE}.title returns str | None: "
        "declare str | None, or change the annotation",
    ),
    "an object type with a field that its values lack": (
        "Post",
        Size | None,
        computed(size),
        f"Post.it is declared as Size | None, but {HERE}.size returns Width | None: "
        "declare Width | None, or change the annotation",
    ),
    "a computed value that is no step": (
        "Post",
        str | None,
        computed(title),
        f"Post.it needs a Step, but {HERE}.title returns str | None",
    ),
    "a heavy field of another entity": (
        "Post",
        str | None,
        heavy(User.fields["bio"], only=is_own),
        "Post.it reads bio, which is no stored field: the known names are post_id, user_id, image_url, caption, "
        "like_count, comment_count, counter_shards, feed_shard, deleted_at, hidden_at, created_at, updated_at, "
        "expires_at.",
    ),
    "no return annotation": (
        "Post",
        str | None,
        derived(untyped),
        f"Post.it calls {HERE}.untyped, which has no return annotation: add it",
    ),
    "a misspelled count": (
        "Post",
        Connection[COMMENT],
        many(edges.comments, count="coment_count"),
        "Post.it counts coment_count, which is no stored field: did you mean comment_count?",
    ),
    "a count of another entity": (
        "Post",
        Connection[COMMENT],
        many(edges.comments, count=user_count),
        f"Post.it calls {HERE}.user_count with a Post, but its user is annotated User: "
        "annotate Post, or choose another function",
    ),
    "a misspelled carried field": (
        "Post",
        Connection[USER],
        linked(edges.likes, to=edges.liker, liked_at=Carried(Time, "craeted_at", "Time of the like.")),
        "Post.it carries Like.craeted_at as liked_at, which does not exist: did you mean created_at?",
    ),
    "a carried field of another type": (
        "Post",
        Connection[USER],
        linked(edges.likes, to=edges.liker, liked_at=Carried(int, "created_at", "Time of the like.")),
        "Post.it carries Like.created_at as liked_at: int, but it is stored as Time: write Carried(Time, …)",
    ),
    "a carried field that may be null": (
        "Post",
        Connection[USER],
        linked(edges.likes, to=edges.liker, ends_at=Carried(int, "expires_at", "End.")),
        "Post.it carries Like.expires_at as ends_at: int, but it is stored as int | None: write Carried(int | None, …)",
    ),
    "a misspelled viewer beside the parent": (
        "Post",
        USER | None,
        one(misspelled),
        f"Post.it calls {HERE}.misspelled, whose parameter veiwer is neither the parent, viewer, options "
        "nor search_index: did you mean viewer?",
    ),
    "a misspelled viewer instead of the parent": (
        "Post",
        USER | None,
        one(misspelled_alone),
        f"Post.it calls {HERE}.misspelled_alone, whose parameter veiwer is neither the parent, viewer, options "
        "nor search_index: did you mean viewer?",
    ),
    "a misspelled viewer of a query": (
        "Query",
        USER | None,
        one(misspelled_alone),
        f"Query.it calls {HERE}.misspelled_alone, whose parameter veiwer is neither viewer, options nor search_index: "
        "did you mean viewer?",
    ),
    "a parent of a query": (
        "Query",
        USER | None,
        one(edges.author),
        f"Query.it calls {EDGES}.author, whose parameter work is neither viewer, options nor search_index: "
        "make it keyword-only if clients give it",
    ),
    "an argument that is not keyword-only": (
        "Post",
        USER | None,
        one(positional),
        f"Post.it calls {HERE}.positional, whose parameter number is neither the parent, viewer, options "
        "nor search_index: make it keyword-only if clients give it",
    ),
    "a viewer of another type": (
        "Post",
        USER | None,
        one(wrong_viewer),
        f"Post.it calls {HERE}.wrong_viewer, whose viewer is annotated User: annotate Viewer",
    ),
    "a misspelled context": (
        "Mutation",
        CommentPayload,
        command(add_comment),
        f"Mutation.it calls {HERE}.add_comment, whose parameter contxt is not context: did you mean context?",
    ),
    "an argument of a command that is not keyword-only": (
        "Mutation",
        CommentPayload,
        command(edit_comment),
        f"Mutation.it calls {HERE}.edit_comment, whose parameter text is not context: "
        "make it keyword-only if clients give it",
    ),
    "a payload of another type": (
        "Mutation",
        CommentPayload,
        command(like_post),
        f"Mutation.it returns CommentPayload.comment, declared as Comment | None, but {HERE}.like_post returns Post: "
        "change the declaration or the annotation",
    ),
    "a payload with other fields": (
        "Mutation",
        DeletePayload,
        command(delete_post),
        f"Mutation.it is declared as DeletePayload with deleted_post_id, comment, but {HERE}.delete_post returns "
        "deleted_post_id, post: let them match",
    ),
    "a payload with too many fields": (
        "Mutation",
        DeletePayload,
        command(like_post),
        f"Mutation.it is declared as DeletePayload with deleted_post_id, comment, but {HERE}.like_post returns Post: "
        "let them match",
    ),
}


@pytest.mark.parametrize(("cls", "annotation", "edge", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_declaration_is_explained(cls, annotation, edge, message):
    assert mistakes(cls, annotation, edge) == [message]


def test_all_mistakes_are_reported_at_once():
    assert mistakes("Mutation", DeletePayload, command(delete_comment)) == [
        f"Mutation.it returns DeletePayload.deleted_post_id, declared as ID | None, but {HERE}.delete_comment returns "
        "str: change the declaration or the annotation",
        f"Mutation.it returns DeletePayload.comment, declared as Comment | None, but {HERE}.delete_comment returns "
        "Post: change the declaration or the annotation",
    ]


def test_an_entity_that_is_shown_needs_a_visibility_rule():
    assert [*entity_mistakes(Unique, shown=True)] == [
        "has no visibility rule: declare it with @visibility(Unique) in resolvers/accounts/visibility.py"
    ]


def test_an_entity_that_is_never_shown_has_a_rule_or_a_reason():
    class Draft(Entity, pk="DRAFT#{draft_id}", sk="DRAFT", owner=nobody("it is a test's")):
        """A draft."""

        draft_id: str = field("Identifier.")

    Draft.__module__ = "datastore.social"
    found = [*entity_mistakes(Draft, shown=False)]
    Draft.__module__ = HERE

    assert found == [
        "has no visibility rule: declare it with @visibility(Draft) in resolvers/social/visibility.py, "
        "or why it needs none with never_shown(Draft, because=…)"
    ]
    assert [*entity_mistakes(Unique, shown=False)] == []


FOUR_MISTAKES = """
from datastore.social import Like
from loaders.visibility import RULES
from schema import social
from schema.build import build
from schema.declare.appended import appended
from schema.declare.connections import Carried
from schema.declare.edges import linked, many, one
from datastore.model.times import Time
from resolvers.social import edges

del RULES[Like]
social.Post.author = one(edges.commented_post)
social.Post.comments = many(edges.likes)
social.Subscription.comment_added = appended(social.Post.comments)
social.Post.likes = linked(edges.likes, to=edges.liker, liked_at=Carried(Time, "creatd_at", "Time of the like."))
build()
"""


def test_the_server_does_not_start_with_wrong_declarations():
    started = subprocess.run([sys.executable, "-c", FOUR_MISTAKES], capture_output=True, text=True, check=False)

    assert started.returncode == 1
    assert started.stderr.splitlines()[-6:] == [
        "schema.declare.declarations.WrongDeclarations: these declarations of the schema are wrong:",
        f"Post.author calls {EDGES}.commented_post with a Post, but its comment is annotated Comment: "
        "annotate Post, or choose another function",
        f"Post.author is declared as User, but {EDGES}.commented_post returns Key[Post]: "
        "declare Post, or return Key[User]",
        f"Post.comments is declared as Comment, but {EDGES}.likes returns Range[Like]: "
        "declare Like, or return Range[Comment]",
        "Post.likes carries Like.creatd_at as liked_at, which does not exist: did you mean created_at?",
        "Like has no visibility rule: declare it with @visibility(Like) in resolvers/social/visibility.py",
    ]
