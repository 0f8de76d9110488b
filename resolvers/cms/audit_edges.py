"""Edges of the audit log: the range each combination of filters reads."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cms import AuditEntry
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from datastore.model.times import Time
from datastore.security import target_key
from loaders.filtered import ONE_INDEX_AT_A_TIME, Condition, Filtered, filtered
from loaders.viewer import Viewer
from resolvers.cms.audit_entries import place_of
from resolvers.cms.tenancy import tenant_of
from resolvers.core.access import AccessRole, access
from resolvers.core.problems import ProblemCode, refused


@access(requires=AccessRole.TENANT_ADMIN)
def audit_log(
    viewer: Viewer,
    *,
    actor_id: Annotated[Key[User] | None, Doc("Returns only actions of this user."), ONE_INDEX_AT_A_TIME] = None,
    action: Annotated[
        str | None, Doc("Returns only actions with this name, such as updateContent."), ONE_INDEX_AT_A_TIME
    ] = None,
    target_id: Annotated[Key[Entity] | None, Doc("Returns only changes of this record."), ONE_INDEX_AT_A_TIME] = None,
    created_after: Annotated[Time | None, Doc("Returns only entries created at or after this time.")] = None,
    created_before: Annotated[Time | None, Doc("Returns only entries created before this time.")] = None,
) -> Range[AuditEntry] | Filtered[AuditEntry]:
    """Audit log of the tenant, newest first."""
    tenant_id = tenant_of(viewer)
    user_id = actor_id.values["user_id"] if actor_id else None
    target = _target(target_id, tenant_id) if target_id else None
    if target is not None:
        entries = AuditEntry.by_target(tenant_id=tenant_id, target_key=target)
    elif user_id is not None:
        entries = AuditEntry.by_actor(tenant_id=tenant_id, actor_id=user_id)
    elif action is not None:
        entries = AuditEntry.by_action(tenant_id=tenant_id, action=action)
    else:
        entries = AuditEntry.within(tenant_id=tenant_id)
    entries = entries.between(created_after, created_before).newest_first()
    rest: list[Condition[AuditEntry]] = []
    if target is not None and user_id is not None:
        rest.append(lambda entry: entry.actor_id == user_id)
    if (target is not None or user_id is not None) and action is not None:
        rest.append(lambda entry: entry.action == action)
    return filtered(entries, *rest) if rest else entries


def _target(key: Key[Any], tenant_id: str) -> str:
    tenant, own_id = place_of(key)
    if tenant != tenant_id:
        raise refused(ProblemCode.INVALID, f"this is no record of the tenant {tenant_id}", at="target_id")
    return target_key(key.entity.__name__, own_id)
