"""Retries, circuit breaker and timeouts of the transport, over real sockets."""

import asyncio
import json

import pytest

from datastore.client import breaker
from datastore.client.breaker import State
from datastore.client.budget import RETRIES, Usage
from datastore.client.errors import CircuitOpen, Conflict, Contended, Throttled, Unavailable
from datastore.client.table import Table
from datastore.client.timeouts import Timeouts
from datastore.client.transport import Transport
from datastore.client.writes import Put, absent
from datastore.local.endpoint import LOCAL_REGION
from tests.support.fault_proxy import Answer, Call, FaultProxy, all_unprocessed, hang, slow, throttled
from tests.support.tables import CREDENTIALS
from tests.system.faults import numbered, user_named

ADA = user_named("ada")
WANTED = 100


@pytest.fixture
def never_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "MOST_FAILURES", 1_000_000)


async def opened(proxy: FaultProxy, table: Table) -> None:
    proxy.will("GetItem", throttled)
    await asyncio.gather(*(table.get(ADA.own_key) for _ in range(WANTED)), return_exceptions=True)
    assert table.transport.breaker.state is State.OPEN


async def test_under_full_throttling_fewer_calls_are_sent_than_wanted(proxy: FaultProxy, faulty: Table) -> None:
    proxy.will("GetItem", throttled)

    found = await asyncio.gather(*(faulty.get(ADA.own_key) for _ in range(WANTED)), return_exceptions=True)

    assert {type(error) for error in found} == {Throttled, CircuitOpen}
    assert proxy.seen["GetItem"] <= WANTED


@pytest.mark.usefixtures("never_opens")
async def test_the_budget_alone_ends_retries_under_full_throttling(proxy: FaultProxy, faulty: Table) -> None:
    proxy.will("GetItem", throttled)

    found = await asyncio.gather(*(faulty.get(ADA.own_key) for _ in range(WANTED)), return_exceptions=True)

    assert {type(error) for error in found} == {Throttled}
    assert proxy.seen["GetItem"] == WANTED + RETRIES
    assert faulty.transport.retry_budget.tokens == 0


async def test_keys_that_stay_unprocessed_draw_on_the_same_budget(proxy: FaultProxy, faulty: Table) -> None:
    faulty.transport.retry_budget.tokens = 3
    proxy.will("BatchGetItem", all_unprocessed)

    found = await faulty.get_many([user_named(name).own_key for name in numbered(10)])

    assert {type(error) for error in found.values()} == {Throttled}
    assert proxy.seen == {"BatchGetItem": 4}


async def test_writes_that_stay_unprocessed_draw_on_the_same_budget(proxy: FaultProxy, faulty: Table) -> None:
    async def unprocessed(call: Call) -> Answer:
        return Answer.of(200, json.dumps({"UnprocessedItems": call.request["RequestItems"]}).encode())

    faulty.transport.retry_budget.tokens = 3
    proxy.will("BatchWriteItem", unprocessed)

    with pytest.raises(Throttled):
        await faulty.batch_write(puts=[user_named(name) for name in numbered(10)])

    assert proxy.seen == {"BatchWriteItem": 4}


@pytest.mark.usefixtures("never_opens")
async def test_contention_does_not_use_the_budget(proxy: FaultProxy, faulty: Table) -> None:
    async def contended(call: Call) -> Answer:
        body = {"__type": "x#TransactionCanceledException", "CancellationReasons": [{"Code": "TransactionConflict"}]}
        return Answer.of(400, json.dumps(body).encode())

    proxy.will("TransactWriteItems", contended)

    with pytest.raises(Contended):
        await faulty.using(Usage.lasting(0.5)).put(ADA, when=absent())

    assert proxy.seen["TransactWriteItems"] > 1
    assert faulty.transport.retry_budget.tokens == RETRIES


async def test_one_item_that_is_always_throttled_does_not_open_the_breaker(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    hot, others = user_named("hot"), [user_named(name) for name in numbered(20)]
    await table.batch_write(puts=[hot, *others])
    proxy.will("GetItem", throttled, when=lambda request: hot.own_key.pk in str(request))

    hot_reads = [faulty.using(Usage.lasting(1.0)).get(hot.own_key) for _ in range(8)]
    refused = await asyncio.gather(*hot_reads, return_exceptions=True)
    found = await asyncio.gather(*(faulty.get(user.own_key) for user in others))

    assert {type(error) for error in refused} == {Throttled}
    assert proxy.seen["GetItem"] > breaker.MOST_FAILURES + len(others)
    assert found == others
    assert faulty.transport.breaker.state is State.CLOSED


async def test_failed_conditions_do_not_open_the_breaker(faulty: Table, table: Table) -> None:
    await table.put(ADA)

    for _ in range(breaker.MOST_FAILURES + 5):
        with pytest.raises(Conflict):
            await faulty.transact(Put(ADA, when=absent()))

    assert faulty.transport.breaker.state is State.CLOSED
    assert faulty.transport.retry_budget.tokens == RETRIES


async def test_while_the_breaker_is_open_nothing_is_sent(proxy: FaultProxy, faulty: Table) -> None:
    await opened(proxy, faulty)
    sent = proxy.seen.copy()

    for call in (faulty.get(ADA.own_key), faulty.put(ADA), faulty.answers()):
        with pytest.raises(CircuitOpen) as failed:
            await call
        assert not failed.value.may_have_applied

    assert proxy.seen == sent


async def test_the_breaker_closes_once_the_database_is_well_again(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    await opened(proxy, faulty)
    await table.put(ADA)

    proxy.recover()
    found = []
    while len(found) < 10:
        try:
            found.append(await faulty.get(ADA.own_key))
        except CircuitOpen:
            await asyncio.sleep(0.05)

    assert found == [ADA] * 10
    assert faulty.transport.breaker.state is State.CLOSED


async def test_a_failing_probe_is_not_retried(proxy: FaultProxy, faulty: Table) -> None:
    await opened(proxy, faulty)
    sent = proxy.seen["GetItem"]
    faulty.transport.breaker._probe_at = 0.0

    with pytest.raises(Throttled):
        await faulty.get(ADA.own_key)

    assert proxy.seen["GetItem"] == sent + 1
    assert faulty.transport.breaker.state is State.HALF_OPEN


async def test_a_patient_caller_waits_for_the_breaker(proxy: FaultProxy, faulty: Table, table: Table) -> None:
    await opened(proxy, faulty)
    await table.put(ADA)
    proxy.recover()
    faulty.transport.breaker._probe_at = 0.0

    assert await faulty.using(Usage.lasting(60, is_patient=True)).get(ADA.own_key) == ADA


async def test_calls_that_wait_for_a_slot_are_refused_once_the_breaker_opens(
    proxy: FaultProxy, table_name: str
) -> None:
    proxy.will("GetItem", hang)
    transport = Transport(
        region=LOCAL_REGION, endpoint=proxy.endpoint, credentials=CREDENTIALS, max_in_flight=5, attempt_timeout=0.2
    )
    table = Table(transport, table_name, Usage.lasting(60))

    found = await asyncio.gather(*(table.get(ADA.own_key) for _ in range(WANTED)), return_exceptions=True)
    await transport.close()

    assert [isinstance(error, Unavailable) for error in found] == [True] * WANTED
    # The fifth timeout opens the breaker. Each of the four before it may have let another call go.
    assert 5 <= proxy.seen["GetItem"] <= 9


async def test_an_attempt_times_out_according_to_the_latencies_before(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    await table.put(ADA)
    for _ in range(5):
        await faulty.get(ADA.own_key)
    faulty.transport.timeouts._shortest = 0.2

    proxy.will("GetItem", hang, times=1)

    assert await faulty.get(ADA.own_key) == ADA
    assert faulty.transport.timeouts.of("GetItem") < 30.0


async def test_a_start_is_patient_with_a_slow_engine(proxy: FaultProxy, faulty: Table, table: Table) -> None:
    await table.put(ADA)
    faulty.transport.timeouts = Timeouts(0.001, 0.001)
    proxy.will("GetItem", slow)

    with faulty.transport.patient(30.0):
        assert await faulty.get(ADA.own_key) == ADA

    assert proxy.seen["GetItem"] == 1
    assert faulty.transport.timeouts.of("GetItem") == 0.001


async def test_a_canceled_probe_makes_room_for_another(proxy: FaultProxy, faulty: Table) -> None:
    await opened(proxy, faulty)
    proxy.recover()
    proxy.will("GetItem", hang)
    faulty.transport.breaker._probe_at = 0.0
    sent = proxy.seen["GetItem"]
    probes = [asyncio.ensure_future(faulty.get(ADA.own_key)) for _ in range(breaker.PROBES)]
    while proxy.seen["GetItem"] < sent + breaker.PROBES:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    with pytest.raises(CircuitOpen):
        await faulty.get(ADA.own_key)

    for probe in probes:
        probe.cancel()
    await asyncio.wait(probes)
    proxy.recover()

    assert [await faulty.get(ADA.own_key) for _ in range(3)] == [None] * 3
    assert faulty.transport.breaker.state is State.CLOSED
