"""Audit entries of the CMS: who changed which record, and every changed field before and after.

A command writes its entry in its own transaction: there is none without the change, and no change without it.
"""

from enum import Enum
from typing import Any

import orjson

from datastore.client.writes import Put
from datastore.cms import AuditEntry, Content
from datastore.model.codec import JSON, camel
from datastore.model.decoding import UNREAD
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import new_id
from datastore.security import AuditActor, AuditTarget
from datastore.webhooks import TENANT
from resolvers.cms.json_diff import changes
from resolvers.core.context import Context

# Before, after and blocks fit into an item of 400 KB together, even if nothing of them can be compressed.
MAX_SNAPSHOT = 150_000
MAX_BLOCKS = 50_000
SECRETS = {"secret", "former_secret"}
NOT_IN_SNAPSHOTS = {"tenant_id", "created_at", "updated_at", "expires_at", "blocks", *SECRETS}


async def audit_entry(
    context: Context, before: Entity | None, after: Entity | None, *, tenant_id: str | None = None, **gone: Any
) -> Put:
    """Returns the entry for a change, to be written with it. Its action is the running command.

    `tenant_id` is for a record without this field. `gone` is what a deleted record takes along.
    """
    record = after or before
    assert record is not None
    old, new = _snapshot(before) | gone, _snapshot(after)
    if before is not None and after is not None:
        different = [name for name in new | old if old.get(name) != new.get(name)]
        old, new = ({name: each.get(name) for name in different} for each in (old, new))
    entry = AuditEntry(
        tenant_id=tenant_id or record.__dict__["tenant_id"],
        entry_id=new_id(),
        actor=await actor_of(context),
        action=context.command,
        target=_target_of(record),
        before=JSON(_bounded(old)) if before is not None else None,
        after=JSON(_bounded(new)) if after is not None else None,
        blocks=_changed_blocks(before, after),
    )
    return Put(entry)


async def actor_of(context: Context) -> AuditActor:
    viewer = context.viewer
    return AuditActor(user_id=viewer.user_id, email=await context.viewer_states.email_of(viewer))


def place_of(key: Key[Any]) -> tuple[str | None, str]:
    """Returns the tenant of a record, and the `databaseId` that its entries have."""
    values = key.values
    # A webhook is of a user or of a tenant.
    if "owner_kind" in values:
        kind, owner_id = values.pop("owner_kind"), values.pop("owner_id")
        tenant_id = owner_id if kind == TENANT else None
    else:
        tenant_id = values.pop("tenant_id", None)
    return tenant_id, "/".join(values.values()) or tenant_id or ""


def _target_of(record: Entity) -> AuditTarget:
    _, own_id = place_of(record.own_key)
    named = (
        getattr(record, name, None) for name in ("title", "name", "slug", "email", "author_name", "visitor_id", "url")
    )
    return AuditTarget(type=type(record).__name__, id=own_id, title=next(filter(None, named), own_id))


def _snapshot(record: Entity | None) -> dict[str, Any]:
    if record is None:
        return {}
    values = {name: getattr(record, name) for name in record.fields if name not in NOT_IN_SNAPSHOTS}
    return {camel(name): _plain(value) for name, value in values.items() if value is not None and value is not UNREAD}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _bounded(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Returns the snapshot, with the size of its largest fields instead of their values if it is too large."""
    sizes = {name: len(orjson.dumps(value)) for name, value in snapshot.items()}
    left = sum(sizes.values())
    bounded = dict(snapshot)
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if left <= MAX_SNAPSHOT:
            break
        bounded[name] = f"{sizes[name]:,} bytes, too many to record"
        left -= sizes[name]
    return bounded


def _changed_blocks(before: Entity | None, after: Entity | None) -> JSON | None:
    """Returns the changes of content blocks. The versions have the blocks, so a large diff is only summarized."""
    if not isinstance(after, Content):
        return None
    earlier = before if isinstance(before, Content) else None
    old, new = earlier.blocks if earlier else JSON([]), after.blocks
    if old == new:
        return None
    versions = {"fromVersion": earlier.version if earlier else None, "toVersion": after.version}
    found = [
        {"kind": change.kind.value, "path": change.path[1:], "old": change.old, "new": change.new}
        for change in changes({"blocks": old}, {"blocks": new})
    ]
    if len(orjson.dumps(found)) <= MAX_BLOCKS:
        return JSON({**versions, "changes": found})
    return JSON({**versions, "summary": f"{len(found):,} changes, too many to record; compare the versions"})
