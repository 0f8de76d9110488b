"""The index is kept up to date with the change log, and rebuilt from the table."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from datastore.changes import log as change_log
from datastore.changes.records import ChangeBatch
from resolvers.search import embedded, keeping
from resolvers.search.embedded import EmbeddedEngine
from resolvers.search.index import SearchIndex
from resolvers.search.keeping import IndexKeeper
from tests.resolvers.search.engines import found
from tests.support.graph import id_of

SEARCH = "query ($text: String!) { search(query: $text) { isPartial nodes { ... on Node { id } } } }"


async def ids(graph, text):
    return {node["id"] for node in (await graph.ask(SEARCH, text=text)).data["search"]["nodes"]}


async def until(condition):
    """Waits for a condition of the running index."""
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def running(graph):
    """Runs what keeps the index of a server: the tails of the log, and the index itself."""
    services = graph.services
    running = [asyncio.create_task(each.run()) for each in (*services.changes.tails, services.index_keeper)]
    yield services.search_index
    for task in running:
        task.cancel()
    await asyncio.wait(running)


def another(graph) -> IndexKeeper:
    """Returns the keeper of the index in another process of the same machine."""
    services = graph.services
    search_index = SearchIndex(EmbeddedEngine(services.search_index.engine._folder))
    return IndexKeeper(search_index, services.table, services.changes.log, services.changes.tails, services.options)


async def test_a_running_server_builds_its_index_and_follows_the_log(graph, society):
    ada = await society.person("ada")
    old = await society.post(ada, caption="An old oak")
    async with running(graph) as search_index:
        await until(lambda: _is(lambda: search_index.rebuilds == 1 and not search_index.is_partial))
        assert await ids(graph, "oak") == {id_of(old)}
        new = await society.post(ada, caption="A new oak")
        await graph.services.changes.settle()
        await until(lambda: _has(graph, "oak", {id_of(old), id_of(new)}))
        await graph.table.delete(old.own_key)
        await graph.services.changes.settle()
        await until(lambda: _has(graph, "oak", {id_of(new)}))
        assert (search_index.is_writer, search_index.rebuilds) == (True, 1)
        await until(lambda: _is(lambda: search_index.lag == 0.0))


async def test_an_index_without_changes_takes_no_time_from_the_server(graph, monkeypatch):
    engine, turns = graph.services.search_index.engine, []
    asked = engine.wants_rebuild

    async def counted():
        turns.append(1)
        return await asked()

    monkeypatch.setattr(engine, "wants_rebuild", counted)
    # The positions are due at any time, and the pause between two looks never ends.
    monkeypatch.setattr(keeping, "STORE_POSITIONS_EVERY", 0.0)
    monkeypatch.setattr(keeping, "PAUSE", 3600.0)
    async with running(graph) as search_index:
        await until(lambda: _is(lambda: search_index.rebuilds == 1))
        turns.clear()
        for _ in range(200):
            await asyncio.sleep(0)
    assert len(turns) <= 1


async def _is(condition):
    return condition()


async def _has(graph, text, wanted):
    return await ids(graph, text) == wanted


async def test_a_rebuild_reads_by_queries_and_batches_only(graph, society, workshop):
    ada, wood = await society.person("ada"), await workshop.category("wood", name="Wood")
    await society.post(ada, caption="An oak")
    await workshop.card(ada, wood, title="Oak")
    search_index = graph.services.search_index
    usage = graph.services.index_keeper._table.usage
    await graph.services.index_keeper.settle()
    assert set(usage.calls) <= {"Query", "BatchGetItem", "GetItem"}
    assert search_index.rebuilds == 1
    await graph.services.index_keeper.settle()
    assert search_index.rebuilds == 1


async def test_changes_after_the_last_commit_are_applied_by_the_next_process(graph, society):
    ada = await society.person("ada")
    await graph.settle_search()
    post = await society.post(ada, caption="An oak")
    await graph.services.changes.settle()
    await graph.services.index_keeper.close()
    after = another(graph)
    await after.engine.lock()
    await after.engine.open()
    await after.settle()
    assert after.index.rebuilds == 0
    assert len(await found(after.engine, "oak")) == 1
    assert post.post_id in (await found(after.engine, "oak"))[0]
    await after.close()


async def test_an_index_that_is_older_than_the_log_is_rebuilt(graph, society, monkeypatch):
    monkeypatch.setattr(change_log, "GAPS_CLOSE", timedelta(0))
    ada = await society.person("ada")
    await graph.settle_search()
    for number in range(3):
        await society.post(ada, caption=f"Oak {number}")
        await graph.services.changes.settle()
    page = await graph.table.query(ChangeBatch.within(partition=0), limit=100)
    # The oldest of the new batches has expired.
    positions = await graph.services.search_index.engine.current.positions()
    gone = [batch for batch in page.records if batch.sequence == positions[0] + 1]
    await graph.table.batch_write(deletes=[batch.own_key for batch in gone])
    with pytest.raises(keeping.PositionLost):
        await graph.services.index_keeper.settle()
    await graph.services.index_keeper.build()
    assert len(await ids(graph, "oak")) == 3


async def test_an_index_of_another_log_is_rebuilt(graph, society):
    ada = await society.person("ada")
    search_index = graph.services.search_index
    generation = await search_index.engine.begin()
    await generation.commit({0: 10_000_000})
    await search_index.engine.switch(generation)
    await society.post(ada, caption="An oak")
    await graph.services.index_keeper.settle()
    assert (search_index.rebuilds, len(await ids(graph, "oak"))) == (1, 1)


async def test_another_version_of_the_mapping_is_another_index(graph, society, monkeypatch):
    ada = await society.person("ada")
    await society.post(ada, caption="An oak")
    await graph.settle_search()
    await graph.services.index_keeper.close()
    monkeypatch.setattr(embedded, "VERSION", 999_999)
    after = another(graph)
    await after.engine.lock()
    await after.engine.open()
    assert after.engine.current is None
    await after.settle()
    assert after.index.rebuilds == 1
    assert [each.name.split("-")[0] for each in after.engine._folder.glob("v*-*")] == ["v999999"]
    await after.close()


async def test_a_damaged_index_is_rebuilt(graph, society):
    ada = await society.person("ada")
    await society.post(ada, caption="An oak")
    await graph.settle_search()
    engine = graph.services.search_index.engine
    meta = engine._folder / engine.current.name / "meta.json"
    await graph.services.index_keeper.close()
    meta.write_text("{}")
    after = another(graph)
    await after.engine.lock()
    await after.engine.open()
    assert after.engine.current is None
    await after.settle()
    assert (after.index.rebuilds, len(await found(after.engine, "oak"))) == (1, 1)
    await after.close()


async def test_an_index_that_is_lost_while_the_server_runs_is_rebuilt(graph, society):
    ada = await society.person("ada")
    old = await society.post(ada, caption="An old oak")
    async with running(graph) as search_index:
        await until(lambda: _is(lambda: search_index.rebuilds == 1 and not search_index.is_partial))
        shutil.rmtree(search_index.engine._folder / search_index.engine.current.name)
        new = await society.post(ada, caption="A new oak")
        await graph.services.changes.settle()
        await until(lambda: _is(lambda: search_index.rebuilds == 2 and not search_index.is_partial))
        assert await ids(graph, "oak") == {id_of(old), id_of(new)}


async def test_one_process_writes_and_others_read(graph, society):
    ada = await society.person("ada")
    await graph.settle_search()
    writer = graph.services.search_index.engine
    assert await writer.lock()
    reader = another(graph)
    assert not await reader.engine.lock()
    await society.post(ada, caption="An oak")
    await graph.settle()
    await reader.engine.open()
    assert len(await found(reader.engine, "oak")) == 1
    await graph.services.index_keeper.build()
    await society.post(ada, caption="Another oak")
    await graph.settle()
    await reader.engine.open()
    assert len(await found(reader.engine, "oak")) == 2
    writer.unlock()
    assert await reader.engine.lock()
    await reader.close()


async def test_while_it_is_built_for_the_first_time_results_are_partial(graph, society, monkeypatch):
    ada = await society.person("ada")
    await society.post(ada, caption="An oak")
    reached, may_go_on = asyncio.Event(), asyncio.Event()
    rebuild = keeping.rebuild

    async def slowly(table, generation, options, progress):
        await rebuild(table, generation, options, progress)
        await generation.commit(None)
        reached.set()
        await may_go_on.wait()

    monkeypatch.setattr(keeping, "rebuild", slowly)
    building = asyncio.create_task(graph.services.index_keeper.build())
    await reached.wait()
    asked = await graph.ask(SEARCH, text="oak")
    assert (asked.data["search"]["isPartial"], len(asked.data["search"]["nodes"])) == (True, 1)
    assert graph.services.search_index.progress["Post"] == 1
    may_go_on.set()
    await building
    assert (await graph.ask(SEARCH, text="oak")).data["search"]["isPartial"] is False


WRITES = """
import asyncio, sys
from pathlib import Path
from tests.resolvers.search.engines import document
from resolvers.search.embedded import EmbeddedEngine

async def main():
    engine = EmbeddedEngine(Path(sys.argv[1]))
    assert await engine.lock()
    await engine.open()
    generation = engine.current or await engine.begin()
    number = ((await generation.positions()) or {0: 0})[0]
    await engine.switch(generation)
    while True:
        number += 1
        documents = [document(f"{number} {each}", f"Oak {number}") for each in range(20)]
        await generation.update(documents, [], version=number)
        await generation.commit({0: number})
        print(number, flush=True)

asyncio.run(main())
"""


async def test_killing_the_writer_loses_nothing_that_was_committed(tmp_path):
    root = Path(__file__).parents[3]
    last = 0
    for _ in range(3):
        writer = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", WRITES, str(tmp_path)], stdout=subprocess.PIPE, cwd=root, text=True
        )
        assert writer.stdout is not None
        for _ in range(3):
            last = int(await asyncio.to_thread(writer.stdout.readline))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        engine = EmbeddedEngine(tmp_path)
        assert await engine.lock()
        await engine.open()
        assert engine.current is not None
        positions = await engine.current.positions()
        # The kill came during one of the next commits.
        assert positions is not None
        assert positions[0] >= last
        assert len(await found(engine, f'"oak {positions[0]}"', limit=100)) == 20
        assert await found(engine, f'"oak {positions[0] + 1}"') == []
        await engine.close()
