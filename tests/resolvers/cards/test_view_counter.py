"""Views are counted in memory and added every few seconds: exact, in few writes, without delaying requests."""

import asyncio
from typing import Any

import pytest

from datastore.cards import Card, CardStatus
from datastore.client import breaker
from datastore.client.errors import CircuitOpen, DatastoreError
from datastore.client.writes import Update
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.background import write_behind
from resolvers.cards import view_counter as module
from resolvers.cards.counts import counts_key
from resolvers.cards.view_counter import Views
from schema.http import process
from tests.resolvers.cards.test_collection_commands import command
from tests.resolvers.social.test_faults import in_conflict
from tests.support.cards import Workshop, counts_of_card
from tests.support.fault_proxy import FOR_EVER, Answer, Call, cut_after, error_500, throttled
from tests.support.graph import Graph, id_of, problem, viewer_of

VIEW = command("recordView", "recorded")


async def stocked(workshop: Workshop, number: int = 3) -> list[Card]:
    author, wood = await workshop.person("author"), await workshop.category("wood")
    return [await workshop.card(author, wood) for _ in range(number)]


async def counted(graph: Graph, *cards: Card) -> list[int]:
    return [(await counts_of_card(graph, card)).view_count for card in cards]


async def test_recording_a_view_reads_the_card_and_writes_nothing(graph, workshop):
    (card,) = await stocked(workshop, 1)

    asked = await graph.ask(VIEW, input={"cardId": id_of(card)})

    assert asked.data["recordView"] == {"recorded": True, "problems": []}
    assert asked.calls == {"GetItem": 1}
    assert await counted(graph, card) == [0]


async def test_views_of_anybody_are_counted_exactly_in_one_write_a_card(graph, faulty_graph, proxy, workshop):
    cards = await stocked(workshop)
    ada = await workshop.person("ada")
    viewers = [viewer_of(ada), faulty_graph.context().viewer]

    for times, card in zip((1, 4, 25), cards, strict=True):
        for turn in range(times):
            payload = await faulty_graph.command(VIEW, viewers[turn % 2], cardId=id_of(card))
            assert payload == {"recorded": True, "problems": []}
    noted = faulty_graph.services.views.count
    await faulty_graph.services.views.flush()

    assert await counted(graph, *cards) == [1, 4, 25]
    assert (noted, faulty_graph.services.views.count) == (3, 0)
    assert proxy.seen == {"GetItem": 30, "TransactWriteItems": 3}

    await faulty_graph.services.views.flush()

    assert proxy.seen == {"GetItem": 30, "TransactWriteItems": 3}


async def test_a_view_changes_nothing_else_about_a_card(graph, workshop):
    (card,) = await stocked(workshop, 1)
    graph.services.views.note(card.card_id)

    await graph.services.views.flush()

    assert await graph.table.get(card.own_key) == card
    counts = workshop.counts[card.card_id]
    assert await graph.table.get(counts.own_key) == counts.changed(view_count=1, updated_at=counts.updated_at)
    asked = await graph.ask("query ($id: ID!) { card(by: {id: $id}) { viewCount version } }", id=id_of(card))
    assert asked.data["card"] == {"viewCount": 1, "version": 1}


@pytest.mark.parametrize("kind", ["unknown", "draft", "archived", "deleted"])
async def test_what_not_everybody_sees_is_not_counted(graph, workshop, kind):
    (card,) = await stocked(workshop, 1)
    other = await workshop.card(
        await workshop.person("bob"),
        await workshop.category("iron"),
        {"draft": CardStatus.DRAFT, "archived": CardStatus.ARCHIVED}.get(kind, CardStatus.PUBLISHED),
    )
    if kind == "unknown":
        await graph.table.batch_write(deletes=[other.own_key, counts_key(other.card_id)])
    elif kind == "deleted":
        await graph.table.put(other.changed(deleted_at=other.created_at, listed_at=None))
        await graph.table.delete(counts_key(other.card_id))

    asked = await graph.command(VIEW, Viewer(user_id=other.author_id), cardId=id_of(other))
    noted = graph.services.views.count
    # Or it was public when it was viewed.
    for each in (other, card):
        graph.services.views.note(each.card_id)
    await graph.services.views.flush()

    no_card = problem("NOT_FOUND", "there is no such card", "input", "cardId")
    assert (asked, noted) == ({"recorded": None, "problems": [no_card]}, 0)
    assert await counted(graph, card) == [1]
    assert graph.services.views.count == 0
    assert await counted(graph, other) == [0]


async def test_a_request_counts_once_for_a_card_by_however_many_names(graph, workshop):
    one, other = await stocked(workshop, 2)
    named = [f'a{number}: recordView(input: {{cardId: "{id_of(one)}"}}) {{ recorded }}' for number in range(40)]
    named.append(f'b: recordView(input: {{cardId: "{id_of(other)}"}}) {{ recorded }}')

    asked = [await graph.ask(f"mutation {{ {' '.join(named)} }}", viewer) for viewer in (ANONYMOUS, Viewer("id-ada"))]
    await graph.services.views.flush()

    assert [{each["recorded"] for each in answer.data.values()} for answer in asked] == [{True}, {True}]
    assert [answer.calls for answer in asked] == [{"GetItem": 2}, {"GetItem": 2}]
    assert await counted(graph, one, other) == [2, 2]


async def test_so_many_views_of_one_person_or_address_count(graph, workshop, monkeypatch):
    assert (module.MOST_IN_WINDOW, module.WINDOW) == (60, 60)
    monkeypatch.setattr(module, "MOST_IN_WINDOW", 3)
    monkeypatch.setattr(module, "WINDOW", 10**11)
    monkeypatch.setattr(module, "MOST_VIEWERS", 2)
    (card,) = await stocked(workshop, 1)
    viewers = [ANONYMOUS] * 5 + [Viewer("id-ada")] * 4 + [Viewer("id-bob"), ANONYMOUS]

    asked = [await graph.ask(VIEW, viewer, input={"cardId": id_of(card)}) for viewer in viewers]
    await graph.services.views.flush()

    recorded = [each.data["recordView"]["recorded"] for each in asked]
    assert recorded == [True] * 3 + [False] * 2 + [True] * 3 + [False] * 3
    assert [each.calls for each in asked] == [{"GetItem": 1} if counts else {} for counts in recorded]
    assert await counted(graph, card) == [6]

    monkeypatch.setattr(module, "WINDOW", 10**8)  # another one
    assert (await graph.command(VIEW, cardId=id_of(card)))["recorded"] is True


async def test_only_the_id_of_a_card_is_one(graph, workshop):
    payload = await graph.command(VIEW, cardId=id_of(await workshop.person("ada")))

    assert payload["recorded"] is None
    assert [each["code"] for each in payload["problems"]] == ["INVALID"]
    assert graph.services.views.count == 0


async def flush_when_the_breaker_closes(views):
    while True:
        try:
            return await views.flush()
        except CircuitOpen:
            await asyncio.sleep(0.05)


async def test_what_cannot_be_written_waits_and_is_counted_once(graph, faulty_graph, proxy, workshop, monkeypatch):
    monkeypatch.setattr(module, "TIME_FOR_ONE", 1.0)
    cards, views = await stocked(workshop), faulty_graph.services.views
    proxy.will("TransactWriteItems", throttled, FOR_EVER)
    for card in cards:
        views.note(card.card_id)
    with pytest.raises(DatastoreError):
        await views.flush()
    stuck = await counted(graph, *cards)

    proxy.recover()
    for card in cards[:2]:  # these wait behind those that are on their way
        views.note(card.card_id)
    await flush_when_the_breaker_closes(views)
    first = await counted(graph, *cards)
    await views.flush()

    assert (stuck, first) == ([0, 0, 0], [1, 1, 1])
    assert await counted(graph, *cards) == [2, 2, 1]
    assert views.count == 0


async def test_one_card_that_is_throttled_does_not_hold_up_the_others(
    graph, faulty_graph, proxy, workshop, monkeypatch
):
    monkeypatch.setattr(module, "TIME_FOR_ONE", 1.0)
    cards, views = await stocked(workshop, 12), faulty_graph.services.views
    proxy.will("TransactWriteItems", throttled, FOR_EVER, when=lambda asked: cards[0].card_id in str(asked))
    for card in cards:
        views.note(card.card_id)

    with pytest.raises(DatastoreError):
        await views.flush()

    assert await counted(graph, *cards) == [0] + [1] * 11
    assert [*views.left()] == [(cards[0].card_id, 1)]


async def test_in_an_outage_a_few_are_tried_and_other_ones_first_the_next_time(
    graph, faulty_graph, proxy, workshop, monkeypatch
):
    monkeypatch.setattr(module, "TIME_FOR_ONE", 0.5)
    monkeypatch.setattr(breaker, "MOST_FAILURES", 1_000)  # it would keep most calls from being tried
    cards, views = await stocked(workshop, 20), faulty_graph.services.views
    tried: set[str] = set()

    def is_tried(asked: Any) -> bool:
        tried.update(card.card_id for card in cards if card.card_id in str(asked))
        return True

    proxy.will("TransactWriteItems", throttled, FOR_EVER, when=is_tried)
    for card in cards:
        views.note(card.card_id)
    rounds = []
    for _ in range(3):
        with pytest.raises(DatastoreError):
            await views.flush()
        rounds.append(len(tried))
    proxy.recover()
    await views.flush()

    assert rounds == [8, 16, 20]
    assert await counted(graph, *cards) == [1] * 20
    assert views.count == 0


async def test_a_server_that_stops_waits_for_so_long_and_logs_what_is_lost(
    faulty_graph, proxy, workshop, monkeypatch, caplog
):
    assert write_behind.TIME_TO_DRAIN < process.GRACE
    monkeypatch.setattr(write_behind, "TIME_TO_DRAIN", 0.1)
    cards, views = await stocked(workshop, 2), faulty_graph.services.views

    async def silent(call: Call) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    proxy.will("TransactWriteItems", silent, FOR_EVER)
    for card in cards:
        views.note(card.card_id)

    await views.drain()

    assert "2 cards' views are lost: TimeoutError()" in caplog.text
    for card in cards:
        assert f"lost: ('{card.card_id}', 1)" in caplog.text


async def test_one_card_that_cannot_be_written_stands_in_nobodys_way(graph, workshop, caplog):
    """Its item is damaged: DynamoDB will not add to it, now or ever."""
    cards = await stocked(workshop, 12)
    await graph.table.update(Update(counts_key(cards[0].card_id), raw={"viewCount": {"S": "many"}}))
    for card in cards:
        graph.services.views.note(card.card_id)

    await graph.services.views.flush()

    assert await counted(graph, *cards[1:]) == [1] * 11
    assert graph.services.views.count == 0
    assert cards[0].card_id in caplog.text


async def test_votes_at_the_same_time_do_not_lose_a_view(graph, faulty_graph, proxy, workshop):
    (card,) = await stocked(workshop, 1)
    proxy.will("TransactWriteItems", in_conflict, 2)
    faulty_graph.services.views.note(card.card_id)

    await faulty_graph.services.views.flush()

    assert await counted(graph, card) == [1]


async def test_a_lost_answer_is_not_counted_twice(graph, faulty_graph, proxy, workshop, monkeypatch, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken")
    monkeypatch.setattr(module, "TIME_FOR_ONE", 1.0)
    (card,) = await stocked(workshop, 1)
    views = faulty_graph.services.views
    # The write succeeds but its response is lost, and then nothing answers until the deadline.
    proxy.will("TransactWriteItems", cut_after, 1)
    proxy.will("TransactWriteItems", error_500, FOR_EVER)
    for _ in range(3):
        views.note(card.card_id)
    with pytest.raises(DatastoreError):
        await views.flush()
    views.note(card.card_id)

    proxy.recover()
    await views.flush()
    await views.flush()

    assert await counted(graph, card) == [4]


async def test_a_server_writes_by_itself_when_there_is_enough_and_at_its_end(graph, workshop, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 3)
    cards = await stocked(workshop)
    views = Views(graph.services.table)
    running = asyncio.create_task(views.run())
    for card in cards:
        views.note(card.card_id)
    while await counted(graph, *cards) != [1, 1, 1]:  # noqa: ASYNC110  it is the table that changes
        await asyncio.sleep(0.01)

    running.cancel()
    await asyncio.wait([running])
    views.note(cards[0].card_id)
    await views.drain()

    assert await counted(graph, *cards) == [2, 1, 1]
    assert views.count == 0


async def test_a_server_that_is_stopped_in_the_middle_counts_everything_once(
    graph, faulty_graph, proxy, workshop, engine_name
):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken")
    (card,) = await stocked(workshop, 1)
    views, reached = faulty_graph.services.views, asyncio.Event()

    async def written_and_silent(call: Call) -> Answer:
        await call.forward()
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    proxy.will("TransactWriteItems", written_and_silent, 1)
    views.note(card.card_id)
    views.is_full()
    running = asyncio.create_task(views.run())
    await reached.wait()
    running.cancel()
    await asyncio.wait([running])

    await views.drain()

    assert await counted(graph, card) == [1]
    assert views.count == 0


async def test_what_is_lost_at_the_end_is_logged(graph, faulty_graph, proxy, workshop, monkeypatch, caplog):
    monkeypatch.setattr(module, "TIME_FOR_ONE", 0.5)
    cards, views = await stocked(workshop, 2), faulty_graph.services.views
    proxy.will("TransactWriteItems", error_500, FOR_EVER)
    for card in (cards[0], cards[1], cards[1]):
        views.note(card.card_id)

    await views.drain()

    assert "2 cards' views are lost" in caplog.text
    for card, number in zip(cards, (1, 2), strict=True):
        assert f"lost: ('{card.card_id}', {number})" in caplog.text


async def test_views_wait_for_a_bounded_number_of_cards(graph, workshop, monkeypatch, caplog):
    assert module.MOST_WAITING == 10_000
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    cards = await stocked(workshop)

    recorded = [
        (await graph.command(VIEW, cardId=id_of(card)))["recorded"] for card in (cards[0], cards[1], cards[2], cards[0])
    ]
    await graph.services.views.flush()
    after = await graph.command(VIEW, cardId=id_of(cards[2]))

    assert recorded == [True, True, False, True]
    assert after["recorded"] is True
    assert cards[2].card_id in caplog.text
    assert await counted(graph, *cards) == [2, 1, 0]
