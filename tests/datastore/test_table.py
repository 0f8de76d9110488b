"""The table client on the engine: reads by key, in batches and for maintenance, and number of calls."""

import pytest

from datastore.accounts import Unique, User
from datastore.client.errors import CorruptItem, TableMissing
from datastore.client.table import Table
from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION
from tests.datastore.library import THEN, entry, user

pytestmark = [pytest.mark.engine_contract, pytest.mark.usefixtures("library_registered")]


@pytest.fixture
def other_program(endpoint):
    """Writes to the table without validation."""
    return provision.connect(endpoint, LOCAL_REGION)


async def test_a_record_is_read_as_it_was_put(table):
    await table.put(user("ada"))
    assert await table.get(User.key(user_id="ada")) == user("ada")
    assert table.usage.calls == {"PutItem": 1, "GetItem": 1}


async def test_nothing_is_none(table):
    assert await table.get(User.key(user_id="nobody")) is None
    assert table.usage.calls == {"GetItem": 1}


@pytest.mark.parametrize("consistent", [False, True])
async def test_a_read_is_consistent_only_if_asked(table, sent, consistent):
    await table.get(User.key(user_id="ada"), consistent=consistent)
    await table.get_many([User.key(user_id="ada"), User.key(user_id="bob")], consistent=consistent)
    (_, get), (_, get_many) = sent
    assert get["ConsistentRead"] is consistent
    assert get_many["RequestItems"][table.name]["ConsistentRead"] is consistent


async def test_an_item_of_another_entity_under_this_key_is_none(table, table_name, other_program):
    item = Unique(kind="k", value="v", owner_id="o").encode() | {"PK": {"S": "USER#ada"}, "SK": {"S": "PROFILE"}}
    other_program.put_item(TableName=table_name, Item=item)
    assert await table.get(User.key(user_id="ada")) is None


async def test_a_damaged_item_is_an_error_that_names_it(table, table_name, other_program):
    other_program.put_item(TableName=table_name, Item={"PK": {"S": "USER#ada"}, "SK": {"S": "PROFILE"}})
    with pytest.raises(CorruptItem, match=r"^the item USER#ada / PROFILE has the unknown entityType None$"):
        await table.get(User.key(user_id="ada"))


async def test_many_keys_of_any_entity_are_read_in_one_call(table):
    records = [user("ada"), entry(1), Unique(kind="k", value="v", owner_id="o", created_at=THEN, updated_at=THEN)]
    await table.batch_write(puts=records)
    table.usage.calls.clear()
    found = await table.get_many([record.own_key for record in records])
    assert found == {record.own_key: record for record in records}
    assert table.usage.calls == {"BatchGetItem": 1}


async def test_250_keys_are_three_calls(table):
    entries = [entry(number) for number in range(250)]
    await table.batch_write(puts=entries[::2])
    table.usage.calls.clear()
    found = await table.get_many(record.own_key for record in entries)
    assert found == {record.own_key: record if place % 2 == 0 else None for place, record in enumerate(entries)}
    assert table.usage.calls == {"BatchGetItem": 3}


async def test_100_keys_are_one_call_and_101_are_two(table):
    await table.get_many(entry(number).own_key for number in range(100))
    assert table.usage.calls == {"BatchGetItem": 1}
    await table.get_many(entry(number).own_key for number in range(101))
    assert table.usage.calls == {"BatchGetItem": 2, "GetItem": 1}


async def test_a_key_asked_for_twice_is_read_once(table, sent):
    await table.put(user("ada"))
    sent.clear()
    ada, bob = User.key(user_id="ada"), User.key(user_id="bob")
    assert await table.get_many([ada, bob, ada, bob, ada]) == {ada: user("ada"), bob: None}
    ((operation, request),) = sent
    assert operation == "BatchGetItem"
    assert request["RequestItems"][table.name]["Keys"] == [
        {"PK": {"S": "USER#ada"}, "SK": {"S": "PROFILE"}},
        {"PK": {"S": "USER#bob"}, "SK": {"S": "PROFILE"}},
    ]


async def test_one_key_is_a_get(table):
    await table.put(user("ada"))
    table.usage.calls.clear()
    ada = User.key(user_id="ada")
    assert await table.get_many([ada, ada]) == {ada: user("ada")}
    assert table.usage.calls == {"GetItem": 1}


async def test_no_keys_are_no_call(table):
    assert await table.get_many([]) == {}
    assert table.usage.calls == {}


async def test_keys_that_stay_unprocessed_are_asked_for_again(table, monkeypatch):
    entries = [entry(number) for number in range(10)]
    await table.batch_write(puts=entries)
    table.usage.calls.clear()
    call = table.transport.call

    async def at_most_four(operation, request, usage):
        """Responds like DynamoDB to a batch that is too large or partly throttled."""
        keys = request["RequestItems"][table.name]["Keys"]
        answer = await call(operation, {"RequestItems": {table.name: {"Keys": keys[:4]}}}, usage)
        answer.UnprocessedKeys = {table.name: {"Keys": keys[4:]}} if keys[4:] else {}
        return answer

    monkeypatch.setattr(table.transport, "call", at_most_four)
    assert await table.get_many(record.own_key for record in entries) == {record.own_key: record for record in entries}
    assert table.usage.calls == {"BatchGetItem": 3}
    assert table.usage.retries == 2


async def test_where_a_batch_fails_its_keys_have_the_error(table):
    nowhere = Table(table.transport, "no-such-table", table.usage)
    ada, bob = User.key(user_id="ada"), User.key(user_id="bob")
    with pytest.raises(TableMissing):
        await nowhere.get(ada)
    assert {key: type(error) for key, error in (await nowhere.get_many([ada])).items()} == {ada: TableMissing}
    found = await nowhere.get_many([ada, bob])
    assert {key: type(error) for key, error in found.items()} == {ada: TableMissing, bob: TableMissing}


async def test_a_damaged_item_spoils_only_itself_in_a_batch(table, table_name, other_program):
    names = ["ada", "bob", "cyd", "dot", "eve"]
    await table.batch_write(puts=[user(name) for name in names])
    for name in ("bob", "dot"):
        key = {"PK": {"S": f"USER#{name}"}, "SK": {"S": "PROFILE"}}
        other_program.put_item(TableName=table_name, Item=key | {"entityType": {"S": "User"}})
    found = await table.get_many(User.key(user_id=name) for name in names)
    assert {key.pk: type(record) for key, record in found.items()} == {
        "USER#ada": User,
        "USER#bob": CorruptItem,
        "USER#cyd": User,
        "USER#dot": CorruptItem,
        "USER#eve": User,
    }


async def test_a_table_that_is_there_answers(table):
    assert await table.answers() is True
    assert table.usage.calls == {"DescribeTable": 1}
    with pytest.raises(TableMissing):
        await Table(table.transport, "no-such-table", table.usage).answers()
