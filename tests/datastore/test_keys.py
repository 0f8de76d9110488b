"""Keys: allowed values, ranges, and no collisions with the keys of other records."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from datastore.accounts import Unique, User
from datastore.client.errors import DatastoreError, InvalidKey
from datastore.jobs import Job
from datastore.model.keys import (
    KEYS_KEPT,
    LAST_CHARACTER,
    LONGEST_KEPT,
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    Key,
    Range,
    Template,
)
from datastore.social import Comment

COMMENT = Template("COMMENT#{created_at}#{comment_id}", MAX_SORT_BYTES)
TEXT = st.text(st.characters(), max_size=20)
HOSTILE = st.text("ab#\x00", max_size=4)


def is_refused(value: str) -> bool:
    return not value or re.search(r"[#\x00-\x1f\x7f-\x9f\ud800-\udfff]", value) is not None


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("PROFILE", {}, "PROFILE"),
        ("USER#{user_id}", {"user_id": "ada"}, "USER#ada"),
        ("USER#{user_id}", {"user_id": "did:plc:z72i7hdynmk6r22z27h6tvur"}, "USER#did:plc:z72i7hdynmk6r22z27h6tvur"),
        ("USER#{user_id}", {"user_id": "žofie 🌳"}, "USER#žofie 🌳"),
        ("{a}#{b}", {"a": "x", "b": "y", "unused": "#"}, "x#y"),
        ("v{n}", {"n": 12}, "v12"),
        ("v{n}", {"n": 0}, "v0"),
        ("SCORE#{score:08d}", {"score": 42}, "SCORE#00000042"),
        ("SCORE#{score:08d}", {"score": -42}, "SCORE#-0000042"),
        ("FEED{shard:shard}", {"shard": 0}, "FEED"),
        ("FEED{shard:shard}", {"shard": 1}, "FEED#0"),
        ("FEED{shard:shard}", {"shard": 12}, "FEED#11"),
    ],
)
def test_a_template_is_filled(text, values, expected):
    assert Template(text, MAX_SORT_BYTES).fill(values) == expected


@pytest.mark.parametrize(
    ("text", "holes"),
    [
        ("PROFILE", ()),
        ("USER#{user_id}", ("user_id",)),
        ("COMMENT#{created_at}#{comment_id}", ("created_at", "comment_id")),
        ("SCORE#{score:08d}#{card_id}", ("score", "card_id")),
    ],
)
def test_a_template_knows_its_holes(text, holes):
    assert Template(text, MAX_SORT_BYTES).holes == holes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "user_id is empty; it needs at least one character"),
        ("a#b", "user_id 'a#b' may not contain '#' or control characters"),
        ("#", "user_id '#' may not contain '#' or control characters"),
        ("a\x00", r"user_id 'a\x00' may not contain '#' or control characters"),
        ("a\nb", r"user_id 'a\nb' may not contain '#' or control characters"),
        ("\x1f", r"user_id '\x1f' may not contain '#' or control characters"),
        ("\x7f", r"user_id '\x7f' may not contain '#' or control characters"),
        ("\x9f", r"user_id '\x9f' may not contain '#' or control characters"),
        ("\ud800", r"user_id '\ud800' may not contain '#' or control characters"),
        ("a\udfff", r"user_id 'a\udfff' may not contain '#' or control characters"),
        ("#" + "x" * 5000, f"user_id '#{'x' * 39}' may not contain '#' or control characters"),
        (None, "the key USER#{user_id} needs user_id"),
    ],
    ids=[
        "empty",
        "hash",
        "only a hash",
        "NUL",
        "newline",
        "last of C0",
        "DEL",
        "last of C1",
        "lone high surrogate",
        "lone low surrogate",
        "long and bad",
        "none",
    ],
)
def test_a_value_that_may_not_go_into_a_key_is_refused(value, message):
    with pytest.raises(InvalidKey) as refused:
        User.key(user_id=value)
    assert str(refused.value) == message


def test_a_refused_key_is_a_datastore_error_and_a_value_error():
    with pytest.raises(DatastoreError):
        User.key(user_id="#")
    with pytest.raises(ValueError, match="user_id"):
        User.key(user_id="#")


def test_a_key_needs_all_its_values():
    with pytest.raises(InvalidKey, match=r"^the key UNIQUE#\{kind\}#\{value\} needs value$"):
        Unique.key(kind="email")


@pytest.mark.parametrize("character", ["x", "é", "漢", "🌳"], ids=["1 byte", "2 bytes", "3 bytes", "4 bytes"])
@pytest.mark.parametrize("limit", [MAX_PARTITION_BYTES, MAX_SORT_BYTES])
def test_a_key_may_be_as_long_as_dynamodb_allows_and_no_longer(character, limit):
    template = Template("A#{value}", limit)
    room = limit - len("A#")
    fits = character * (room // len(character.encode()))
    assert template.fill({"value": fits}) == f"A#{fits}"

    too_long = fits + character
    with pytest.raises(InvalidKey) as refused:
        template.fill({"value": too_long})
    assert str(refused.value) == f"the key 'A#{character * 38}'… is over {limit} bytes"


def test_the_whole_key_counts_not_each_value():
    half = "x" * (MAX_SORT_BYTES // 2)
    with pytest.raises(InvalidKey, match=r"… is over 1024 bytes$"):
        COMMENT.fill({"created_at": half, "comment_id": half})


def test_the_beginning_of_a_key_may_not_be_too_long_either():
    with pytest.raises(InvalidKey, match=r"… is over 1024 bytes$"):
        COMMENT.prefix({"created_at": "x" * 2000})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "COMMENT#"),
        ({"created_at": "2026"}, "COMMENT#2026#"),
        ({"created_at": "2026", "comment_id": "a"}, "COMMENT#2026#a"),
        ({"created_at": None}, "COMMENT#"),
    ],
)
def test_a_prefix_ends_before_the_first_hole_without_a_value(values, expected):
    assert COMMENT.prefix(values) == expected


@pytest.mark.parametrize("value", ["", "a#b", "a\x00", "\udfff"])
def test_a_prefix_takes_only_values_that_a_key_takes(value):
    with pytest.raises(InvalidKey, match=r"^created_at "):
        COMMENT.prefix({"created_at": value})


def test_a_key_says_where_a_record_is():
    assert User.key(user_id="ada") == Key(User, "USER#ada", "PROFILE")
    assert Unique.key(kind="email", value="a@example.org") == Key(Unique, "UNIQUE#email#a@example.org", "UNIQUE")


def test_keys_of_the_same_record_are_equal_and_hash_alike():
    assert {User.key(user_id="ada"), User.key(user_id="ada")} == {User.key(user_id="ada")}


def test_the_latest_keys_are_kept():
    User.key(user_id="first")

    keys = [User.key(user_id=f"user{number}") for number in range(KEYS_KEPT + 1)]

    assert User.key(user_id=f"user{KEYS_KEPT}") is keys[-1]
    assert User.key(user_id="user0") is not keys[0]
    assert User.key(user_id="user0") == keys[0]


def test_a_key_with_a_long_value_is_not_kept():
    user_id = "a" * (LONGEST_KEPT + 1)

    assert User.key(user_id=user_id) is not User.key(user_id=user_id)


def test_a_refused_value_is_refused_again():
    for _ in range(2):
        with pytest.raises(InvalidKey):
            User.key(user_id="a#b")


@pytest.mark.parametrize(
    ("within", "expected"),
    [
        (lambda: User.within(user_id="ada"), Range(User, None, "USER#ada", "PROFILE")),
        (lambda: User.by_username(username="ada"), Range(User, "GSI1", "USERNAME#ada", "USER")),
        (lambda: User.by_time(), Range(User, "GSI4", "TYPE#USER", "")),
        (lambda: User.by_time(created_at="2026"), Range(User, "GSI4", "TYPE#USER", "2026#")),
    ],
    ids=["table", "index", "no prefix", "prefix"],
)
def test_a_range_is_one_partition_of_the_table_or_of_an_index(within, expected):
    assert within() == expected
    assert within().descending is False
    assert within().bounds is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: User.by_username(), "User.by_username needs username: call User.by_username(username=…)"),
        (lambda: User.by_username(username=None), "User.by_username needs username: call User.by_username(username=…)"),
        (lambda: User.within(), "User.within needs user_id: call User.within(user_id=…)"),
        (
            lambda: Comment.within(post_id="p", comment_id="c"),
            "Comment.within needs created_at: call Comment.within(post_id=…, created_at=…, comment_id=…)",
        ),
        (lambda: User.by_username(usrename="ada"), "User.by_username takes no usrename: did you mean username?"),
        (
            lambda: User.by_username(username="a", bio="b"),
            "User.by_username takes no bio: the known names are username.",
        ),
        (lambda: Job.within(job="j", now=1), "Job.within takes no job: did you mean job_id?"),
        (lambda: User.within(userid="ada"), "User.within takes no userid: did you mean user_id?"),
    ],
)
def test_a_range_takes_the_values_of_its_keys_in_their_order(call, message):
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == message


def test_a_range_takes_only_values_that_a_key_takes():
    with pytest.raises(InvalidKey, match=r"^username 'a#b' may not contain"):
        User.by_username(username="a#b")
    with pytest.raises(InvalidKey, match=r"^created_at 'a#b' may not contain"):
        User.by_time(created_at="a#b")


def test_newest_first_turns_a_range_around_and_changes_nothing_else():
    within = User.by_time().between("2025", "2026")
    assert within.newest_first() == within._replace(descending=True)
    assert within.newest_first().newest_first() == within.newest_first()


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        (None, None, None),
        ("2025", None, ("A#2025", f"A#{LAST_CHARACTER}")),
        (None, "2026", ("A#", "A#2026")),
        ("2025", "2026", ("A#2025", "A#2026")),
    ],
)
def test_bounds_stay_within_the_prefix(low, high, bounds):
    assert Range(User, None, "PK", "A#").between(low, high).bounds == bounds


@given(user_id=TEXT)
def test_a_key_holds_its_value_unchanged_or_is_refused(user_id):
    if is_refused(user_id):
        with pytest.raises(InvalidKey):
            User.key(user_id=user_id)
    else:
        assert User.key(user_id=user_id).pk == f"USER#{user_id}"


def key_or_refusal(kind: str, value: str) -> Key[Unique] | None:
    try:
        return Unique.key(kind=kind, value=value)
    except InvalidKey:
        return None


@given(one=st.tuples(HOSTILE, HOSTILE), other=st.tuples(HOSTILE, HOSTILE))
def test_different_values_never_make_the_same_key(one, other):
    keys = {values: key for values in (one, other) if (key := key_or_refusal(*values))}
    assert len(set(keys.values())) == len(keys)


SEGMENT = st.sampled_from(["A", "AB", "LATEST", "v", "{x}", "v{x}", "A{x}", "AB{x}"])
TEMPLATES = st.lists(SEGMENT, min_size=1, max_size=3).map(
    lambda segments: Template(
        "#".join(segment.replace("{x}", f"{{x{place}}}") for place, segment in enumerate(segments)), 1024
    )
)
NEARBY = st.sampled_from(["A", "B", "AB", "LATEST", "ATEST", "v", "1", "v1"])


@given(one=TEMPLATES, other=TEMPLATES, values=st.lists(NEARBY, min_size=6, max_size=6))
def test_templates_that_do_not_overlap_never_make_the_same_key(one, other, values):
    assume(not one.overlaps(other))
    first = one.fill(dict(zip(("x0", "x1", "x2"), values[:3], strict=True)))
    second = other.fill(dict(zip(("x0", "x1", "x2"), values[3:], strict=True)))
    assert first != second


@given(one=TEMPLATES, other=TEMPLATES)
def test_overlapping_is_mutual(one, other):
    assert one.overlaps(other) == other.overlaps(one)
    assert one.overlaps(one)
