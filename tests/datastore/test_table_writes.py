"""Writes of the table client on the engine: conditions, transactions and batches."""

import pytest

from datastore.accounts import User
from datastore.changes.outbox import Outbox
from datastore.client.errors import Conflict, Rejected, TooLarge
from datastore.client.table import Table
from datastore.client.writes import Check, Delete, Put, Update, absent, equals, exists
from tests.datastore.library import AUTHOR, BOOK, Entry, entry, essay

pytestmark = [pytest.mark.engine_contract, pytest.mark.usefixtures("library_registered")]


async def test_a_put_replaces_what_was_there(table):
    await table.put(entry(1, reads=5))
    await table.put(entry(1, reads=6, author_id=None))
    assert await table.get(entry(1).own_key) == entry(1, reads=6, author_id=None)
    assert (await table.query(AUTHOR, limit=20)).records == []
    assert table.usage.calls == {"PutItem": 2, "GetItem": 1, "Query": 1}


async def test_a_write_on_a_condition_is_a_transaction(table):
    await table.put(entry(1), when=absent())
    await table.update(Update(entry(1).own_key, set={"reads": 3}, when=exists()))
    await table.delete(entry(1).own_key, when=equals("reads", 3))
    assert await table.get(entry(1).own_key) is None
    assert table.usage.calls == {"TransactWriteItems": 3, "GetItem": 1}


@pytest.mark.parametrize(
    "write",
    [
        Put(entry(1, reads=9), when=absent()),
        Update(entry(1).own_key, set={"reads": 9}, when=equals("reads", 5)),
        Delete(entry(1).own_key, when=equals("reads", 5)),
    ],
    ids=["put", "update", "delete"],
)
async def test_a_write_whose_condition_fails_is_a_conflict_and_changes_nothing(table, write):
    await table.put(entry(1, reads=1))
    table.usage.calls.clear()
    with pytest.raises(Conflict) as conflict:
        await table.write(write)
    assert write in conflict.value
    assert [failure.code for failure in conflict.value.failures] == ["ConditionalCheckFailed"]
    assert table.usage.calls == {"TransactWriteItems": 1}
    assert await table.get(entry(1).own_key) == entry(1, reads=1)


async def test_an_update_sets_adds_and_removes(table):
    await table.put(entry(1, reads=5))
    await table.update(Update(entry(1).own_key, add={"reads": -2}, set={"expires_at": 9}, remove=["author_id"]))
    assert await table.get(entry(1).own_key) == entry(1, reads=3, expires_at=9, author_id=None)
    assert table.usage.calls == {"PutItem": 1, "TransactWriteItems": 1, "GetItem": 1}


async def test_an_update_that_can_be_repeated_is_one_plain_call(table):
    await table.put(entry(1))
    await table.update(Update(entry(1).own_key, set={"reads": 2}))
    assert (await table.get(entry(1).own_key)).reads == 2
    assert table.usage.calls == {"PutItem": 1, "UpdateItem": 1, "GetItem": 1}


async def test_index_keys_follow_an_update_of_a_record(table):
    await table.put(entry(1))
    moved = entry(1, author_id="bob", reads=1)
    await table.update(Update.of(entry(1), moved))
    assert await table.get(entry(1).own_key) == moved
    assert (await table.query(AUTHOR, limit=20)).records == []
    assert (await table.query(Entry.by_author(author_id="bob"), limit=20)).records == [moved]

    await table.update(Update.of(moved, entry(1, author_id=None)))
    assert await table.get(entry(1).own_key) == entry(1, author_id=None)
    assert (await table.query(Entry.by_author(author_id="bob"), limit=20)).records == []


async def test_an_update_without_a_difference_changes_nothing(table):
    await table.put(entry(1))
    await table.update(Update.of(entry(1), entry(1)))
    assert await table.get(entry(1).own_key) == entry(1)


async def test_an_update_without_a_difference_still_checks_its_condition(table):
    nothing = Update.of(entry(1), entry(1), when=exists())
    with pytest.raises(Conflict) as conflict:
        await table.update(nothing)
    assert nothing in conflict.value
    assert await table.get(entry(1).own_key) is None

    await table.put(entry(1))
    await table.update(nothing)
    assert await table.get(entry(1).own_key) == entry(1)


async def test_an_update_without_a_difference_does_not_stop_the_writes_beside_it(table):
    await table.put(entry(1))
    nothing = Update.of(entry(1), entry(1))
    await table.write(nothing, Put(entry(2)))
    await table.transact(nothing, Put(entry(3)))
    assert (await table.query(BOOK, limit=20)).records == [entry(1), entry(2), entry(3)]


async def test_an_upsert_makes_the_record_or_counts_in_it(table):
    await table.update(Update.upsert(entry(1), add={"reads": 1}))
    assert await table.get(entry(1).own_key) == entry(1, reads=1)
    await table.update(Update.upsert(entry(1), add={"reads": 2}))
    assert await table.get(entry(1).own_key) == entry(1, reads=3)
    assert (await table.query(AUTHOR, limit=20)).records == [entry(1, reads=3)]


async def test_deleting_twice_is_harmless(table):
    await table.put(entry(1))
    await table.delete(entry(1).own_key)
    await table.delete(entry(1).own_key)
    assert await table.get(entry(1).own_key) is None
    assert table.usage.calls == {"PutItem": 1, "DeleteItem": 2, "GetItem": 1}


async def test_a_transaction_is_all_or_nothing(table):
    await table.batch_write(puts=[entry(1), entry(2)])
    table.usage.calls.clear()
    writes = [
        Put(entry(3), when=absent()),
        Update(entry(1).own_key, add={"reads": 1}, when=exists()),
        Delete(entry(2).own_key, when=exists()),
        Check(User.key(user_id="ada"), absent()),
    ]
    await table.transact(*writes)
    assert table.usage.calls == {"TransactWriteItems": 1}
    assert (await table.query(BOOK, limit=20)).records == [entry(1, reads=1), entry(3)]

    with pytest.raises(Conflict):
        await table.transact(*writes)
    assert (await table.query(BOOK, limit=20)).records == [entry(1, reads=1), entry(3)]


async def test_a_conflict_names_the_writes_that_failed_and_no_others(table):
    await table.put(entry(1))
    fine, taken, check, gone = writes = [
        Put(entry(2), when=absent()),
        Put(entry(1), when=absent()),
        Check(entry(9).own_key, absent()),
        Delete(entry(3).own_key, when=exists()),
    ]
    with pytest.raises(Conflict) as conflict:
        await table.transact(*writes)
    assert [failure.write for failure in conflict.value.failures] == [taken, gone]
    assert {failure.code for failure in conflict.value.failures} == {"ConditionalCheckFailed"}
    assert taken in conflict.value
    assert gone in conflict.value
    assert fine not in conflict.value
    assert check not in conflict.value
    assert (await table.query(BOOK, limit=20)).records == [entry(1)]


async def test_a_check_that_fails_stops_the_transaction(table):
    check = Check(User.key(user_id="ada"), exists())
    with pytest.raises(Conflict) as conflict:
        await table.write(Put(entry(1)), check)
    assert check in conflict.value
    assert await table.get(entry(1).own_key) is None


async def test_two_writes_are_a_transaction_even_if_each_could_be_repeated(table):
    await table.write(Put(entry(1)), Put(entry(2)))
    assert table.usage.calls == {"TransactWriteItems": 1}


async def test_a_transaction_takes_96_writes_and_3_riders(table):
    """The hundredth place is for the record of its changes."""
    puts = [Put(entry(number)) for number in range(101)]
    recording = Table(table.transport, table.name, table.usage, Outbox())

    await recording.transact(*puts[:96], riders=puts[96:99])
    assert table.usage.calls == {"TransactWriteItems": 1}
    with pytest.raises(ValueError, match=r"^a transaction takes at most 96 writes and 3 riders, not 97 and 0$"):
        await table.transact(*puts[:97])
    with pytest.raises(ValueError, match=r"^a transaction takes at most 96 writes and 3 riders, not 1 and 4$"):
        await table.transact(puts[0], riders=puts[96:100])
    assert table.usage.calls == {"TransactWriteItems": 1}


async def test_the_same_token_twice_has_one_effect(table, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken")
    await table.put(entry(1))
    count = Update(entry(1).own_key, add={"reads": 1})
    await table.transact(count, token=table.name)
    await table.transact(count, token=table.name)
    assert (await table.get(entry(1).own_key)).reads == 1
    await table.transact(count, token=f"{table.name}-2")
    assert (await table.get(entry(1).own_key)).reads == 2


async def test_the_same_token_for_another_transaction_is_refused(table, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken")
    await table.transact(Put(entry(1)), token=table.name)
    with pytest.raises(Rejected, match="IdempotentParameterMismatchException"):
        await table.transact(Put(entry(2)), token=table.name)


async def test_every_transaction_has_a_token_of_its_own(table, sent):
    await table.put(entry(1), when=absent())
    await table.delete(entry(1).own_key, when=exists())
    tokens = [request["ClientRequestToken"] for _, request in sent]
    assert len(set(tokens)) == 2
    assert {len(token) for token in tokens} == {36}


async def test_60_writes_are_three_batches(table):
    entries = [entry(number) for number in range(60)]
    await table.batch_write(puts=entries)
    assert table.usage.calls == {"BatchWriteItem": 3}
    assert (await table.query(BOOK, limit=100)).records == entries

    table.usage.calls.clear()
    await table.batch_write(puts=[entry(60)], deletes=[record.own_key for record in entries[1:]])
    assert table.usage.calls == {"BatchWriteItem": 3}
    assert (await table.query(BOOK, limit=100)).records == [entries[0], entry(60)]


async def test_nothing_to_write_is_no_call(table):
    await table.batch_write()
    assert table.usage.calls == {}


async def test_a_batch_may_be_larger_than_a_megabyte(table):
    large = {essay(name).own_key: essay(name, text="x" * 390_000) for name in ("ash", "birch", "cedar")}
    await table.batch_write(puts=large.values())
    assert await table.get_many(large) == large


async def test_writes_that_stay_unprocessed_are_sent_again(table, monkeypatch):
    entries = [entry(number) for number in range(10)]
    call = table.transport.call

    async def at_most_four(operation, request, usage):
        """Responds like DynamoDB to a partly throttled batch."""
        requests = request["RequestItems"][table.name]
        answer = await call(operation, {"RequestItems": {table.name: requests[:4]}}, usage)
        return answer | {"UnprocessedItems": {table.name: requests[4:]} if requests[4:] else {}}

    with monkeypatch.context() as patch:
        patch.setattr(table.transport, "call", at_most_four)
        await table.batch_write(puts=entries)
    assert table.usage.calls == {"BatchWriteItem": 3}
    assert table.usage.retries == 2
    assert (await table.query(BOOK, limit=100)).records == entries


async def test_an_item_over_400_kb_is_too_large(table):
    with pytest.raises(TooLarge):
        await table.put(essay("long", text="x" * 410_000))
    assert table.usage.calls == {"PutItem": 1}


async def test_an_update_over_400_kb_is_too_large(table, engine_name):
    if engine_name == "moto":
        pytest.skip("moto answers an update that is too large with HTTP 500")
    await table.put(essay("long"))
    with pytest.raises(TooLarge):
        await table.update(Update(essay("long").own_key, set={"text": "x" * 410_000}))
    with pytest.raises(TooLarge):
        await table.update(Update(essay("long").own_key, set={"text": "x" * 410_000}, when=exists()))
