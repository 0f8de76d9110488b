"""Who comes into a neighborhood, who goes, and what they are there.

| | member | moderator | admin | owner |
|---|---|---|---|---|
| see a private neighborhood and its members | yes | yes | yes | yes |
| make sites in it, where it allows that | yes | yes | yes | yes |
| leave, or take a lower role | yes | yes | yes | unless the last one |
| see invitations, requests and the history; invite, approve, decline | | yes | yes | yes |
| remove somebody | | members | and moderators | everybody |
| give a role | | | member, moderator | every role |
| change the neighborhood | | | yes | yes |
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
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import settled
from resolvers.neighborhoods.edges import person
from resolvers.neighborhoods.membership_writes import is_last_owner, move, still
from resolvers.neighborhoods.roles import RANKS, is_at_least

ACTIVE, INVITED, PENDING, AWAY = MembershipStatus


class LeftNeighborhood(NamedTuple):
    left_membership_id: Membership
    neighborhood: Neighborhood | None


class RemovedMember(NamedTuple):
    removed_membership_id: Membership
    neighborhood: Neighborhood | None


class Standing(NamedTuple):
    """A neighborhood, what the viewer is in it and their open account, as all of them are now."""

    neighborhood: Neighborhood
    own: Membership | None
    account: User

    def rights(self) -> list[Check]:
        """That the viewer may still do what they may."""
        account = Check(self.account.own_key, when=is_open())
        return [account, still(self.own)] if self.own else [account]


async def join_neighborhood(
    context: Context,
    *,
    neighborhood_id: Annotated[
        Key[Neighborhood],
        Doc("The `id` of the neighborhood; whoever was given that of a private one may ask to join."),
    ],
) -> Membership:
    """Become a member: of a public neighborhood at once, of a private one if invited; else one waits for approval."""
    return await settled(lambda: _join(context, neighborhood_id))


async def _join(context: Context, key: Key[Neighborhood]) -> Membership:
    neighborhood, own, account = await _standing(context, key)
    is_welcome = own is not None and own.status in (INVITED, AWAY)
    status = ACTIVE if is_welcome or neighborhood.privacy is NeighborhoodPrivacy.PUBLIC else PENDING
    if own is not None and own.status in (status, ACTIVE):
        return own
    admission = _admission(neighborhood, account, context.viewer)
    after = _stepped(own, status) or _membership(neighborhood, account, status)
    change = MembershipChange.JOINED if status is ACTIVE else MembershipChange.REQUESTED
    await move(context.load, account.user_id, neighborhood, own, after, change, admission)
    return after


async def leave_neighborhood(
    context: Context, *, neighborhood_id: Annotated[Key[Neighborhood], Doc("The `id` of the neighborhood.")]
) -> LeftNeighborhood:
    """Be a member no more, decline an invitation, or take back that one asked. The last owner cannot leave."""
    return await settled(lambda: _leave(context, neighborhood_id))


async def _leave(context: Context, key: Key[Neighborhood]) -> LeftNeighborhood:
    standing = await _standing(context, key)
    neighborhood, own, account = standing
    if own is None:
        # Whoever is nothing in a private one is not told that it exists.
        if neighborhood.privacy is NeighborhoodPrivacy.PRIVATE:
            raise _no_neighborhood()
        raise refused(ProblemCode.NOT_FOUND, "you are not in this neighborhood", "input", "neighborhoodId")
    _keep_an_owner(neighborhood, own, "neighborhoodId")
    await move(context.load, account.user_id, neighborhood, own, None, MembershipChange.LEFT, *standing.rights())
    return LeftNeighborhood(own, await context.load.one(key))


async def invite_member(
    context: Context,
    *,
    neighborhood_id: Annotated[Key[Neighborhood], Doc("The `id` of the neighborhood.")],
    user_id: Annotated[Key[User], Doc("The `id` of the person to invite.")],
) -> Membership:
    """Invite somebody: for moderators and above. Whoever asks to join already becomes a member."""
    return await settled(lambda: _invite(context, neighborhood_id, user_id))


async def _invite(context: Context, key: Key[Neighborhood], user: Key[User]) -> Membership:
    place = Membership.key(**key.values, **user.values)
    standing = await standing_as(context, key, MembershipRole.MODERATOR, user, place)
    guest, before = await context.load.one(user), await context.load.stored(place)
    if guest is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such person", "input", "userId")
    if before is not None and before.status is not PENDING:
        return before
    if before is not None:
        return await _let_in(context, standing, before, guest, "userId")
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


async def approve_member(
    context: Context, *, membership_id: Annotated[Key[Membership], Doc("The `id` of the membership that waits.")]
) -> Membership:
    """Let somebody in who asks to join: for moderators and above."""
    return await settled(lambda: _approve(context, membership_id))


async def _approve(context: Context, key: Key[Membership]) -> Membership:
    standing, before = await _both(context, key)
    _require(standing.own, MembershipRole.MODERATOR, "membershipId")
    if before.status is INVITED:
        message = "they are invited, and have to join themselves"
        raise refused(ProblemCode.INVALID, message, "input", "membershipId")
    account = await context.load.one(person(before))
    if account is None:
        raise refused(ProblemCode.NOT_FOUND, "their account is deleted", "input", "membershipId")
    if before.status is not PENDING:
        return before
    return await _let_in(context, standing, before, account, "membershipId")


async def _let_in(context: Context, standing: Standing, before: Membership, account: User, path: str) -> Membership:
    """Somebody who asked to join."""
    admission = _admission(standing.neighborhood, account, path=path)
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


async def change_member_role(
    context: Context,
    *,
    membership_id: Annotated[Key[Membership], Doc("The `id` of the membership.")],
    role: Annotated[MembershipRole, Doc("What they shall be.")],
) -> Membership:
    """Give a member another role: for admins and owners. Everybody may take a lower one themselves."""
    return await settled(lambda: _change_role(context, membership_id, role))


async def _change_role(context: Context, key: Key[Membership], role: MembershipRole) -> Membership:
    standing, before = await _both(context, key)
    if before.status is not ACTIVE:
        raise refused(ProblemCode.INVALID, "they are not a member yet, or away", "input", "membershipId")
    steps_down = context.viewer.is_user(before.user_id) and RANKS[role] <= RANKS[before.role]
    if not steps_down:
        own = _require(standing.own, MembershipRole.ADMIN, "membershipId")
        _require_above(own, before.role, "membershipId")
        _require_above(own, role, "role")
    if before.role is role:
        return before
    _keep_an_owner(standing.neighborhood, before, "membershipId")
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


async def remove_member(
    context: Context, *, membership_id: Annotated[Key[Membership], Doc("The `id` of the membership.")]
) -> RemovedMember:
    """Remove somebody, or decline an invitation or request: for moderators and above, of those below them."""
    return await settled(lambda: _remove(context, membership_id))


async def _remove(context: Context, key: Key[Membership]) -> RemovedMember:
    standing, before = await _both(context, key)
    if context.viewer.is_user(before.user_id):
        raise refused(ProblemCode.INVALID, "that is you: use leaveNeighborhood", "input", "membershipId")
    own = _require(standing.own, MembershipRole.MODERATOR, "membershipId")
    _require_above(own, before.role, "membershipId")
    _keep_an_owner(standing.neighborhood, before, "membershipId")
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
    """`others` are read along, and kept; `missing` is the refusal where there is no such neighborhood."""
    own = Membership.key(user_id=context.signed_in, **key.values)
    keys: list[Key[Any]] = [key, own, User.key(user_id=context.signed_in), *others]
    neighborhood, membership, account, *_ = await context.load.fresh(*keys)
    if account is None or account.deleted_at is not None:
        raise no_account()
    if neighborhood is None or neighborhood.deleted_at is not None:
        raise missing or _no_neighborhood()
    return Standing(neighborhood, membership, account)


async def standing_as(context: Context, key: Key[Neighborhood], role: MembershipRole, *others: Key[Any]) -> Standing:
    """The viewer's, if that is at least this role."""
    standing = await _standing(context, key, *others)
    (visible,) = await context.load.alone(seen([standing.neighborhood], context.viewer))
    if visible is None:
        raise _no_neighborhood()
    _require(standing.own, role, "neighborhoodId")
    return standing


async def _both(context: Context, key: Key[Membership]) -> tuple[Standing, Membership]:
    """The viewer's standing where a membership is, and the membership. Whose it is is read along, and kept."""
    around, whose = Neighborhood.key(neighborhood_id=key.values["neighborhood_id"]), key.values["user_id"]
    missing = refused(ProblemCode.NOT_FOUND, "there is no such membership", "input", "membershipId")
    standing = await _standing(context, around, key, User.key(user_id=whose), missing=missing)
    target = await context.load.one(key)
    if target is None:
        raise missing
    return standing, target


def _require(own: Membership | None, role: MembershipRole, path: str) -> Membership:
    if own is None or not is_at_least(own, role):
        message = f"this takes the role {role.name} in the neighborhood, or a higher one"
        raise refused(ProblemCode.FORBIDDEN, message, "input", path)
    return own


def _require_above(own: Membership, role: MembershipRole, path: str) -> None:
    """Owners may do everything; others have to stand above."""
    if own.role is not MembershipRole.OWNER and RANKS[own.role] <= RANKS[role]:
        raise refused(ProblemCode.FORBIDDEN, f"this takes a role above {role.name}, or OWNER", "input", path)


def _keep_an_owner(neighborhood: Neighborhood, membership: Membership, path: str) -> None:
    if is_last_owner(neighborhood, membership):
        message = "a neighborhood is never without an owner; make somebody else one first, or delete it"
        raise refused(ProblemCode.FORBIDDEN, message, "input", path)


def _admission(
    neighborhood: Neighborhood, account: User, viewer: Viewer | None = None, *, path: str = "neighborhoodId"
) -> Check | Update:
    """That the account of somebody who comes in is open and, where that is asked for, its address verified."""
    if not neighborhood.settings.require_email_verification:
        return Check(account.own_key, when=is_open())
    if account.email_verified_at is not None:
        return Check(account.own_key, when=is_open() & exists("email_verified_at"))
    if viewer is None:
        message = "this neighborhood asks for a verified e-mail address, and theirs is not"
        raise refused(ProblemCode.FORBIDDEN, message, "input", path)
    if not email_is_verified(account, viewer):
        message = "this neighborhood asks for a verified e-mail address; use requestEmailVerification first"
        raise refused(ProblemCode.FORBIDDEN, message, "input", path)
    # The token vouches for it. Noted, because whoever approves this later has another token.
    same_address = is_open() & equals("email", account.email)
    return Update(account.own_key, set={"email_verified_at": now()}, when=same_address)


def _membership(neighborhood: Neighborhood, account: User, status: MembershipStatus) -> Membership:
    return Membership(
        neighborhood_id=neighborhood.neighborhood_id, user_id=account.user_id, status=status, joined_at=now()
    )


def _stepped(before: Membership | None, status: MembershipStatus) -> Membership | None:
    return before.changed(status=status, joined_at=now()) if before else None


def _no_neighborhood() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such neighborhood", "input", "neighborhoodId")
