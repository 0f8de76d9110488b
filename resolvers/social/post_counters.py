"""Like and comment counts of a post, which move into sharded counters under contention."""

from datastore.accounts import User
from datastore.client.errors import Conflict
from datastore.client.writes import Check, Delete, Put, Update, Write, absent, exists
from datastore.social import Post, PostCounter
from loaders.request import Loaders
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.contention import CONTENTION, COUNTER_SHARDS, any_shard, spread
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, refused
from resolvers.social.guards import fresh_post, is_listed


async def count(context: Context, post: Post, link: Put | Delete, *others: Write, **counts: int) -> bool:
    """Writes or deletes a like or a comment together with its count; returns False if there is nothing to do."""
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    for _ in range(3):
        retries = context.load.table.usage.retries
        try:
            await context.load.write(link, _counter(post, counts), account, *others)
        except Conflict as conflict:
            if account in conflict:
                raise no_account() from None
            if link in conflict:
                return False
            # The post was deleted, or its counts just moved into shards.
            post = await fresh_post(context.load, post.own_key)
            continue
        if context.load.table.usage.retries - retries >= CONTENTION and not post.counter_shards:
            await shard_counters(context.load, post)
        return True
    raise refused(ProblemCode.CONFLICT, "too many requests change this post; try again")


def _counter(post: Post, counts: dict[str, int]) -> Update:
    if post.counter_shards:
        # A shard exists exactly as long as the post does: nothing else has to be checked, so nothing else is contended.
        shard = any_shard(post.counter_shards)
        return Update(PostCounter.key(post_id=post.post_id, shard=shard), add=counts, when=exists())
    return Update(post.own_key, add=counts, when=is_listed() & absent("counter_shards"))


async def shard_counters(load: Loaders, post: Post) -> None:
    """Counts a post's likes and comments in several items from now on. What was counted stays where it is."""
    shards = [Put(PostCounter(post_id=post.post_id, shard=n), when=absent()) for n in range(COUNTER_SHARDS)]
    switch = Update(post.own_key, set={"counter_shards": COUNTER_SHARDS}, when=is_listed() & absent("counter_shards"))
    await spread(load, switch, *shards)
