"""Reading of home feeds: entries of the newest posts if there are any, and a merge of the authors' posts otherwise."""

from functools import partial

from datastore.accounts import User
from datastore.client.positions import Position
from datastore.model.keys import Key, Range
from datastore.social import FeedEntry, FeedState, Follow, Post
from loaders.copied import Copied, Links, Older
from loaders.merge import Merge
from loaders.needs import Step, Together
from loaders.pages import whole
from loaders.viewer import Viewer
from loaders.visibility import seen_at

BY_AUTHOR = Post.patterns["by_author"].index


def home_feed_of(user_id: str, viewer: Viewer) -> Step[Copied[Post] | Merge[Post]]:
    """Posts by the users that a user follows, newest first. Reads entries if the feed has been built."""
    states, merged = yield Together(
        [whole(FeedState.within(user_id=user_id)), whole(Follow.merged_for(follower_id=user_id))]
    )
    merge = partial(_merged, user_id, viewer)
    if not states:
        return (yield from merge())
    return copied_feed(states[0], merged, merge)


def copied_feed(state: FeedState, merged: list[Follow], merge: partial[Step[Merge[Post]]]) -> Copied[Post]:
    """The feed as its entries and the posts of authors in `merged`; `merge` is for what is older than its floor."""
    authors = {follow.following_id for follow in merged}
    ranges = tuple(posts_by(follow.following_id) for follow in merged if follow.followed_hidden_at is None)
    links = Links(
        FeedEntry.within(user_id=state.user_id).newest_first(),
        to=entry_post,
        position_of=_position_of,
        start=partial(_start, state.user_id),
        counts=lambda entry: entry.author_id not in authors,
    )
    older = Older(Post.by_author(user_id=state.user_id, created_at=state.floor).prefix, merge) if state.floor else None
    return Copied(links, ranges, older, state.user_id)


def _merged(user_id: str, viewer: Viewer) -> Step[Merge[Post]]:
    """Reads all follows and all followed users."""
    follows: list[Follow] = yield from whole(Follow.within(follower_id=user_id))
    keys = [User.key(user_id=follow.following_id) for follow in follows]
    people: list[User | None] = yield from seen_at(keys, viewer, leave_out_damaged=True)
    return Merge(tuple(posts_by(person.user_id) for person in people if person and person.post_count), user_id)


def posts_by(user_id: str) -> Range[Post]:
    return Post.by_author(user_id=user_id).newest_first()


def entry_post(entry: FeedEntry) -> Key[Post]:
    return Post.key(post_id=entry.post_id)


def _position_of(found: FeedEntry | Post) -> Position:
    author_id = found.author_id if isinstance(found, FeedEntry) else found.user_id
    within = Post.by_author(user_id=author_id, created_at=found.created_at)
    return within.prefix, within.pk, *Post.key(post_id=found.post_id)[1:]


def _start(user_id: str, position: Position) -> Position:
    """Returns the position of the entry that a post at this position has or would have."""
    sort_key, partition, pk, sk = position
    entry = FeedEntry.key(
        user_id=user_id,
        created_at=BY_AUTHOR.sk.values(sort_key)["created_at"],
        author_id=BY_AUTHOR.pk.values(partition)["user_id"],
        post_id=Key(Post, pk, sk).values["post_id"],
    )
    return entry.pk, entry.sk
