"""Hot data: what it answers, what it does not keep, and that it never answers with what is known to be outdated."""

import asyncio

import pytest

from datastore.accounts import SignInFailures, User
from datastore.changes.log import Batch
from datastore.client.table import KeysRead, RangeRead
from datastore.client.writes import Put, Update
from datastore.model.projections import Wanted
from datastore.model.times import now
from datastore.social import Post
from loaders.hot_data import OLDEST
from loaders.hot_reads import RECENT, STALLED
from loaders.needs import Items, Pages, needed
from loaders.request import Loaders
from tests.datastore.test_log import a_change
from tests.loaders.test_scheduler import Gate
from tests.support.fault_proxy import Answer, Call, nothing_wrong
from tests.support.graph import Graph, damage
from tests.support.hot import Hot

FEED = RangeRead(Post.in_feed(feed_shard=0).newest_first(), 5)


def load(hot: Hot) -> Loaders:
    return hot.graph.context().load


def calls(load: Loaders) -> dict[str, int]:
    return dict(load.table.usage.calls)


async def read(hot: Hot, need: Items | Pages, wanted: Wanted | None = None):
    """Returns the answer, the calls it took, and the number of answers from memory."""
    reading = load(hot)
    if wanted is not None:
        reading.scheduler.wanted = wanted
    answer = await reading.run(needed(need))
    return answer, calls(reading), reading.table.usage.cached


async def captions(hot: Hot, within: RangeRead = FEED):
    (page,), made, _ = await read(hot, Pages([within]))
    return [post.caption for post in page.records], made


async def a_post(graph: Graph, number: int, author: str = "ada", **fields) -> Post:
    post = Post(
        post_id=f"post{number}",
        user_id=author,
        image_url="https://example.org/a.jpg",
        caption=f"No. {number}",
        feed_shard=0,
        created_at=f"2026-01-01T00:00:{number:02d}.000Z",
        **fields,
    )
    await graph.table.write(Put(post))
    return post


async def test_what_was_read_once_needs_no_call(hot, graph):
    ada, post = await graph.add_user("ada"), await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    of_likes = KeysRead((ada.own_key, post.own_key)[:1])

    first = [await read(hot, need) for need in (Items([ada.own_key]), Pages([FEED]), Pages([of_likes]))]
    again = [await read(hot, need) for need in (Items([ada.own_key]), Pages([FEED]), Pages([of_likes]))]

    assert [made for _, made, _ in first] == [{"GetItem": 1}, {"Query": 1}, {"GetItem": 1}]
    assert [made for _, made, _ in again] == [{}, {}, {}]
    assert [cached for _, _, cached in again] == [1, 1, 1]
    assert all(one[0][0] is other[0][0] for one, other in zip(first, again, strict=True))
    assert (hot.data.hits, hot.data.misses, len(hot.data)) == (3, 3, 3)


async def test_only_what_is_not_kept_is_read(hot, graph):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))

    found, made, cached = await read(hot, Items([bob.own_key, ada.own_key, None]))

    assert (found, made, cached) == ([bob, ada, None], {"GetItem": 1}, 1)


async def test_that_a_record_is_absent_is_known_until_it_is_written(hot, graph):
    key = User.key(user_id="id-ada")
    assert (await read(hot, Items([key])))[0] == [None]
    assert (await read(hot, Items([key])))[:2] == ([None], {})

    ada = await graph.add_user("ada")
    await hot.hears()

    assert (await read(hot, Items([key])))[0] == [ada]


async def test_a_change_of_another_server_is_seen_when_it_is_heard(hot, graph):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))

    await graph.table.write(Update(ada.own_key, set={"bio": "New."}))
    assert (await read(hot, Items([ada.own_key])))[0] == [ada]
    await hot.hears()

    (found,), made, _ = await read(hot, Items([ada.own_key]))
    assert (found.bio, made) == ("New.", {"GetItem": 1})


async def test_an_own_write_is_seen_at_once(hot, graph):
    ada, post = await graph.add_user("ada"), await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))
    await captions(hot)

    await load(hot).write(
        Update(ada.own_key, set={"bio": "New."}), Update.of(post, post.changed(caption="New, too.", like_count=7))
    )

    assert (await read(hot, Items([ada.own_key])))[0][0].bio == "New."
    assert (await captions(hot))[0] == ["New, too."]


async def test_a_write_whose_outcome_is_not_known_counts(hot, graph, proxy):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))
    writing = asyncio.ensure_future(load(hot).write(Update(ada.own_key, set={"bio": "New."})))
    gate = Gate()
    proxy.will("TransactWriteItems", gate, times=1)
    await gate.reached.wait()
    writing.cancel()
    await asyncio.wait([writing])

    assert (await read(hot, Items([ada.own_key])))[0][0].bio == "New."


async def test_a_read_that_is_overtaken_by_a_change_is_not_kept(hot, graph, proxy):
    ada, _ = await graph.add_user("ada"), await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    gates = [Gate(), Gate()]
    proxy.will("GetItem", gates[0], times=1)
    proxy.will("Query", gates[1], times=1)
    before = asyncio.ensure_future(asyncio.gather(read(hot, Items([ada.own_key])), read(hot, Pages([FEED]))))
    for gate in gates:
        await gate.reached.wait()
    await graph.table.write(Update(ada.own_key, set={"bio": "New."}))
    await a_post(graph, 2)
    await hot.hears()
    for gate in gates:
        gate.opened.set()
    ((found,), _, _), ((page,), _, _) = await before
    assert (found.bio, len(page.records)) == (None, 1)
    # Eventually consistent reads would have seen it by now, but what was read before must not be there.
    hot.waits()

    assert (await read(hot, Items([ada.own_key])))[0][0].bio == "New."
    assert (await captions(hot))[0] == ["No. 2", "No. 1"]


async def test_a_request_that_joins_an_overtaken_read_does_not_keep_it(hot, graph, proxy):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    before = asyncio.ensure_future(read(hot, Items([ada.own_key])))
    await gate.reached.wait()
    await graph.table.write(Update(ada.own_key, set={"bio": "New."}))
    await hot.hears()
    hot.waits()
    joining = asyncio.ensure_future(read(hot, Items([ada.own_key])))
    await read(hot, Items([User.key(user_id="somebody else")]))
    gate.opened.set()
    await asyncio.gather(before, joining)

    assert (await read(hot, Items([ada.own_key])))[0][0].bio == "New."


class Late:
    """Answers reads that are not strongly consistent with what they found the first time."""

    def __init__(self) -> None:
        self._first: Answer | None = None

    async def __call__(self, call: Call) -> Answer:
        if call.request.get("ConsistentRead") or (call.operation == "Query" and "IndexName" not in call.request):
            return await nothing_wrong(call)
        self._first = self._first or await nothing_wrong(call)
        return self._first


@pytest.mark.parametrize("seconds", [0.0, RECENT - 1])
async def test_an_old_answer_soon_after_a_change_is_not_kept(hot, graph, proxy, seconds):
    ada, post = await graph.add_user("ada"), await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    proxy.will("GetItem", Late())
    proxy.will("Query", Late())
    await read(hot, Items([ada.own_key]))
    await captions(hot)
    hot.data.clear()
    await graph.table.write(Update(ada.own_key, set={"bio": "New."}))
    await graph.table.write(Update(post.own_key, set={"caption": "New."}))
    await a_post(graph, 2)
    await hot.hears()
    hot.waits(seconds)

    assert (await read(hot, Items([ada.own_key])))[0][0].bio == "New."
    assert (await captions(hot))[0] == ["No. 1"]

    assert (await read(hot, Items([ada.own_key])))[0][0].bio == "New."
    assert await captions(hot) == (["No. 2", "New."], {"BatchGetItem": 1})
    assert await captions(hot) == (["No. 2", "New."], {})


async def test_a_record_with_too_few_fields_is_read_with_all_that_were_wanted(hot, graph):
    ada = await graph.add_user("ada", bio="Mathematician.", display_name="Ada")
    await hot.hears()
    hot.waits()
    key, bio, name = ada.own_key, Wanted(frozenset({"bio"})), Wanted(frozenset({"display_name"}))

    assert (await read(hot, Items([key]), bio))[1] == {"GetItem": 1}
    (found,), made, _ = await read(hot, Items([key]), name)
    assert (found.display_name, made) == ("Ada", {"GetItem": 1})
    (found,), made, _ = await read(hot, Items([key]), bio)
    assert (found.bio, found.display_name, made) == ("Mathematician.", "Ada", {})


async def test_a_plan_that_wants_more_fields_gets_another_page(hot, graph):
    await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    wanted = Wanted(frozenset({"like_count"}))
    await read(hot, Pages([FEED]), wanted)

    wanted.widen()
    (page,), made, _ = await read(hot, Pages([FEED]), wanted)

    assert (page.records[0].caption, made) == ("No. 1", {"Query": 1})


async def test_damage_and_failures_are_not_kept(hot, graph, proxy):
    ada, post = await graph.add_user("ada"), await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    await damage(graph, ada, username={"N": "1"})
    await damage(graph, post, caption={"N": "1"})

    for _ in range(2):
        assert (await read(hot, Items([ada.own_key], or_damage=True)))[1] == {"GetItem": 1}
        assert await captions(hot) == ([], {"Query": 1})
    assert len(hot.data) == 0


async def test_what_the_log_does_not_tell_is_not_kept(hot):
    key = SignInFailures.key(subject="ada")
    assert [(await read(hot, Items([key])))[1] for _ in range(2)] == [{"GetItem": 1}] * 2


async def test_strongly_consistent_reads_and_those_after_a_write_pass_it_by(hot, graph):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))
    mine = load(hot)

    await mine.fresh(ada.own_key)
    assert calls(mine) == {"GetItem": 1}
    mine = load(hot)
    mine.read_consistently()
    await mine.stored(ada.own_key)
    assert calls(mine) == {"GetItem": 1}


async def test_while_the_log_is_not_read_nothing_is_answered_from_memory(hot, graph):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))
    (tail,) = hot.graph.services.changes.tails

    tail.seen_at = hot.reads.clock() - STALLED - 0.1
    assert (await read(hot, Items([ada.own_key])))[1] == {"GetItem": 1}
    await captions(hot)
    assert (await captions(hot))[1] == {"Query": 1}
    tail.seen_at = hot.reads.clock()
    assert (await read(hot, Items([ada.own_key])))[1] == {}


async def test_if_changes_are_lost_everything_is_forgotten(hot, graph):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))
    (tail,) = hot.graph.services.changes.tails

    tail._take(Batch(await tail.position() + 1, [], now()))

    assert len(hot.data) == 0
    await read(hot, Items([ada.own_key]))
    assert (await read(hot, Items([ada.own_key])))[1] == {"GetItem": 1}
    hot.waits()
    await read(hot, Items([ada.own_key]))
    tail._take(Batch(await tail.position() + 2, [a_change(1)], now()))
    assert len(hot.data) == 0


async def test_nothing_is_kept_for_longer_than_a_minute(hot, graph):
    ada = await graph.add_user("ada")
    await hot.hears()
    hot.waits()
    await read(hot, Items([ada.own_key]))

    hot.waits(OLDEST)

    assert (await read(hot, Items([ada.own_key])))[1] == {"GetItem": 1}
    assert (await read(hot, Items([ada.own_key])))[1] == {}
