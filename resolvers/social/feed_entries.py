"""Entries of home feeds: made equal to the posts of the followed users, one reader or one post at a time.

Entries are written first and the follows are read again afterwards. So if a follow or a post ends in between, either
this sees it and takes its entries back, or what handles the end of it comes later and sees the entries.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from datastore.client.errors import Conflict
from datastore.client.positions import Position
from datastore.client.writes import Check, Update, absent, equals, exists, same
from datastore.model.keys import Key, Range
from datastore.model.times import Time, now
from datastore.social import FeedAuthor, FeedEntry, FeedMode, FeedState, Follow, Post
from loaders.request import Loaders
from resolvers.background.jobs import BATCH, attempt
from resolvers.social.home_feed import posts_by

KEPT = 1_000
"""Entries of a feed that is trimmed."""
TRIMMED_EVERY = 100
"""A feed is trimmed with one of this many posts that it gets, because that reads all of its entries."""
PAGE = 1_000

Modes = Mapping[str, FeedMode]
"""Feed modes by author."""


class Copy(NamedTuple):
    """A post as its entries show it."""

    post_id: str
    author_id: str
    created_at: Time

    def entry_for(self, user_id: str) -> FeedEntry:
        post_id, author_id, created_at = self
        return FeedEntry(
            user_id=user_id, author_id=author_id, post_id=post_id, created_at=created_at, updated_at=created_at
        )


async def match_entries(load: Loaders, user_id: str, authors: Modes) -> bool:
    """Makes the entries of these authors match what the reader follows. Returns False if the feed is not built yet."""
    (state,) = await load.fresh(FeedState.key(user_id=user_id))
    if state is None:
        return False
    follows = await _follows_of(load, user_id, authors)
    wanted: dict[str, list[FeedEntry]] = {}
    for author_id, follow in follows.items():
        if authors[author_id].merges:
            await _mark(load, follow)
        else:
            above = None if state.floor is None else f"{state.floor}$"
            within = posts_by(author_id).between(above, None) if above else posts_by(author_id)
            wanted[author_id] = await entries_of_posts(load, user_id, within)
    there = {entry.own_key: entry for entry in await entries_of(load, user_id)}
    matched = [entry for entries in wanted.values() for entry in entries]
    keys = {entry.own_key for entry in matched}
    await write_entries(
        load,
        puts=[entry for entry in matched if entry.own_key not in there],
        deletes=[key for key, entry in there.items() if entry.author_id in authors and key not in keys],
    )
    still = await _follows_of(load, user_id, wanted)
    ended = [entry.own_key for author_id in wanted.keys() - still.keys() for entry in wanted[author_id]]
    await write_entries(load, deletes=ended)
    for author_id in wanted.keys() & still.keys():
        await _unmark(load, still[author_id])
    if len(there.keys() | keys) > KEPT + TRIMMED_EVERY:
        await trim(load, user_id)
    return True


async def spread(load: Loaders, copy: Copy, readers: Sequence[Follow]) -> None:
    """Adds a post to the feeds of these followers, or removes it if it is no longer shown."""
    entries = {follow.own_key: copy.entry_for(follow.follower_id) for follow in readers}
    if not await _is_shown(load, copy):
        await write_entries(load, deletes=[entry.own_key for entry in entries.values()])
        return
    await write_entries(load, puts=entries.values())
    still = {follow.own_key for follow in await load.fresh(*entries) if follow and follow.followed_hidden_at is None}
    ended = entries.keys() - still if await _is_shown(load, copy) else entries.keys()
    await write_entries(load, deletes=[entries[key].own_key for key in ended])


def is_due(copy: Copy, user_id: str) -> bool:
    """Returns True if this is the post with which a feed is trimmed: the same for every attempt to copy it."""
    return crc32(f"{copy.post_id}{user_id}".encode()) % TRIMMED_EVERY == 0


async def trim(load: Loaders, user_id: str) -> bool:
    """Deletes all but the newest entries of a feed. Returns False if the feed is not built yet.

    The floor rises first: readers never rely on entries that may be gone. It never sinks.
    """
    (state,) = await load.fresh(FeedState.key(user_id=user_id))
    if state is None:
        return False
    entries = await entries_of(load, user_id)
    if len(entries) <= KEPT:
        return True
    floor = max(state.floor or "", entries[KEPT].created_at)
    if floor != state.floor:
        try:
            await load.write(Update(state.own_key, set={"floor": floor}, when=exists() & same("floor", state.floor)))
        except Conflict:
            return True  # Another job trims it.
    await write_entries(load, deletes=[entry.own_key for entry in entries if entry.created_at <= floor])
    return True


async def entries_of(load: Loaders, user_id: str) -> list[FeedEntry]:
    """Returns all entries of a feed, newest first. Strongly consistent."""
    within = FeedEntry.within(user_id=user_id).newest_first()
    found: list[FeedEntry] = []
    after: Position | None = None
    while True:
        page = await load.table.query(within, limit=PAGE, after=after, consistent=True)
        found += page.records
        after = page.more
        if after is None:
            return found


async def entries_of_posts(load: Loaders, user_id: str, within: Range[Post]) -> list[FeedEntry]:
    """Returns the entries that the newest posts of an author should have."""
    found: list[FeedEntry] = []
    after: Position | None = None
    while len(found) < KEPT:
        page = await load.table.query(within, limit=BATCH, after=after)
        found += [copy_of(post).entry_for(user_id) for post in page.records if is_listed(post)]
        after = page.more
        if after is None:
            break
    return found


async def write_entries(
    load: Loaders, *, puts: Iterable[FeedEntry] = (), deletes: Iterable[Key[FeedEntry]] = ()
) -> None:
    """Writes some at a time: a thousand at once would hold up requests."""
    waiting = iter(puts)
    while some := [*islice(waiting, BATCH)]:
        await load.table.batch_write(puts=some)
    gone = iter(deletes)
    while keys := [*islice(gone, BATCH)]:
        await load.table.batch_write(deletes=keys)


def copy_of(post: Post) -> Copy:
    return Copy(post.post_id, post.user_id, post.created_at)


def is_listed(post: Post) -> bool:
    return post.deleted_at is None and post.hidden_at is None


async def mark_merged(load: Loaders, follows: Iterable[Follow]) -> None:
    for follow in follows:
        await _mark(load, follow)


async def _mark(load: Loaders, follow: Follow) -> None:
    if follow.merged_at is None:
        marked = follow.changed(merged_at=now(), updated_at=follow.updated_at)
        await attempt(load.write(Update.of(follow, marked, when=exists() & absent("merged_at"))))


async def _unmark(load: Loaders, follow: Follow) -> None:
    """On condition that posts are copied: else a job that was held up would hide posts that are not copied."""
    if follow.merged_at is not None:
        unmarked = follow.changed(merged_at=None, updated_at=follow.updated_at)
        copies = absent() | equals("mode", FeedMode.COPIED) | equals("mode", FeedMode.RETURNING)
        mode = Check(FeedAuthor.key(user_id=follow.following_id), when=copies)
        await attempt(load.write(Update.of(follow, unmarked, when=equals("merged_at", follow.merged_at)), mode))


async def _follows_of(load: Loaders, user_id: str, authors: Iterable[str]) -> dict[str, Follow]:
    """Returns the follows by author, as far as they exist and the author's account is open. Strongly consistent."""
    found = await load.fresh(*(Follow.key(follower_id=user_id, following_id=author_id) for author_id in authors))
    return {follow.following_id: follow for follow in found if follow and follow.followed_hidden_at is None}


async def _is_shown(load: Loaders, copy: Copy) -> bool:
    (post,) = await load.fresh(Post.key(post_id=copy.post_id))
    return post is not None and is_listed(post)
