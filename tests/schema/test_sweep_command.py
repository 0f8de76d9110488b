"""`heartwood sweep`: deletes expired items now, and leaves AWS to itself."""

import asyncio

from tests.conftest import SECRET
from tests.datastore.maintenance.test_sweeping import over, person
from tests.support.command_line import heartwood


async def run(graph, endpoint, *arguments, **variables):
    given = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": graph.table.name, "AUTH_SECRET": SECRET, **variables}
    return await asyncio.to_thread(heartwood, "sweep", *arguments, **given)


async def test_it_says_how_many_items_it_deleted(graph, endpoint):
    await graph.table.batch_write(puts=[person("gone", over(1)), person("kept", None)])
    done = await run(graph, endpoint)
    assert (done.returncode, done.stdout) == (0, "1 expired items deleted\n")
    assert await graph.table.get(person("gone", 1).own_key, consistent=True) is None


async def test_where_dynamodb_does_it_the_command_does_nothing(graph, endpoint):
    done = await run(graph, endpoint, CHANGES="stream")
    assert done.returncode == 1
    assert done.stderr.startswith("DynamoDB deletes expired items of a table with a stream by itself: ")


async def test_a_rate_is_above_0(graph, endpoint):
    assert (await run(graph, endpoint, "--rate=0")).returncode == 2
