"""REQUEST_TIMEOUT ends a request at any stage."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from datastore.client.table import Table
from datastore.client.writes import Put, Write
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


def test_a_mutation_that_is_ended_before_it_writes_was_not_applied(
    hasty: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    async def never(_: str) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(hasty.services.passwords, "hash", never)

    (error,) = hasty.post(SIGN_UP).json()["errors"]

    assert error["extensions"] == {"code": "TIMEOUT", "outcome": "NOT_APPLIED"}
    assert error["message"] == f"{ENDED}. No change was made. Try again."
    assert ended.wait(5), "the command goes on"


def test_a_mutation_that_is_ended_while_it_writes_may_have_been_applied(
    hasty: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Table.write

    async def never_answer(self: Table, *writes: Write, **riders: Any) -> None:
        await write(self, *writes, **riders)
        if isinstance(writes[0], Put):
            await asyncio.Event().wait()

    monkeypatch.setattr(Table, "write", never_answer)
    key = {"idempotency-key": "a-slow-sign-up"}

    (error,) = hasty.post(SIGN_UP, key).json()["errors"]
    monkeypatch.undo()
    repeated = hasty.post(SIGN_UP, key).json()["data"]["signUp"]

    advice = "Repeat the request with the same Idempotency-Key: that applies it only once."
    assert error["extensions"] == {"code": "TIMEOUT", "outcome": "UNKNOWN"}
    assert error["message"] == f"{ENDED}. The change may have been applied. {advice}"
    assert repeated["problems"] == []
    assert repeated["token"]
