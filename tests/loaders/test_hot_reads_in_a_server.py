"""Hot data in the server: what a viewer may see is decided for each request, and the log and the metrics tell of it."""

import time
from collections.abc import Iterator

import pytest

from datastore.cards import CardStatus
from datastore.changes.tail import PAUSE_IF_CACHED
from tests.schema.test_metrics import values
from tests.support.graph import id_of, listed, viewer_of
from tests.support.serving import Served, a_table, serving, until

FEED = "{ feed(first: 5) { nodes { id } } }"
CARD = "query ($id: ID!) { card(by: {id: $id}) { id title } }"
USERS = "{ users(first: 5) { nodes { username } } }"
SIGN_UP = """mutation { signUp(input: {username: "ada", email: "ada@example.org", password: "correct horse battery"}) {
  problems { message } } }"""


async def test_a_draft_in_memory_is_shown_only_to_its_author(hot, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"), CardStatus.DRAFT)
    await hot.hears()
    hot.waits()
    await hot.graph.ask(CARD, viewer_of(ada), id=id_of(card))

    shown = await hot.graph.ask(CARD, viewer_of(ada), id=id_of(card))
    hidden = await hot.graph.ask(CARD, viewer_of(bob), id=id_of(card))

    assert (shown.data["card"]["title"], hidden.data["card"]) == (card.title, None)
    assert (shown.calls, hidden.calls) == ({}, {})


async def test_what_expires_in_memory_is_hidden(hot, society):
    ada = await society.person("ada")
    expires_at = int(time.time()) + 4
    stays, goes = await society.post(ada), await society.post(ada, expires_at=expires_at)
    await hot.hears()
    hot.waits()
    assert (await hot.graph.ask(FEED)).data == {"feed": listed(goes, stays)}

    until(lambda: time.time() > expires_at)
    answer = await hot.graph.ask(FEED)

    assert (answer.data, answer.calls) == ({"feed": listed(stays)}, {})


async def test_works_of_an_account_that_was_deleted_a_moment_ago_are_hidden(hot, society):
    post = await society.post(await society.person("ada"))
    await hot.hears()
    hot.waits()
    assert (await hot.graph.ask(FEED)).data == {"feed": listed(post)}

    hot.graph.services.hidden_accounts.add("id-ada")
    answer = await hot.graph.ask(FEED)

    assert (answer.data, answer.calls) == ({"feed": listed()}, {})


async def test_a_read_from_memory_costs_no_capacity_and_is_counted(hot, society):
    await society.post(await society.person("ada"))
    await hot.hears()
    hot.waits()

    first, second = await hot.graph.ask(FEED), await hot.graph.ask(FEED)

    assert (first.usage.cached, first.usage.read_units > 0) == (0, True)
    assert (second.usage.cached, second.usage.read_units, second.calls) == (1, 0, {})


@pytest.fixture(scope="module")
def warm(endpoint: str) -> Iterator[tuple[Served, Served]]:
    """A server with hot data, and one without, on the same table."""
    with (
        a_table(endpoint) as table_name,
        serving(endpoint, table_name, cache_mb=10) as cached,
        serving(endpoint, table_name) as other,
    ):
        yield cached, other


def test_a_running_server_answers_from_memory_and_hears_of_other_servers(warm) -> None:
    cached, other = warm
    assert cached.services.changes.tails[0].pause == PAUSE_IF_CACHED

    def hits() -> float:
        cached.post(USERS)
        return values(cached)['heartwood_cache_reads_total{answer="hit"}']

    until(lambda: hits() > 0)
    now = values(cached)
    assert now["heartwood_cache_entries"] == 1
    assert 1_000 < now["heartwood_cache_bytes"] < now["heartwood_cache_limit_bytes"] == 10_000_000
    assert now["heartwood_cache_evictions_total"] == now["heartwood_cache_corrections_total"] == 0

    other.post(SIGN_UP)
    until(lambda: cached.post(USERS).json()["data"]["users"]["nodes"] == [{"username": "ada"}])
    now = values(cached)
    assert now["heartwood_cache_invalidations_total"] >= 1
    assert now["heartwood_cache_corrections_total"] >= 1
    assert not any(name.startswith("heartwood_cache_") for name in values(other))
