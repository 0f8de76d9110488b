"""Background jobs of home feeds. Each works on a few pages, and queues another job for the rest."""

from collections.abc import Collection
from functools import partial
from typing import Any

from datastore.accounts import User
from datastore.client.positions import Position
from datastore.client.writes import Put, Update, Write, absent, equals
from datastore.model.keys import Key, Range
from datastore.model.times import Time, new_id, now, time_from_now
from datastore.social import FeedAuthor, FeedEntry, FeedMode, FeedState, Follow, Post
from loaders.merge import Merge, read_merged
from loaders.request import Loaders
from resolvers.background.jobs import BATCH, SETTLED, attempt, for_each, job, queued
from resolvers.core.options import Options
from resolvers.social import feed_entries
from resolvers.social.feed_entries import (
    Copy,
    Modes,
    copy_of,
    entries_of,
    is_due,
    mark_merged,
    match_entries,
    spread,
    write_entries,
)
from resolvers.social.home_feed import posts_by

PAGES = 10
READERS_AT_ONCE = 25
# An author whose posts are merged has this part of FEED_FANOUT followers before they are copied again.
HYSTERESIS = 0.8


def next_mode(mode: FeedMode, follower_count: int, options: Options) -> FeedMode:
    """Returns the mode that an author with so many followers should have."""
    if mode.merges:
        return FeedMode.RETURNING if follower_count < HYSTERESIS * options.feed_fanout else mode
    return FeedMode.LEAVING if follower_count > options.feed_fanout else mode


def mode_change(user_id: str, mode: FeedMode) -> list[Write]:
    """Sets the mode of an author. The job comes later: by then, indexes have what was handled in the mode before."""
    author = FeedAuthor(user_id=user_id, mode=mode, changed_at=now())
    later = time_from_now(SETTLED)
    return [Put(author), queued(match_followers, due_at=later, author_id=user_id, since=author.changed_at)]


async def modes_of(load: Loaders, user_ids: Collection[str]) -> dict[str, FeedMode]:
    """Returns the feed modes of these authors. Strongly consistent."""
    found = await load.fresh(*(FeedAuthor.key(user_id=user_id) for user_id in user_ids))
    return {user_id: each.mode if each else FeedMode.COPIED for user_id, each in zip(user_ids, found, strict=True)}


@job
async def spread_post(
    load: Loaders, *, post_id: str, author_id: str, created_at: str, after: list[str] | None = None
) -> None:
    """Adds a new post to the feeds of all followers of its author, or removes a deleted one."""
    copy = Copy(post_id, author_id, Time(created_at))
    position: Position | None = tuple(after) if after else None
    for _ in range(PAGES):
        page = await load.table.query(Follow.followers_of(following_id=author_id), limit=BATCH, after=position)
        await spread_and_trim(load, copy, page.records)
        position = page.more
        if position is None:
            return
    rest = queued(
        spread_post,
        job_id=new_id(),
        post_id=post_id,
        author_id=author_id,
        created_at=created_at,
        after=[*position] if position else None,
    )
    await load.write(rest)


async def spread_and_trim(load: Loaders, copy: Copy, readers: Collection[Follow]) -> None:
    await spread(load, copy, [*readers])
    for follow in readers:
        if is_due(copy, follow.follower_id) and not await feed_entries.trim(load, follow.follower_id):
            await load.write(queued(build_home_feed, user_id=follow.follower_id))


@job
async def match_followers(
    load: Loaders, *, author_id: str, since: str | None = None, after: list[str] | None = None
) -> None:
    """Makes the feeds of all followers match an author: one whose mode changed at `since`, or who was restored."""
    (author,) = await load.fresh(FeedAuthor.key(user_id=author_id))
    if since is not None and (author is None or author.changed_at != since):
        return  # The mode has changed again, which queued another job.
    modes = {author_id: author.mode if author else FeedMode.COPIED}
    position: Position | None = tuple(after) if after else None
    for _ in range(PAGES):
        page = await load.table.query(Follow.followers_of(following_id=author_id), limit=BATCH, after=position)
        await for_each(page.records, _match_follower, load, modes)
        position = page.more
        if position is None:
            await _finish(load, author)
            return
    rest = [*position] if position else None
    await load.write(queued(match_followers, author_id=author_id, since=since, after=rest))


async def _match_follower(follow: Follow, load: Loaders, modes: Modes) -> None:
    await match_entries(load, follow.follower_id, modes)


async def _finish(load: Loaders, author: FeedAuthor | None) -> None:
    done = {FeedMode.LEAVING: FeedMode.MERGED, FeedMode.RETURNING: FeedMode.COPIED}
    if author is not None and author.mode in done:
        unchanged = equals("changed_at", author.changed_at)
        await attempt(load.write(Update(author.own_key, set={"mode": done[author.mode]}, when=unchanged)))


@job
async def match_follows(load: Loaders, *, user_id: str, author_ids: list[str]) -> None:
    """Makes a feed match these authors, once indexes have what was written when they were followed."""
    await match_entries(load, user_id, await modes_of(load, author_ids))


@job
async def build_home_feed(load: Loaders, *, user_id: str) -> None:
    """Builds a home feed: writes the entries of the newest posts, and then the state that lets readers use them."""
    keys: list[Key[Any]] = [User.key(user_id=user_id), FeedState.key(user_id=user_id)]
    user, state = await load.fresh(*keys)
    if user is None:
        return
    follows = await _follows(load, user_id)
    if state is None:
        await _build(load, user_id, [*follows.values()])
        before, follows = follows, await _follows(load, user_id)
        # What changes from here on finds the state, and is handled as ever.
        changed = [each for each in before.keys() | follows.keys() if before.get(each) != follows.get(each)]
    else:
        changed = [*follows]
    await match_entries(load, user_id, await modes_of(load, changed))


async def _build(load: Loaders, user_id: str, follows: Collection[Follow]) -> None:
    modes = await modes_of(load, [follow.following_id for follow in follows])
    copied = [follow for follow in follows if not modes[follow.following_id].merges]
    await mark_merged(load, [follow for follow in follows if modes[follow.following_id].merges])
    wanted, floor = await _newest(load, user_id, [posts_by(follow.following_id) for follow in copied])
    there = {entry.own_key for entry in await entries_of(load, user_id)}
    keys = {entry.own_key for entry in wanted}
    authors = {follow.following_id for follow in copied}
    await write_entries(load, puts=[entry for entry in wanted if entry.own_key not in there])
    # Others are of posts that came while this was building, or of users who are no longer followed.
    left = [entry for entry in await entries_of(load, user_id) if entry.own_key not in keys]
    await write_entries(load, deletes=[entry.own_key for entry in left if entry.author_id not in authors])
    await attempt(load.write(Put(FeedState(user_id=user_id, floor=floor), when=absent())))


async def _newest(load: Loaders, user_id: str, ranges: Collection[Range[Post]]) -> tuple[list[FeedEntry], Time | None]:
    """Returns the entries of the newest posts, and the time up to which there may be others."""
    found: list[FeedEntry] = []
    after: Position | None = None
    while True:
        merge = Merge(tuple(ranges), user_id)
        page = await load.run(read_merged(merge, feed_entries.KEPT - len(found), load.viewer, after))
        found += [copy_of(post).entry_for(user_id) for post in page.records]
        if page.resume is None:
            return found, found[-1].created_at if page.more else None
        after = page.resume


async def _follows(load: Loaders, user_id: str) -> dict[str, Follow]:
    """Returns all follows whose followed accounts are open, by author. Strongly consistent."""
    found: dict[str, Follow] = {}
    after: Position | None = None
    while True:
        within = Follow.within(follower_id=user_id)
        page = await load.table.query(within, limit=feed_entries.PAGE, after=after, consistent=True)
        found |= {follow.following_id: follow for follow in page.records if follow.followed_hidden_at is None}
        after = page.more
        if after is None:
            return found


@job
async def build_home_feeds(load: Loaders, *, after: list[str] | None = None, options: Options) -> None:
    """Builds the home feeds of all users that have none: for tables from before there were entries."""
    page = await load.table.query(User.by_time(), limit=READERS_AT_ONCE, after=tuple(after) if after else None)
    modes = await modes_of(load, [user.user_id for user in page.records])
    for user in page.records:
        mode = next_mode(modes[user.user_id], user.follower_count, options)
        if mode is not modes[user.user_id]:
            await load.write(*mode_change(user.user_id, mode))
    states = await load.fresh(*(FeedState.key(user_id=user.user_id) for user in page.records))
    unbuilt = [user.user_id for user, state in zip(page.records, states, strict=True) if state is None]
    await for_each(unbuilt, partial(_build_one, load))
    if page.more:
        await load.write(queued(build_home_feeds, after=[*page.more]))


async def _build_one(load: Loaders, user_id: str) -> None:
    await build_home_feed(load, user_id=user_id)
