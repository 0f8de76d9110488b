"""Likes a post with boto3: like, count, account check and notification in one transaction."""

import asyncio
import random
import time
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from botocore.exceptions import ClientError
from ulid import ULID

from benchmarks.peers.plain_table import TABLE, Context, Item, client, get_item, is_listed, key_of

NOTIFICATIONS_KEPT = 30 * 24 * 3600
ATTEMPTS = 3


class Refused(Exception):
    """A refused request."""

    def __init__(self, code: str, message: str, *path: str) -> None:
        super().__init__(message)
        self.code, self.message, self.path = code, message, path


async def like_post(context: Context, post_id: str) -> Item:
    """Likes a post and returns the updated post."""
    viewer_id = context.viewer_id
    if viewer_id is None:
        raise Refused("UNAUTHENTICATED", "sign in first: send `Authorization: Bearer <token>`")
    post = await context.posts.load(post_id)
    for _ in range(ATTEMPTS):
        if post is None:
            break
        counted = await asyncio.to_thread(_write, post, viewer_id)
        fresh = await asyncio.to_thread(get_item, key_of(f"POST#{post_id}", "METADATA"), consistent=True)
        post = fresh if is_listed(fresh) else None
        if post is not None and counted:
            context.likes.prime(post_id, post)
            return post
    if post is None:
        raise Refused("NOT_FOUND", "there is no such post", "input", "postId")
    raise Refused("CONFLICT", "too much is happening to this post; try again")


def _write(post: Item, viewer_id: str) -> bool:
    """Returns True if the like is stored, False if the post changed since it was read."""
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
    writes = [_like(post, viewer_id, moment), _counter(post), _account(viewer_id)]
    if post["userId"]["S"] != viewer_id:
        writes.append(_notification(post, viewer_id, moment))
    try:
        client.transact_write_items(TransactItems=writes, ClientRequestToken=str(uuid4()))
    except client.exceptions.TransactionCanceledException as error:
        return _was_there(error)
    return True


def _was_there(error: ClientError) -> bool:
    reasons: Any = error.response.get("CancellationReasons", [])
    like, _, account, *_ = (reason["Code"] != "None" for reason in reasons)
    if account:
        raise Refused("NOT_FOUND", "there is no open account for this token")
    return bool(like)


def _like(post: Item, viewer_id: str, moment: str) -> Any:
    post_id = post["postId"]["S"]
    item = {
        **key_of(f"POST#{post_id}", f"LIKE#{viewer_id}"),
        "GSI1PK": {"S": f"USER#{viewer_id}"},
        "GSI1SK": {"S": f"LIKE#{moment}#{post_id}"},
        "entityType": {"S": "Like"},
        "schemaVersion": {"N": "1"},
        "postId": {"S": post_id},
        "userId": {"S": viewer_id},
        "createdAt": {"S": moment},
        "updatedAt": {"S": moment},
    }
    return {"Put": {"TableName": TABLE, "Item": item, "ConditionExpression": "attribute_not_exists(PK)"}}


def _counter(post: Item) -> Any:
    key, condition = key_of(post["PK"]["S"], "METADATA"), "attribute_exists(PK)"
    if "counterShards" in post:
        shard = random.randrange(int(post["counterShards"]["N"]))
        key = key_of(post["PK"]["S"], f"COUNTER#{shard}")
    else:
        absent = ("deletedAt", "hiddenAt", "counterShards")
        condition = " AND ".join([condition, *(f"attribute_not_exists({name})" for name in absent)])
    update = {
        "TableName": TABLE,
        "Key": key,
        "UpdateExpression": "ADD likeCount :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
        "ConditionExpression": condition,
    }
    return {"Update": update}


def _account(viewer_id: str) -> Any:
    condition = "attribute_exists(PK) AND attribute_not_exists(deletedAt)"
    key = key_of(f"USER#{viewer_id}", "PROFILE")
    return {"ConditionCheck": {"TableName": TABLE, "Key": key, "ConditionExpression": condition}}


def _notification(post: Item, viewer_id: str, moment: str) -> Any:
    notification_id = str(ULID())
    item = {
        **key_of(f"USER#{post['userId']['S']}", f"NOTIFICATION#{moment}#{notification_id}"),
        "entityType": {"S": "Notification"},
        "schemaVersion": {"N": "1"},
        "userId": post["userId"],
        "notificationId": {"S": notification_id},
        "kind": {"S": "LIKE"},
        "actorId": {"S": viewer_id},
        "postId": post["postId"],
        "createdAt": {"S": moment},
        "updatedAt": {"S": moment},
        "expiresAt": {"N": str(int(time.time()) + NOTIFICATIONS_KEPT)},
    }
    return {"Put": {"TableName": TABLE, "Item": item}}
