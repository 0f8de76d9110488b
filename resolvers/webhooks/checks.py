"""Rules of consistency of webhooks."""

from datastore.client.writes import Check, Put, Write, absent, exists
from datastore.model.keys import Key
from datastore.webhooks import Webhook, WebhookCount
from resolvers.maintenance.rules import counter, needs

counter(
    "count",
    WebhookCount,
    of=Webhook,
    at=lambda hook: WebhookCount.key(**hook.held_by._asdict()),
    items=lambda count: Webhook.within(**{name: getattr(count, name) for name in ("owner_kind", "owner_id")}),
)


def _counted(hook: Webhook, _: Key[WebhookCount]) -> list[Write]:
    """The count begins at none, and is corrected by its own rule then."""
    return [Put(WebhookCount(**hook.held_by._asdict()), when=absent()), Check(hook.own_key, when=exists())]


needs(Webhook, keys=lambda hook: WebhookCount.key(**hook.held_by._asdict()), mend=_counted)
