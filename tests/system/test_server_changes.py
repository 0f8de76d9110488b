"""A server that is killed has lost no change that it has acknowledged, and no other server processes one twice."""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from datastore.analytics import AnalyticsPeriod, Scope, Tally
from datastore.changes.log import ChangeLog
from datastore.changes.records import Checkpoint, DeadLetter, OutboxItem
from datastore.client.table import Table
from datastore.notifications import Notification, NotificationGroup
from datastore.social import Post
from resolvers.accounts.tokens import Tokens, TokenSettings
from resolvers.background.processors import PROCESSORS
from resolvers.notifications.groups import count
from schema.declare.ids import global_id
from tests.conftest import SECRET
from tests.support.serving import PATIENCE, launched
from tests.system.faults import add_users

LIKE = "mutation ($id: ID!) { likePost(input: {postId: $id}) { problems { code } } }"


async def is_settled(table: Table) -> bool:
    """Returns True if every change has been moved to the log, and every processor has stored that it has done it."""
    if (await table.query(OutboxItem.within(), limit=1, consistent=True)).records:
        return False
    head = await ChangeLog(table).head(0)
    positions = (await table.query(Checkpoint.within(partition=0), limit=100, consistent=True)).records
    return len(positions) == len(PROCESSORS) and all(each.sequence == head for each in positions)


async def settled(table: Table) -> None:
    give_up = time.monotonic() + PATIENCE
    while not await is_settled(table):
        assert time.monotonic() < give_up, "waited in vain"
        await asyncio.sleep(0.5)


@pytest.mark.slow
async def test_a_kill_after_thirty_likes_leaves_thirty_notifications(
    endpoint: str, table: Table, tmp_path: Path
) -> None:
    author, *people = await add_users(table, "author", *(f"person{number}" for number in range(30)))
    post = Post(post_id="p", user_id=author.user_id, image_url="https://example.org/1.png", feed_shard=0)
    await table.put(post)
    tokens = Tokens(TokenSettings(SECRET))
    place = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table.name, "DATA_DIR": str(tmp_path), "AUTH_SECRET": SECRET}
    place["CHANGES"] = "outbox"
    with launched("--no-demo", **place) as first:
        for person in people:
            token = {"authorization": f"Bearer {tokens.issue(person.user_id)}"}
            liked = first.ask(LIKE, token, variables={"id": global_id(post)})
            assert liked == {"likePost": {"problems": []}}
        first.stop(signal.SIGKILL)

    with launched("--no-demo", **place) as second:
        # The leases of the first one are free after 15 seconds.
        await settled(table)
        assert second.stop() == 0

    singles = (await table.query(Notification.within(user_id=author.user_id), limit=100, consistent=True)).records
    assert sorted(str(each.actor_id) for each in singles) == sorted(person.user_id for person in people)
    (group,) = (await table.query(NotificationGroup.within(user_id=author.user_id), limit=10, consistent=True)).records
    assert count(group) == 30
    within = Tally.within(scope=Scope.POST, subject="p", period=AnalyticsPeriod.DAY)
    assert sum(day.likes or 0 for day in (await table.query(within, limit=10, consistent=True)).records) == 30
    assert (await table.query(DeadLetter.within(), limit=10, consistent=True)).records == []
