"""Deliveries: the job that sends one, its retries, and the webhook that fails for too long."""

import random
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from datastore.client.writes import Put, Update, Write, equals, exists
from datastore.model.keys import Key
from datastore.model.times import Time, new_id, now, seconds_from_now, time_from_now
from datastore.webhooks import Webhook, WebhookCount, WebhookDelivery, WebhookDeliveryStatus, WebhookEvent
from loaders.request import Loaders
from resolvers.accounts.visibility_sync import Works, works
from resolvers.background.jobs import delete_all, job, queued, waiting_job
from resolvers.background.webhook_sender import Answer, Busy, WebhookSender
from resolvers.core.retry import retries_on_conflict
from resolvers.webhooks.edges import deliveries_of
from resolvers.webhooks.signatures import headers

KEPT = timedelta(days=30)

# Seconds before each retry, 24 hours in all.
RETRIES = (5, 30, 180, 900, 3_600, 10_800, 28_800, 43_200)
JITTER = 0.1

# A webhook is disabled after this many failures in a row, over at least this time.
MOST_FAILURES = 20
LONGEST_FAILURE = timedelta(days=3)
GONE = 410


@dataclass(frozen=True)
class Made:
    """A new delivery with the job that sends it."""

    delivery: WebhookDelivery

    @classmethod
    def of(cls, hook: Webhook, event: WebhookEvent, at: Time, delivery_id: str, body: str) -> "Made":
        """`at` and the ID are part of the key, so that an event that is found again is the same delivery."""
        return cls(
            WebhookDelivery(
                owner_kind=hook.owner_kind,
                owner_id=hook.owner_id,
                webhook_id=hook.webhook_id,
                delivery_id=delivery_id,
                event=event,
                next_attempt_at=now(),
                body=body,
                turn=delivery_id,
                created_at=at,
                expires_at=seconds_from_now(KEPT),
            )
        )

    @property
    def job(self) -> Put:
        return job_of(self.delivery)


def job_of(delivery: WebhookDelivery) -> Put:
    """Returns the write that queues the job of the delivery's turn."""
    return queued(
        send_webhook,
        job_id=delivery.turn,
        due_at=delivery.next_attempt_at,
        delivery=[*map(str, delivery.own_key.values.values())],
        turn=delivery.turn,
    )


@waiting_job
async def send_webhook(load: Loaders, *, delivery: list[str], turn: str, sender: WebhookSender) -> None:
    """Makes one attempt of a delivery. Does nothing if another job has its turn by now."""
    key = WebhookDelivery.key(**dict(zip(WebhookDelivery.key_holes, delivery, strict=True)))
    waiting = await _waiting(load, key, turn)
    if waiting is None:
        return
    found, hook = waiting
    if hook.active_since is None and found.event is not WebhookEvent.TEST:
        failed = found.changed(
            status=WebhookDeliveryStatus.FAILED, next_attempt_at=None, error="the webhook is disabled"
        )
        await load.write(Update.of(found, failed, when=equals("turn", turn)))
        return
    try:
        answer = await attempt(sender, hook, found)
    except Busy as busy:
        later = found.changed(turn=new_id(), next_attempt_at=time_from_now(timedelta(seconds=busy.seconds)))
        await load.write(Update.of(found, later, when=equals("turn", turn)), job_of(later))
        return
    await note(load, found, answer)


async def attempt(sender: WebhookSender, hook: Webhook, delivery: WebhookDelivery) -> Answer:
    """Sends a delivery once. Raises Busy."""
    body, timestamp = delivery.body.encode(), int(time.time())
    keys = [hook.secret]
    if hook.former_secret and hook.former_secret_until and hook.former_secret_until > now():
        keys.append(hook.former_secret)
    signed = headers(keys, delivery.delivery_id, timestamp, body)
    return await sender.post(f"{hook.owner_kind} {hook.owner_id}", hook.url, signed, body)


@retries_on_conflict
async def note(load: Loaders, delivery: WebhookDelivery, answer: Answer) -> None:
    """Records an attempt: in the delivery, in the webhook if it fails or works again, and as the job that retries."""
    waiting = await _waiting(load, delivery.own_key, delivery.turn)
    if waiting is None:
        return
    delivery, hook = waiting
    tried = delivery.changed(
        attempt_count=delivery.attempt_count + 1,
        attempted_at=now(),
        next_attempt_at=None,
        response_status=answer.status,
        duration=answer.duration,
        error=answer.error,
    )
    writes: list[Write] = []
    pause = None if answer.succeeded or answer.status == GONE else pause_after(tried)
    if pause is None:
        done = WebhookDeliveryStatus.DELIVERED if answer.succeeded else WebhookDeliveryStatus.FAILED
        tried = tried.changed(status=done)
    else:
        tried = tried.changed(turn=new_id(), next_attempt_at=time_from_now(timedelta(seconds=pause)))
        writes.append(job_of(tried))
    if delivery.event is not WebhookEvent.TEST:
        judged = _judged(hook, answer)
        if judged is not hook:
            same = exists() & equals("failure_count", hook.failure_count) & equals("updated_at", hook.updated_at)
            writes.append(Update.of(hook, judged, when=same))
    await load.write(Update.of(delivery, tried, when=equals("turn", delivery.turn)), *writes)


def pause_after(delivery: WebhookDelivery) -> float | None:
    """Returns the seconds until the next attempt, or None after the last one. Tests are not retried."""
    if delivery.event is WebhookEvent.TEST or delivery.attempt_count > len(RETRIES):
        return None
    # Not for cryptography: deliveries that failed together should not come back together.
    return RETRIES[delivery.attempt_count - 1] * random.uniform(1, 1 + JITTER)  # noqa: S311


def _judged(hook: Webhook, answer: Answer) -> Webhook:
    """Returns the webhook after an attempt. `updated_at` stays as it is: its owner has changed nothing."""
    if answer.succeeded:
        if hook.failing_since is None:
            return hook
        return hook.changed(failing_since=None, failure_count=0, updated_at=hook.updated_at)
    since = hook.failing_since or now()
    failing = hook.changed(failing_since=since, failure_count=hook.failure_count + 1, updated_at=hook.updated_at)
    reason = None
    if answer.status == GONE:
        reason = f"the receiver answered {GONE}: it is gone"
    elif failing.failure_count >= MOST_FAILURES and since < time_from_now(-LONGEST_FAILURE):
        reason = f"{failing.failure_count} attempts in a row failed since {since}: {answer.error}"
    if reason is None or hook.active_since is None:
        return failing
    return failing.changed(active_since=None, disabled_reason=reason, updated_at=hook.updated_at)


async def _waiting(load: Loaders, key: Key[WebhookDelivery], turn: str) -> tuple[WebhookDelivery, Webhook] | None:
    """Returns the delivery and its webhook, if both are there and it is this job's turn."""
    values = key.values
    keys: list[Key[Any]] = [key, Webhook.key(**{hole: values[hole] for hole in Webhook.key_holes})]
    delivery, hook = await load.fresh(*keys)
    if delivery is None or hook is None or delivery.turn != turn:
        return None
    return (delivery, hook) if delivery.status is WebhookDeliveryStatus.PENDING else None


@job
async def purge_webhook(load: Loaders, *, webhook: list[str]) -> None:
    """Deletes the deliveries of a deleted webhook."""
    await delete_all(load, deliveries_of(Webhook.key(**dict(zip(Webhook.key_holes, webhook, strict=True)))))


async def _empty(load: Loaders, hook: Webhook) -> None:
    """For the purge of an account, which deletes all its webhooks."""
    await delete_all(load, deliveries_of(hook.own_key))
    await load.table.batch_write(deletes=[WebhookCount.key(**hook.held_by._asdict())])


works(Webhook, Works(empty=_empty))
