"""Jobs of home feeds: building, and what happens while they run."""

import pytest

from datastore.client.budget import Usage
from datastore.client.writes import Delete, Update
from datastore.model.times import now
from datastore.social import FeedAuthor, FeedEntry, FeedMode, FeedState, Follow
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.background.jobs import Worker, queued
from resolvers.social import feed_entries, feed_jobs
from resolvers.social.feed_entries import copy_of, spread
from tests.resolvers.social.test_feed_edges import HOME, followed_crowd, page_of
from tests.resolvers.social.test_processors import compare, entries, people
from tests.support.graph import Graph, viewer_of
from tests.support.social import ids


def loaders(graph: Graph) -> Loaders:
    return Loaders(graph.table.using(Usage.lasting(60)), ANONYMOUS, consistent=True)


async def run_jobs(graph: Graph) -> None:
    """Runs due jobs, but no processors: the table is from before there were any."""
    while await Worker(graph.table, graph.services.tools).do_what_is_due():
        pass


async def test_a_job_builds_the_feeds_of_an_old_table(graph, society, monkeypatch):
    monkeypatch.setattr(feed_jobs, "READERS_AT_ONCE", 2)
    reader, newest_first = await followed_crowd(society, 3, 7)
    await graph.table.write(queued(feed_jobs.build_home_feeds))

    await run_jobs(graph)
    asked = await graph.ask(HOME, viewer_of(reader), first=5)

    assert await entries(graph, reader) == [post.post_id for post in newest_first]
    assert [node["id"] for node in page_of(asked.data)["nodes"]] == ids(*newest_first[:5])
    assert asked.calls == {"GetItem": 1, "Query": 3, "BatchGetItem": 1}


async def test_building_keeps_the_newest_posts_and_says_where_they_end(graph, society, monkeypatch):
    monkeypatch.setattr(feed_entries, "KEPT", 4)
    reader, newest_first = await followed_crowd(society, 3, 9)

    await feed_jobs.build_home_feed(loaders(graph), user_id=reader.user_id)

    assert (await graph.table.get(FeedState.key(user_id=reader.user_id))).floor == newest_first[3].created_at
    for size in (1, 2, 3, 4, 5, 9):
        await compare(graph, reader, size)


async def test_building_begins_to_merge_authors_with_many_followers(graph, society):
    (reader,), author = await people(society, 1)
    post = await society.post(author)
    await graph.table.update(Update(author.own_key, set={"follower_count": 5_001}))
    await graph.table.write(queued(feed_jobs.build_home_feeds))

    await run_jobs(graph)

    assert (await graph.table.get(FeedAuthor.key(user_id=author.user_id))).mode is FeedMode.LEAVING
    follow = await graph.table.get(Follow.key(follower_id=reader.user_id, following_id=author.user_id))
    assert follow.merged_at is not None
    assert await entries(graph, reader) == []
    assert page_of((await graph.ask(HOME, viewer_of(reader), first=1)).data)["nodes"] == [{"id": ids(post)[0]}]


@pytest.mark.parametrize("ends", ["the follow", "the post"])
async def test_what_ends_while_a_post_is_copied_leaves_no_entry(graph, society, monkeypatch, ends):
    (reader,), author = await people(society, 1)
    post = await society.post(author)
    follow = await graph.table.get(Follow.key(follower_id=reader.user_id, following_id=author.user_id))
    write_entries = feed_entries.write_entries

    async def then_it_ends(load, **given):
        await write_entries(load, **given)
        if ends == "the follow":
            await graph.table.write(Delete(follow.own_key))
        else:
            await graph.table.put(post.changed(deleted_at=now()))

    monkeypatch.setattr(feed_entries, "write_entries", then_it_ends)
    await spread(loaders(graph), copy_of(post), [follow])

    assert await entries(graph, reader) == []


async def test_a_job_of_an_earlier_change_of_mode_does_nothing(graph, society):
    (reader,), author = await people(society, 1)
    await feed_jobs.build_home_feed(loaders(graph), user_id=reader.user_id)
    await graph.table.put(FeedAuthor(user_id=author.user_id, mode=FeedMode.LEAVING, changed_at=now()))

    await feed_jobs.match_followers(loaders(graph), author_id=author.user_id, since="2026-01-01T00:00:00.000Z")

    assert (await graph.table.get(FeedAuthor.key(user_id=author.user_id))).mode is FeedMode.LEAVING
    follow = await graph.table.get(Follow.key(follower_id=reader.user_id, following_id=author.user_id))
    assert follow.merged_at is None


async def test_a_mark_stays_while_the_author_is_merged(graph, society):
    """A job that was held up must not hide posts that are not copied."""
    (reader,), author = await people(society, 1)
    await feed_jobs.build_home_feed(loaders(graph), user_id=reader.user_id)
    key = Follow.key(follower_id=reader.user_id, following_id=author.user_id)
    await graph.table.put((await graph.table.get(key)).changed(merged_at=now()))
    await graph.table.put(FeedAuthor(user_id=author.user_id, mode=FeedMode.MERGED, changed_at=now()))

    await feed_entries.match_entries(loaders(graph), reader.user_id, {author.user_id: FeedMode.RETURNING})

    assert (await graph.table.get(key)).merged_at is not None


async def test_a_feed_that_is_not_built_is_built_when_it_would_be_trimmed(graph, society, monkeypatch):
    monkeypatch.setattr(feed_entries, "TRIMMED_EVERY", 1)
    (reader,), author = await people(society, 1)
    post = await society.post(author)
    follow = await graph.table.get(Follow.key(follower_id=reader.user_id, following_id=author.user_id))

    await feed_jobs.spread_and_trim(loaders(graph), copy_of(post), [follow])
    await run_jobs(graph)

    assert await graph.table.get(FeedState.key(user_id=reader.user_id)) is not None
    assert (await graph.table.query(FeedEntry.within(user_id=reader.user_id), limit=9)).records != []
