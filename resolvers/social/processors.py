"""Processors of the social network."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from datastore.accounts import User
from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import Time, next_full, time_from_now
from datastore.social import FeedMode, Follow, Post, PostCounter, PostRank
from loaders.request import Loaders
from resolvers.background.jobs import BATCH, SETTLED, for_each, queued
from resolvers.background.processors import processor
from resolvers.core.options import Options
from resolvers.core.rankings import RANKED_AT_ONCE, rank_writes
from resolvers.social.edges import counter_keys
from resolvers.social.feed_entries import Copy, Modes, copy_of, is_listed, match_entries
from resolvers.social.feed_jobs import (
    build_home_feed,
    match_followers,
    match_follows,
    mode_change,
    modes_of,
    next_mode,
    spread_and_trim,
    spread_post,
)
from resolvers.social.ranking import rank_of

BY_AUTHOR = Post.patterns["by_author"].index
IN_FEED = Post.patterns["in_feed"].index.name
MERGED_FOR = Follow.patterns["merged_for"].index.name
# Restored posts come in numbers, and one job handles those of an author.
TOGETHER = 10


@processor(Post, Follow, at_once=20)
async def keep_home_feeds(load: Loaders, changes: Sequence[Change], *, options: Options) -> Sequence[Write]:
    """Keeps the entries of home feeds equal to the posts of the followed users."""
    follows = {change.key for change in changes if change.entity is Follow and not _is_own(change)}
    readers: dict[str, set[str]] = defaultdict(set)
    for key in follows:
        readers[key.values["follower_id"]].add(key.values["following_id"])
    copies, restored = await _posts(load, [change for change in changes if change.entity is Post])
    authors = {*(copy.author_id for copy in copies), *restored, *(each for some in readers.values() for each in some)}
    modes, writes = await _modes(load, sorted(authors), options)
    await for_each(readers.items(), _match_reader, load, modes, writes)
    for copy in copies:
        if modes[copy.author_id] is not FeedMode.MERGED:
            writes += await _spread(load, copy)
    writes += [
        queued(match_followers, job_id=author_id, due_at=next_full(TOGETHER), author_id=author_id)
        for author_id in restored
        if modes[author_id] is not FeedMode.MERGED
    ]
    return writes


def _is_own(change: Change) -> bool:
    """Returns True if only the mark of a merged follow changed, which is set together with the entries."""
    before, after = change.before, change.after
    if not before or not after or before == after:
        return False
    return all(before.get(name) == after.get(name) for name in {*before, *after} - {MERGED_FOR})


async def _match_reader(reader: tuple[str, set[str]], load: Loaders, modes: Modes, writes: list[Write]) -> None:
    user_id, author_ids = reader
    if not await match_entries(load, user_id, {author_id: modes[author_id] for author_id in author_ids}):
        writes.append(queued(build_home_feed, user_id=user_id))
        return
    # An author may just have posted: the index of posts may lack the post now, and the index of followers the reader.
    later = time_from_now(2 * SETTLED)
    writes.append(queued(match_follows, due_at=later, user_id=user_id, author_ids=sorted(author_ids)))


async def _modes(load: Loaders, author_ids: Sequence[str], options: Options) -> tuple[dict[str, FeedMode], list[Write]]:
    """Returns the modes that the authors should have, and the writes that change them."""
    modes = await modes_of(load, author_ids)
    users = await load.fresh(*(User.key(user_id=author_id) for author_id in author_ids))
    writes: list[Write] = []
    for user in users:
        if user is not None:
            mode = next_mode(modes[user.user_id], user.follower_count, options)
            if mode is not modes[user.user_id]:
                writes += mode_change(user.user_id, mode)
                modes[user.user_id] = mode
    return modes, writes


async def _posts(load: Loaders, changes: Sequence[Change]) -> tuple[list[Copy], set[str]]:
    """Returns the posts that are new or gone, and the authors of posts that are shown again.

    A change of counts or of text moves no index keys. A hidden account is handled by its follows. A post is deleted
    before it is purged.
    """
    moved = [change for change in changes if change.after and change.before != change.after]
    posts = await load.fresh(*(change.key for change in moved))
    copies: dict[Key[Post], Copy] = {}
    restored: set[str] = set()
    for change, post in zip(moved, posts, strict=True):
        if post is None:
            copies[change.key] = _copy_at(change)
        elif is_listed(post) and change.before and IN_FEED not in change.before:
            restored.add(post.user_id)
        elif post.hidden_at is None:
            copies[change.key] = copy_of(post)
    return [*copies.values()], restored


def _copy_at(change: Change) -> Copy:
    """Returns a deleted post, whose record is purged already, as its index keys show it."""
    pk, sk = (change.after or {})[BY_AUTHOR.name or ""]
    author_id, created_at = BY_AUTHOR.pk.values(pk)["user_id"], BY_AUTHOR.sk.values(sk)["created_at"]
    return Copy(change.key.values["post_id"], author_id, Time(created_at))


async def _spread(load: Loaders, copy: Copy) -> list[Write]:
    """Handles a few followers at once, and queues a job for more."""
    page = await load.table.query(Follow.followers_of(following_id=copy.author_id), limit=BATCH)
    if not page.more:
        await spread_and_trim(load, copy, page.records)
        return []
    return [queued(spread_post, post_id=copy.post_id, author_id=copy.author_id, created_at=copy.created_at)]


@processor(Post, PostCounter, at_once=RANKED_AT_ONCE)
async def rank_posts(load: Loaders, changes: Sequence[Change]) -> list[Write]:
    """Keeps the ranks of posts equal to their counts."""
    post_ids = dict.fromkeys(change.key.values["post_id"] for change in changes)
    posts = await load.fresh(*(Post.key(post_id=post_id) for post_id in post_ids))
    keys = [key for post in posts if post is not None for key in counter_keys(post)]
    shards: dict[str, list[PostCounter]] = {post_id: [] for post_id in post_ids}
    for shard in await load.fresh(*keys) if keys else []:
        if shard is not None:
            shards[shard.post_id].append(shard)
    wanted: dict[Key[Any], Entity | None] = {
        PostRank.key(post_id=post_id): None if post is None else rank_of(post, shards[post_id])
        for post_id, post in zip(post_ids, posts, strict=True)
    }
    return await rank_writes(load, wanted)
