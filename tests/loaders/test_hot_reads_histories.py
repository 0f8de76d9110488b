"""Hot data over random histories of commands: a server answers from memory as it would from the table."""

from typing import Any

import pytest

from tests.schema.test_live_queries_histories import CARDS, PAGES, PEOPLE
from tests.support.cms import ADMIN
from tests.support.graph import id_of, viewer_of
from tests.support.history import History

STEPS = 12


def plain(query: str) -> str:
    # Views are counted behind the requests, which no one has an answer to.
    return query.replace(" @live(throttle: 50)", "").replace("viewCount", "")


class Asking:
    """Asks the server with hot data and one without, and compares the answers."""

    def __init__(self, hot, graph, people, category: str) -> None:
        self._hot, self._graph = hot, graph
        self._asked: list[tuple[str, Any, dict[str, str]]] = [(plain(PEOPLE), viewer_of(each), {}) for each in people]
        self._asked += [(plain(CARDS), viewer_of(people[2]), {"category": category}), (plain(PAGES), ADMIN, {})]

    async def compare(self) -> None:
        for query, viewer, given in self._asked:
            expected = (await self._graph.ask(query, viewer, **given)).data
            assert (await self._hot.graph.ask(query, viewer, **given)).data == expected


@pytest.fixture
async def world(graph, workshop, website, town):
    people = [await workshop.person(name) for name in ("ada", "bob", "cyd")]
    category = id_of(await workshop.category("wood"))
    await website.tenant()
    return people, category, id_of(await town.site(people[0]))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_what_another_server_does_is_seen_as_soon_as_it_is_heard(hot, graph, world, seed):
    people, category, site = world
    history, asking = History(graph, seed, people, category, site), Asking(hot, graph, people, category)
    await hot.hears()
    hot.waits()

    for step in range(STEPS):
        await history.run(4)
        await graph.settle(jobs=step % 4 == 0)
        await hot.hears()
        await asking.compare()
        if step % 3 == seed % 3:
            hot.waits()

    assert hot.data.hits > hot.data.misses
    assert hot.data.corrections > STEPS


@pytest.mark.parametrize("seed", [4, 5, 6])
async def test_what_the_server_does_itself_is_seen_at_once(hot, graph, world, seed):
    people, category, site = world
    history, asking = History(hot.graph, seed, people, category, site), Asking(hot, graph, people, category)
    await hot.hears()
    hot.waits()

    for step in range(STEPS * 2):
        await history.run(2)
        await asking.compare()
        if step % 5 == seed % 5:
            # The log tells of all of these writes again, and of what the processors have written.
            await hot.hears()
            await asking.compare()
            hot.waits()

    assert hot.data.corrections > STEPS
