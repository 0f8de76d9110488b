"""Webhooks of users and tenants, and the log of their deliveries."""

from typing import NamedTuple

from datastore.model.entity import Entity, field, own_id
from datastore.model.enums import Choice
from datastore.model.ownership import nobody, part_of, user
from datastore.model.patterns import gsi1, gsi2
from datastore.model.times import Time

USER, TENANT = "USER", "TENANT"


class HookOwner(NamedTuple):
    """The user or the tenant that webhooks belong to. The names are those of the holes in keys."""

    owner_kind: str
    owner_id: str

    @property
    def user_id(self) -> str | None:
        return self.owner_id if self.owner_kind == USER else None


class WebhookEvent(Choice):
    """Kind of event that a webhook can be told about. The payload has its name in lower case with a dot."""

    TEST = "webhook.test", "A test, sent on request to any webhook."
    POST_CREATED = "post.created", "You published a post."
    POST_DELETED = "post.deleted", "You deleted a post."
    COMMENT_CREATED = "comment.created", "A user commented on your post."
    FOLLOW_CREATED = "follow.created", "A user started to follow you."
    CARD_PUBLISHED = "card.published", "You published a card for the first time."
    CARD_COMMENT_CREATED = "cardComment.created", "A user commented on your card."
    BUILD_FINISHED = "build.finished", "A build of your site completed or failed."
    MEMBER_JOINED = "member.joined", "A user became a member of a neighborhood that you own."
    CONTENT_CHANGED = "content.changed", "Content of the tenant was created or changed."
    CONTENT_PUBLISHED = "content.published", "A new version of the tenant's content is public."
    PAGE_COMMENT_CREATED = "pageComment.created", "A visitor commented on a page of the tenant."
    LEAD_CREATED = "lead.created", "The tenant has a new lead."


class Webhook(
    Entity,
    pk="WEBHOOKS#{owner_kind}#{owner_id}",
    sk="WEBHOOK#{webhook_id}",
    owner=user("user_id", "of_user"),
):
    """A URL that receives a signed POST request for each of the chosen events."""

    of_user = gsi1("USER#{user_id}", "WEBHOOK#{webhook_id}")
    active = gsi2("WEBHOOKS", "{active_since}#{webhook_id}")

    owner_kind: str = field("USER or TENANT.", private=True)
    owner_id: str = field("ID of the user or tenant.", private=True)
    user_id: str | None = field("ID of the user. None for a tenant's.", default=None, private=True)
    webhook_id: str = own_id()
    url: str = field("URL that receives the events.")
    events: list[WebhookEvent] = field("Events it is told about.")
    description: str | None = field("Description.", default=None)
    active_since: Time | None = field("Time it was enabled. Null while it is disabled.", default=None)
    disabled_reason: str | None = field(
        "Why the server disabled it, if it did. `updateWebhook` enables it again.", default=None
    )
    failing_since: Time | None = field("Time of the first failure since the last success.", default=None)
    failure_count: int = field("Number of failed attempts since the last success.", default=0)
    # Plain text: a signature is made with the secret itself, so a digest of it would be of no use.
    secret: str = field("Key of the signatures.", private=True)
    former_secret: str | None = field("The key before the last rotation.", default=None, private=True)
    former_secret_until: Time | None = field(
        "Time until which the former key signs as well.", default=None, private=True
    )

    @property
    def held_by(self) -> HookOwner:
        return HookOwner(self.owner_kind, self.owner_id)


class WebhookCount(
    Entity,
    pk="WEBHOOKS#{owner_kind}#{owner_id}",
    sk="COUNT",
    owner=nobody("it is deleted with the last webhook of its owner"),
    logged=False,
):
    """Number of webhooks of a user or tenant: limits them, and tells which owners have any."""

    owner_kind: str = field("USER or TENANT.")
    owner_id: str = field("ID of the user or tenant.")
    count: int = field("Number of webhooks.", default=0)


class WebhookDeliveryStatus(Choice):
    """Status of a delivery."""

    PENDING = "PENDING", "Waiting for the first attempt or for the next one."
    DELIVERED = "DELIVERED", "The receiver answered with a status from 200 to 299."
    FAILED = "FAILED", "Given up after the last attempt, or because the webhook was disabled."


class WebhookDelivery(
    Entity,
    pk="WEBHOOKS#{owner_kind}#{owner_id}",
    sk="DELIVERY#{webhook_id}#{created_at}#{delivery_id}",
    owner=part_of(Webhook),
    logged=False,
):
    """An event sent to a webhook. Kept for 30 days."""

    owner_kind: str = field("USER or TENANT.", private=True)
    owner_id: str = field("ID of the user or tenant.", private=True)
    webhook_id: str = field("ID of the webhook.", private=True)
    delivery_id: str = own_id("Permanent identifier, sent as `webhook-id`.")
    event: WebhookEvent = field("Kind of event.")
    status: WebhookDeliveryStatus = field("Status.", default=WebhookDeliveryStatus.PENDING)
    attempt_count: int = field("Number of attempts.", default=0)
    next_attempt_at: Time | None = field("Time of the next attempt. Null if there is none.", default=None)
    attempted_at: Time | None = field("Time of the last attempt.", default=None)
    response_status: int | None = field("HTTP status of the last response. Null if there was none.", default=None)
    duration: int | None = field("Duration of the last attempt in milliseconds.", default=None)
    error: str | None = field("Why the last attempt failed. Null if it succeeded.", default=None)
    body: str = field("Body of the request, as JSON.", compressed=True, heavy=True)
    turn: str = field("ID of the job that makes the next attempt; other jobs do nothing.", private=True)
