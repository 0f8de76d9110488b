"""Wrong declarations of subscriptions: each stops the start, with a message that names the field and the fix."""

from types import ModuleType
from typing import Any

import pytest

from datastore.social import Post
from resolvers.cms import edges as cms_edges
from resolvers.social import edges, ranking
from schema.declare.appended import Addition, appended
from schema.declare.connections import Connection
from schema.declare.declarations import WrongDeclarations, check
from schema.declare.edges import linked, many, one
from schema.declare.types import Node
from tests.schema.declared import COMMENT, POST, TYPES, USER

COMMENTS = many(edges.comments)
FEED = many(edges.feed)
TRENDING = linked(ranking.trending_posts, to=ranking.ranked_post)
NUMBERED = linked(cms_edges.versions, to=None)
AUTHOR = one(edges.author)


def mistakes(name: str, annotation: Any, edge: Any) -> list[str]:
    """The mistakes of a schema with lists of Post and Query, and this subscription."""
    fields = {"comments": Connection[COMMENT], "author": USER | None}
    post = type("Post", (Node,), {"__annotations__": fields, "comments": COMMENTS, "author": AUTHOR})
    edges = {"feed": FEED, "trending": TRENDING, "numbered": NUMBERED}
    query = type("Query", (), {"__annotations__": dict.fromkeys(edges, Connection[POST]), **edges})
    domain = ModuleType("domain")
    subscription = type("Subscription", (), {"__annotations__": {name: annotation}, name: edge})
    vars(domain).update({"Query": query, "Subscription": subscription})
    try:
        check(TYPES, {Post: post}, [domain])
    except WrongDeclarations as error:
        return [line for line in str(error).splitlines() if line.startswith("Subscription")]
    return []


@pytest.mark.parametrize(
    ("annotation", "edge"), [(Addition[COMMENT], appended(COMMENTS)), (Addition[POST], appended(FEED))]
)
def test_a_right_declaration_has_no_mistakes(annotation, edge):
    assert mistakes("it_added", annotation, edge) == []


NO_LIST = "follows no list: write appended(Post.comments), with a field that is declared with many or linked"
WRONG = {
    "no edge": ("it_added", Addition[POST], appended(None), NO_LIST),
    "no list": ("it_added", Addition[USER], appended(AUTHOR), NO_LIST),
    "no field": ("it_added", Addition[POST], appended(many(edges.feed)), NO_LIST),
    "numbered": (
        "it_added",
        Addition[POST],
        appended(NUMBERED),
        "follows Query.numbered, of which no change tells what is added: "
        "choose a list that returns a Range, a Merge, a Copied, a Filtered or a Linked",
    ),
    "not logged": (
        "it_added",
        Addition[POST],
        appended(TRENDING),
        "follows Query.trending, but changes of PostRank are not logged: choose a list of a logged entity",
    ),
    "another type": (
        "it_added",
        Addition[POST],
        appended(COMMENTS),
        "is declared as Addition[Post], but Post.comments lists Comment: declare Addition[Comment]",
    ),
    "the name": (
        "new_posts",
        Addition[POST],
        appended(FEED),
        "sends what is added to Query.feed: name it new_posts_added",
    ),
    "the viewer": (
        "it_added",
        Addition[COMMENT],
        appended(COMMENTS, of_viewer=True),
        "is of the viewer, but Post.comments is no list of User: leave of_viewer out",
    ),
    "the time": (
        "it_added",
        Addition[COMMENT],
        appended(COMMENTS, at="creatd_at"),
        "takes the time of an addition from creatd_at, which is no stored field: did you mean created_at?",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_names_the_field_and_the_fix(case):
    name, annotation, edge, message = WRONG[case]

    assert mistakes(name, annotation, edge) == [f"Subscription.{name} {message}"]


def test_arguments_come_from_the_list():
    edge: Any = appended(many(cms_edges.contents))

    assert [each.name for each in edge.parameters] == ["type", "status"]
