"""Commands of webhooks."""

from datetime import timedelta
from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Delete, Put, Update, Write, above, absent, below, equals, exists
from datastore.model.keys import Key
from datastore.model.times import new_id, now, time_from_now
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
from resolvers.background.destinations import MAX_URL, BadDestination, Destination
from resolvers.background.jobs import queued
from resolvers.cms.audit_entries import audit_entry
from resolvers.cms.audited_writes import tenant_for
from resolvers.core.access import Access, AccessRole, access
from resolvers.core.constraints import Constraint, Report, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, not_found, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.core.validation import Checks
from resolvers.webhooks.deliveries import Made, job_of, purge_webhook
from resolvers.webhooks.edges import webhook_of
from resolvers.webhooks.events import payload, tenant_events
from resolvers.webhooks.signatures import new_secret
from resolvers.webhooks.visibility import manages

MOST_HOOKS = 10
BOTH_SECRETS = timedelta(days=1)

Url = Text(at_most=MAX_URL)
Description = Text(at_most=200)
OF_WEBHOOK = "ID of the webhook."
URL = "URL that receives the events: https, with a public host name and the usual port."


class Events(Constraint):
    @property
    def limit(self) -> str:
        return "At least one."

    def check(self, value: list[WebhookEvent], report: Report) -> list[WebhookEvent]:
        if not value:
            report("choose at least one event")
        if WebhookEvent.TEST in value:
            report("tests come on request only; leave out TEST")
        return list(dict.fromkeys(value))


class WebhookAndSecret(NamedTuple):
    """A webhook with its new secret."""

    webhook: Webhook
    secret: str | None


@access(requires=AccessRole.SIGNED_IN)
async def create_webhook(
    context: Context,
    *,
    url: Annotated[str, Doc(URL), Url],
    events: Annotated[list[WebhookEvent], Doc("Events to send."), Events()],
    description: Annotated[str | None, Doc("Description."), Description] = None,
    for_tenant: Annotated[
        bool,
        Doc("True for a webhook of the tenant of the request. Defaults to false: a webhook of the viewer."),
    ] = False,
) -> WebhookAndSecret:
    """Creates a webhook and returns the secret of its signatures, which is never shown again. At most 10 per owner."""
    owner = await _owner(context, for_tenant=for_tenant)
    _check(context, owner, url=url, events=events)
    hook = Webhook(
        **owner._asdict(),
        user_id=owner.user_id,
        webhook_id=new_id(),
        url=url,
        events=events,
        description=description,
        active_since=now(),
        secret=new_secret(),
    )
    counted = Update.upsert(
        WebhookCount(**owner._asdict()),
        add={"count": 1},
        when=absent("count") | below("count", MOST_HOOKS),
    )
    many = refused(ProblemCode.INVALID, f"you have {MOST_HOOKS} webhooks already; delete one first")
    created = Put(hook, when=absent())
    entry = await _entry(context, None, hook)
    await write_or_refuse(context.load, created, counted, refusals={counted: many}, entry=entry)
    return WebhookAndSecret(hook, hook.secret)


async def no_secret_again(context: Context, keys: object, **_: object) -> dict[str, Any]:
    """Replays a command without the secret, which is shown once."""
    return {"secret": None}


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def update_webhook(
    context: Context,
    *,
    webhook_id: Annotated[Key[Webhook], Doc(OF_WEBHOOK)],
    url: Annotated[str, Doc(URL), Url] = UNSET,
    events: Annotated[list[WebhookEvent], Doc("Events to send."), Events()] = UNSET,
    description: Annotated[str | None, Doc("Description; null removes it."), Description] = UNSET,
    enabled: Annotated[bool, Doc("False to pause it, true to enable it again.")] = UNSET,
) -> Webhook:
    """Edits a webhook. Omitted fields keep their values. Events that happen while it is disabled are not sent later."""
    hook = await _own(context, webhook_id)
    changes = given(url=url, events=events, description=description)
    _check(context, hook.held_by, **{name: changes[name] for name in ("url", "events") if name in changes})
    if enabled is not UNSET and enabled is (hook.active_since is None):
        changes["active_since"] = now() if enabled else None
        changes |= {"disabled_reason": None, "failing_since": None, "failure_count": 0}
    changed = hook.changed(**changes)
    same = exists() & equals("updated_at", hook.updated_at) & equals("failure_count", hook.failure_count)
    await context.load.write(Update.of(hook, changed, when=same), entry=await _entry(context, hook, changed))
    return changed


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def delete_webhook(context: Context, *, webhook_id: Annotated[Key[Webhook], Doc(OF_WEBHOOK)]) -> Webhook:
    """Deletes a webhook and its deliveries."""
    hook = await _own(context, webhook_id)
    await context.load.write(
        Delete(webhook_id, when=exists()),
        await _one_less(context, WebhookCount.key(**hook.held_by._asdict())),
        queued(purge_webhook, webhook=[*hook.own_key.values.values()]),
        entry=await _entry(context, hook, None),
    )
    return hook


async def _entry(context: Context, before: Webhook | None, after: Webhook | None) -> Put | None:
    """Returns the audit entry for a change of a tenant's webhook. Those of users have none."""
    hook = after or before
    assert hook is not None
    owner_kind, owner_id = hook.held_by
    return await audit_entry(context, before, after, tenant_id=owner_id) if owner_kind == TENANT else None


async def _one_less(context: Context, key: Key[WebhookCount]) -> Write:
    """Returns the write that decrements a count, or deletes it with the last webhook."""
    (count,) = await context.load.fresh(key)
    if count is None or count.count <= 1:
        return Delete(key, when=absent("count") | equals("count", 1))
    return Update(key, add={"count": -1}, when=above("count", 1))


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def rotate_webhook_secret(
    context: Context, *, webhook_id: Annotated[Key[Webhook], Doc(OF_WEBHOOK)]
) -> WebhookAndSecret:
    """Replaces the secret and returns the new one. For a day, requests are signed with both."""
    hook = await _own(context, webhook_id)
    changed = hook.changed(
        secret=new_secret(), former_secret=hook.secret, former_secret_until=time_from_now(BOTH_SECRETS)
    )
    same = exists() & equals("updated_at", hook.updated_at)
    await context.load.write(Update.of(hook, changed, when=same), entry=await _entry(context, hook, changed))
    return WebhookAndSecret(changed, changed.secret)


@access(requires=AccessRole.SIGNED_IN)
async def send_test_webhook(
    context: Context, *, webhook_id: Annotated[Key[Webhook], Doc(OF_WEBHOOK)]
) -> WebhookDelivery:
    """Sends a test event within seconds, once. The delivery shows the outcome. Works for a disabled webhook too."""
    made = test_of(await _own(context, webhook_id))
    await context.load.write(Put(made.delivery, when=absent()), made.job)
    return made.delivery


def test_of(hook: Webhook) -> Made:
    """Returns a new test of a webhook."""
    at = now()
    body = payload(WebhookEvent.TEST, at, {"message": "This is a test."})
    return Made.of(hook, WebhookEvent.TEST, at, f"msg_{new_id().lower()}", body)


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def redeliver_webhook(
    context: Context, *, delivery_id: Annotated[Key[WebhookDelivery], Doc("ID of the delivery.")]
) -> WebhookDelivery:
    """Sends a delivery again within seconds, with the same `webhook-id` and the whole series of retries."""
    (delivery,) = await context.load.fresh(delivery_id)
    if delivery is None or not manages(context.viewer, delivery.owner_kind, delivery.owner_id):
        raise not_found(delivery_id)
    hook = await _own(context, webhook_of(delivery))
    if hook.active_since is None and delivery.event is not WebhookEvent.TEST:
        raise refused(ProblemCode.CONFLICT, "the webhook is disabled; enable it with `updateWebhook` first")
    again = delivery.changed(
        status=WebhookDeliveryStatus.PENDING, attempt_count=0, next_attempt_at=now(), turn=new_id()
    )
    await context.load.write(Update.of(delivery, again, when=equals("turn", delivery.turn)), job_of(again))
    return again


async def _owner(context: Context, *, for_tenant: bool) -> HookOwner:
    if not for_tenant:
        return HookOwner(USER, context.signed_in)
    Access(AccessRole.TENANT_ADMIN).check(context.viewer)
    return HookOwner(TENANT, await tenant_for(context))


async def _own(context: Context, key: Key[Webhook]) -> Webhook:
    """Returns a webhook of the viewer or of the tenant they administer; others are not found."""
    (hook,) = await context.load.fresh(key)
    if hook is None or not manages(context.viewer, hook.owner_kind, hook.owner_id):
        raise not_found(key)
    return hook


def _check(
    context: Context, owner: HookOwner, url: str | None = None, events: list[WebhookEvent] | None = None
) -> None:
    checks = Checks()
    if url is not None:
        try:
            Destination.of(url, allow_private=context.options.private_webhooks)
        except BadDestination as bad:
            checks.problem("url", str(bad))
    of_tenants = tenant_events()
    strange = [each.name for each in events or () if (each in of_tenants) is not (owner.owner_kind == TENANT)]
    if strange:
        which = "a tenant" if owner.owner_kind == TENANT else "a user"
        checks.problem("events", f"{', '.join(strange)}: not an event of {which}; see the enum WebhookEvent")
    checks.done()
