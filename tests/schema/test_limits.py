"""Hostile input: rejected with a clear error, never an internal error, never a hang."""

import base64
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from graphql import build_schema, parse
from hypothesis import given
from hypothesis import strategies as some

from schema.build import build
from schema.execution.limits import Limits, OverLimit, check_nesting, check_operation
from tests.support.serving import GRAPHQL_RESPONSE, Served, a_table, serving

HEADERS = {"content-type": "application/json", "accept": GRAPHQL_RESPONSE}
STATUSES = {200, 400, 401, 405, 406, 413, 415}
NODE = "query ($id: ID!) { node(id: $id) { id } }"
USERS = "query ($after: String) { users(after: $after) { nodes { id } } }"


@pytest.fixture(scope="module")
def server(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        yield served


@pytest.fixture(scope="module")
def strict(endpoint: str) -> Iterator[Served]:
    """A server with low limits and short timeouts."""
    with (
        a_table(endpoint) as table_name,
        serving(
            endpoint,
            table_name,
            request_timeout=3,
            max_body_bytes=2_000,
            max_query_tokens=100,
            max_query_depth=3,
            max_query_cost=30,
            max_json_depth=3,
        ) as served,
    ):
        yield served


def refusal(answer: httpx.Response) -> str:
    """Returns the message of a request that was rejected before execution."""
    assert answer.status_code == 400, answer.text[:300]
    assert "data" not in answer.json()
    message: str = answer.json()["errors"][0]["message"]
    return message


def raw_status(server: Served, *parts: bytes) -> int:
    """Returns the status of the response to raw bytes."""
    with socket.create_connection(server.address, timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        return int(connection.recv(100).split(b" ", 2)[1])


def test_a_body_over_the_limit_is_413(strict: Served) -> None:
    answer = strict.http.post("/graphql", content=b" " * 2_001, headers=HEADERS)

    assert answer.status_code == 413
    assert answer.json() == {
        "errors": [{"message": "the body is over 2000 bytes", "extensions": {"code": "TOO_LARGE"}}]
    }


def test_a_body_at_the_limit_is_read(strict: Served) -> None:
    body = b'{"query": "{ __typename }"}'.ljust(2_000)

    assert strict.http.post("/graphql", content=body, headers=HEADERS).json() == {"data": {"__typename": "Query"}}


def test_a_body_without_a_length_is_413_as_soon_as_it_is_over_the_limit(strict: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"3e8\r\n" + b" " * 1_000 + b"\r\n"

    # The body never ends.
    assert raw_status(strict, head, chunk, chunk, chunk) == 413


def test_a_length_that_is_announced_is_413_before_the_body_comes(strict: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2001\r\n\r\n"

    assert raw_status(strict, head) == 413


@pytest.mark.parametrize("length", [b"-1", b"abc", b"1e3", b"9" * 5_000, b"\xb2"])
def test_a_length_that_is_no_number_is_400(server: Served, length: bytes) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %b\r\n\r\n{}"

    assert raw_status(server, head % length) == 400


def test_a_body_that_does_not_arrive_is_408(strict: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"

    assert raw_status(strict, head, b'{"query":') == 408


def test_20_mb_of_spaces_are_413(server: Served) -> None:
    spaces = b" " * 20_000_000

    with_length = server.http.post("/graphql", content=spaces, headers=HEADERS)
    chunked = server.http.post("/graphql", content=iter([spaces[:100_000]] * 200), headers=HEADERS)

    assert (with_length.status_code, chunked.status_code) == (413, 413)


@pytest.mark.parametrize("filler", [" ", ",", "\\n", "\ufeff", "#" * 1_000 + "\\n"])
def test_much_of_nothing_around_a_query_is_read_or_refused(server: Served, filler: str) -> None:
    body = f'{{"query": "{filler * (300_000 // len(filler))}{{ __typename }}"}}'.encode()

    assert server.http.post("/graphql", content=body, headers=HEADERS).status_code in {200, 400}


def test_too_many_tokens_are_400(server: Served) -> None:
    fields = " ".join(f"f{number}: __typename" for number in range(1_334))

    assert refusal(server.post(f"{{ {fields} }}")) == "the query has over 4000 tokens; ask in several queries"


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


OVER_COST = "the query could read over 30 records; ask for smaller pages or fewer levels"


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("{ users(first: 31) { nodes { id } } }", {}),
        ("{ users(last: 31) { nodes { id } } }", {}),
        ("{ users(first: 1, last: 100) { nodes { id } } }", {}),
        ("query ($n: Int) { users(first: $n) { nodes { id } } }", {"n": 100}),
        ("query ($n: Int) { users(first: $n) { nodes { id } } }", {"n": 100.0}),
        ("query ($n: Int = 100) { users(first: $n) { nodes { id } } }", {}),
        ("query ($n: Int = 1) { users(first: $n) { nodes { id } } }", {"n": 100}),
        ("{ a: users { nodes { id } } b: users { nodes { id } } }", {}),
        ("{ a: users(first: -100) { nodes { id } } b: users(first: 100) { nodes { id } } }", {}),
        ("{ ...A } fragment A on Query { a: users { nodes { id } } ... { b: users { edges { cursor } } } }", {}),
        ("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": ["x"] * 31}),
        ("query ($ids: [ID!]! = [%s]) { nodes(ids: $ids) { id } }" % ("7 " * 31), {}),
        ("{ nodes(ids: [%s]) { id } }" % ("7 " * 31), {}),
    ],
)
def test_a_query_that_could_read_too_much_is_400(strict: Served, query: str, variables: dict[str, Any]) -> None:
    assert refusal(strict.post(query, variables=variables)) == OVER_COST


FRIENDS = build_schema("""
    type Query { me: Person! people(ids: [ID!]!): [Person] }
    type Person { name: String! best: Person! friends(first: Int, after: ID, last: Int): PersonConnection! }
    type PersonConnection { edges: [PersonEdge!]! nodes: [Person!]! }
    type PersonEdge { node: Person! }
""")


def cost(query: str, **variables: Any) -> int:
    document = parse(query)
    operation: Any = document.definitions[0]
    return check_operation(FRIENDS, document, operation, variables, Limits(depth=100))


def nested(levels: int, size: int) -> str:
    return f"friends(first: {size}) {{ edges {{ node {{" * levels + " name " + "} } }" * levels


@pytest.mark.parametrize(
    ("query", "records"),
    [
        ("{ me { name } }", 1),
        ("{ me { best { best { name } } } }", 3),
        ("{ me { friends { nodes { name } } } }", 1 + 20),
        ("{ me { friends(first: 5) { nodes { friends(first: 3) { edges { node { name } } } } } } }", 1 + 5 + 5 * 3),
        ("{ me { friends(last: 5) { nodes { best { name } } } } }", 1 + 5 + 5),
        ("{ a: me { ...F } b: me { ...F } } fragment F on Person { friends(first: 2) { nodes { name } } }", 2 * 3),
        ('{ people(ids: ["a", "b"]) { friends(first: 7) { nodes { name } } } }', 2 + 2 * 7),
    ],
)
def test_the_cost_is_the_most_records_a_query_can_bring(query: str, records: int) -> None:
    assert cost(query) == records


@pytest.mark.parametrize(
    ("query", "records"),
    [
        ("{ topCards(first: 5) { nodes { title instructions } } }", 5 + 5 * 20),
        ("{ topCards(first: 5) { edges { node { instructions materials } } } }", 5 + 5 * 40),
        ("{ topCards(first: 5) { nodes { a: instructions b: instructions } } }", 5 + 5 * 40),
        ('{ nodes(ids: ["x", "y"]) { ... on Content { blocks versions(first: 3) { nodes { blocks } } } } }', 168),
        ('{ site(id: "x") { config } }', 1 + 20),
        ("mutation { publishCard(input: {cardId: 1}) { card { ...C } } } fragment C on Card { instructions }", 2 + 20),
    ],
)
def test_what_lists_leave_out_costs_something_for_each_record(query: str, records: int) -> None:
    document = parse(query)
    operation: Any = document.definitions[0]

    assert check_operation(build()._schema, document, operation, {}, Limits()) == records


def test_aliases_cannot_bring_hundreds_of_large_texts(server: Served) -> None:
    wanted = " ".join(f"a{number}: topCards(first: 25) {{ nodes {{ instructions }} }}" for number in range(20))

    assert refusal(server.post(f"{{ {wanted} }}")) == (
        "the query could read over 10000 records; ask for smaller pages or fewer levels"
    )


@pytest.mark.parametrize("levels", [2, 3, 30])
def test_pages_of_100_within_pages_of_100_are_over_the_limit(levels: int) -> None:
    with pytest.raises(OverLimit, match="could read over 10000 records"):
        cost(f"{{ me {{ {nested(levels, 100)} }} }}")


@pytest.mark.parametrize("size", [100, 100.0])
def test_the_size_of_a_page_counts_in_a_variable_too(size: float) -> None:
    query = "query ($n: Int) { me { friends(first: $n) { nodes { friends(first: $n) { nodes { name } } } } } }"

    with pytest.raises(OverLimit):
        cost(query, n=size)


def test_a_negative_size_pays_for_nothing() -> None:
    assert cost("{ me { name friends(first: -1000) { nodes { name } } } }") >= 1


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
    doubling = "".join(f"fragment F{number} on Query {{ ...F{number + 1} ...F{number + 1} }} " for number in range(100))

    with no_hanging():
        assert cost(f"{{ ...F0 }} {doubling} fragment F100 on Query {{ __typename }}") == 0


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


def test_1000_aliases_are_400_when_they_read_and_answered_when_they_do_not(server: Served) -> None:
    reading = " ".join(f"a{number}: viewer {{ id }}" for number in range(600))
    paging = " ".join(f"a{number}: users(first: 100) {{ nodes {{ id }} }}" for number in range(101))
    plain = " ".join(f"a{number}: __typename" for number in range(1_000))

    assert server.post(f"{{ {reading} }}").status_code == 200
    assert refusal(server.post(f"{{ {paging} }}")).startswith("the query could read over 10000 records")
    assert len(server.post(f"{{ {plain} }}").json()["data"]) == 1_000


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


def test_deep_nesting_in_the_variables_of_a_get_is_400(server: Served) -> None:
    for levels in (65, 1_000, 2_000):
        variables = '{"a":' * levels + "1" + "}" * levels
        refusal(server.http.get("/graphql", params={"query": "{ __typename }", "variables": variables}))


def test_variables_may_be_as_deep_as_the_limit() -> None:
    check_nesting({"a": {"b": [1]}}, 3)
    with pytest.raises(OverLimit, match="nested over 2 levels deep"):
        check_nesting({"a": {"b": [1]}}, 2)


def test_deep_extensions_are_ignored_or_refused(server: Served) -> None:
    for levels in (65, 1_000, 100_000):
        body = b'{"query": "{ __typename }", "extensions": ' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"
        assert server.http.post("/graphql", content=body, headers=HEADERS).status_code in {200, 400}


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

    assert refusal(server.post(query, variables={"n": value})).startswith("Variable '$n' has invalid value: Int cannot")


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
        assert error["extensions"] == {"code": "BAD_INPUT"}
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
        assert error["extensions"] == {"code": "BAD_INPUT"}
        assert error["message"].startswith(f"{cursor[:60]!r} is not a cursor of this list; ")


@pytest.mark.parametrize("text", ["", " ", "#", "a#b", "\x00", "\x85", "x" * 3_000, "é" * 2_000])
def test_text_that_cannot_be_in_a_key_is_a_clear_error(server: Served, text: str) -> None:
    for query in (
        "query ($text: String!) { userByUsername(username: $text) { id } }",
        "query ($text: String!) { userByEmail(email: $text) { id } }",
    ):
        answer = server.post(query, variables={"text": text})

        assert answer.status_code == 200
        (error,) = answer.json()["errors"]
        assert error["extensions"] == {"code": "BAD_INPUT"}


@pytest.mark.parametrize("text", ["\ufffe", "\U0010ffff", "İ", "é", "ß" * 100, "\u202e", "💥"])
def test_unusual_text_is_looked_up_and_not_found(server: Served, text: str) -> None:
    query = "query ($text: String!) { a: userByUsername(username: $text) { id } b: userByEmail(email: $text) { id } }"

    assert server.post(query, variables={"text": text}).json() == {"data": {"a": None, "b": None}}


@pytest.mark.parametrize("text", ["", "#", "\x00", "\x7f", "\ufffe", "\U0010ffff", "İ", "x" * 3_000, "💥" * 3_000])
def test_accounts_refuse_strange_text_as_a_problem(server: Served, text: str) -> None:
    sign_up = "mutation ($input: SignUpInput!) { signUp(input: $input) { problems { code } } }"
    log_in = "mutation ($input: LogInInput!) { logIn(input: $input) { problems { code } } }"
    account = {"username": text, "email": text, "password": text, "displayName": text}

    signed_up = server.post(sign_up, variables={"input": account}).json()
    logged_in = server.post(log_in, variables={"input": {"login": text, "password": text}}).json()

    assert {problem["code"] for problem in signed_up["data"]["signUp"]["problems"]} == {"INVALID"}
    assert {problem["code"] for problem in logged_in["data"]["logIn"]["problems"]} <= {"INVALID", "TOO_MANY_ATTEMPTS"}


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


def test_a_long_operation_name_is_not_sent_back_whole(server: Served) -> None:
    answer = server.post("{ __typename }", operationName="x" * 900_000)

    assert refusal(answer) == f"there is no operation named {'x' * 60!r} in the query"


@pytest.mark.parametrize("query", ["%ff", "%ed%a0%80", "%00", "%", "%zz", "{__typename}%c3%28"])
def test_addresses_that_are_not_unicode_are_400(server: Served, query: str) -> None:
    answer = server.http.get(f"/graphql?query={query}", headers={"accept": GRAPHQL_RESPONSE})

    assert refusal(answer).startswith("Syntax Error: ")


anything_json = some.recursive(
    some.none() | some.booleans() | some.floats() | some.integers() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=8,
)
PUNCTUATION = ["{", "}", "(", ")", "...", ":", "=", "[", "]", "!", "$x", "@include", "1", '"x"']
NAMES = ["query", "mutation", "fragment", "on", "users", "first", "nodes", "ids", "id", "Query", "User", "__schema"]
graphql_like = some.lists(some.sampled_from([*PUNCTUATION, *NAMES]), max_size=20).map(" ".join)
request_like = some.fixed_dictionaries(
    {"query": graphql_like | some.text() | anything_json},
    optional={"variables": anything_json, "operationName": anything_json, "extensions": anything_json},
)
header_text = some.text(some.characters(min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip)


@given(
    body=some.binary() | anything_json | request_like,
    content_type=some.just("application/json") | header_text,
    accept=some.sampled_from(["*/*", GRAPHQL_RESPONSE]) | header_text,
    authorization=some.none() | header_text | header_text.map("Bearer x{}".format),
)
def test_whatever_is_posted_has_an_answer(
    server: Served, body: Any, content_type: str, accept: str, authorization: str | None
) -> None:
    headers = {"content-type": content_type, "accept": accept}
    if authorization is not None:
        headers["authorization"] = authorization
    content = body if isinstance(body, bytes) else httpx.Request("POST", "http://x", json=_sendable(body)).content

    answer = server.http.post("/graphql", content=content, headers=headers)

    assert answer.status_code in STATUSES
    assert set(answer.json()) <= {"data", "errors"}


@given(
    parameters=some.dictionaries(
        some.sampled_from(["query", "variables", "operationName", "extensions", "x"]),
        graphql_like | some.text(some.characters(exclude_categories=["Cs"])),
    ),
    accept=some.sampled_from(["*/*", GRAPHQL_RESPONSE]) | header_text,
)
def test_whatever_is_got_has_an_answer(server: Served, parameters: dict[str, str], accept: str) -> None:
    answer = server.http.get("/graphql", params=parameters, headers={"accept": accept})

    assert answer.status_code in STATUSES


def _sendable(value: Any) -> Any:
    """Omits text that httpx cannot encode; the tests above send it as bytes."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, list):
        return [_sendable(inner) for inner in value]
    if isinstance(value, dict):
        return {_sendable(name): _sendable(inner) for name, inner in value.items()}
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def test_a_query_that_is_only_long_is_400_before_it_is_read(server: Served) -> None:
    assert refusal(server.post("\n" * 400_000 + "{ x }" * 20)) == (
        "the query has over 100000 characters; ask in several queries"
    )


def test_a_query_too_repetitive_to_be_checked_says_what_to_do(server: Served) -> None:
    (error,) = server.post("{ " + "__typename " * 1000 + "}").json()["errors"]

    assert error["message"] == "the query repeats too many fields or fragments to be checked; ask in several queries"
    assert error["extensions"] == {"code": "INVALID_QUERY"}
