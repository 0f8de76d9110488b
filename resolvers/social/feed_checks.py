"""Entries of home feeds against the follows and posts they are made from."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from datastore.client.writes import Delete, exists
from datastore.model.keys import Key
from datastore.social import FeedAuthor, FeedEntry, FeedMode, FeedState, Follow, Post
from resolvers.background.jobs import queued
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look, ids_of
from resolvers.social.feed_entries import copy_of, entries_of, is_listed
from resolvers.social.feed_jobs import match_follows
from resolvers.social.home_feed import posts_by

STALE, LACKING = "stale", "lacking"
# Feeds keep the newest thousand entries, of all authors together.
NEWEST = 500


class FeedChecks:
    """The notes are the shown posts, the follows whose posts are copied, the built feeds, and their entries."""

    kinds: Sequence[Kind] = (Kind.FEED,)
    tables: Sequence[str] = (
        "feed_posts (author TEXT, at TEXT, post TEXT)",
        "feed_follows (reader TEXT, author TEXT, is_merged INTEGER, key TEXT)",
        "feed_states (reader TEXT, floor TEXT)",
        "feed_modes (author TEXT)",
        "feed_entries (reader TEXT, author TEXT, at TEXT, post TEXT, key TEXT)",
    )
    indexes: Sequence[str] = (
        "feed_posts_by_author ON feed_posts (author, at, post)",
        "feed_follows_by_reader ON feed_follows (reader, author)",
        "feed_entries_by_reader ON feed_entries (reader, author, at, post)",
    )

    def notes(self) -> Notes:
        return {
            Post: [_post_note],
            Follow: [_follow_note],
            FeedState: [_state_note],
            FeedAuthor: [_author_note],
            FeedEntry: [_entry_note],
        }

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        stale = """
            SELECT key FROM feed_entries AS e
            WHERE NOT EXISTS (SELECT 1 FROM feed_posts AS p WHERE (p.author, p.at, p.post) = (e.author, e.at, e.post))
            OR NOT EXISTS (SELECT 1 FROM feed_follows AS f WHERE (f.reader, f.author) = (e.reader, e.author))"""
        for (key,) in scanned.work.rows(stale):
            yield Suspect(Kind.FEED, STALE, *split(key))
        lacking = """
            SELECT DISTINCT f.key FROM feed_states AS s
            JOIN feed_follows AS f ON f.reader = s.reader AND NOT f.is_merged
            JOIN (SELECT author, at, post, ROW_NUMBER() OVER (PARTITION BY author ORDER BY at DESC) AS place
                  FROM feed_posts) AS p ON p.author = f.author AND p.place <= ? AND p.at > s.floor
            WHERE f.author NOT IN (SELECT author FROM feed_modes)
            AND NOT EXISTS (SELECT 1 FROM feed_entries AS e
                            WHERE (e.reader, e.author, e.at, e.post) = (s.reader, p.author, p.at, p.post))"""
        for (key,) in scanned.work.rows(lacking, NEWEST):
            yield Suspect(Kind.FEED, LACKING, *split(key))

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        return await (_stale if suspect.rule == STALE else _lacking)(look, suspect)


async def _stale(look: Look, suspect: Suspect) -> Found | None:
    (entry,) = await look.fresh(Key(FeedEntry, suspect.pk, suspect.sk))
    if entry is None:
        return None
    keys: list[Key[Any]] = [
        Post.key(post_id=entry.post_id),
        Follow.key(follower_id=entry.user_id, following_id=entry.author_id),
    ]
    post, follow = await look.fresh(*keys)
    is_right = post is not None and is_listed(post) and copy_of(post).entry_for(entry.user_id).own_key == entry.own_key
    if is_right and follow is not None and follow.followed_hidden_at is None:
        return None
    why = "of a user who is not followed" if is_right else "of a post that is not shown"
    return Found(f"a feed has an entry {why}", [Delete(entry.own_key, when=exists())], ids=ids_of(entry))


async def _lacking(look: Look, suspect: Suspect) -> Found | None:
    (follow,) = await look.fresh(Key(Follow, suspect.pk, suspect.sk))
    if follow is None or follow.merged_at is not None or follow.followed_hidden_at is not None:
        return None
    state, author = await look.fresh(
        FeedState.key(user_id=follow.follower_id), FeedAuthor.key(user_id=follow.following_id)
    )
    if state is None or (author is not None and author.mode is not FeedMode.COPIED):
        return None
    there = {entry.own_key for entry in await entries_of(look.load, follow.follower_id)}
    page = await look.table.query(posts_by(follow.following_id), limit=NEWEST)
    lacking = [
        post
        for post in page.records
        if is_listed(post)
        and post.created_at > (state.floor or "")
        and copy_of(post).entry_for(follow.follower_id).own_key not in there
    ]
    if not lacking:
        return None
    matched = queued(match_follows, user_id=follow.follower_id, author_ids=[follow.following_id])
    return Found(f"a feed lacks {len(lacking)} posts of {follow.following_id}", [matched], ids=ids_of(follow))


def _post_note(post: Post, rows: Rows) -> None:
    if is_listed(post):
        rows["feed_posts"].append((post.user_id, post.created_at, post.post_id))


def _follow_note(follow: Follow, rows: Rows) -> None:
    if follow.followed_hidden_at is None:
        is_merged = int(follow.merged_at is not None)
        rows["feed_follows"].append((follow.follower_id, follow.following_id, is_merged, joined(follow.own_key)))


def _state_note(state: FeedState, rows: Rows) -> None:
    rows["feed_states"].append((state.user_id, state.floor or ""))


def _author_note(author: FeedAuthor, rows: Rows) -> None:
    if author.mode is not FeedMode.COPIED:
        rows["feed_modes"].append((author.user_id,))


def _entry_note(entry: FeedEntry, rows: Rows) -> None:
    row = (entry.user_id, entry.author_id, entry.created_at, entry.post_id, joined(entry.own_key))
    rows["feed_entries"].append(row)
