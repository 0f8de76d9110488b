"""Webhooks for tests."""

from typing import Any

from datastore.accounts import User
from datastore.model.times import Time
from datastore.webhooks import (
    TENANT,
    USER,
    HookOwner,
    Webhook,
    WebhookCount,
    WebhookDelivery,
    WebhookDeliveryStatus,
    WebhookEvent,
)
from resolvers.webhooks.edges import deliveries_of
from resolvers.webhooks.signatures import new_secret
from tests.support.graph import Graph, mutation

CREATE = mutation("createWebhook", "webhook { id databaseId url events description activeSince } secret")
LONG_AGO = Time("2020-01-01T00:00:00.000Z")


async def add_hook(graph: Graph, owner: User | str, url: str, *events: WebhookEvent, **fields: Any) -> Webhook:
    """Adds a webhook of a user or of a tenant, without the checks of `createWebhook`."""
    held = HookOwner(TENANT, owner) if isinstance(owner, str) else HookOwner(USER, owner.user_id)
    count = await graph.table.get(WebhookCount.key(**held._asdict()), consistent=True)
    number = (count.count if count else 0) + 1
    hook = Webhook(
        **{
            **held._asdict(),
            "user_id": held.user_id,
            "webhook_id": f"hook-{number}",
            "url": url,
            "events": list(events),
            "active_since": LONG_AGO,
            "secret": new_secret(),
            **fields,
        }
    )
    counted = WebhookCount(**held._asdict(), count=number)
    await graph.table.batch_write(puts=[hook, counted])
    return hook


async def add_delivery(graph: Graph, hook: Webhook, delivery_id: str = "msg_1", **fields: Any) -> WebhookDelivery:
    """Adds a delivery that failed."""
    delivery = WebhookDelivery(
        **{
            **hook.held_by._asdict(),
            "webhook_id": hook.webhook_id,
            "delivery_id": delivery_id,
            "event": WebhookEvent.POST_CREATED,
            "status": WebhookDeliveryStatus.FAILED,
            "body": "{}",
            "turn": delivery_id,
            **fields,
        }
    )
    await graph.table.put(delivery)
    return delivery


async def deliveries(graph: Graph, hook: Webhook) -> list[WebhookDelivery]:
    """Returns the deliveries of a webhook, oldest event first, with their bodies."""
    page = await graph.table.query(deliveries_of(hook.own_key), limit=100, consistent=True)
    found = [await graph.table.get(each.own_key, consistent=True) for each in page.records]
    return [each for each in found if each is not None]


async def latest(graph: Graph, hook: Webhook) -> Webhook:
    found = await graph.table.get(hook.own_key, consistent=True)
    assert found is not None
    return found
