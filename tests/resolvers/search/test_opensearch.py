"""Several servers share one index, on a real node of OpenSearch: `make test-opensearch` starts one."""

from pathlib import Path

import pytest

from datastore.changes.leases import Leases
from resolvers.search import opensearch as engine_module
from resolvers.search.engine import SearchUnavailable
from tests.conftest import services_at
from tests.resolvers.search.engines import OPENSEARCH, PREFIX, document, filled, found, opensearch_engine
from tests.support.graph import Graph, id_of
from tests.support.social import Society

pytestmark = pytest.mark.skipif(not OPENSEARCH, reason="OPENSEARCH_TEST_URL has no node")

SEARCH = "query ($text: String!) { search(query: $text) { totalCount isPartial nodes { ... on Node { id } } } }"


async def test_late_writes_of_a_former_writer_lose(tmp_path: Path):
    former, present = opensearch_engine(tmp_path), opensearch_engine(tmp_path)
    await filled(former, document("1", "Oak"), document("2", "Oak"))
    before = former.current
    assert before is not None
    await before.update([document("1", "Old oak"), document("2", "Old oak")], [], version=2)
    await present.open()
    assert present.current is not None
    await present.current.update([document("1", "New elm")], ["2"], version=3)
    await present.current.commit({0: 2})
    with pytest.raises(SearchUnavailable, match="Another server writes"):
        await before.commit({0: 3})
    await present.current.commit({0: 4})
    assert await found(present, "oak") == []
    assert await found(present, "elm") == ["1"]
    assert await present.current.positions() == {0: 4}
    await former.close()
    await present.close()


async def test_a_lease_chooses_one_writer_and_the_others_see_its_commits(graph, tmp_path: Path):
    one = opensearch_engine(tmp_path, Leases(graph.table))
    other = opensearch_engine(tmp_path, Leases(graph.table))
    assert (await one.lock(), await other.lock()) == (True, False)
    await filled(one, document("1", "Oak"))
    await other.open()
    assert await found(other, "oak") == ["1"]
    assert other.current is not None
    with pytest.raises(SearchUnavailable, match="Another server writes"):
        await other.current.update([document("2", "Oak")], [], version=2)
    for forbidden in (other.begin(), other.switch(other.current), other.wants_rebuild()):
        with pytest.raises(SearchUnavailable, match="Another server writes"):
            await forbidden
    await one.close()
    other._take_at = 0.0
    assert await other.lock()
    await other.current.update([document("2", "Oak")], [], version=2)
    await other.current.commit({0: 2})
    assert sorted(await found(other, "oak")) == ["1", "2"]
    await other.close()


async def test_a_rebuild_moves_the_alias_and_deletes_the_former_index(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(engine_module, "LOOK_EVERY", 0.0001)
    engine = opensearch_engine(tmp_path)
    await filled(engine, document("1", "Oak"))
    first = engine.current
    assert first is not None
    await engine.begin()
    assert len(await engine._generations()) == 2
    await filled(engine, document("2", "Oak"))
    assert engine.current is not None
    assert engine.current.name != first.name
    assert await engine._generations() == {engine.current.name: True}
    await engine.close()


async def test_an_operator_asks_for_a_rebuild_once(tmp_path: Path):
    engine, command = opensearch_engine(tmp_path), opensearch_engine(tmp_path)
    assert not await command.ask_for_rebuild()
    assert await command.shown() is None
    await filled(engine, document("1", "Oak"))
    assert not await engine.wants_rebuild()
    assert await command.ask_for_rebuild()
    engine._wish_at = 0.0
    assert await engine.wants_rebuild()
    engine._wish_at = 0.0
    assert not await engine.wants_rebuild()
    assert (await command.shown() or "").endswith("complete")
    await engine.close()
    await command.close()


async def test_words_of_two_texts_are_no_phrase_and_long_keys_are_indexed(tmp_path: Path):
    engine = opensearch_engine(tmp_path)
    key = "Card\x1f" + "x" * 1_000
    await filled(engine, document(key, "Old oak", "table of wood"))
    assert await found(engine, '"oak table"') == []
    assert await found(engine, '"table of wood"') == [key]
    assert engine.current is not None
    assert await engine.current.depends([key]) == {key: ""}
    await engine.current.update([], [key], version=2)
    await engine.current.commit({0: 2})
    assert await found(engine, "oak") == []
    await engine.close()


async def test_a_server_builds_and_follows_its_index_in_opensearch(endpoint, settings):
    there = settings.model_copy(update={"opensearch_url": OPENSEARCH, "opensearch_index": f"{PREFIX}-server"})
    async with services_at(endpoint, there) as services:
        graph = Graph(services)
        society = Society(graph)
        ada = await society.person("ada")
        old = await society.post(ada, caption="An old oak")
        assert await services.search_index.engine.lock()
        await graph.settle_search()
        new = await society.post(ada, caption="A new oak")
        await graph.settle_search()
        result = (await graph.ask(SEARCH, text="oaks")).data["search"]
        assert {node["id"] for node in result["nodes"]} == {id_of(old), id_of(new)}
        assert (result["totalCount"], result["isPartial"]) == (2, False)
        assert services.search_index.rebuilds == 1
