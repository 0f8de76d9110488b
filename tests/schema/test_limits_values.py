"""Values, IDs and text that GraphQL, JSON or the table do not have: a clear error each."""

import base64
from typing import Any

import pytest

from tests.schema.hostile import HEADERS, refusal
from tests.support.serving import GRAPHQL_RESPONSE, Served

NODE = "query ($id: ID!) { node(id: $id) { id } }"
USERS = "query ($after: String) { users(after: $after) { nodes { id } } }"
LONG = "1" * 5_000


@pytest.mark.parametrize(
    "query",
    [
        f"{{ users(first: {LONG}) {{ nodes {{ id }} }} }}",
        f"{{ users(first: -{LONG}) {{ nodes {{ id }} }} }}",
        f"query ($n: Int = {LONG}) {{ users(first: $n) {{ nodes {{ id }} }} }}",
        "{ users(first: 2147483648) { nodes { id } } }",
        "{ users(first: 1e400) { nodes { id } } }",
        f"{{ users(first: {LONG}.5) {{ nodes {{ id }} }} }}",
        f"{{ users(createdAfter: {LONG}) {{ nodes {{ id }} }} }}",
        f"{{ users(createdAfter: 1e{LONG}) {{ nodes {{ id }} }} }}",
        r'{ node(id: "\uD800") { id } }',
        r'{ node(id: "\uDC00\uD800") { id } }',
        r'{ node(id: "\u{D800}") { id } }',
        r'{ node(id: "\u{110000}") { id } }',
        r'{ node(id: "\u{FFFFFFFFFFFFFFFF}") { id } }',
    ],
)
def test_numbers_and_text_that_graphql_does_not_have_are_400(server: Served, query: str) -> None:
    refusal(server.post(query))


@pytest.mark.parametrize(
    "query",
    [
        f"{{ node(id: {LONG}) {{ id }} }}",
        f"{{ nodes(ids: {LONG}) {{ id }} }}",
        f"{{ nodes(ids: [{LONG}]) {{ id }} }}",
        f"query ($id: ID! = {LONG}) {{ node(id: $id) {{ id }} }}",
        f"query ($ids: [ID!]! = {LONG}) {{ nodes(ids: $ids) {{ id }} }}",
    ],
)
def test_an_id_may_be_written_as_a_number_of_any_length_and_is_none_of_ours(server: Served, query: str) -> None:
    answer = server.post(query)

    assert answer.status_code == 200
    (error,) = answer.json()["errors"]
    assert error["message"] == f"{LONG[:60]!r} is not an id; use the field `id` of something this API returned"


@pytest.mark.parametrize(
    "value",
    [
        b"1e999",
        b"-1e999",
        b"9" * 5_000,
        b"NaN",
        b"Infinity",
        rb'"\ud800"',
        rb'"\udc00\ud800"',
        b'"\xff\xfe"',
        b'"\x00"',
    ],
)
def test_values_that_json_does_not_have_are_400(server: Served, value: bytes) -> None:
    body = b'{"query": "{ __typename }", "variables": {"id": %b}}' % value

    assert refusal(server.http.post("/graphql", content=body, headers=HEADERS)).startswith("the body is not JSON: ")


@pytest.mark.parametrize("value", [1e308, -1e308, 1.5, -(2**31) - 1, True, "1", [1], {}, "x" * 100_000])
def test_variables_of_the_wrong_type_are_400(server: Served, value: Any) -> None:
    query = "query ($n: Int) { users(first: $n) { nodes { id } } }"

    message = "Variable '$n' has an invalid value: Int is a whole number from -2147483648 to 2147483647"
    assert refusal(server.post(query, variables={"n": value})) == message


def encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(
    "id",
    [
        "",
        "#",
        "\x00",
        "é",
        "\U0010ffff",
        "=====",
        "User",
        "x" * 500_000,
        7,
        2**60,
        encoded(b""),
        encoded(b"User"),
        encoded(b"User#"),
        encoded(b"User#a#b"),
        encoded(b"User#\x00"),
        encoded(b"User#\xff"),
        encoded(b"User#" + "\ud800".encode(errors="surrogatepass")),
        encoded(b"User#" + b"x" * 3_000),
        encoded(b"Nothing#x"),
        encoded(b"__class__#x"),
    ],
)
def test_what_is_no_id_is_a_clear_error(server: Served, id: str | int) -> None:
    for query, variables in ((NODE, {"id": id}), ("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": [id]})):
        answer = server.post(query, variables=variables)

        assert answer.status_code == 200
        (error,) = answer.json()["errors"]
        assert error["extensions"] == {"code": "INVALID"}
        assert error["message"] == f"{str(id)[:60]!r} is not an id; use the field `id` of something this API returned"


@pytest.mark.parametrize(
    "cursor",
    ["", "=", "é", "\x00", "\U0010ffff", "x" * 500_000, "AAAA AAAA\n", encoded(b"x" * 12), encoded(b"x" * 12 + b"[]")],
)
def test_what_is_no_cursor_is_a_clear_error(server: Served, cursor: str) -> None:
    for query in (USERS, USERS.replace("(after:", "(before:")):
        answer = server.post(query, variables={"after": cursor})

        assert answer.status_code == 200
        (error,) = answer.json()["errors"]
        assert error["extensions"] == {"code": "INVALID"}
        assert error["message"].startswith(f"{cursor[:60]!r} is not a cursor of this list; ")


@pytest.mark.parametrize("text", ["", " ", "#", "a#b", "\x00", "\x85", "x" * 3_000, "é" * 2_000])
def test_text_that_cannot_be_in_a_key_is_a_clear_error(server: Served, text: str) -> None:
    for query in (
        "query ($text: String!) { user(by: {username: $text}) { id } }",
        "query ($text: String!) { user(by: {email: $text}) { id } }",
    ):
        answer = server.post(query, variables={"text": text})

        assert answer.status_code == 200
        (error,) = answer.json()["errors"]
        assert error["extensions"] == {"code": "INVALID"}


@pytest.mark.parametrize("text", ["\ufffe", "\U0010ffff", "İ", "é", "ß" * 100, "\u202e", "💥"])
def test_unusual_text_is_looked_up_and_not_found(server: Served, text: str) -> None:
    query = "query ($text: String!) { a: user(by: {username: $text}) { id } b: user(by: {email: $text}) { id } }"

    assert server.post(query, variables={"text": text}).json() == {"data": {"a": None, "b": None}}


@pytest.mark.parametrize("text", ["", "#", "\x00", "\x7f", "\ufffe", "\U0010ffff", "İ", "x" * 3_000, "💥" * 3_000])
def test_accounts_refuse_strange_text_as_a_problem(server: Served, text: str) -> None:
    sign_up = "mutation ($input: SignUpInput!) { signUp(input: $input) { problems { code } } }"
    log_in = "mutation ($input: LogInInput!) { logIn(input: $input) { problems { code } } }"
    account = {"username": text, "email": text, "password": text, "displayName": text}

    signed_up = server.post(sign_up, variables={"input": account}).json()
    logged_in = server.post(log_in, variables={"input": {"login": text, "password": text}}).json()

    assert {problem["code"] for problem in signed_up["data"]["signUp"]["problems"]} == {"INVALID"}
    assert {problem["code"] for problem in logged_in["data"]["logIn"]["problems"]} <= {"INVALID", "RATE_LIMITED"}


@pytest.mark.parametrize(
    "moment",
    ["", "x", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "2026-02-30T00:00:00Z"],
)
def test_what_is_no_moment_is_400(server: Served, moment: str) -> None:
    query = "query ($moment: DateTime) { users(createdAfter: $moment) { nodes { id } } }"

    assert "is not a time with an offset" in refusal(server.post(query, variables={"moment": moment}))
    assert "is not a time with an offset" in refusal(
        server.post(f'{{ users(createdAfter: "{moment}") {{ nodes {{ id }} }} }}')
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("users(createdAfter: %s) { nodes { id } }", '"x"'),
        ("cardsOn(date: %s) { nodes { id } }", '"x"'),
        ("cardsOn(date: %s) { nodes { id } }", "5"),
    ],
)
def test_a_value_in_the_query_that_cannot_be_read_is_an_error_at_its_place(
    server: Served, field: str, value: str
) -> None:
    query = f"{{ {field % value} }}"

    (error,) = server.post(query).json()["errors"]

    assert error["locations"] == [{"line": 1, "column": query.index(value) + 1}]


def test_a_long_operation_name_is_not_sent_back_whole(server: Served) -> None:
    answer = server.post("{ __typename }", operationName="x" * 900_000)

    assert refusal(answer) == f"there is no operation named {'x' * 60!r} in the query"


@pytest.mark.parametrize("query", ["%ff", "%ed%a0%80", "%00", "%", "%zz", "{__typename}%c3%28"])
def test_addresses_that_are_not_unicode_are_400(server: Served, query: str) -> None:
    answer = server.http.get(f"/graphql?query={query}", headers={"accept": GRAPHQL_RESPONSE})

    assert refusal(answer).startswith("Syntax Error: ")
