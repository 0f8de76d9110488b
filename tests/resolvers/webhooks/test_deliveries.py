"""Deliveries arrive, are retried with back-off, and end."""

import asyncio
import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

from datastore.client.budget import Usage
from datastore.client.writes import Put
from datastore.jobs import DeadJob, Job
from datastore.model.times import as_time, epoch_seconds, now, time_from_now
from datastore.webhooks import Webhook, WebhookDelivery, WebhookDeliveryStatus, WebhookEvent
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.background.jobs import Worker
from resolvers.background.webhook_sender import AT_ONCE_PER_LANE
from resolvers.webhooks.deliveries import MOST_FAILURES, RETRIES, Made, send_webhook
from resolvers.webhooks.signatures import new_secret
from tests.support.graph import Graph, viewer_of
from tests.support.receiver import Received, answer
from tests.support.social import CREATE
from tests.support.webhooks import LONG_AGO, add_hook, deliveries, latest

PICTURE = "https://pictures.example.org/1.png"


def verified(request: Received, secret: str) -> bool:
    """Verifies a request as a receiver does, with the Standard Webhooks specification only."""
    signed = ".".join((request.headers["webhook-id"], request.headers["webhook-timestamp"], request.body.decode()))
    key = base64.b64decode(secret.split("_")[1])
    expected = base64.b64encode(hmac.new(key, signed.encode(), hashlib.sha256).digest()).decode()
    versions = [each.split(",") for each in request.headers["webhook-signature"].split(" ")]
    return ["v1", expected] in versions


async def delivery_of(graph: Graph, hook: Webhook, name: str = "msg_1", **fields) -> WebhookDelivery:
    """Adds a delivery with its job."""
    made = Made.of(hook, WebhookEvent.POST_CREATED, now(), name, '{"type":"post.created"}')
    made = Made(made.delivery.changed(**fields))
    await graph.table.write(Put(made.delivery), made.job)
    return made.delivery


async def due_now(graph: Graph) -> list[Job]:
    """Makes all jobs due. Returns them as they were."""
    waiting = await graph.jobs()
    for job in waiting:
        await graph.table.batch_write(deletes=[job.own_key])
        await graph.table.put(job.changed(due_at=now()))
    return waiting


async def test_an_event_arrives_and_its_signature_is_right(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)

    await graph.command(CREATE, viewer_of(ada), imageUrl=PICTURE, caption="Hello")
    await graph.settle(jobs=True)

    (request,) = receiver.received
    (delivery,) = await deliveries(graph, hook)
    assert request.json["type"] == "post.created"
    assert request.headers["webhook-id"] == delivery.delivery_id
    assert abs(int(request.headers["webhook-timestamp"]) - epoch_seconds(now())) < 60
    assert verified(request, hook.secret)
    assert not verified(request, new_secret())
    assert delivery.status is WebhookDeliveryStatus.DELIVERED
    assert (delivery.attempt_count, delivery.response_status, delivery.error) == (1, 204, None)
    assert delivery.next_attempt_at is None
    assert await due_now(graph) == []


async def test_after_a_rotation_both_secrets_verify_for_a_day(graph, receiver):
    ada = await graph.add_user("ada")
    former = {"former_secret": new_secret(), "former_secret_until": time_from_now(timedelta(hours=1))}
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED, **former)
    await delivery_of(graph, hook, "msg_1")
    await graph.settle(jobs=True)
    await graph.table.put(hook.changed(former_secret_until=now()))
    await delivery_of(graph, hook, "msg_2")
    await graph.settle(jobs=True)

    first, second = receiver.received
    assert verified(first, hook.secret)
    assert verified(first, former["former_secret"])
    assert verified(second, hook.secret)
    assert not verified(second, former["former_secret"])


async def test_a_failure_is_retried_with_the_same_id_until_it_succeeds(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    await delivery_of(graph, hook)
    receiver.answers = [answer(500), answer(503)]

    await graph.settle(jobs=True)
    (failed,) = await deliveries(graph, hook)
    (retry,) = await due_now(graph)
    assert (failed.status, failed.attempt_count, failed.response_status) == (WebhookDeliveryStatus.PENDING, 1, 500)
    assert failed.error == "the receiver answered 500"
    assert failed.next_attempt_at == retry.due_at
    seconds = epoch_seconds(retry.due_at) - epoch_seconds(failed.attempted_at)
    assert RETRIES[0] - 1 <= seconds <= RETRIES[0] * 1.1 + 1
    failing = await latest(graph, hook)
    assert (failing.failure_count, failing.failing_since is not None) == (1, True)
    assert failing.updated_at == hook.updated_at

    await graph.settle(jobs=True)
    await due_now(graph)
    await graph.settle(jobs=True)
    (done,) = await deliveries(graph, hook)
    assert (done.status, done.attempt_count, done.response_status) == (WebhookDeliveryStatus.DELIVERED, 3, 204)
    assert {request.headers["webhook-id"] for request in receiver.received} == {"msg_1"}
    assert len(receiver.received) == 3
    assert await due_now(graph) == []
    working = await latest(graph, hook)
    assert (working.failure_count, working.failing_since) == (0, None)


async def test_the_pauses_grow_to_a_day_in_all(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    await delivery_of(graph, hook)
    receiver.answers = [answer(500)] * (len(RETRIES) + 1)
    pauses = []
    while (await deliveries(graph, hook))[0].status is WebhookDeliveryStatus.PENDING:
        begun = datetime.now(UTC)
        await graph.settle(jobs=True)
        pauses += [epoch_seconds(job.due_at) - begun.timestamp() for job in await due_now(graph)]

    assert len(receiver.received) == len(RETRIES) + 1
    assert sum(RETRIES) == 87_515
    assert [round(pause / planned) for pause, planned in zip(pauses, RETRIES, strict=True)] == [1] * len(RETRIES)
    (given_up,) = await deliveries(graph, hook)
    assert (given_up.status, given_up.next_attempt_at) == (WebhookDeliveryStatus.FAILED, None)
    assert (await graph.table.query(DeadJob.within(), limit=1)).records == []


async def test_a_webhook_that_fails_for_days_is_disabled(graph, receiver):
    ada = await graph.add_user("ada")
    days_ago = as_time(datetime.now(UTC) - timedelta(days=3, minutes=1))
    hook = await add_hook(
        graph,
        ada,
        receiver.url,
        WebhookEvent.POST_CREATED,
        failing_since=days_ago,
        failure_count=MOST_FAILURES - 2,
    )
    receiver.answers = [answer(500), answer(500)]
    await delivery_of(graph, hook, "msg_1")
    await graph.settle(jobs=True)
    assert (await latest(graph, hook)).active_since == LONG_AGO

    await delivery_of(graph, hook, "msg_2")
    await graph.settle(jobs=True)
    disabled = await latest(graph, hook)
    assert disabled.active_since is None
    assert disabled.disabled_reason == (
        f"{MOST_FAILURES} attempts in a row failed since {days_ago}: the receiver answered 500"
    )

    await due_now(graph)
    await graph.settle(jobs=True)
    assert len(receiver.received) == 2
    assert {(each.status, each.error) for each in await deliveries(graph, hook)} == {
        (WebhookDeliveryStatus.FAILED, "the webhook is disabled")
    }


async def test_many_failures_within_days_disable_nothing(graph, receiver):
    ada = await graph.add_user("ada")
    yesterday = as_time(datetime.now(UTC) - timedelta(days=1))
    hook = await add_hook(
        graph, ada, receiver.url, WebhookEvent.POST_CREATED, failing_since=yesterday, failure_count=1_000
    )
    receiver.answers = [answer(500)]
    await delivery_of(graph, hook)
    await graph.settle(jobs=True)

    assert (await latest(graph, hook)).active_since == LONG_AGO


async def test_a_receiver_that_is_gone_disables_its_webhook(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    receiver.answers = [answer(410)]
    await delivery_of(graph, hook)
    await graph.settle(jobs=True)

    assert (await latest(graph, hook)).disabled_reason == "the receiver answered 410: it is gone"
    assert [each.status for each in await deliveries(graph, hook)] == [WebhookDeliveryStatus.FAILED]
    assert await due_now(graph) == []


async def test_a_job_that_runs_again_sends_nothing(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    delivery = await delivery_of(graph, hook)
    await graph.settle(jobs=True)
    await graph.table.put(Made(delivery).job.record)
    await graph.settle(jobs=True)

    assert len(receiver.received) == 1


async def test_the_job_of_a_deleted_webhook_ends(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    await delivery_of(graph, hook)
    await graph.table.batch_write(deletes=[hook.own_key])
    await graph.settle(jobs=True)

    assert receiver.received == []
    assert await due_now(graph) == []


async def test_deliveries_of_a_slow_receiver_come_back_later(graph, receiver):
    """They hold no slot meanwhile, and are no failures."""
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    count = AT_ONCE_PER_LANE + 3
    receiver.answers = [None] * AT_ONCE_PER_LANE
    for number in range(count):
        await delivery_of(graph, hook, f"msg_{number}")
    running = asyncio.create_task(Worker(graph.table, graph.services.tools).do_what_is_due())
    while sum(each.turn != each.delivery_id for each in await deliveries(graph, hook)) < 3:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    receiver.release.set()
    await running
    put_off = [each for each in await deliveries(graph, hook) if each.turn != each.delivery_id]
    assert [(each.attempt_count, each.status) for each in put_off] == [(0, WebhookDeliveryStatus.PENDING)] * 3
    while len(receiver.received) < count:
        await due_now(graph)
        await graph.settle(jobs=True)

    done = await deliveries(graph, hook)
    assert [(each.status, each.attempt_count) for each in done] == [(WebhookDeliveryStatus.DELIVERED, 1)] * count
    assert receiver.most_at_once == AT_ONCE_PER_LANE
    assert (await latest(graph, hook)).failure_count == 0


async def test_an_attempt_costs_three_calls(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    receiver.answers = [answer(204), answer(500)]
    for name in ("msg_1", "msg_2"):
        delivery = await delivery_of(graph, hook, name)
        usage = Usage.lasting(60)
        load = Loaders(graph.services.table.using(usage), ANONYMOUS, consistent=True)
        values = [*delivery.own_key.values.values()]

        await send_webhook(load, delivery=values, turn=delivery.turn, sender=graph.services.webhook_sender)

        assert dict(usage.calls) == {"BatchGetItem": 2, "TransactWriteItems": 1}
