"""A healthy table has no findings, after any history."""

import asyncio
import time

import pytest

from datastore.client.writes import Update
from resolvers import demo
from resolvers.accounts.lifecycle import match_works_to_account, purge_account
from resolvers.background.jobs import queued
from tests.resolvers.maintenance.conftest import checking
from tests.support.graph import id_of, viewer_of
from tests.support.history import History


@pytest.fixture
async def history(graph, workshop, website, town):
    async def begin(seed: int) -> History:
        people = [await graph.add_user(name) for name in ("ada", "bob", "cyd", "dan")]
        category = await workshop.category("wood")
        await website.tenant()
        site = await town.site(people[0])
        return History(graph, seed, people, id_of(category), id_of(site))

    return begin


async def test_the_demo_data_is_consistent(graph, check):
    await demo.load(graph.table, graph.services.passwords)
    assert await check() == []
    await graph.settle(jobs=True)
    assert await check() == []


@pytest.mark.parametrize("seed", range(3))
async def test_random_histories_are_consistent_at_any_time(graph, check, history, seed):
    past = await history(seed)
    for _ in range(3):
        await past.run(40)
        assert await check() == []
    await graph.settle(jobs=True)
    assert await check() == []


async def test_a_check_under_concurrent_writes_has_no_findings(graph, tmp_path, history):
    past = await history(7)
    await past.run(60)
    writing = asyncio.create_task(past.run(80))
    number = 0
    while not writing.done() or not number:
        number += 1
        under_way = checking(graph, tmp_path / f"{number}.sqlite", segments=2, rounds=3)
        await under_way.run()
        assert [*under_way.findings()] == []
        under_way.work.delete()
    await writing


DELETE = "mutation { deleteAccount { problems { message } } }"
RESTORE = "mutation { restoreAccount { problems { message } } }"


async def test_works_of_deleted_restored_and_purged_accounts_are_consistent(graph, check, history):
    past = await history(11)
    await past.run(120)
    await graph.settle(jobs=True)
    ada, bob, *_ = past.people
    for user in (ada, bob):
        await graph.ask(DELETE, viewer_of(user))
    assert await check() == []
    for user in (ada, bob):
        await match_works_to_account(graph.context().load, user_id=user.user_id)
    assert await check() == []
    await graph.ask(RESTORE, viewer_of(ada))
    await graph.settle(jobs=True)
    assert await check() == []


async def test_a_purge_that_is_under_way_has_no_findings(graph, check, tmp_path, history):
    past = await history(5)
    await past.run(120)
    await graph.settle(jobs=True)
    user = past.people[1]
    await graph.ask(DELETE, viewer_of(user))
    await graph.settle(jobs=True)
    # As if 30 days were over.
    over = Update(user.own_key, set={"expires_at": int(time.time()) - 1})
    await graph.table.transact(over, queued(purge_account, user_id=user.user_id))
    purging = asyncio.create_task(graph.settle(jobs=True))
    for number in range(3):
        under_way = checking(graph, tmp_path / f"{number}.sqlite", rounds=3)
        await under_way.run()
        assert [*under_way.findings()] == []
        under_way.work.delete()
    await purging
    assert await check() == []
    assert (await graph.table.get(user.own_key, consistent=True)) is None
