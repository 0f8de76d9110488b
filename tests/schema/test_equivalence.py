"""The compiled executor responds as graphql-core does, including the order of keys: for all operations and viewers.

EQUIVALENCE_EXAMPLES says how many operations to try; `make fuzz` tries many more than the suite does.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from graphql import parse, specified_rules, validate
from graphql.validation import MaxIntrospectionDepthRule
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.model import times
from datastore.model.codec import Item
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.accounts import lifecycle, password_attempts, token_epoch
from tests.conftest import THOROUGH
from tests.support.both_executors import SCHEMA, World, a_world, assert_alike, check
from tests.support.mixed.society import PASSWORD, opaque, viewers
from tests.support.operations import Operation, operations

STARTED = datetime.now(UTC)
ADA, BOB = opaque("User#id-ada"), opaque("User#id-bob")


def tries(engine_name: str, usual: int) -> settings:
    """The same operations in every run of the suite; new ones each time when fuzzing."""
    asked_for = os.environ.get("EQUIVALENCE_EXAMPLES")
    thorough = THOROUGH and engine_name != "moto"
    return settings(
        max_examples=int(asked_for) if asked_for else 3 * usual if thorough else usual,
        deadline=None,
        derandomize=not asked_for,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.fixture(scope="module")
def reading(endpoint: str) -> Iterator[World]:
    with a_world(endpoint, 1) as world:
        yield world


@pytest.fixture(scope="module")
def written(endpoint: str) -> Iterator[World]:
    with a_world(endpoint, 2) as world:
        yield world


@pytest.fixture
def writing(written: World, monkeypatch: pytest.MonkeyPatch) -> World:
    for side in (written.reference, written.compiled):
        side.prepare = lambda: start_over(monkeypatch)
    return written


def start_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resets time, IDs and random numbers, so that the same operations write the same items."""
    seconds, ids = count(), count()

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return STARTED + timedelta(seconds=next(seconds))

    for module in (times, lifecycle):
        monkeypatch.setattr(module, "datetime", Clock)
    for module in (password_attempts, token_epoch):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=STARTED.timestamp))
    monkeypatch.setattr(times, "ULID", lambda: f"new{next(ids):05d}")
    random.seed(0)


def check_writing(world: World, operation: Operation, viewer: Viewer) -> Counter[str]:
    """Both executors start from the same table, and must leave the same table."""
    sides = (world.reference, world.compiled)
    for side in sides:
        world.runner.run(side.bring_back(world.society.items()))
    seen = check(world, operation, viewer)
    reference, compiled = (without_salt(world.runner.run(side.items())) for side in sides)
    assert compiled == reference
    return seen


def without_salt(items: dict[tuple[str, str], Item]) -> dict[tuple[str, str], Item]:
    return {key: {**item, "passwordHash": None} for key, item in items.items()}


@pytest.mark.parametrize("kind", ["query", "mutation"])
def test_what_is_generated_is_valid(reading, engine_name, kind):
    @tries(engine_name, 10)
    @given(operations(SCHEMA, reading.values, kind))
    def is_valid(operation):
        assert validate(SCHEMA, parse(operation.text), {*specified_rules, MaxIntrospectionDepthRule}) == []

    is_valid()


def test_queries_are_answered_alike(reading, engine_name):
    seen = Counter[str]()

    @tries(engine_name, 40)
    @given(operations(SCHEMA, reading.values), viewers(reading.society))
    def are_alike(operation, viewer):
        seen.update(check(reading, operation, viewer))

    are_alike()
    assert seen["whole"] > seen["with errors"], "most should have an answer without errors"


def test_queries_that_run_at_the_same_time_are_answered_alike(reading, engine_name):
    @tries(engine_name, 20)
    @given(st.lists(st.tuples(operations(SCHEMA, reading.values), viewers(reading.society)), min_size=2, max_size=4))
    def verify(asked: list[tuple[Operation, Viewer]]) -> None:
        # Each is asked twice, so that reads are joined.
        crowd = reading.runner.run(reading.compiled.answers_at_once([*asked, *asked]))
        for (operation, viewer), *answers in zip(asked, crowd[: len(asked)], crowd[len(asked) :], strict=True):
            reference = reading.runner.run(reading.reference.answers(operation, viewer))
            for each in answers:
                for compiled, expected in zip(each, reference, strict=True):
                    assert_alike(compiled, expected)

    verify()


def test_mutations_are_answered_alike_and_do_the_same(writing, engine_name):
    seen = Counter[str]()

    @tries(engine_name, 18)
    @given(operations(SCHEMA, writing.values, "mutation"), viewers(writing.society))
    def are_alike(operation, viewer):
        seen.update(check_writing(writing, operation, viewer))

    are_alike()
    assert seen["whole"] > seen["with errors"], "most should have an answer without errors"


MERGED = """{ feed(first: 4) { ...A ...B } }
    fragment A on PostConnection { nodes { author { username } comments(first: 2) { nodes { content } } } }
    fragment B on PostConnection { nodes { id comments(first: 2) { totalCount nodes { author { id } content } } } }"""
SKIPPED = """query ($no: Boolean!, $size: Int) { feed(first: $size) { nodes { id ...A @skip(if: $no) caption } } }
    fragment A on Post { author { username ... @include(if: $no) { bio } } likes { nodes { id } } }"""
OVERLAPPING = """query ($ids: [ID!]!) { nodes(ids: $ids) {
    ... on Node { x: id ... on User { comments(first: 1) { nodes { id } } name: username } }
    ... on Post { x: id comments(first: 1) { nodes { content } totalCount } name: imageUrl }
    ... on Comment { post { id ... on Node { __typename ... on User { bio } } } } } }"""
ALL_SKIPPED = "query ($no: Boolean!) { a: viewer @include(if: $no) { id } b: users { nodes { id @include(if: $no) } } }"
ORDER = """{ user(by: {username: "ada"}) { bio followers(first: 1) { nodes { id } } id }
    __schema { queryType { name } } feed(first: 1) { pageInfo { endCursor } }
    user(by: {username: "ada"}) { posts { totalCount } bio followers(first: 1) { totalCount nodes { bio } } } }"""
PAGES = """query ($first: Int, $last: Int) { a: feed(first: $first) { pageInfo { hasNextPage hasPreviousPage } }
    b: feed(last: $last) { edges { cursor } nodes { likes(last: 1) { edges { likedAt node { id } } } } } }"""
SHARED = "{ feed { nodes { likes { totalCount nodes { followers(first: 1) { nodes { id } } } } } } }"
SHARED_ITEMS = """{ a: feed { nodes { likes(first: 1) { totalCount } } }
    b: feed(last: 15) { nodes { likes(first: 1) { totalCount } likeCount } } }"""
NAMES = """{ users(first: 2) { nodes { class: id None: bio v: username r: databaseId __typename: createdAt f0: postCount
    functions: viewerFollows written: __typename } } }"""
OWN = "{ users { nodes { username email homeFeed { nodes { id } } notifications { nodes { kind actor { id } } } } } }"
SHARDS = "{ users { nodes { posts { nodes { id likeCount commentCount likes { totalCount } } } } } }"
REFUSED = """query ($first: Int, $after: String, $id: ID = "x") { a: feed(first: $first) { nodes { id } }
    users(first: 8) { nodes { username posts(after: $after, first: 2) { totalCount nodes { id likes(first: $first) {
    totalCount nodes { id followers(first: 0) { nodes { id } } } } author { id posts(last: $first) { totalCount } } }
    } } }
    user(by: {id: $id}) { id } post(by: {id: "rubbish"}) { id } auditLog { nodes { id } } leads { nodes { id } } }"""
DAMAGED_LISTS = """{ feed { edges { node { id likeCount author { username followerCount } comments { totalCount edges {
    node { content author { followerCount posts(first: 2) { nodes { likeCount author { id } } } } post { likeCount } }
    } } } } } users { edges { node { followers { edges { node { followerCount } } totalCount } } } } }"""
AUTHORS = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Post { author { id } } } }"
INSIDE = [opaque("Comment#post03#2026-01-01T01:09:00.000Z#comment04"), opaque("Post#post07")]
MIXED = [ADA, opaque("Post#post09"), opaque("Post#post02"), opaque("Like#post09#id-ada"), ADA, opaque("User#id-x")]


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        pytest.param(MERGED, [{}], id="fragments that merge"),
        pytest.param(SKIPPED, [{"no": True}, {"no": False}, {"no": False, "size": 2}, {}], id="a fragment left out"),
        pytest.param(OVERLAPPING, [{"ids": MIXED}, {"ids": []}, {"ids": ADA}], id="types that overlap"),
        pytest.param(
            OVERLAPPING, [{"ids": [*MIXED, "rubbish"]}, {"ids": [None]}, {"ids": None}], id="ids that are none"
        ),
        pytest.param(OVERLAPPING, [{"ids": [ADA] * 100}, {"ids": [ADA] * 101}], id="ids without end"),
        pytest.param(AUTHORS, [{"ids": INSIDE}], id="what is seen only with something else"),
        pytest.param(ALL_SKIPPED, [{"no": False}, {"no": True}], id="nothing left"),
        pytest.param(ORDER, [{}], id="keys in the order of their first mention"),
        pytest.param(PAGES, [{}, {"first": 1, "last": 2}, {"first": 0}, {"first": None}], id="pages"),
        pytest.param(SHARED, [{}], id="an error beside a list that others read too"),
        pytest.param(SHARED_ITEMS, [{}], id="an error beside an item that others read too"),
        pytest.param(NAMES, [{}], id="names that mean something to Python"),
        pytest.param(OWN, [{}], id="what is for oneself"),
        pytest.param(
            REFUSED, [{"first": 0}, {"first": 1, "after": "rubbish"}, {"id": None}, {}], id="refused at several levels"
        ),
        pytest.param(DAMAGED_LISTS, [{}], id="damage in lists and at required positions"),
        pytest.param(SHARDS, [{}], id="counts that are damaged, lost or too large"),
        pytest.param("{ viewer { id } } { node(id: 7) { id } }", [{}], id="two without names"),
        pytest.param(f'{{ node(id: 7) {{ id }} user(by: {{id: "{BOB}"}}) {{ id }} }}', [{}], id="a number for an id"),
        pytest.param(
            f'query ($id: ID = "{ADA}") {{ user(by: {{id: $id}}) {{ username }} nodes(ids: [$id]) {{ id }} }}',
            [{}, {"id": BOB}, {"id": None}],
            id="null in place of a default",
        ),
        pytest.param(
            "query ($yes: Boolean = true) { users(first: 1) { nodes { id @include(if: $yes) username } } }",
            [{}, {"yes": False}, {"yes": None}, {"yes": "so"}],
            id="a condition that is null",
        ),
        pytest.param(
            "query ($yes: Boolean = true) { a: __typename @include(if: $yes) viewer { id } }",
            [{"yes": None}, {}],
            id="a condition that is null at the root",
        ),
        pytest.param(
            "query ($at: DateTime) { users(createdAfter: $at) { nodes { username } } }",
            [{"at": "2026-01-01T00:05:00Z"}, {"at": "yesterday"}, {"at": None}, {}],
            id="times",
        ),
    ],
)
@pytest.mark.parametrize("viewer", [ANONYMOUS, Viewer("id-ada")], ids=["anonymous", "ada"])
def test_special_queries_are_answered_alike(reading, text, variables, viewer):
    check(reading, Operation(text, variables[0], None, tuple(variables[1:])), viewer)


POST, TOO_LIKED = opaque("Post#post09"), opaque("Post#post01")
ONE_FAILS = f"""mutation {{ a: likePost(input: {{postId: "{POST}"}}) {{ post {{ likeCount viewerHasLiked }} }}
    b: unlikePost(input: {{postId: "{TOO_LIKED}"}}) {{ problems {{ code }} post {{ id likeCount }} }}
    c: addComment(input: {{postId: "{POST}", content: "Yes."}}) {{ comment {{ id post {{ commentCount }} }} }} }}"""
SIGNED_IN = f"""mutation {{ updateProfile(input: {{bio: "Me."}}) {{ user {{ email }} problems {{ code path }} }}
    logIn(input: {{login: "ada", password: "{PASSWORD}"}}) {{
        token user {{ email notifications {{ nodes {{ id }} }} }} }}
    b: updateProfile(input: {{bio: "Ada."}}) {{ user {{ bio email homeFeed {{ nodes {{ id }} }} }} }} }}"""
TWICE = """mutation ($in: LikePostInput!) { likePost(input: $in) { post { id } } __typename ...A }
    fragment A on Mutation { likePost(input: $in) { post { likes { nodes { username } totalCount } } } }"""
NULL_INSIDE = """mutation ($id: ID = "x", $caption: String) {
    a: createPost(input: {imageUrl: "https://example.org/1"}) { post {
        id createdAt caption author { posts(first: 2) { nodes { id } totalCount } } } }
    b: updatePost(input: {postId: $id, caption: $caption}) { problems { message path } post { id caption } } }"""

# As literals these would not pass validation, so the generator does not use them.
NO_DATES = ["1950-02-30", "", "whenever", "BET 1952 AND 1950", 1950]
BORN = """mutation ($id: ID!, $on: HistoricDate) {
    updatePerson(input: {personId: $id, expectedVersion: 1, birthDate: $on}) { problems { code } person { id } } }"""
KIN = opaque("Person#id-ada#kin0-00")


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        pytest.param(ONE_FAILS, [{}], id="an answer that fails when it is done"),
        pytest.param(SIGNED_IN, [{}], id="somebody else from here on"),
        pytest.param(TWICE, [{"in": {"postId": POST}}, {"in": {"postId": ADA}}, {"in": {}}], id="one command twice"),
        pytest.param(BORN, [{"id": KIN, "on": date} for date in NO_DATES], id="no dates"),
        pytest.param(NULL_INSIDE, [{"id": POST}, {"id": None}, {"caption": None}], id="null inside of an input"),
    ],
)
@pytest.mark.parametrize("viewer", [ANONYMOUS, Viewer("id-ada")], ids=["anonymous", "ada"])
def test_special_mutations_are_answered_alike(writing, text, variables, viewer):
    check_writing(writing, Operation(text, variables[0], None, tuple(variables[1:])), viewer)
