"""GraphQL over HTTP: methods, media types, status codes."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from tests.support.serving import GRAPHQL_RESPONSE, ROOT, Served, serving

JSON = "application/json"
TYPENAME = {"data": {"__typename": "Query"}}
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
TWO = "query One { one: __typename } query Two { two: __typename }"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON, JSON),
        ("APPLICATION/JSON", JSON),
        (f"{JSON}; charset=utf-8", JSON),
        (GRAPHQL_RESPONSE, GRAPHQL_RESPONSE),
        (f"{GRAPHQL_RESPONSE}; charset=utf-8, {JSON}; charset=utf-8", GRAPHQL_RESPONSE),
        (f"{JSON}, {GRAPHQL_RESPONSE}", JSON),
        (f"{JSON};q=0.9, {GRAPHQL_RESPONSE}", GRAPHQL_RESPONSE),
        (f"{GRAPHQL_RESPONSE};q=0.1, {JSON};q=0.2", JSON),
        (f"{GRAPHQL_RESPONSE};q=0, */*", JSON),
        (f"text/plain, {GRAPHQL_RESPONSE};q=0.1", GRAPHQL_RESPONSE),
        ("text/plain, */*;q=0.1", JSON),
        (f"{JSON};q=nonsense, {GRAPHQL_RESPONSE};q=0.5", GRAPHQL_RESPONSE),
        ("text/html", JSON),
    ],
)
def test_the_answer_has_the_media_type_that_is_accepted(server: Served, accept: str | None, media_type: str) -> None:
    request = server.http.build_request("POST", "/graphql", json={"query": "{ __typename }"})
    del request.headers["accept"]
    if accept is not None:
        request.headers["accept"] = accept

    answer = server.http.send(request)

    assert (answer.status_code, answer.headers["content-type"]) == (200, f"{media_type}; charset=utf-8")
    assert answer.json() == TYPENAME


@pytest.mark.parametrize(
    "accept",
    ["text/plain", "image/*", f"{JSON};q=0", f"{JSON};q=nonsense", "nonsense", ",", ";q=1", "text/html;q=0,x/y"],
)
def test_what_cannot_be_accepted_is_406_and_says_what_can(server: Served, accept: str) -> None:
    answer = server.http.post("/graphql", json={"query": "{ __typename }"}, headers={"accept": accept})

    assert answer.status_code == 406
    message = f"this answers with {GRAPHQL_RESPONSE} or {JSON}; accept one of them"
    assert answer.json() == {"errors": [{"message": message, "extensions": {"code": "NOT_ACCEPTABLE"}}]}


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/graphql",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/jsonx",
    ],
)
def test_a_body_of_another_type_is_415(server: Served, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}

    answer = server.http.post("/graphql", content=b'{"query": "{ __typename }"}', headers=headers)

    assert answer.status_code == 415
    (error,) = answer.json()["errors"]
    assert error["message"].startswith("send the request as ")


@pytest.mark.parametrize(
    "content_type", ["application/json;charset=utf-8", 'Application/JSON; Charset="UTF-8"', "application/json; x=y"]
)
def test_json_in_utf_8_is_read_however_it_is_written(server: Served, content_type: str) -> None:
    body = b'{"query": "{ __typename }"}'

    assert server.http.post("/graphql", content=body, headers={"content-type": content_type}).json() == TYPENAME


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_RESPONSE])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON: "),
        (b"{", "the body is not JSON: "),
        (b"query=%7B__typename%7D", "the body is not JSON: "),
        (b"\xff", "the body is not JSON: "),
        (b"null", "send one JSON object with `query`"),
        (b'"{ __typename }"', "send one JSON object with `query`"),
        (b'[{"query": "{ __typename }"}]', "send one JSON object with `query`"),
        (b"{}", "`query` is missing"),
        (b'{"query": null}', "`query` is missing"),
        (b'{"query": 1}', "`query` is missing"),
        (b'{"query": ["{ __typename }"]}', "`query` is missing"),
        (b'{"query": "{ __typename }", "variables": []}', "`variables` must be a JSON object"),
        (b'{"query": "{ __typename }", "variables": "{}"}', "`variables` must be a JSON object"),
        (b'{"query": "{ __typename }", "variables": 0}', "`variables` must be a JSON object"),
        (b'{"query": "{ __typename }", "operationName": 7}', "`operationName` must be text"),
        (b'{"query": "{ __typename }", "operationName": {}}', "`operationName` must be text"),
        (b'{"query": "{ __typename }", "extensions": 1}', "`extensions` must be a JSON object"),
    ],
)
def test_what_is_no_graphql_request_is_400_whatever_is_accepted(
    server: Served, accept: str, body: bytes, message: str
) -> None:
    answer = server.http.post("/graphql", content=body, headers={"content-type": JSON, "accept": accept})

    assert (answer.status_code, answer.headers["content-type"]) == (400, f"{accept}; charset=utf-8")
    (error,) = answer.json()["errors"]
    assert error["message"].startswith(message)
    assert "data" not in answer.json()


@pytest.mark.parametrize(
    "body",
    [
        {"query": "{ __typename }", "variables": None, "operationName": None, "extensions": None},
        {"query": "{ __typename }", "variables": {}, "operationName": "", "extensions": {"anything": [1]}},
        {"query": "{ __typename }", "somethingElse": True},
        {"query": "query Only { __typename }"},
        {"query": "query Only { __typename }", "operationName": "Only"},
    ],
)
def test_what_may_be_left_out_may_be_null_or_empty_too(server: Served, body: dict[str, Any]) -> None:
    assert server.http.post("/graphql", json=body).json() == TYPENAME


@pytest.mark.parametrize(("accept", "status"), [(JSON, 200), (GRAPHQL_RESPONSE, 400)])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"query": ""}, "Syntax Error: Unexpected <EOF>."),
        ({"query": "{"}, "Syntax Error: Expected Name, found <EOF>."),
        ({"query": "{ nothing }"}, "Cannot query field 'nothing' on type 'Query'."),
        ({"query": "fragment F on Query { __typename }"}, "Fragment 'F' is never used."),
        (
            {"query": "query ($id: ID!) { node(id: $id) { id } }"},
            "Variable '$id' has an invalid value: it is missing; it must be of type ID!",
        ),
        ({"query": TWO}, "the query has several operations; say which with `operationName`"),
        ({"query": TWO, "operationName": "Three"}, "there is no operation named 'Three' in the query"),
        ({"query": "subscription { __typename }"}, None),
    ],
)
def test_a_document_that_cannot_run_is_400_for_those_who_know_the_media_type(
    server: Served, accept: str, status: int, body: dict[str, Any], message: str | None
) -> None:
    answer = server.http.post("/graphql", json=body, headers={"accept": accept})

    assert answer.status_code == status
    assert "data" not in answer.json()
    assert message is None or [error["message"] for error in answer.json()["errors"]] == [message]


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_RESPONSE])
def test_an_error_of_a_field_is_200_because_the_request_was_executed(server: Served, accept: str) -> None:
    answer = server.http.post("/graphql", json={"query": '{ node(id: "x") { id } }'}, headers={"accept": accept})

    assert answer.status_code == 200
    assert answer.json() == {
        "errors": [
            {
                "message": "'x' is not an id; use the field `id` of something this API returned",
                "locations": [{"line": 1, "column": 3}],
                "path": ["node"],
                "extensions": {"code": "INVALID"},
            }
        ],
        "data": {"node": None},
    }


@pytest.mark.parametrize(("name", "data"), [("One", {"one": "Query"}), ("Two", {"two": "Query"})])
def test_operation_name_chooses_the_operation(server: Served, name: str, data: dict[str, str]) -> None:
    by_post = server.http.post("/graphql", json={"query": TWO, "operationName": name})
    by_get = server.http.get("/graphql", params={"query": TWO, "operationName": name})

    assert by_post.json() == by_get.json() == {"data": data}


def test_get_reads_with_variables(server: Served) -> None:
    query = "query ($yes: Boolean!) { __typename @include(if: $yes) other: __typename @skip(if: $yes) }"

    answer = server.http.get("/graphql", params={"query": query, "variables": '{"yes": true}', "extensions": ""})

    assert (answer.status_code, answer.json()) == (200, TYPENAME)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "`query` is missing"),
        ({"quarry": "{ __typename }"}, "`query` is missing"),
        ({"query": "{ __typename }", "variables": "{"}, "`variables` is not JSON: "),
        ({"query": "{ __typename }", "variables": "[]"}, "`variables` must be a JSON object"),
        ({"query": "{ __typename }", "extensions": "1"}, "`extensions` must be a JSON object"),
    ],
)
def test_a_bad_get_is_400(server: Served, parameters: dict[str, str], message: str) -> None:
    answer = server.http.get("/graphql", params=parameters)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["message"].startswith(message)


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_RESPONSE])
def test_a_mutation_by_get_is_405_and_changes_nothing(server: Served, accept: str) -> None:
    mutation = """mutation {
        signUp(input: {username: "byget", email: "byget@example.org", password: "a long secret"}) { token }
    }"""

    answer = server.http.get("/graphql", params={"query": mutation}, headers={"accept": accept})

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    message = "a GET request can only read; send mutations by POST"
    assert answer.json() == {"errors": [{"message": message, "extensions": {"code": "METHOD_NOT_ALLOWED"}}]}
    assert server.post('{ user(by: {username: "byget"}) { id } }').json() == {"data": {"user": None}}


def test_a_query_beside_a_mutation_can_be_chosen_by_get(server: Served) -> None:
    parameters = {"query": "mutation Write { deleteAccount { problems { code } } } query Read { __typename }"}

    assert server.http.get("/graphql", params=parameters | {"operationName": "Read"}).json() == TYPENAME
    assert server.http.get("/graphql", params=parameters | {"operationName": "Write"}).status_code == 405


@pytest.mark.parametrize("method", ["PATCH", "OPTIONS"])
def test_other_methods_are_405(server: Served, method: str) -> None:
    answer = server.http.request(method, "/graphql")

    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"DELETE", "GET", "HEAD", "POST", "PUT"}


def test_head_is_get_without_the_body(server: Served) -> None:
    got = server.http.get("/graphql", params={"query": "{ __typename }"})
    head = server.http.head("/graphql", params={"query": "{ __typename }"})

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        ("text/html", True),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", True),
        (JSON, False),
        ("*/*", False),
        (f"{JSON}, text/html;q=0.1", False),
    ],
)
def test_browsers_get_a_page_and_clients_do_not(server: Served, accept: str, is_page: bool) -> None:
    answer = server.http.get("/graphql", headers={"accept": accept})

    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (
        (200, "text/html") if is_page else (400, JSON)
    )


@pytest.mark.parametrize(
    "query", ["{ __typename }", "mutation { signOutEverywhere { problems { code } } }", "{ nothing }"]
)
def test_a_link_with_a_query_opens_graphiql(server: Served, query: str) -> None:
    answer = server.http.get("/graphql", params={"query": query}, headers=BROWSER)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert query not in answer.text


def test_without_graphiql_a_link_with_a_query_is_answered(endpoint: str, table_name: str) -> None:
    with serving(endpoint, table_name, graphiql=False) as server:
        answer = server.http.get("/graphql", params={"query": "{ __typename }"}, headers=BROWSER)

    assert answer.json() == TYPENAME


def test_every_answer_has_a_request_id_of_its_own(server: Served) -> None:
    answers = [
        server.post("{ __typename }"),
        server.post("{ __typename }"),
        server.post("{"),
        server.http.post("/graphql", content=b"x"),
        server.http.post("/graphql", json={}, headers={"accept": "text/plain"}),
        server.post("{ __typename }", headers={"authorization": "Bearer x"}),
        server.http.get("/graphql", params={"query": "mutation { deleteAccount { problems { code } } }"}),
    ]

    ids = {answer.headers["x-request-id"] for answer in answers}
    assert [answer.status_code for answer in answers] == [200, 200, 400, 415, 406, 401, 405]
    assert len(ids) == len(answers)
    assert all(len(id) == 32 and int(id, 16) for id in ids)


@pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / "node_modules/graphql-http").exists(),
    reason="needs Node and `npm install`",
)
def test_all_audits_of_graphql_http_are_ok(server: Served) -> None:
    printed = subprocess.run(
        ["node", "tests/support/audit.mjs", f"{server.url}/graphql"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    results = json.loads(printed)
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == 61


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        ("{", {}, "INVALID_QUERY"),
        ("{ nothing }", {}, "INVALID_QUERY"),
        ("query A { viewer { id } } query B { viewer { id } }", {}, "INVALID_QUERY"),
        ("query ($id: ID!) { user(by: {id: $id}) { id } }", {}, "INVALID"),
        ('{ user(by: {id: "x"}) { id } }', {}, "INVALID"),
        ("{ users(first: 0) { nodes { id } } }", {}, "INVALID"),
        ('{ users(createdAfter: "yesterday") { nodes { id } } }', {}, "INVALID_QUERY"),
        ("{ nodes(ids: [%s]) { id } }" % ('"x" ' * 101), {}, "INVALID"),
    ],
)
def test_every_error_has_a_code(server: Served, query: str, variables: dict[str, str], code: str) -> None:
    errors = server.post(query, variables=variables).json()["errors"]

    assert {error["extensions"]["code"] for error in errors} == {code}
