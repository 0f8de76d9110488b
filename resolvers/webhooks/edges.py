"""Webhooks: the keys that each field reads."""

from datastore.accounts import User
from datastore.cms import Tenant
from datastore.model.keys import Key, Range
from datastore.webhooks import TENANT, USER, HookOwner, Webhook, WebhookDelivery
from loaders.viewer import Viewer
from resolvers.core.access import AccessRelation, AccessRole, access


def hooks_of(owner: HookOwner) -> Range[Webhook]:
    return Webhook.within(**owner._asdict())


@access(only=(AccessRelation.SELF,))
def webhooks_of_user(user: User, viewer: Viewer) -> Range[Webhook] | None:
    """Webhooks, oldest first."""
    return hooks_of(HookOwner(USER, user.user_id)) if viewer.is_user(user.user_id) else None


@access(requires=AccessRole.TENANT_ADMIN)
def webhooks_of_tenant(tenant: Tenant, viewer: Viewer) -> Range[Webhook] | None:
    """Webhooks, oldest first. Null for a tenant that is not the tenant of the request."""
    return hooks_of(HookOwner(TENANT, tenant.tenant_id)) if tenant.tenant_id == viewer.tenant_id else None


def deliveries(webhook: Webhook) -> Range[WebhookDelivery]:
    """Deliveries of the last 30 days, newest event first."""
    return deliveries_of(webhook.own_key).newest_first()


def deliveries_of(webhook: Key[Webhook]) -> Range[WebhookDelivery]:
    return WebhookDelivery.within(**webhook.values)


def webhook_of(delivery: WebhookDelivery) -> Key[Webhook]:
    """The webhook, or null if it was deleted."""
    return Webhook.key(owner_kind=delivery.owner_kind, owner_id=delivery.owner_id, webhook_id=delivery.webhook_id)
