"""The capacity and calls that the table client records."""

import pytest

from datastore.client.budget import Usage
from datastore.client.writes import Put, Update, absent
from tests.datastore.library import BOOK, entry

pytestmark = [pytest.mark.engine_contract, pytest.mark.usefixtures("library_registered")]


async def test_each_request_has_its_own_usage(table):
    first, second = Usage.lasting(10), Usage.lasting(10)
    await table.using(first).put(entry(1))
    await table.using(second).get(entry(1).own_key)
    assert (first.calls, second.calls) == ({"PutItem": 1}, {"GetItem": 1})
    assert table.usage.calls == {}


async def test_a_read_by_key_costs_half_a_unit(table):
    await table.put(entry(1))
    assert table.usage.read_units == 0
    await table.get(entry(1).own_key)
    assert table.usage.read_units == 0.5


async def test_a_consistent_read_costs_a_whole_unit(table, engine_name):
    if engine_name == "moto":
        pytest.skip("moto counts every GetItem as half a unit")
    await table.put(entry(1))
    await table.get(entry(1).own_key, consistent=True)
    assert table.usage.read_units == 1


READING = {
    "get": lambda table: table.get(entry(1).own_key),
    "get many": lambda table: table.get_many([entry(1).own_key, entry(2).own_key]),
    "query": lambda table: table.query(BOOK, limit=5),
}


@pytest.mark.parametrize("read", READING.values(), ids=READING)
async def test_what_a_read_costs_is_recorded(table, book, read):
    usage = Usage.lasting(10)
    await read(table.using(usage))
    assert usage.read_units > 0
    assert usage.write_units == 0


WRITING = {
    "put": lambda table: table.put(entry(1)),
    "update": lambda table: table.update(Update(entry(1).own_key, set={"reads": 3})),
    "delete": lambda table: table.delete(entry(1).own_key),
    "batch": lambda table: table.batch_write(puts=[entry(1)]),
}


@pytest.mark.parametrize("write", WRITING.values(), ids=WRITING)
async def test_what_a_write_costs_is_recorded(table, book, write):
    usage = Usage.lasting(10)
    await write(table.using(usage))
    assert usage.write_units > 0
    assert usage.read_units == 0


async def test_what_a_transaction_costs_is_recorded(table, engine_name):
    if engine_name == "moto":
        pytest.skip("moto does not say what a transaction costs")
    await table.put(entry(1), when=absent())
    assert table.usage.write_units > 0


async def test_every_request_asks_what_it_cost(table, sent):
    await table.write(Put(entry(1)), Put(entry(2)))
    await table.batch_write(puts=[entry(3)])
    await table.get_many([entry(1).own_key, entry(2).own_key])
    await table.query(BOOK, limit=1)
    assert [request["ReturnConsumedCapacity"] for _, request in sent] == ["TOTAL"] * 4
