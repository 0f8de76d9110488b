"""Security events of accounts, as writes of the command that causes them."""

from typing import Any

from datastore.accounts import User
from datastore.client.writes import Put, Update
from datastore.security import AuditActor, AuditTarget, SecurityEvent
from resolvers.core.context import Context
from resolvers.core.security_events import counted, hourly_event, single_event, tenant_entry


def account_events(
    context: Context, user: User, *, by_owner: bool = True, details: dict[str, Any] | None = None
) -> list[Put | Update]:
    """Returns the writes that note the running command of an account, for its transaction."""
    viewer, target = context.viewer, _target(user.user_id, user.username)
    user_id = user.user_id if by_owner else viewer.user_id
    email = user.email if user_id == user.user_id else None
    fields = {"tenant_id": viewer.tenant_id, "address": context.client_address, "details": details}
    actor = AuditActor(user_id=user_id, email=email)
    writes: list[Put | Update] = [single_event(context.command, actor, target=target, **fields)]
    if viewer.tenant_id is not None:
        # Only of staff does a tenant learn the email address.
        known = AuditActor(user_id=user_id, email=email if viewer.tenant_role else None)
        writes.append(counted(tenant_entry(viewer.tenant_id, context.command, known, target)))
    return writes


async def note_refusal(context: Context, action: str, user: User | None, reason: str) -> None:
    """Counts a wrong password before the refusal is answered. The rate limits bound how often that happens."""
    target = _target(user.user_id, user.username) if user else None
    event = _refusal(context, action, target, {"reason": reason})
    tenant_id = context.viewer.tenant_id
    if not context.security_counts.admits(event):
        context.security_counts.refuse(event, tenant_id)
        return
    at_tenant = [counted(tenant_entry(tenant_id, action))] if tenant_id is not None else []
    await context.load.write_aside(counted(event), *at_tenant)


def note_limit(context: Context, user_id: str | None) -> None:
    """Counts an attempt over the limits, without a call: there may be any number of them."""
    target = _target(user_id, user_id) if user_id else None
    context.security_counts.refuse(_refusal(context, "signInLimited", target), context.viewer.tenant_id)


def _refusal(
    context: Context, action: str, target: AuditTarget | None, details: dict[str, Any] | None = None
) -> SecurityEvent:
    actor = AuditActor(user_id=context.viewer.user_id)
    fields = {"tenant_id": context.viewer.tenant_id, "address": context.client_address, "details": details}
    return hourly_event(action, actor, target=target, **fields)


def _target(user_id: str, title: str) -> AuditTarget:
    return AuditTarget(type="User", id=user_id, title=title)
