"""Membership transitions: the membership, its counts and its history entry in one transaction."""

from datastore.client.writes import Check, Condition, Delete, Put, Update, Write, above, absent, equals
from datastore.neighborhoods import Membership, MembershipChange, MembershipEvent, MembershipRole, Neighborhood
from loaders.request import Loaders
from resolvers.accounts.guards import is_open
from resolvers.neighborhoods.roles import is_at_least


async def move(
    load: Loaders,
    actor_id: str,
    neighborhood: Neighborhood,
    before: Membership | None,
    after: Membership | None,
    change: MembershipChange,
    *others: Check | Update,
) -> None:
    """Writes one transaction. Raises Conflict if anything has changed since it was read. Either state may be absent."""
    membership = after or before
    assert membership is not None
    counts = {
        "member_count": _members(after) - _members(before),
        "owner_count": _owners(after) - _owners(before),
    }
    moved = {name: count for name, count in counts.items() if count}
    fits = rules_as_they_were(neighborhood)
    if counts["owner_count"] < 0:
        fits &= above("owner_count", 1)
    await load.write(
        Update(neighborhood.own_key, add=moved, when=fits) if moved else Check(neighborhood.own_key, when=fits),
        _written(before, after),
        event_of(membership, change, actor_id),
        *(other for other in others if other.key != membership.own_key),
    )


def event_of(membership: Membership, change: MembershipChange, actor_id: str) -> Put:
    event = MembershipEvent(
        neighborhood_id=membership.neighborhood_id,
        user_id=membership.user_id,
        actor_id=actor_id,
        change=change,
        role=membership.role,
    )
    return Put(event, when=absent())


def rules_as_they_were(neighborhood: Neighborhood) -> Condition:
    """Condition that the neighborhood is open and unchanged, except for its counts."""
    return is_open() & equals("updated_at", neighborhood.updated_at)


def as_it_was(membership: Membership) -> Condition:
    return (
        equals("status", membership.status)
        & equals("role", membership.role)
        & equals("joined_at", membership.joined_at)
    )


def still(membership: Membership) -> Check:
    """Check that the membership that grants a right is unchanged."""
    return Check(membership.own_key, when=as_it_was(membership))


def is_last_owner(neighborhood: Neighborhood, membership: Membership) -> bool:
    return bool(_owners(membership)) and neighborhood.owner_count <= 1


def _written(before: Membership | None, after: Membership | None) -> Write:
    if before is None:
        assert after is not None
        return Put(after, when=absent())
    if after is None:
        return Delete(before.own_key, when=as_it_was(before))
    return Update.of(before, after, when=as_it_was(before))


def _members(membership: Membership | None) -> int:
    return int(is_at_least(membership, MembershipRole.MEMBER))


def _owners(membership: Membership | None) -> int:
    return int(is_at_least(membership, MembershipRole.OWNER))
