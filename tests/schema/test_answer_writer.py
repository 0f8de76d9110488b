"""Answers are written in slices, and end when they are too large."""

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from schema.execution.introspection import Whole
from schema.execution.limits import OverLimit
from schema.http.answer_writer import SMALL_COST, _parts, write
from tests.support.serving import Served, a_table, serving

LARGE = SMALL_COST + 1
leaves = some.none() | some.booleans() | some.integers(-(2**53), 2**53) | some.text(some.characters(codec="utf-8"))
values = some.recursive(
    leaves, lambda inner: some.lists(inner) | some.dictionaries(some.text(some.characters(codec="utf-8")), inner)
)


@given(values)
def test_slices_are_the_same_json(value: Any) -> None:
    assert asyncio.run(write(value, LARGE, 10**9)) == orjson.dumps(value)


@pytest.mark.parametrize("cost", [1, LARGE])
async def test_an_answer_over_the_limit_is_ended(cost: int) -> None:
    body = {"data": {"nodes": [{"text": "x" * 100}] * 50}}
    size = len(orjson.dumps(body))

    assert len(await write(body, cost, size)) == size
    with pytest.raises(OverLimit, match=r"^the answer is over [\d,]+ bytes; ask for smaller pages or fewer fields$"):
        await write(body, cost, size - 1)


async def test_a_large_answer_is_not_written_beyond_the_limit() -> None:
    not_json = object()
    body = {"data": [{"text": "x" * 1_000, "more": []}, {"text": not_json, "more": []}]}

    with pytest.raises(OverLimit):
        await write(body, LARGE, 500)


async def test_an_introspection_is_one_part() -> None:
    body = {"data": Whole({"types": [{"fields": [{"name": "x"}]}]})}

    assert [*_parts(body, 40)] == [orjson.dumps(body)]


async def test_others_run_while_a_large_answer_is_written() -> None:
    body = {"data": [{"text": "x" * 100, "more": [{"id": number}]} for number in range(20_000)]}
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(others())
    await write(body, LARGE, 10**9)
    running.cancel()

    assert turns > 2


@pytest.fixture(scope="module")
def small(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as table_name, serving(endpoint, table_name, max_answer_bytes=1_000) as served:
        yield served


def test_the_client_learns_that_its_answer_is_too_large(small: Served) -> None:
    answer = small.post("{ __schema { types { name } } }")

    message = "the answer is over 1,000 bytes; ask for smaller pages or fewer fields"
    assert answer.status_code == 200
    assert answer.json() == {"data": None, "errors": [{"message": message, "extensions": {"code": "OVER_LIMIT"}}]}


def sign_up(name: str) -> str:
    tokens = " ".join(f"t{number}: token" for number in range(20))
    return f"""{name}: signUp(input: {{username: "{name}", email: "{name}@example.org", password: "long enough 7"}}) {{
        {tokens} problems {{ code }} }}"""


@pytest.mark.parametrize(
    ("fields", "outcome", "known"),
    [
        (sign_up("ada") + sign_up("bob"), "APPLIED", "The change was applied"),
        (
            sign_up("eve") + ' verifyEmail(input: {code: "x"}) { problems { code } }',
            "UNKNOWN",
            "The change may have been",
        ),
    ],
    ids=["all are applied", "one is refused"],
)
def test_the_outcome_of_mutations_is_exact_if_only_the_answer_is_too_large(
    small: Served, fields: str, outcome: str, known: str
) -> None:
    (error,) = small.post(f"mutation {{ {fields} }}").json()["errors"]

    assert error["extensions"] == {"code": "OVER_LIMIT", "outcome": outcome}
    assert f". {known}" in error["message"]
