"""Wrong declarations of access and of null."""

from datastore.model.keys import Range
from datastore.social import Comment, Post
from resolvers.core.access import AccessRelation, AccessRole, access
from schema.declare.connections import Connection
from schema.declare.declarations import edge_mistakes
from schema.declare.edges import derived, many
from tests.schema.declared import COMMENT, TYPES

HERE = __name__


@access(only=(AccessRelation.AUTHOR,))
def drafts(post: Post) -> Range[Comment]:
    """Drafts."""
    raise NotImplementedError


def some_comments(post: Post) -> Range[Comment] | None:
    """Comments."""
    raise NotImplementedError


@access(requires=AccessRole.ADMIN)
def secret(post: Post) -> str | None:
    """Secret."""
    raise NotImplementedError


def test_a_field_that_is_null_for_other_viewers_is_declared_as_nullable():
    assert [*edge_mistakes(TYPES, Post, Connection[COMMENT], many(drafts))] == [
        "is null for viewers other than those it declares: declare Connection[Comment] | None"
    ]
    assert [*edge_mistakes(TYPES, Post, Connection[COMMENT] | None, many(drafts))] == []


def test_a_list_that_may_be_null_is_declared_as_nullable():
    assert [*edge_mistakes(TYPES, Post, Connection[COMMENT], many(some_comments))] == [
        f"is declared as Connection[Comment], but {HERE}.some_comments may return None: "
        "declare Connection[Comment] | None"
    ]
    assert [*edge_mistakes(TYPES, Post, Connection[COMMENT] | None, many(some_comments))] == []


def test_a_part_of_a_record_requires_no_role_because_its_error_would_hide_the_record():
    assert [*edge_mistakes(TYPES, Post, str | None, derived(secret))] == [
        "requires a role, but is part of its record, which its error would hide: declare `only` instead"
    ]
