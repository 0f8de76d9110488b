"""Visibility rules of webhooks and their deliveries."""

from datastore.webhooks import USER, HookOwner, Webhook, WebhookCount, WebhookDelivery
from loaders.viewer import Viewer
from loaders.visibility import never_shown, visibility
from resolvers.cms.tenancy import is_staff

never_shown(WebhookCount, because="it only limits the number of webhooks")


def manages(viewer: Viewer, owner_kind: str, owner_id: str) -> bool:
    """Returns True for the user, or for an administrator on the staff of the tenant in requests about it."""
    if owner_kind == USER:
        return viewer.is_user(owner_id)
    return viewer.tenant_id == owner_id and is_staff(viewer, "admin")


def viewer_of(owner: HookOwner) -> Viewer:
    """Returns the viewer whose eyes decide what a webhook is told."""
    if owner.owner_kind == USER:
        return Viewer(user_id=owner.owner_id)
    return Viewer(tenant_id=owner.owner_id, tenants=frozenset({(owner.owner_id, "admin")}))


@visibility(Webhook)
def webhook_visible(webhook: Webhook, viewer: Viewer) -> bool:
    return manages(viewer, webhook.owner_kind, webhook.owner_id)


@visibility(WebhookDelivery)
def delivery_visible(delivery: WebhookDelivery, viewer: Viewer) -> bool:
    return manages(viewer, delivery.owner_kind, delivery.owner_id)
