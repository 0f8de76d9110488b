"""Commands of memberships, and the rights of each role.

| | member | moderator | admin | owner |
|---|---|---|---|---|
| see a private neighborhood and its members | yes | yes | yes | yes |
| create sites in it, if it allows sites | yes | yes | yes | yes |
| leave, or step down to a lower role | yes | yes | yes | unless the last one |
| see invitations, requests and the history; invite, approve, decline | | yes | yes | yes |
| remove members | | members | and moderators | everyone |
| change roles | | | member, moderator | every role |
| edit the neighborhood | | | yes | yes |
| delete it | | | | yes |
"""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Update, equals, exists
from datastore.model.keys import Key
from datastore.model.times import now
from datastore.neighborhoods import (
    Membership,
    MembershipChange,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    NeighborhoodPrivacy,
)
from loaders.viewer import Viewer
from loaders.visibility import seen
from resolvers.accounts.edges import email_is_verified
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import At, ProblemCode, Refused, not_found, refused
from resolvers.core.retry import retries_on_conflict
from resolvers.neighborhoods.edges import person
from resolvers.neighborhoods.membership_writes import is_last_owner, move, still
from resolvers.neighborhoods.roles import RANKS, is_at_least

ACTIVE, INVITED, PENDING, AWAY = MembershipStatus


class LeftNeighborhood(NamedTuple):
    deleted_membership_id: Membership
    neighborhood: Neighborhood | None


class RemovedMember(NamedTuple):
    deleted_membership_id: Membership
    neighborhood: Neighborhood | None


class Standing(NamedTuple):
    """A neighborhood, the viewer's membership and their open account, read consistently."""

    neighborhood: Neighborhood
    own: Membership | None
    account: User

    def rights(self) -> list[Check]:
        """Returns checks that the viewer still has the same rights."""
        account = Check(self.account.own_key, when=is_open())
        return [account, still(self.own)] if self.own else [account]


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def join_neighborhood(
    context: Context,
    *,
    neighborhood_id: Annotated[
        Key[Neighborhood],
        Doc("ID of the neighborhood. A viewer who knows the ID of a private one can request to join."),
    ],
) -> Membership:
    """Joins a public neighborhood, or accepts an invitation to a private one. Otherwise requests approval."""
    neighborhood, own, account = await _standing(context, neighborhood_id)
    is_welcome = own is not None and own.status in (INVITED, AWAY)
    status = ACTIVE if is_welcome or neighborhood.privacy is NeighborhoodPrivacy.PUBLIC else PENDING
    if own is not None and own.status in (status, ACTIVE):
        return own
    admission = _admission(neighborhood, account, context.viewer)
    after = _stepped(own, status) or _membership(neighborhood, account, status)
    change = MembershipChange.JOINED if status is ACTIVE else MembershipChange.REQUESTED
    await move(context.load, account.user_id, neighborhood, own, after, change, admission)
    return after


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def leave_neighborhood(
    context: Context, *, neighborhood_id: Annotated[Key[Neighborhood], Doc("ID of the neighborhood.")]
) -> LeftNeighborhood:
    """Leaves a neighborhood, declines an invitation or withdraws a join request. The last owner cannot leave."""
    standing = await _standing(context, neighborhood_id)
    neighborhood, own, account = standing
    if own is None:
        # Outsiders do not learn that a private neighborhood exists.
        if neighborhood.privacy is NeighborhoodPrivacy.PRIVATE:
            raise not_found(neighborhood_id)
        raise refused(ProblemCode.NOT_FOUND, "you are not in this neighborhood", at=neighborhood_id)
    _keep_an_owner(neighborhood, own, neighborhood_id)
    await move(context.load, account.user_id, neighborhood, own, None, MembershipChange.LEFT, *standing.rights())
    return LeftNeighborhood(own, await context.load.one(neighborhood_id))


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.MODERATOR,))
@retries_on_conflict
async def invite_member(
    context: Context,
    *,
    neighborhood_id: Annotated[Key[Neighborhood], Doc("ID of the neighborhood.")],
    user_id: Annotated[Key[User], Doc("ID of the user to invite.")],
) -> Membership:
    """Invites a user. A user who has requested to join becomes a member."""
    place = Membership.key(**neighborhood_id.values, **user_id.values)
    standing = await standing_as(context, neighborhood_id, MembershipRole.MODERATOR, user_id, place)
    guest, before = await context.load.one(user_id), await context.load.stored(place)
    if guest is None:
        raise not_found(user_id)
    if before is not None and before.status is not PENDING:
        return before
    if before is not None:
        return await _let_in(context, standing, before, guest, user_id)
    after = _membership(standing.neighborhood, guest, INVITED)
    await move(
        context.load,
        context.signed_in,
        standing.neighborhood,
        None,
        after,
        MembershipChange.INVITED,
        *standing.rights(),
        Check(guest.own_key, when=is_open()),
    )
    return after


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.MODERATOR,))
@retries_on_conflict
async def approve_member(
    context: Context, *, membership_id: Annotated[Key[Membership], Doc("ID of the pending membership.")]
) -> Membership:
    """Approves a request to join."""
    standing, before = await _both(context, membership_id)
    _require(standing.own, MembershipRole.MODERATOR, membership_id)
    if before.status is INVITED:
        raise refused(ProblemCode.INVALID, "they are invited and have to join themselves", at=membership_id)
    account = await context.load.one(person(before))
    if account is None:
        raise refused(ProblemCode.NOT_FOUND, "their account is deleted", at=membership_id)
    if before.status is not PENDING:
        return before
    return await _let_in(context, standing, before, account, membership_id)


async def _let_in(context: Context, standing: Standing, before: Membership, account: User, at: Key[Any]) -> Membership:
    """Accepts a join request."""
    admission = _admission(standing.neighborhood, account, at=at)
    after = before.changed(status=ACTIVE, joined_at=now())
    await move(
        context.load,
        context.signed_in,
        standing.neighborhood,
        before,
        after,
        MembershipChange.JOINED,
        *standing.rights(),
        admission,
    )
    return after


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.SUBJECT, AccessRelation.NEIGHBORHOOD_ADMIN))
@retries_on_conflict
async def change_member_role(
    context: Context,
    *,
    membership_id: Annotated[Key[Membership], Doc("ID of the membership.")],
    role: Annotated[MembershipRole, Doc("New role.")],
) -> Membership:
    """Changes a member's role. A member may take a lower one themselves."""
    standing, before = await _both(context, membership_id)
    if before.status is not ACTIVE:
        raise refused(ProblemCode.INVALID, "they are not an active member", at=membership_id)
    steps_down = context.viewer.is_user(before.user_id) and RANKS[role] <= RANKS[before.role]
    if not steps_down:
        own = _require(standing.own, MembershipRole.ADMIN, membership_id)
        _require_above(own, before.role, membership_id)
        _require_above(own, role, "role")
    if before.role is role:
        return before
    _keep_an_owner(standing.neighborhood, before, membership_id)
    await move(
        context.load,
        context.signed_in,
        standing.neighborhood,
        before,
        after := before.changed(role=role),
        MembershipChange.ROLE_CHANGED,
        *standing.rights(),
    )
    return after


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.MODERATOR,))
@retries_on_conflict
async def remove_member(
    context: Context, *, membership_id: Annotated[Key[Membership], Doc("ID of the membership.")]
) -> RemovedMember:
    """Removes a member with a lower role, or declines an invitation or join request."""
    standing, before = await _both(context, membership_id)
    if context.viewer.is_user(before.user_id):
        raise refused(ProblemCode.INVALID, "this is your own membership; use leaveNeighborhood", at=membership_id)
    own = _require(standing.own, MembershipRole.MODERATOR, membership_id)
    _require_above(own, before.role, membership_id)
    _keep_an_owner(standing.neighborhood, before, membership_id)
    await move(
        context.load,
        own.user_id,
        standing.neighborhood,
        before,
        None,
        MembershipChange.REMOVED,
        *standing.rights(),
    )
    return RemovedMember(before, await context.load.one(standing.neighborhood.own_key))


async def _standing(
    context: Context, key: Key[Neighborhood], *others: Key[Any], missing: Refused | None = None
) -> Standing:
    """Reads `others` in the same batch. `missing` replaces the refusal if there is no such neighborhood."""
    own = Membership.key(user_id=context.signed_in, **key.values)
    keys: list[Key[Any]] = [key, own, User.key(user_id=context.signed_in), *others]
    neighborhood, membership, account, *_ = await context.load.fresh(*keys)
    if account is None or account.deleted_at is not None:
        raise no_account()
    if neighborhood is None or neighborhood.deleted_at is not None:
        raise missing or not_found(key)
    return Standing(neighborhood, membership, account)


async def standing_as(context: Context, key: Key[Neighborhood], role: MembershipRole, *others: Key[Any]) -> Standing:
    """Returns the viewer's standing. Refuses viewers without this role or a higher one."""
    standing = await _standing(context, key, *others)
    (visible,) = await context.load.run(seen([standing.neighborhood], context.viewer))
    if visible is None:
        raise not_found(key)
    _require(standing.own, role, key)
    return standing


async def _both(context: Context, key: Key[Membership]) -> tuple[Standing, Membership]:
    """Returns the viewer's standing and the membership. Reads the member's account in the same batch."""
    around, whose = Neighborhood.key(neighborhood_id=key.values["neighborhood_id"]), key.values["user_id"]
    missing = not_found(key)
    standing = await _standing(context, around, key, User.key(user_id=whose), missing=missing)
    target = await context.load.one(key)
    if target is None:
        raise missing
    return standing, target


def _require(own: Membership | None, role: MembershipRole, at: At) -> Membership:
    if own is None or not is_at_least(own, role):
        message = f"this requires the role {role.name} in the neighborhood, or a higher one"
        raise refused(ProblemCode.FORBIDDEN, message, at=at)
    return own


def _require_above(own: Membership, role: MembershipRole, at: At) -> None:
    """Owners may do everything; others need a higher role than the target."""
    if own.role is not MembershipRole.OWNER and RANKS[own.role] <= RANKS[role]:
        raise refused(ProblemCode.FORBIDDEN, f"this requires a role above {role.name}, or OWNER", at=at)


def _keep_an_owner(neighborhood: Neighborhood, membership: Membership, at: At) -> None:
    if is_last_owner(neighborhood, membership):
        message = "a neighborhood needs an owner; make another member one first, or delete it"
        raise refused(ProblemCode.FORBIDDEN, message, at=at)


def _admission(
    neighborhood: Neighborhood, account: User, viewer: Viewer | None = None, *, at: At = "neighborhood_id"
) -> Check | Update:
    """Checks that the new member's account is open and, if required, has a verified email address."""
    if not neighborhood.settings.require_email_verification:
        return Check(account.own_key, when=is_open())
    if account.email_verified_at is not None:
        return Check(account.own_key, when=is_open() & exists("email_verified_at"))
    if viewer is None:
        message = "this neighborhood requires a verified email address, and theirs is not verified"
        raise refused(ProblemCode.FORBIDDEN, message, at=at)
    if not email_is_verified(account, viewer):
        message = "this neighborhood requires a verified email address; use requestEmailVerification first"
        raise refused(ProblemCode.FORBIDDEN, message, at=at)
    # The viewer's token proves it. Recorded, because a moderator approves with another token.
    same_address = is_open() & equals("email", account.email)
    return Update(account.own_key, set={"email_verified_at": now()}, when=same_address)


def _membership(neighborhood: Neighborhood, account: User, status: MembershipStatus) -> Membership:
    return Membership(
        neighborhood_id=neighborhood.neighborhood_id, user_id=account.user_id, status=status, joined_at=now()
    )


def _stepped(before: Membership | None, status: MembershipStatus) -> Membership | None:
    return before.changed(status=status, joined_at=now()) if before else None
