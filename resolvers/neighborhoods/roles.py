"""Roles of members, ranked by privilege."""

from datastore.neighborhoods import (
    Membership,
    MembershipRole,
    MembershipStatus,
)

RANKS = {role: rank for rank, role in enumerate(reversed(MembershipRole))}
"""A higher rank includes the rights of the lower ones."""


def is_at_least(membership: Membership | None, role: MembershipRole) -> bool:
    """Returns True for an active member with this role or a higher one."""
    return (
        membership is not None
        and membership.status is MembershipStatus.ACTIVE
        and RANKS[membership.role] >= RANKS[role]
    )
