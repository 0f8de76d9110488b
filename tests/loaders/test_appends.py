"""Additions to a list, as the change log tells them."""

import pytest

from datastore.changes.change import Change, What
from datastore.model.times import now
from datastore.social import Comment, Post
from loaders.appends import Growing
from loaders.merge import Merge

POST = Post.key(post_id="p")
HERE, THERE = ("FEED", "POST#2026"), ("FEED#0", "POST#2026")
SHARDS = Growing.of(
    Merge(tuple(Post.in_feed(feed_shard=shard).newest_first() for shard in range(2)), "feed"), None, "created_at"
)
FIRST = Growing.of(Post.in_feed(feed_shard=0).newest_first(), None, "created_at")
COMMENTS = Growing.of(Comment.within(post_id="p"), None, "created_at")
COMMENT = Comment.key(post_id="p", created_at=now(), comment_id="c")


@pytest.mark.parametrize(
    ("growing", "what", "before", "after", "is_added"),
    [
        (FIRST, What.INSERTED, {}, {"GSI3": HERE}, True),
        (FIRST, What.INSERTED, {}, {"GSI3": THERE}, False),
        (FIRST, What.INSERTED, {}, {"GSI1": HERE}, False),
        (FIRST, What.CHANGED, {}, {"GSI3": HERE}, True),
        (FIRST, What.CHANGED, {"GSI3": THERE}, {"GSI3": HERE}, True),
        (FIRST, What.CHANGED, {"GSI3": HERE}, {"GSI3": ("FEED", "POST#2027")}, False),
        (FIRST, What.CHANGED, {"GSI3": HERE}, {}, False),
        (FIRST, What.CHANGED, None, {"GSI3": HERE}, True),
        (FIRST, What.CHANGED, None, None, False),
        (FIRST, What.REMOVED, None, {}, False),
        (SHARDS, What.CHANGED, {"GSI3": THERE}, {"GSI3": HERE}, False),
        (SHARDS, What.INSERTED, {}, {"GSI3": THERE}, True),
    ],
)
def test_a_change_adds_what_it_moves_into_a_range(growing, what, before, after, is_added):
    assert growing.is_added_by(Change(POST, what, now(), before, after)) is is_added


@pytest.mark.parametrize(
    ("what", "before", "after", "is_added"),
    [
        (What.INSERTED, {}, {}, True),
        (What.CHANGED, {}, {}, False),
        (What.CHANGED, None, None, False),
        (What.CHANGED, None, {}, True),
        (What.REMOVED, None, {}, False),
    ],
)
def test_an_item_of_the_table_is_added_by_an_insert(what, before, after, is_added):
    assert COMMENTS.is_added_by(Change(COMMENT, what, now(), before, after)) is is_added
    assert not COMMENTS.is_added_by(Change(POST, what, now(), before, after))


def test_lists_know_if_they_are_in_the_order_of_creation():
    assert COMMENTS.is_by_time
    assert SHARDS.is_by_time
    assert not Growing.of(Post.by_author(user_id="u")._replace(index_name=None), None, "created_at").is_by_time
