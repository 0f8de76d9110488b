"""Any request gets a response, never an internal error."""

from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as some

from tests.support.serving import GRAPHQL_RESPONSE, Served

STATUSES = {200, 400, 401, 405, 406, 413, 415}
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
