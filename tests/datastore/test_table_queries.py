"""Ranges and pages of the table client on the engine: order, bounds, and which fields are read."""

from itertools import pairwise

import pytest

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.positions import position_of
from datastore.client.table import Page
from datastore.model.decoding import UNREAD
from datastore.model.times import Time
from tests.datastore.library import AUTHOR, BOOK, Entry, Essay, Footnote, entry, essay, user

pytestmark = [pytest.mark.engine_contract, pytest.mark.usefixtures("library_registered")]


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


async def test_a_page_ends_at_a_megabyte_and_says_where_to_go_on(table, engine_name):
    if engine_name == "dynamodb-local":
        pytest.skip("its pages of an index are longer")
    for name in ("ada", "bob", "cyd"):
        await table.put(user(name).changed(bio="x" * 390_000))
    within = User.by_time()
    first = await table.query(within, limit=20)
    assert 0 < len(first.records) < 3
    second = await table.query(within, limit=20, after=first.more)
    assert [record.user_id for record in (*first.records, *second.records)] == ["ada", "bob", "cyd"]
    assert second.more is None


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
