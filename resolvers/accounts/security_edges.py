"""The security log of the platform: the range or ranges each combination of filters reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import Time
from datastore.security import SHARDS, SecurityEvent, target_key
from loaders.filtered import ONE_INDEX_AT_A_TIME, Condition, Filtered, filtered
from loaders.merge import Merge
from resolvers.core.access import AccessRole, access


@access(requires=AccessRole.ADMIN)
def security_log(
    *,
    actor_id: Annotated[Key[User] | None, Doc("Returns only events of this user."), ONE_INDEX_AT_A_TIME] = None,
    action: Annotated[
        str | None, Doc("Returns only events with this name, such as signInFailed."), ONE_INDEX_AT_A_TIME
    ] = None,
    target_id: Annotated[
        Key[Entity] | None, Doc("Returns only events about this account or tenant."), ONE_INDEX_AT_A_TIME
    ] = None,
    created_after: Annotated[Time | None, Doc("Returns only events created at or after this time.")] = None,
    created_before: Annotated[Time | None, Doc("Returns only events created before this time.")] = None,
) -> Merge[SecurityEvent] | Filtered[SecurityEvent]:
    """Security events of the platform in the last year, newest first."""
    user_id = actor_id.values["user_id"] if actor_id else None
    if target_id is not None:
        about = target_key(target_id.entity.__name__, "/".join(target_id.values.values()))
        ranges = [SecurityEvent.by_target(target_key=about)]
    elif user_id is not None:
        ranges = [SecurityEvent.by_actor(actor_id=user_id)]
    elif action is not None:
        ranges = [SecurityEvent.by_action(action=action, shard=shard) for shard in range(SHARDS)]
    else:
        ranges = [SecurityEvent.within(shard=shard) for shard in range(SHARDS)]
    events = Merge(tuple(each.between(created_after, created_before).newest_first() for each in ranges), "security")
    rest: list[Condition[SecurityEvent]] = []
    if target_id is not None and user_id is not None:
        rest.append(lambda event: event.actor_id == user_id)
    if (target_id is not None or user_id is not None) and action is not None:
        rest.append(lambda event: event.action == action)
    return filtered(events, *rest) if rest else events
