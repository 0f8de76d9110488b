"""Notifications in words."""

import pytest

from datastore.notifications import NotificationKind
from resolvers.notifications.wording import WORDS, sentence


@pytest.mark.parametrize(
    ("names", "number", "said"),
    [
        (["Ann"], 1, "Ann liked your post."),
        (["Ann", "Bob"], 2, "Ann and Bob liked your post."),
        (["Ann"], 2, "Ann and 1 other liked your post."),
        (["Ann", "Bob", "Cyd"], 13, "Ann and 12 others liked your post."),
        ([], 1, "Someone liked your post."),
        ([], 12, "12 people liked your post."),
    ],
)
def test_people(names, number, said):
    assert sentence(NotificationKind.LIKE, names, number) == said


def test_things_are_counted_themselves():
    assert sentence(NotificationKind.COMMENT, ["Ann"], 3, " “A”") == (
        "There are 3 comments on your post “A”, the latest by Ann."
    )
    assert sentence(NotificationKind.COMMENT, [], 3) == "There are 3 comments on your post."
    assert sentence(NotificationKind.BUILD_FAILED, [], 2, " “A”") == "2 builds of your site “A” failed."


def test_braces_in_names_and_titles_are_left_alone():
    assert sentence(NotificationKind.LIKE, ["{title}"], 1, " “{count}”") == "{title} liked your post “{count}”."


@pytest.mark.parametrize("kind", NotificationKind)
def test_every_kind_has_words(kind):
    assert sentence(kind, ["Ann"], 1).endswith(".")
    assert WORDS.keys() == {*NotificationKind}
