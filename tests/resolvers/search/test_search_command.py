"""`heartwood search` shows, rebuilds and cleans up."""

from datastore.local.settings import TableSettings
from resolvers.search import search_command
from resolvers.search.embedded import EmbeddedEngine
from resolvers.search.search_command import delete_terms
from tests.resolvers.search.engines import document, filled
from tests.resolvers.search.test_keeping import running, until
from tests.support.command_line import heartwood


async def test_terms_of_the_former_index_are_deleted_by_queries(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood")
    cards = [await workshop.card(ada, wood) for _ in range(3)]
    before = await graph.items()
    for card in cards:
        terms = [{"PK": {"S": card.own_key.pk}, "SK": {"S": f"SEARCH#term{number}"}} for number in range(60)]
        for start in range(0, 60, 20):
            await graph.table._write_batch([{"PutRequest": {"Item": item}} for item in terms[start : start + 20]])
    assert await delete_terms(graph.table) == 180
    assert await graph.items() == before


async def test_an_operator_may_ask_for_a_rebuild(graph, society):
    await society.person("ada")
    async with running(graph) as search_index:
        await until(lambda: _rebuilds(search_index, 1))
        (search_index.engine._folder / search_command.REBUILD).touch()
        await until(lambda: _rebuilds(search_index, 2))


async def _rebuilds(search_index, count):
    return search_index.rebuilds == count and not search_index.is_partial


def test_without_an_index_it_says_what_builds_one(tmp_path):
    for action in ("show", "rebuild"):
        done = heartwood("search", action, DATA_DIR=str(tmp_path))
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("there is no search index in ")
        assert done.stdout.endswith("; a server builds it when it starts\n")


async def test_it_shows_the_index_and_asks_for_a_rebuild(tmp_path):
    folder = TableSettings(data_dir=tmp_path).search_folder
    engine = EmbeddedEngine(folder)
    assert await engine.lock()
    await filled(engine, document("1", "Oak"))
    assert engine.current is not None
    shown = heartwood("search", "show", DATA_DIR=str(tmp_path))
    assert shown.stdout.startswith(f"{folder / engine.current.name}: ")
    assert not await engine.wants_rebuild()
    assert heartwood("search", "rebuild", DATA_DIR=str(tmp_path)).returncode == 0
    assert await engine.wants_rebuild()
    assert not await engine.wants_rebuild()
    await engine.close()
