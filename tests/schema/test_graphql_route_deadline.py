"""REQUEST_TIMEOUT ends a request at any stage."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from schema.execution.introspection import Introspection
from tests.support.serving import Served, a_table, serving

ENDED = "the request took over 0.5 seconds and was ended; ask for less"
SIGN_UP = """mutation { signUp(input: {username: "ada", email: "ada@example.org", password: "long enough 7"}) {
    token problems { message } } }"""


@pytest.fixture(scope="module")
def hasty(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as table_name, serving(endpoint, table_name, request_timeout=0.5) as served:
        yield served


def test_a_query_that_takes_too_long_is_ended(hasty: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = threading.Event()
    monkeypatch.setattr(Introspection, "_compute", lambda *_: finish.wait(30))

    answer = hasty.post("{ __schema { queryType { name } } }")
    finish.set()

    assert answer.json() == {"data": None, "errors": [{"message": ENDED, "extensions": {"code": "TIMEOUT"}}]}
    assert hasty.post("{ __typename }").json() == {"data": {"__typename": "Query"}}


def test_a_mutation_that_is_ended_may_have_been_applied(hasty: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    async def never(_: str) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(hasty.services.passwords, "hash", never)

    (error,) = hasty.post(SIGN_UP).json()["errors"]

    assert error["extensions"] == {"code": "TIMEOUT", "outcome": "UNKNOWN"}
    assert error["message"] == f"{ENDED}. The mutation may have been applied: check before you send it again"
    assert ended.wait(5), "the command goes on"
