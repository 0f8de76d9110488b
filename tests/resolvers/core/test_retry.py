"""Retries of conditional writes."""

import pytest

from datastore.client.writes import Put, absent
from datastore.social import Post
from resolvers.core.problems import ProblemCode, Refused
from resolvers.core.retry import ATTEMPTS, retries_on_conflict

POST = Post(post_id="p1", user_id="u1", image_url="https://example.org/1.jpg")


async def test_a_conflict_runs_the_function_again_from_its_start(graph):
    load = graph.context().load
    await load.write(Put(POST))
    runs: list[str] = []

    @retries_on_conflict
    async def create(post_id: str, *, second: str) -> str:
        runs.append(post_id)
        free = post_id if len(runs) == 1 else second
        await load.write(Put(POST.changed(post_id=free), when=absent()))
        return free

    assert await create("p1", second="p2") == "p2"
    assert runs == ["p1", "p1"]


async def test_too_many_conflicts_are_a_problem(graph):
    load = graph.context().load
    await load.write(Put(POST))
    runs: list[int] = []

    @retries_on_conflict
    async def create() -> None:
        runs.append(1)
        await load.write(Put(POST, when=absent()))

    with pytest.raises(Refused) as raised:
        await create()

    (problem,) = raised.value.problems
    assert problem.code is ProblemCode.CONFLICT
    assert len(runs) == ATTEMPTS == 5
