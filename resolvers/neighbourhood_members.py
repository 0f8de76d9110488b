"""Who comes into a neighbourhood, who goes, and what they are there.

| | member | moderator | admin | owner |
|---|---|---|---|---|
| see a private neighbourhood and its members | yes | yes | yes | yes |
| make sites in it, where it allows that | yes | yes | yes | yes |
| leave, or take a lower role | yes | yes | yes | unless the last one |
| see invitations, requests and the history; invite, approve, decline | | yes | yes | yes |
| remove somebody | | members | and moderators | everybody |
| give a role | | | member, moderator | every role |
| change the neighbourhood | | | yes | yes |
| delete it | | | | yes |

Every step is one transaction: the membership, what it counts for, and the memory of it.
"""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.keys import Key
from datastore.neighbourhood import (
    Membership,
    MembershipChange,
    MembershipEvent,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    NeighborhoodPrivacy,
)
from datastore.times import now
from datastore.users import User
from datastore.writes import Check, Condition, Delete, Put, Update, Write, above, absent, equals
from loaders.loaders import Loaders
from loaders.visibility import seen
from resolvers.context import Context
from resolvers.deciding import settled
from resolvers.neighbourhood import RANKS, is_at_least, neighborhood_of, person
from resolvers.problems import ProblemCode, Refused, refused
from resolvers.users import email_is_verified
from resolvers.users_commands import is_open, no_account


class LeftNeighborhood(NamedTuple):
    left_membership_id: Membership
    neighborhood: Neighborhood | None


class RemovedMember(NamedTuple):
    removed_membership_id: Membership
    neighborhood: Neighborhood | None


async def join_neighborhood(
    context: Context,
    *,
    neighborhood_id: Annotated[
        Key[Neighborhood],
        Doc("The `id` of the neighbourhood; whoever was given that of a private one may ask to join."),
    ],
) -> Membership:
    """Become a member: of a public neighbourhood at once, of a private one if invited; else one waits for approval."""
    return await settled(lambda: _join(context, neighborhood_id))


async def _join(context: Context, key: Key[Neighborhood]) -> Membership:
    neighborhood, own, account = await _standing(context, key)
    is_public = neighborhood.privacy is NeighborhoodPrivacy.PUBLIC
    is_invited = own is not None and own.status is MembershipStatus.INVITED
    status = MembershipStatus.ACTIVE if is_public or is_invited else MembershipStatus.PENDING
    if own is not None and own.status in (status, MembershipStatus.ACTIVE):
        return own
    proof = is_open()
    if neighborhood.settings.require_email_verification:
        if not email_is_verified(account, context.viewer):
            message = "this neighbourhood asks for a verified e-mail address; use requestEmailVerification first"
            raise refused(ProblemCode.FORBIDDEN, message, "input", "neighborhoodId")
        proof &= equals("email", account.email)
    after = _stepped(own, status) or Membership(
        neighborhood_id=neighborhood.neighborhood_id, user_id=account.user_id, status=status, joined_at=now()
    )
    change = MembershipChange.JOINED if status is MembershipStatus.ACTIVE else MembershipChange.REQUESTED
    rules = equals("privacy", neighborhood.privacy) & equals("settings", neighborhood.settings)
    await move(context.load, context.signed_in, own, after, change, Check(account.own_key, when=proof), rules=rules)
    return after


async def leave_neighborhood(
    context: Context, *, neighborhood_id: Annotated[Key[Neighborhood], Doc("The `id` of the neighbourhood.")]
) -> LeftNeighborhood:
    """Be a member no more, decline an invitation, or take back that one asked. The last owner cannot leave."""
    return await settled(lambda: _leave(context, neighborhood_id))


async def _leave(context: Context, key: Key[Neighborhood]) -> LeftNeighborhood:
    neighborhood, own, account = await _standing(context, key)
    if own is None:
        # Whoever is nothing in a private one is not told that it exists.
        raise _no_neighborhood()
    _keep_an_owner(neighborhood, own, "neighborhoodId")
    still_there = Check(account.own_key, when=is_open())
    await move(context.load, account.user_id, own, None, MembershipChange.LEFT, still_there)
    return LeftNeighborhood(own, await context.load.one(key))


async def invite_member(
    context: Context,
    *,
    neighborhood_id: Annotated[Key[Neighborhood], Doc("The `id` of the neighbourhood.")],
    user_id: Annotated[Key[User], Doc("The `id` of the person to invite.")],
) -> Membership:
    """Invite somebody: for moderators and above. Whoever asks to join already becomes a member."""
    return await settled(lambda: _invite(context, neighborhood_id, user_id))


async def _invite(context: Context, key: Key[Neighborhood], user: Key[User]) -> Membership:
    place = Membership.key(**key.values, **user.values)
    neighborhood, own = await standing_as(context, key, MembershipRole.MODERATOR, user, place)
    guest, before = await context.load.one(user), await context.load.stored(place)
    if guest is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such person", "input", "userId")
    if before is not None and before.status is not MembershipStatus.PENDING:
        return before
    after = _stepped(before, MembershipStatus.ACTIVE) or Membership(
        neighborhood_id=neighborhood.neighborhood_id,
        user_id=guest.user_id,
        status=MembershipStatus.INVITED,
        joined_at=now(),
    )
    change = MembershipChange.JOINED if before else MembershipChange.INVITED
    account = Check(guest.own_key, when=is_open())
    await move(context.load, own.user_id, before, after, change, _still(own), account)
    return after


async def approve_member(
    context: Context, *, membership_id: Annotated[Key[Membership], Doc("The `id` of the membership that waits.")]
) -> Membership:
    """Let somebody in who asks to join: for moderators and above."""
    return await settled(lambda: _approve(context, membership_id))


async def _approve(context: Context, key: Key[Membership]) -> Membership:
    _, own, before = await _both(context, key)
    own = _require(own, MembershipRole.MODERATOR, "membershipId")
    if before.status is MembershipStatus.INVITED:
        message = "they are invited, and have to join themselves"
        raise refused(ProblemCode.INVALID, message, "input", "membershipId")
    if before.status is MembershipStatus.ACTIVE:
        return before
    if await context.load.one(person(before)) is None:
        raise refused(ProblemCode.NOT_FOUND, "their account is deleted", "input", "membershipId")
    after = before.changed(status=MembershipStatus.ACTIVE, joined_at=now())
    account = Check(person(before), when=is_open())
    await move(context.load, context.signed_in, before, after, MembershipChange.JOINED, _still(own), account)
    return after


async def change_member_role(
    context: Context,
    *,
    membership_id: Annotated[Key[Membership], Doc("The `id` of the membership.")],
    role: Annotated[MembershipRole, Doc("What they shall be.")],
) -> Membership:
    """Give a member another role: for admins and owners. Everybody may take a lower one themselves."""
    return await settled(lambda: _change_role(context, membership_id, role))


async def _change_role(context: Context, key: Key[Membership], role: MembershipRole) -> Membership:
    neighborhood, own, before = await _both(context, key)
    if before.status is not MembershipStatus.ACTIVE:
        raise refused(ProblemCode.INVALID, "they are not a member yet", "input", "membershipId")
    steps_down = context.viewer.is_user(before.user_id) and RANKS[role] <= RANKS[before.role]
    own = own if own and steps_down else _require(own, MembershipRole.ADMIN, "membershipId")
    if not steps_down:
        _require_above(own, before.role, "membershipId")
        _require_above(own, role, "role")
    if before.role is role:
        return before
    after = before.changed(role=role)
    _keep_an_owner(neighborhood, before, "membershipId")
    await move(context.load, context.signed_in, before, after, MembershipChange.ROLE_CHANGED, _still(own))
    return after


async def remove_member(
    context: Context, *, membership_id: Annotated[Key[Membership], Doc("The `id` of the membership.")]
) -> RemovedMember:
    """Remove somebody, or decline an invitation or request: for moderators and above, of those below them."""
    return await settled(lambda: _remove(context, membership_id))


async def _remove(context: Context, key: Key[Membership]) -> RemovedMember:
    neighborhood, own, before = await _both(context, key)
    if context.viewer.is_user(before.user_id):
        raise refused(ProblemCode.INVALID, "that is you: use leaveNeighborhood", "input", "membershipId")
    own = _require(own, MembershipRole.MODERATOR, "membershipId")
    _require_above(own, before.role, "membershipId")
    _keep_an_owner(neighborhood, before, "membershipId")
    await move(context.load, context.signed_in, before, None, MembershipChange.REMOVED, _still(own))
    return RemovedMember(before, await context.load.one(neighborhood.own_key))


class Standing(NamedTuple):
    """A neighbourhood, what the viewer is in it and their open account, as all of them are now."""

    neighborhood: Neighborhood
    own: Membership | None
    account: User


async def _standing(
    context: Context, key: Key[Neighborhood], *others: Key[Any], missing: Refused | None = None
) -> Standing:
    """`others` are read along, and kept; `missing` is the refusal where there is no such neighbourhood."""
    own = Membership.key(user_id=context.signed_in, **key.values)
    keys: list[Key[Any]] = [key, own, User.key(user_id=context.signed_in), *others]
    neighborhood, membership, account, *_ = await context.load.fresh(*keys)
    if account is None or account.deleted_at is not None:
        raise no_account()
    if neighborhood is None or neighborhood.deleted_at is not None:
        raise missing or _no_neighborhood()
    return Standing(neighborhood, membership, account)


async def standing_as(
    context: Context, key: Key[Neighborhood], role: MembershipRole, *others: Key[Any]
) -> tuple[Neighborhood, Membership]:
    """A neighbourhood and what the viewer is in it, if that is this role or a higher one."""
    neighborhood, own, _ = await _standing(context, key, *others)
    (visible,) = await context.load.alone(seen([neighborhood], context.viewer))
    if visible is None:
        raise _no_neighborhood()
    return neighborhood, _require(own, role, "neighborhoodId")


async def _both(context: Context, key: Key[Membership]) -> tuple[Neighborhood, Membership | None, Membership]:
    """The neighbourhood of a membership, what the viewer is in it, and the membership, as all of them are now.

    Whose it is is read along, and kept.
    """
    around = Neighborhood.key(neighborhood_id=key.values["neighborhood_id"])
    missing = refused(ProblemCode.NOT_FOUND, "there is no such membership", "input", "membershipId")
    whose = User.key(user_id=key.values["user_id"])
    neighborhood, own, _ = await _standing(context, around, key, whose, missing=missing)
    target = await context.load.one(key)
    if target is None:
        raise missing
    return neighborhood, own, target


def _require(own: Membership | None, role: MembershipRole, path: str) -> Membership:
    if own is None or not is_at_least(own, role):
        raise refused(ProblemCode.FORBIDDEN, f"this takes a {role.value} of the neighbourhood", "input", path)
    return own


def _require_above(own: Membership, role: MembershipRole, path: str) -> None:
    """Owners may do everything; others have to stand above."""
    if own.role is not MembershipRole.OWNER and RANKS[own.role] <= RANKS[role]:
        raise refused(ProblemCode.FORBIDDEN, f"this takes somebody above a {role.value}", "input", path)


def is_last_owner(neighborhood: Neighborhood, membership: Membership) -> bool:
    return is_at_least(membership, MembershipRole.OWNER) and neighborhood.owner_count <= 1


def _keep_an_owner(neighborhood: Neighborhood, membership: Membership, path: str) -> None:
    if is_last_owner(neighborhood, membership):
        message = "a neighbourhood is never without an owner; make somebody else one first, or delete it"
        raise refused(ProblemCode.FORBIDDEN, message, "input", path)


def _stepped(before: Membership | None, status: MembershipStatus) -> Membership | None:
    return before.changed(status=status, joined_at=now()) if before else None


def _still(own: Membership) -> Check:
    """That what gave the viewer the right to it is still so."""
    return Check(own.own_key, when=as_it_was(own))


def as_it_was(membership: Membership) -> Condition:
    return equals("status", membership.status) & equals("role", membership.role)


def event_of(membership: Membership, change: MembershipChange, actor_id: str) -> Put:
    event = MembershipEvent(
        neighborhood_id=membership.neighborhood_id,
        user_id=membership.user_id,
        actor_id=actor_id,
        change=change,
        role=membership.role,
    )
    return Put(event, when=absent())


async def move(
    load: Loaders,
    actor_id: str,
    before: Membership | None,
    after: Membership | None,
    change: MembershipChange,
    *checks: Check,
    rules: Condition | None = None,
) -> None:
    """From one state of a membership to another: a Conflict if anything is not as it was any more."""
    membership = after or before
    assert membership is not None
    counts = {
        "member_count": _members(after) - _members(before),
        "owner_count": _owners(after) - _owners(before),
    }
    moved = {name: count for name, count in counts.items() if count}
    fits = is_open() & rules if rules else is_open()
    if counts["owner_count"] < 0:
        fits &= above("owner_count", 1)
    key = neighborhood_of(membership)
    writes: list[Write] = [
        Update(key, add=moved, when=fits) if moved else Check(key, when=fits),
        _written(before, after),
        event_of(membership, change, actor_id),
        *(check for check in checks if check.key != membership.own_key),
    ]
    await load.write(*writes)


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


def _no_neighborhood() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such neighbourhood", "input", "neighborhoodId")
