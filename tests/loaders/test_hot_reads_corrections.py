"""Pages in memory that have changed are corrected: only what changed in them is read, with strong consistency."""

import asyncio

from datastore.client.table import RangeRead
from datastore.client.writes import Delete, Update
from datastore.social import Post
from tests.loaders.test_hot_reads import a_post, captions, load
from tests.loaders.test_scheduler import Gate
from tests.support.graph import damage


async def test_a_page_that_has_changed_is_corrected_and_not_read_again(hot, graph):
    posts = [await a_post(graph, number) for number in range(1, 8)]
    await hot.hears()
    hot.waits()
    assert (await captions(hot))[0] == ["No. 7", "No. 6", "No. 5", "No. 4", "No. 3"]

    await graph.table.write(Update(posts[5].own_key, add={"like_count": 1}), Delete(posts[4].own_key))
    await a_post(graph, 8)
    await hot.hears()

    assert await captions(hot) == (["No. 8", "No. 7", "No. 6", "No. 4", "No. 3"], {"BatchGetItem": 1})
    assert await captions(hot) == (["No. 8", "No. 7", "No. 6", "No. 4", "No. 3"], {})
    assert hot.data.corrections == 1


async def test_a_blind_update_of_a_shown_record_concerns_the_page(hot, graph):
    post = await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    await captions(hot)

    await graph.table.write(Update(post.own_key, set={"caption": "New."}))
    await hot.hears()

    assert await captions(hot) == (["New."], {"GetItem": 1})


async def test_a_correction_places_a_record_where_it_is_now(hot, graph):
    """The log tells of two moves, one after the other: the record is not where the first one has put it."""
    post = await a_post(graph, 1, author="ada")
    of_bob = RangeRead(Post.by_author(user_id="bob"), 5)
    await hot.hears()
    hot.waits()
    await captions(hot, of_bob)
    to_bob = post.changed(user_id="bob")
    mine = load(hot)
    await mine.write(Update.of(post, to_bob))
    await mine.write(Update.of(to_bob, to_bob.changed(user_id="cyd")))

    assert await captions(hot, of_bob) == ([], {"GetItem": 1})
    await hot.hears()
    assert await captions(hot, of_bob) == ([], {"GetItem": 1})


async def test_a_correction_that_fails_reads_the_page(hot, graph, proxy):
    post = await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    await captions(hot)
    await load(hot).write(Update(post.own_key, add={"like_count": 1}))
    await damage(graph, post, caption={"N": "1"})

    assert await captions(hot) == ([], {"GetItem": 1, "Query": 1})
    assert await captions(hot) == ([], {"Query": 1})


async def test_two_corrections_at_once_keep_the_later_one(hot, graph, proxy):
    post = await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    await captions(hot)
    await graph.table.write(Update(post.own_key, set={"caption": "New."}))
    await hot.hears()
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    first = asyncio.ensure_future(captions(hot))
    await gate.reached.wait()
    await graph.table.write(Update(post.own_key, set={"caption": "Newer."}))
    await hot.hears()

    assert (await captions(hot))[0] == ["Newer."]
    gate.opened.set()
    assert (await first)[0] in (["New."], ["Newer."])
    assert await captions(hot) == (["Newer."], {})


async def test_what_changes_during_a_correction_is_corrected_by_the_next_one(hot, graph, proxy):
    post = await a_post(graph, 1)
    await hot.hears()
    hot.waits()
    await captions(hot)
    await graph.table.write(Update(post.own_key, set={"caption": "New."}))
    await hot.hears()
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    first = asyncio.ensure_future(captions(hot))
    await gate.reached.wait()
    await graph.table.write(Update(post.own_key, set={"caption": "Newer."}))
    await hot.hears()
    gate.opened.set()

    assert (await first)[0] == ["New."]
    assert await captions(hot) == (["Newer."], {"GetItem": 1})
