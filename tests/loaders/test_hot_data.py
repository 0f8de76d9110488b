"""The memory of hot data: its estimate, its limit, and what goes first."""

import gc
import tracemalloc

import orjson
import pytest

from datastore.changes.change import Change, What
from datastore.client.table import Page, RangeRead
from datastore.model.entity import decode_as
from datastore.model.times import now
from datastore.social import Post
from loaders.hot_data import PLACE_BYTES, HotData, PageName
from loaders.recent_changes import RecentChanges
from loaders.sizes import size_of

FIELDS = Post.whole.items
WITHIN = Post.by_author(user_id="ada")


def stored(number: int, caption: str = "A caption of the usual length.") -> bytes:
    post = Post(
        post_id=f"post{number}", user_id="ada", image_url=f"https://example.org/{number}.jpg", caption=caption * 2
    )
    return orjson.dumps(post.encode())


def a_post(number: int) -> Post:
    post: Post = decode_as(FIELDS, stored(number))
    return post


def keep(data: HotData, *numbers: int) -> None:
    for number in numbers:
        data.keep_record(Post.key(post_id=f"post{number}"), a_post(number), FIELDS, 0.0)


def has(data: HotData, number: int) -> bool:
    return data.get(Post.key(post_id=f"post{number}"), 0.0) is not None


def records(data: HotData, items: list[bytes]) -> None:
    for number, item in enumerate(items):
        record = decode_as(FIELDS, item)
        data.keep_record(record.own_key, record, FIELDS, float(number))


def absent(data: HotData, items: list[bytes]) -> None:
    for number in range(len(items)):
        data.keep_record(Post.key(post_id=f"absent{number}"), None, FIELDS, float(number))


def pages(data: HotData, items: list[bytes]) -> None:
    for start in range(0, len(items), 10):
        found = [decode_as(FIELDS, item) for item in items[start : start + 10]]
        read = RangeRead(WITHIN.between(f"{start}", None), 10)
        data.keep_page(PageName(read, (Post.whole.lists,)), Page(found, None), float(start))


@pytest.mark.parametrize("kept", [records, absent, pages])
def test_the_estimate_is_near_what_the_memory_is(kept):
    items = [stored(number, "Some text. " * (number % 30)) for number in range(2_000)]
    data = HotData(10**9)
    gc.collect()
    tracemalloc.start()
    kept(data, items)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken / 2 < data.bytes < taken * 2


def test_everything_that_is_dropped_is_given_back():
    data = HotData(10**9)
    keep(data, *range(100))
    pages(data, [stored(number) for number in range(100)])
    for number in range(100):
        data.change(Change(Post.key(post_id=f"post{number}"), What.REMOVED, now(), None, {}), 1.0)
    for entry in [*data._entries.values()]:
        data.drop(entry)

    assert (len(data), data.bytes, len(data._watching)) == (0, 0, 0)
    assert (len(data._watching._places), len(data._watching._windows)) == (0, 0)


def test_what_was_not_used_goes_first():
    data = HotData(10**9)
    keep(data, *range(10, 40))
    data.most_bytes = data.bytes
    assert has(data, 10)

    keep(data, 40)

    assert [number for number in range(10, 41) if not has(data, number)] == [11]
    assert (data.evictions, data.bytes <= data.most_bytes) == (1, True)


def test_a_scan_does_not_drive_out_what_is_used():
    data = HotData(100 * 2_000)
    keep(data, 1, 2)
    for number in range(10, 1_000):
        assert has(data, 1)
        keep(data, number)

    assert (has(data, 1), has(data, 2)) == (True, False)
    assert data.bytes <= data.most_bytes


def test_an_entry_that_takes_too_much_of_the_memory_is_not_kept():
    data = HotData(10_000)
    keep(data, 1)
    assert len(data) == 0


def test_a_record_that_has_grown_takes_more():
    data = HotData(10**9)
    pages(data, [stored(number) for number in range(10)])
    (page,) = data._entries.values()
    small, (first, *others) = data.bytes, page.answer.records

    large = decode_as(FIELDS, stored(0, "x" * 100_000))
    page.answer = Page([large, *others], None)
    data.corrected(page, [first, *others])
    grown = data.bytes
    page.answer = Page([*others], None)
    data.corrected(page, [large, *others])

    assert grown == small + size_of([large]) - size_of([first])
    assert data.bytes == page.bytes == page.measure(page.read_set()) < small
    assert data.bytes == small - size_of([first]) - PLACE_BYTES * (WITHIN.index_name is not None)


def test_long_keys_of_what_is_absent_count():
    data = HotData(10**9)
    for number in range(100):
        data.keep_record(Post.key(post_id=f"{number}" + "x" * 1_900), None, FIELDS, 0.0)

    assert data.bytes > 100 * 1_900


def changed(number: int, **keys: tuple[str, str]) -> Change:
    return Change(Post.key(post_id=f"post{number}"), What.CHANGED, now(), None, keys)


def test_recent_changes_are_known_for_a_time_and_up_to_a_number():
    recent = RecentChanges(10.0, most=3)
    assert not recent.knows_since(5.0)
    recent.begin(0.0)
    recent.add(1.0, changed(1))
    recent.add(2.0, changed(1))
    assert (recent.last_of(("POST#post1", "METADATA")), recent.knows_since(0.5)) == (2.0, True)

    recent.add(11.5, changed(2))
    assert (recent.knows_since(1.0), recent.knows_since(1.5)) == (False, True)
    for _ in range(3):
        recent.add(12.0, changed(3))
    assert recent.last_of(("POST#post1", "METADATA")) == recent.last_of(("POST#post2", "METADATA")) == float("-inf")
    assert (recent.knows_since(11.5), recent.knows_since(11.6)) == (False, True)
    assert len(recent._partitions) == 1
