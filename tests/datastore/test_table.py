"""The table client on the engine: results and number of calls."""

from itertools import pairwise

import orjson
import pytest

from datastore.accounts import Unique, User
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem, Rejected, TableMissing, TooLarge
from datastore.client.table import Page, Table, position_of
from datastore.client.writes import Check, Delete, Put, Update, absent, equals, exists
from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION
from datastore.model.entity import REGISTRY, UNREAD, Entity, field
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1, gsi2
from datastore.model.times import Time

pytestmark = pytest.mark.engine_contract
THEN = Time("2026-01-31T12:00:00.000Z")


OURS = nobody("it is for tests")


class Entry(Entity, pk="TESTBOOK#{book_id}", sk="ENTRY#{day}#{entry_id}", owner=OURS):
    """An entry of a book for tests: by book in the table, by author in an index."""

    by_author = gsi1("TESTAUTHOR#{author_id}", "ENTRY#{day}")
    by_day = gsi2("TESTENTRIES", "{day}#{entry_id}")

    book_id: str = field("The book.")
    day: str = field("When it was written.")
    entry_id: str = field("Its id.")
    author_id: str | None = field("Who wrote it.", default=None)
    reads: int = field("How often it was read.", default=0)


class Essay(Entity, pk="TESTSHELF#{shelf_id}", sk="ESSAY#{essay_id}", owner=OURS):
    """An essay for tests, too long for lists."""

    everything = gsi1("TESTESSAYS", "{essay_id}")

    shelf_id: str = field("The shelf.")
    essay_id: str = field("Its id.")
    title: str = field("Its title.")
    text: str = field("All of it.", heavy=True)


class Footnote(Entity, pk="TESTSHELF#{shelf_id}", sk="ESSAY#{essay_id}#NOTE#{number}", owner=OURS):
    """A footnote for tests, in the same range as the essays."""

    shelf_id: str = field("The shelf.")
    essay_id: str = field("The essay.")
    number: int = field("Which one.")
    remark: str = field("What it says.")


TEST_ENTITIES = {entity.__name__: REGISTRY.pop(entity.__name__) for entity in (Entry, Essay, Footnote)}


@pytest.fixture(autouse=True, scope="module")
def registered():
    """Registers the entities of this module only while its tests run."""
    REGISTRY.update(TEST_ENTITIES)
    yield
    for name in TEST_ENTITIES:
        del REGISTRY[name]


@pytest.fixture
def sent(table, monkeypatch):
    """Records every request of the table client."""
    requests = []
    call = table.transport.call

    async def recorded(operation, request, usage):
        requests.append((operation, orjson.loads(orjson.dumps(request))))
        return await call(operation, request, usage)

    monkeypatch.setattr(table.transport, "call", recorded)
    return requests


@pytest.fixture
def other_program(endpoint):
    """Writes to the table without validation."""
    return provision.connect(endpoint, LOCAL_REGION)


def entry(number: int, **fields) -> Entry:
    return Entry(
        **{
            "book_id": "b",
            "day": f"{number:03d}",
            "entry_id": f"e{number}",
            "author_id": "ada",
            "created_at": THEN,
            "updated_at": THEN,
            **fields,
        }
    )


def essay(name: str, **fields) -> Essay:
    return Essay(
        **{
            "shelf_id": "s",
            "essay_id": name,
            "title": name.title(),
            "text": f"All about {name}.",
            "created_at": THEN,
            "updated_at": THEN,
            **fields,
        }
    )


def user(name: str) -> User:
    return User(user_id=name, username=name, email=f"{name}@example.org", created_at=THEN, updated_at=THEN)


BOOK = Entry.within(book_id="b")
AUTHOR = Entry.by_author(author_id="ada")


@pytest.fixture
async def book(table) -> list[Entry]:
    """Nine entries, in order."""
    entries = [entry(number) for number in range(1, 10)]
    await table.batch_write(puts=reversed(entries))
    table.usage.calls.clear()
    return entries


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
    assert table.usage.calls == {"BatchGetItem": 3}


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


async def test_a_range_is_read_in_order(table, book):
    assert await table.query(BOOK, limit=20) == Page(book, None)
    assert await table.query(BOOK.newest_first(), limit=20) == Page(book[::-1], None)
    assert await table.query(AUTHOR, limit=20) == Page(book, None)
    assert table.usage.calls == {"Query": 3}


async def test_backward_is_against_the_direction_of_the_range(table, book):
    assert await table.query(BOOK, limit=20, backward=True) == Page(book[::-1], None)
    assert await table.query(BOOK.newest_first(), limit=20, backward=True) == Page(book, None)


async def test_an_empty_range_is_an_empty_page(table, book):
    assert await table.query(Entry.within(book_id="empty"), limit=20) == Page([], None)
    assert await table.query(Entry.by_author(author_id="nobody"), limit=20) == Page([], None)


@pytest.mark.parametrize(
    ("within", "expected"),
    [
        (BOOK, slice(0, 3)),
        (BOOK.newest_first(), slice(8, 5, -1)),
        (AUTHOR, slice(0, 3)),
        (AUTHOR.newest_first(), slice(8, 5, -1)),
    ],
    ids=["table", "table, newest first", "index", "index, newest first"],
)
async def test_a_page_is_as_long_as_its_limit_and_says_where_to_go_on(table, book, within, expected):
    page = await table.query(within, limit=3)
    assert page.records == book[expected]
    assert page.more == position_of(within, page.records[-1])


def test_a_position_holds_the_key_and_in_an_index_the_sort_key_there():
    assert position_of(BOOK, entry(1)) == ("TESTBOOK#b", "ENTRY#001#e1")
    assert position_of(AUTHOR, entry(1)) == ("TESTBOOK#b", "ENTRY#001#e1", "ENTRY#001")


@pytest.mark.parametrize("within", [BOOK, AUTHOR], ids=["table", "index"])
@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
async def test_pages_follow_one_another_at_the_same_cost(table, book, within, newest_first, backward):
    within = within.newest_first() if newest_first else within
    pages, costs, after = [], [], None
    while True:
        usage = Usage.lasting(10)
        page = await table.using(usage).query(within, limit=4, after=after, backward=backward)
        pages.append(list(page.records))
        costs.append((dict(usage.calls), usage.read_units))
        after = page.more
        if after is None:
            break
    in_order = book if newest_first == backward else book[::-1]
    assert pages == [in_order[:4], in_order[4:8], in_order[8:]]
    assert [calls for calls, _ in costs] == [{"Query": 1}] * 3
    assert costs[0][1] == costs[1][1] > 0


@pytest.mark.parametrize("within", [BOOK, AUTHOR], ids=["table", "index"])
@pytest.mark.parametrize("place", [0, 4, 7])
async def test_a_page_can_start_after_any_record(table, book, within, place):
    after = position_of(within, book[place])
    assert (await table.query(within, limit=20, after=after)).records == book[place + 1 :]
    assert (await table.query(within, limit=20, after=after, backward=True)).records == book[:place][::-1]


async def test_a_page_can_start_after_a_record_that_is_gone(table, book):
    await table.delete(book[4].own_key)
    rest = book[5:]
    assert (await table.query(BOOK, limit=20, after=position_of(BOOK, book[4]))).records == rest
    assert (await table.query(AUTHOR, limit=20, after=position_of(AUTHOR, book[4]))).records == rest


async def test_records_with_the_same_sort_key_in_an_index_are_all_on_some_page(table):
    twins = [entry(number, day="001") for number in range(1, 8)]
    await table.batch_write(puts=twins)
    seen, after = [], None
    while True:
        page = await table.query(AUTHOR, limit=2, after=after)
        seen += page.records
        after = page.more
        if after is None:
            break
    assert sorted(record.entry_id for record in seen) == [f"e{number}" for number in range(1, 8)]


async def test_a_range_covers_what_begins_with_its_values(table):
    days = [entry(1, day="01", entry_id="a"), entry(2, day="01", entry_id="b"), entry(3, day="011", entry_id="c")]
    await table.batch_write(puts=days)
    assert (await table.query(Entry.within(book_id="b", day="01"), limit=20)).records == days[:2]


BETWEEN = {
    ("003", "006"): ["003", "004", "005"],
    ("003", None): ["003", "004", "005", "006", "007", "008", "009"],
    (None, "003"): ["001", "002"],
    ("0025", "0065"): ["003", "004", "005", "006"],
    ("003", "003"): [],
    ("900", None): [],
}
ENDS_THERE = BETWEEN | {
    ("003", "006"): ["003", "004", "005", "006"],
    (None, "003"): ["001", "002", "003"],
    ("003", "003"): ["003"],
}


@pytest.mark.parametrize("bounds", BETWEEN, ids=str)
@pytest.mark.parametrize(
    ("within", "expected"),
    [(BOOK, BETWEEN), (AUTHOR, ENDS_THERE), (Entry.by_day(), BETWEEN)],
    ids=["more follows in the key", "the key ends there", "no prefix"],
)
async def test_between_has_its_first_and_its_last_where_the_key_ends_there(table, book, within, expected, bounds):
    bounded = within.between(*bounds)
    days = [record.day for record in (await table.query(bounded, limit=20)).records]
    assert days == expected[bounds]
    assert [record.day for record in (await table.query(bounded.newest_first(), limit=20)).records] == days[::-1]


async def test_between_the_wrong_way_round_is_nothing(table, book):
    assert await table.query(BOOK.between("006", "003"), limit=20) == Page([], None)


async def test_bounds_and_pages_go_together(table, book):
    bounded = BOOK.between("003", "008")
    first = await table.query(bounded, limit=3)
    assert first.records == book[2:5]
    assert (await table.query(bounded, limit=3, after=first.more)).records == book[5:7]


async def test_an_index_holds_only_records_that_have_its_keys(table):
    await table.batch_write(puts=[entry(1), entry(2, author_id=None)])
    assert (await table.query(AUTHOR, limit=20)).records == [entry(1)]


async def test_a_list_read_is_consistent_on_the_table_and_never_on_an_index(table, book, sent):
    await table.query(BOOK, limit=20, consistent=True)
    await table.query(BOOK, limit=20)
    await table.query(AUTHOR, limit=20, consistent=True)
    assert [request.get("ConsistentRead", False) for _, request in sent] == [True, False, False]


async def test_a_query_asks_for_exactly_its_range(table, sent):
    await table.query(AUTHOR.newest_first(), limit=7, after=("TESTBOOK#b", "ENTRY#001#e1", "ENTRY#001"))
    assert sent == [
        (
            "Query",
            {
                "TableName": table.name,
                "IndexName": "GSI1",
                "KeyConditionExpression": "#pk = :pk AND begins_with(#sk, :prefix)",
                "ExpressionAttributeNames": {
                    **{f"#{place}": name for place, name in enumerate(Entry.attributes)},
                    "#pk": "GSI1PK",
                    "#sk": "GSI1SK",
                },
                "ProjectionExpression": ",".join(f"#{place}" for place in range(len(Entry.attributes))),
                "ExpressionAttributeValues": {":pk": {"S": "TESTAUTHOR#ada"}, ":prefix": {"S": "ENTRY#"}},
                "ScanIndexForward": False,
                "Limit": 7,
                "ExclusiveStartKey": {
                    "PK": {"S": "TESTBOOK#b"},
                    "SK": {"S": "ENTRY#001#e1"},
                    "GSI1PK": {"S": "TESTAUTHOR#ada"},
                    "GSI1SK": {"S": "ENTRY#001"},
                },
                "ReturnConsumedCapacity": "TOTAL",
            },
        )
    ]


@pytest.mark.parametrize("within", [Essay.within(shelf_id="s"), Essay.everything()], ids=["table", "index"])
async def test_list_reads_leave_heavy_fields_out(table, sent, within):
    await table.batch_write(puts=[essay("oaks"), essay("pines")])
    sent.clear()
    page = await table.query(within, limit=20)
    assert [(record.title, record.text, record.is_lean) for record in page.records] == [
        ("Oaks", UNREAD, True),
        ("Pines", UNREAD, True),
    ]
    ((_, request),) = sent
    names = request["ExpressionAttributeNames"]
    asked_for = {names[placeholder] for placeholder in request["ProjectionExpression"].split(",")}
    assert asked_for == set(Essay.light_attributes)
    assert "text" not in asked_for


async def test_reads_by_key_bring_heavy_fields(table, sent):
    await table.put(essay("oaks"))
    sent.clear()
    assert await table.get(essay("oaks").own_key) == essay("oaks")
    keys = [essay("oaks").own_key, essay("pines").own_key]
    assert await table.get_many(keys) == dict(zip(keys, [essay("oaks"), None], strict=True))


async def test_no_read_brings_the_keys_of_indexes(table, book, sent):
    keys = [entry.own_key for entry in book[:2]]
    await table.query(BOOK, limit=20)
    await table.get(keys[0])
    await table.get_many(keys)
    requests = [request.get("RequestItems", {}).get(table.name, request) for _, request in sent]
    for request in requests:
        names = request["ExpressionAttributeNames"]
        asked_for = [names[placeholder] for placeholder in request["ProjectionExpression"].split(",")]
        assert asked_for == list(Entry.attributes)
        assert not [name for name in asked_for if name.startswith("GSI")]


async def test_a_lean_page_goes_on_like_any_other(table):
    names = ["ash", "birch", "cedar", "elm", "fir"]
    await table.batch_write(puts=[essay(name) for name in names])
    within = Essay.everything()
    first = await table.query(within, limit=3)
    assert first.more == position_of(within, first.records[-1])
    second = await table.query(within, limit=3, after=first.more)
    assert [record.essay_id for record in (*first.records, *second.records)] == names


def footnote(number: int) -> Footnote:
    return Footnote(shelf_id="s", essay_id="oaks", number=number, remark="So they say.")


async def test_another_entity_in_the_range_of_a_lean_read_is_left_out(table):
    await table.batch_write(puts=[essay("oaks"), footnote(1), footnote(2), essay("pines")])
    page = await table.query(Essay.within(shelf_id="s"), limit=20)
    assert [record.essay_id for record in page.records] == ["oaks", "pines"]


async def test_another_entity_in_the_range_of_a_full_read_is_left_out(table):
    await table.batch_write(puts=[essay("oaks"), footnote(1), footnote(2), essay("pines")])
    within = Footnote.within(shelf_id="s", essay_id="oaks")._replace(prefix="ESSAY#")
    assert [record.number for record in (await table.query(within, limit=20)).records] == [1, 2]


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


async def test_a_transaction_takes_100_writes(table):
    await table.transact(*(Put(entry(number)) for number in range(100)))
    assert table.usage.calls == {"TransactWriteItems": 1}
    with pytest.raises(ValueError, match=r"^a transaction takes at most 100 writes, not 101$"):
        await table.transact(*(Put(entry(number)) for number in range(101)))
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


async def test_maintenance_reads_every_item_page_by_page(table):
    """Three items of 390 KB exceed the megabyte of one call."""
    large = [essay(name, text="x" * 390_000) for name in ("ash", "birch", "cedar")]
    for record in (*large, user("ada")):
        await table.put(record)
    table.usage.calls.clear()
    items = [item async for item in table.every_item_for_maintenance()]
    assert sorted(item["PK"]["S"] + item["SK"]["S"] for item in items) == [
        "TESTSHELF#sESSAY#ash",
        "TESTSHELF#sESSAY#birch",
        "TESTSHELF#sESSAY#cedar",
        "USER#adaPROFILE",
    ]
    assert table.usage.calls == {"Scan": 2}


async def test_a_page_ends_at_a_megabyte_and_says_where_to_go_on(table):
    for name in ("ada", "bob", "cyd"):
        await table.put(user(name).changed(bio="x" * 390_000))
    within = User.by_time()
    first = await table.query(within, limit=20)
    assert 0 < len(first.records) < 3
    second = await table.query(within, limit=20, after=first.more)
    assert [record.user_id for record in (*first.records, *second.records)] == ["ada", "bob", "cyd"]
    assert second.more is None


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


async def test_a_table_that_is_there_answers(table):
    assert await table.answers() is True
    assert table.usage.calls == {"DescribeTable": 1}
    with pytest.raises(TableMissing):
        await Table(table.transport, "no-such-table", table.usage).answers()


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


async def test_the_order_of_times_is_the_order_of_pages(table):
    times = [
        "2025-12-31T23:59:59.999Z",
        "2026-01-01T00:00:00.000Z",
        "2026-01-31T23:59:59.999Z",
        "2026-02-01T00:00:00.000Z",
    ]
    people = [user(f"u{place}").changed(created_at=Time(time)) for place, time in enumerate(times)]
    await table.batch_write(puts=reversed(people))
    listed = (await table.query(User.by_time(), limit=20)).records
    assert all(one.created_at < other.created_at for one, other in pairwise(listed))
    january = User.by_time().between("2026-01-01", "2026-02-01").newest_first()
    assert [record.user_id for record in (await table.query(january, limit=20)).records] == ["u2", "u1"]
