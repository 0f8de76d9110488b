"""The outcome that a failed write reports, over real sockets."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from datastore.client.budget import Usage
from datastore.client.errors import Denied, Retryable, Throttled, Unavailable
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import Update
from datastore.local.endpoint import LOCAL_REGION
from tests.support.fault_proxy import (
    Answer,
    Call,
    Fault,
    FaultProxy,
    cut_after,
    cut_before,
    cut_in_the_middle,
    denied,
    error_500,
    error_503,
    garbled,
    hang,
    throttled,
)
from tests.support.serving import free_port
from tests.support.tables import CREDENTIALS
from tests.system.faults import numbered, user_named

ADA = user_named("ada")
BRIEFLY = 0.3

# Each way to write, with the operation that it uses.
WRITES: dict[str, Callable[[Table], Awaitable[None]]] = {
    "PutItem": lambda table: table.put(ADA),
    "UpdateItem": lambda table: table.update(Update(ADA.own_key, set={"bio": "hello"})),
    "DeleteItem": lambda table: table.delete(ADA.own_key),
    "BatchWriteItem": lambda table: table.batch_write(puts=[ADA]),
    "TransactWriteItems": lambda table: table.transact(Update(ADA.own_key, add={"follower_count": 1})),
}


def briefly(table: Table) -> Table:
    return table.using(Usage.lasting(BRIEFLY))


@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(throttled, (Throttled, False)), (cut_after, (Unavailable, True)), (error_503, (Unavailable, True))],
)
async def test_a_failed_write_says_whether_it_may_have_been_applied(
    proxy: FaultProxy, faulty: Table, operation: str, fault: Fault, outcome: tuple[type[Retryable], bool]
) -> None:
    proxy.will(operation, fault)

    with pytest.raises(Retryable) as failed:
        await WRITES[operation](briefly(faulty))

    assert (failed.type, failed.value.may_have_applied) == outcome


@pytest.mark.parametrize("fault", [cut_before, cut_in_the_middle, error_500, garbled, hang])
async def test_a_write_whose_answer_does_not_arrive_may_have_been_applied(
    proxy: FaultProxy, faulty: Table, fault: Fault
) -> None:
    proxy.will("PutItem", fault)

    with pytest.raises(Unavailable) as failed:
        await briefly(faulty).put(ADA)

    assert failed.value.may_have_applied


async def test_one_attempt_that_may_have_been_applied_is_enough(proxy: FaultProxy, faulty: Table) -> None:
    proxy.will("PutItem", cut_after, times=1)
    proxy.will("PutItem", throttled)

    with pytest.raises(Throttled) as failed:
        await briefly(faulty).put(ADA)

    assert failed.value.may_have_applied


async def test_an_error_that_is_not_retried_tells_of_earlier_attempts(proxy: FaultProxy, faulty: Table) -> None:
    proxy.will("PutItem", cut_after, times=1)
    proxy.will("PutItem", denied)

    with pytest.raises(Denied) as failed:
        await faulty.put(ADA)

    assert failed.value.may_have_applied


async def test_a_transaction_still_in_progress_may_be_applied(proxy: FaultProxy, faulty: Table) -> None:
    async def in_progress(call: Call) -> Answer:
        return Answer.of(400, b'{"__type": "x#TransactionInProgressException", "message": "wait"}')

    proxy.will("TransactWriteItems", in_progress)

    with pytest.raises(Throttled) as failed:
        await WRITES["TransactWriteItems"](briefly(faulty))

    assert failed.value.may_have_applied


async def test_a_read_applies_nothing(proxy: FaultProxy, faulty: Table) -> None:
    proxy.will("GetItem", cut_after)

    with pytest.raises(Unavailable) as failed:
        await briefly(faulty).get(ADA.own_key)

    assert not failed.value.may_have_applied


async def test_a_write_is_not_applied_where_nothing_listens() -> None:
    transport = Transport(region=LOCAL_REGION, endpoint=f"http://127.0.0.1:{free_port()}", credentials=CREDENTIALS)

    with pytest.raises(Unavailable) as failed:
        await Table(transport, "any", Usage.lasting(BRIEFLY)).put(ADA)
    await transport.close()

    assert not failed.value.may_have_applied


async def test_a_write_without_time_is_not_applied(proxy: FaultProxy, faulty: Table) -> None:
    with pytest.raises(Unavailable, match="no time left") as failed:
        await faulty.using(Usage.lasting(0)).put(ADA)

    assert not failed.value.may_have_applied
    assert proxy.seen == {}


async def test_a_write_that_waits_for_a_slot_until_its_deadline_is_not_applied(
    proxy: FaultProxy, table_name: str
) -> None:
    proxy.will("PutItem", hang)
    transport = Transport(region=LOCAL_REGION, endpoint=proxy.endpoint, credentials=CREDENTIALS, max_in_flight=1)
    table = Table(transport, table_name, Usage.lasting(60))
    blocking = asyncio.ensure_future(table.put(ADA))
    while not proxy.seen:  # noqa: ASYNC110
        await asyncio.sleep(0.005)

    with pytest.raises(Unavailable, match="waited for other calls") as failed:
        await briefly(table).put(ADA)
    blocking.cancel()
    await asyncio.wait([blocking])
    await transport.close()

    assert not failed.value.may_have_applied
    assert proxy.seen == {"PutItem": 1}


async def test_a_batch_of_which_a_part_is_written_is_applied(proxy: FaultProxy, faulty: Table) -> None:
    async def all_but_one(call: Call) -> Answer:
        (table,) = call.request["RequestItems"]
        return Answer.of(200, b'{"UnprocessedItems": {"%s": [%s]}}' % (table.encode(), b'{"PutRequest": {}}'))

    proxy.will("BatchWriteItem", all_but_one, times=1)
    proxy.will("BatchWriteItem", throttled)

    with pytest.raises(Throttled) as failed:
        await briefly(faulty).batch_write(puts=[user_named(name) for name in numbered(3)])

    assert failed.value.may_have_applied


@pytest.mark.parametrize(("failing", "may_have_applied"), [("user-029", True), ("user-0", False)])
async def test_a_batch_is_applied_if_one_of_its_calls_is(
    proxy: FaultProxy, faulty: Table, failing: str, *, may_have_applied: bool
) -> None:
    """Thirty writes are two calls. The failure is raised after both have ended."""
    proxy.will("BatchWriteItem", throttled, when=lambda request: failing in str(request))

    with pytest.raises(Throttled) as failed:
        await briefly(faulty).batch_write(puts=[user_named(name) for name in numbered(30)])

    assert failed.value.may_have_applied is may_have_applied
