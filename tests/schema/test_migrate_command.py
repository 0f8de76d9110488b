"""`heartwood migrate`: here, in the background, paused, and its report."""

import asyncio

import orjson

from datastore.accounts import User
from tests.conftest import SECRET
from tests.datastore.maintenance.test_migrating import OLD, person, put, young
from tests.support.command_line import heartwood

assert young


async def run(graph, endpoint, *arguments, command="migrate"):
    return await asyncio.to_thread(
        heartwood, command, *arguments, DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=graph.table.name, AUTH_SECRET=SECRET
    )


async def version(graph) -> str:
    return (await graph.table.stored_item(User.key(user_id="u1")))["schemaVersion"]["N"]


async def test_the_report_says_what_was_rewritten_and_which_upgrades_can_go(graph, endpoint):
    await put(graph.table, person(1), **OLD)

    before = await run(graph, endpoint, "--status")
    done = await run(graph, endpoint)
    status = await run(graph, endpoint, "--status", "--json")

    assert (before.returncode, before.stderr) == (1, "no migration has run; `heartwood migrate` begins one\n")
    assert done.returncode == 0, done.stderr
    assert await version(graph) == "2"
    lines = done.stdout.splitlines()
    assert lines[0] == "User  1 old, 1 rewritten, 0 left"
    assert "No old items are left." in lines
    assert "User: its upgrades can be removed, with upgrades_from=2" in lines
    assert (status.returncode, orjson.loads(status.stdout)["left"]) == (0, 0)


async def test_items_that_cannot_be_read_exit_with_1(graph, endpoint):
    await put(graph.table, person(1), **{**OLD, "username": {"N": "1"}})
    done = await run(graph, endpoint)
    assert done.returncode == 1
    assert "Old items are left that cannot be read: `heartwood check` names them." in done.stdout


async def test_servers_do_it_in_the_background(graph, endpoint):
    await put(graph.table, person(1), **OLD)
    queued = await run(graph, endpoint, "--background", "--rate=100")
    paused = await run(graph, endpoint, "--pause")
    await graph.settle(jobs=True)
    assert (queued.returncode, paused.returncode, await version(graph)) == (0, 0, "1")

    await run(graph, endpoint, "--background")
    await graph.settle(jobs=True)

    assert await version(graph) == "2"
    assert (await run(graph, endpoint, "--status")).returncode == 0
    assert (await run(graph, endpoint, "--pause")).stderr == "no migration is under way\n"


async def test_a_server_without_a_needed_upgrade_does_not_start(graph, endpoint, young):
    await put(graph.table, person(1))
    refused = await run(graph, endpoint, command="serve")
    assert refused.returncode == 1
    assert "the table may hold a Young of version 1" in refused.stderr
