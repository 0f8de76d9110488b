"""Queries that are too long, too deep or too repetitive: rejected with a clear error, never a hang."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from schema.execution.limits import Limits, OverLimit, check_json
from tests.schema.hostile import HEADERS, cost, refusal
from tests.support.serving import Served


def test_too_many_tokens_are_400(server: Served) -> None:
    fields = " ".join(f"f{number}: __typename" for number in range(667))

    assert refusal(server.post(f"{{ {fields} }}")) == "the query has over 2,000 tokens; ask in several queries"


def test_a_word_in_a_syntax_error_does_not_make_it_one_about_length(server: Served) -> None:
    assert refusal(server.post("{ __typename } tokens")) == "Syntax Error: Unexpected Name 'tokens'."


def test_a_query_that_is_too_deep_is_400(strict: Served) -> None:
    three = "{ users(first: 1) { nodes { id } } }"
    four = "{ users(first: 1) { nodes { profileImages { avatar { url } } } } }"
    hidden = "{ ...A } fragment A on Query { users(first: 1) { ... { nodes { ...B } } } } fragment B on User %s"

    assert strict.post(three).status_code == 200
    assert strict.post(hidden % "{ id }").status_code == 200
    for query in (four, hidden % "{ profileImages { avatar { url } } }"):
        assert refusal(strict.post(query)) == "the query is over 3 levels deep; ask in several queries"


class Hangs(BaseException):
    """Raised by a timer anywhere in the code under test."""


@contextmanager
def no_hanging(seconds: float = 5.0) -> Iterator[None]:
    """Fails the test instead of waiting forever."""

    def ring(*_: Any) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    hung = False
    try:
        yield
    except Hangs:
        hung = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # Not from within: pytest cannot show a traceback that starts in the timer, and would abort the run.
    if hung:
        pytest.fail(f"not done within {seconds} s", pytrace=False)


def test_fragments_that_double_one_another_do_not_hang() -> None:
    doubling = "".join(f"fragment F{number} on Query {{ ...F{number + 1} ...F{number + 1} }} " for number in range(99))

    with no_hanging():
        assert cost(f"{{ ...F0 }} {doubling} fragment F99 on Query {{ __typename }}") == 1


@pytest.mark.parametrize(
    "query",
    [
        "{ ...A } fragment A on Query { ...A }",
        "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
        "{ viewer { ...A } } fragment A on User { id ... on User { ...A } }",
        "{ users { nodes { ...A } } } fragment A on User { profileImages { ...B } } fragment B on User { ...A }",
    ],
)
def test_fragments_in_a_circle_are_400(server: Served, query: str) -> None:
    refusal(server.post(query))
    messages = [error["message"] for error in server.post(query).json()["errors"]]
    assert any(message.startswith("Cannot spread fragment 'A' within itself") for message in messages)


def test_a_long_chain_of_fragments_is_answered_or_refused(server: Served) -> None:
    for length in (50, 150, 250, 400, 490):
        chain = "".join(f"fragment F{number} on Query {{ ...F{number + 1} }} " for number in range(length))
        answer = server.post(f"{{ ...F0 }} {chain} fragment F{length} on Query {{ __typename }}")
        assert answer.status_code in {200, 400}, length


@pytest.mark.parametrize(
    ("query", "refusal_of"),
    [
        ("{ " + " ".join(f"a{n}: __typename" for n in range(501)) + " }", "500 aliases"),
        ("{ " + "__typename " * 1_001 + " }", "1,000 fields and fragments"),
        ("{ " + "...F " * 900 + "} fragment F on Query { " + "x " * 101 + "}", "1,000 fields and fragments"),
        ("{ x } " + " ".join(f"fragment F{n} on Query {{ x }}" for n in range(101)), "100 fragments"),
        (" ".join(f"query Q{n} {{ x }}" for n in range(21)), "20 operations"),
        ("query (" + " ".join(f"$v{n}: Int" for n in range(101)) + ") { x }", "100 variables"),
        ("{ x " + "@skip(if: true) " * 101 + "}", "100 directives"),
    ],
)
def test_a_document_of_too_many_parts_is_400_before_it_is_validated(
    server: Served, query: str, refusal_of: str
) -> None:
    assert refusal(server.post(query)) == f"the query has over {refusal_of}; ask in several queries"


def test_500_aliases_are_answered(server: Served) -> None:
    plain = " ".join(f"a{number}: __typename" for number in range(500))

    assert len(server.post(f"{{ {plain} }}").json()["data"]) == 500


@pytest.mark.parametrize("times", [500, 1_000, 3_900])
def test_a_field_many_times_over_is_answered_once_or_refused(server: Served, times: int) -> None:
    answer = server.post("{ " + "__typename " * times + "}")

    assert answer.status_code == 400 or answer.json() == {"data": {"__typename": "Query"}}


@pytest.mark.parametrize(
    "query",
    [
        "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
        "{ __schema { types { ...T } } } fragment T on __Type { fields { type { fields { type { fields { name }}}}}}",
        '{ __type(name: "User") { interfaces { possibleTypes { interfaces { possibleTypes { name } } } } } }',
    ],
)
def test_introspection_that_goes_in_circles_is_400(server: Served, query: str) -> None:
    assert refusal(server.post(query)) == "Maximum introspection depth exceeded"


@pytest.mark.parametrize("levels", [100, 150, 180, 200, 240, 300, 1_000, 1_300, 10_000])
@pytest.mark.parametrize(
    ("before", "open", "middle", "close", "after"),
    [
        ("{", "viewer {", "id", "}", "}"),
        ("{", "... {", "nothing", "}", "}"),
        ("{ nodes(ids: ", "[", '"x"', "]", ") { id } }"),
        ("{ nodes(ids: ", "{a: ", '"x"', "}", ") { id } }"),
        ("{ users(createdAfter: ", "[", "1", "]", ") { nodes { id } } }"),
        ("query ($x: ", "[", "ID", "]", ") { nodes(ids: $x) { id } }"),
        ("query ($x: [ID!]! = ", "[", "1", "]", ") { nodes(ids: $x) { id } }"),
    ],
)
def test_deep_nesting_in_a_query_is_400(
    server: Served, levels: int, before: str, open: str, middle: str, close: str, after: str
) -> None:
    refusal(server.post(before + open * levels + middle + close * levels + after))


@pytest.mark.parametrize("levels", [65, 500, 1_000, 1_100, 100_000])
@pytest.mark.parametrize(("open", "close"), [(b'{"a":', b"}"), (b"[", b"]")])
def test_deep_nesting_in_variables_is_400(server: Served, levels: int, open: bytes, close: bytes) -> None:
    deep = open * levels + b"1" + close * levels
    by_post = server.http.post(
        "/graphql", content=b'{"query": "{ __typename }", "variables": {"a": %b}}' % deep, headers=HEADERS
    )
    assert "deep" in refusal(by_post) or "depth" in refusal(by_post)


def test_too_many_values_or_levels_in_variables_are_over_the_limit(server: Served) -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    many = server.post("{ __typename }", variables={"a": [1] * 400_000})
    nested = server.post("{ __typename }", variables={"a": deep})

    message = "the request's JSON has over 20,000 values; send less, or in several requests"
    assert (many.status_code, nested.status_code) == (400, 400)
    assert many.json() == {"errors": [{"message": message, "extensions": {"code": "OVER_LIMIT"}}]}
    assert nested.json()["errors"][0]["extensions"] == {"code": "OVER_LIMIT"}


def test_the_values_of_all_levels_count() -> None:
    check_json({"a": [1, {"b": [2, 3]}], "c": None}, Limits(json_values=7))
    with pytest.raises(OverLimit, match="over 6 values"):
        check_json({"a": [1, {"b": [2, 3]}], "c": None}, Limits(json_values=6))


def test_deep_nesting_in_the_variables_of_a_get_is_400(server: Served) -> None:
    for levels in (65, 400):
        variables = '{"a":' * levels + "1" + "}" * levels
        refusal(server.http.get("/graphql", params={"query": "{ __typename }", "variables": variables}))


def test_variables_may_be_as_deep_as_the_limit() -> None:
    check_json({"a": {"b": [1]}}, Limits(json_depth=3))
    with pytest.raises(OverLimit, match="nested over 2 levels deep"):
        check_json({"a": {"b": [1]}}, Limits(json_depth=2))


def test_deep_extensions_are_ignored_or_refused(server: Served) -> None:
    for levels in (65, 1_000, 100_000):
        body = b'{"query": "{ __typename }", "extensions": ' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"
        assert server.http.post("/graphql", content=body, headers=HEADERS).status_code in {200, 400}


def test_a_query_that_is_only_long_is_400_before_it_is_read(server: Served) -> None:
    assert refusal(server.post("\n" * 400_000 + "{ x }" * 20)) == (
        "the query has over 50,000 characters; ask in several queries"
    )


def test_a_query_too_repetitive_to_be_checked_says_what_to_do(server: Served) -> None:
    (error,) = server.post("{ " + "viewer { id } " * 200 + "}").json()["errors"]

    assert error["message"] == "the query repeats too many fields or fragments to be checked; ask in several queries"
    assert error["extensions"] == {"code": "INVALID_QUERY"}


def test_the_cost_is_refused_before_the_rules_run(server: Served) -> None:
    wanted = "{ feed(first: 100) { nodes { nothing likes(first: 100) { nodes { id username } } } } }"

    assert refusal(server.post(wanted)).startswith("feed.nodes.likes costs 12,000 of at most 10,000")


def test_a_long_message_is_cut(server: Served) -> None:
    (error,) = server.post("{ " + "x" * 30_000 + " }").json()["errors"]

    assert len(error["message"]) == 501
