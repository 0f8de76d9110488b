"""Recipients of notifications of memberships and builds."""

from collections.abc import Sequence
from typing import Any

from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.model.keys import Key
from datastore.neighborhoods import (
    Build,
    BuildStatus,
    Membership,
    MembershipChange,
    MembershipEvent,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    Site,
)
from datastore.notifications import Notification, NotificationGroup, NotificationKind
from loaders.needs import Step
from loaders.request import Loaders
from loaders.viewer import Viewer
from loaders.visibility import readable_at
from resolvers.background.processors import processor
from resolvers.neighborhoods.roles import is_at_least
from resolvers.notifications.notices import AT_ONCE, MOST_RECIPIENTS, Notice, Notices
from resolvers.notifications.visibility import notification_rule
from resolvers.notifications.wording import target_of

NOTICES = Notices()

ENDED = {
    BuildStatus.COMPLETED: NotificationKind.BUILD_COMPLETED,
    BuildStatus.FAILED: NotificationKind.BUILD_FAILED,
}


def _membership(event: Key[Any]) -> Key[Membership]:
    values = event.values
    return Membership.key(neighborhood_id=values["neighborhood_id"], user_id=values["user_id"])


@NOTICES.of(MembershipEvent, source=_membership)
async def memberships(load: Loaders, events: Sequence[MembershipEvent]) -> list[Notice]:
    """The event says who changed the membership; the membership says whether that still holds."""
    found = await load.fresh(*(_membership(event.own_key) for event in events))
    noticed = []
    for event, membership in zip(events, found, strict=True):
        kind = _kind(event, membership)
        if kind is None:
            continue
        asks = kind is NotificationKind.JOIN_REQUEST
        to = await _moderators(load, event.neighborhood_id) if asks else [event.user_id]
        about = Neighborhood.key(neighborhood_id=event.neighborhood_id)
        noticed.append(Notice(_membership(event.own_key), kind, to, about, event.actor_id, event.created_at))
    return noticed


def _kind(event: MembershipEvent, membership: Membership | None) -> NotificationKind | None:
    match event.change, membership.status if membership else None:
        case MembershipChange.INVITED, MembershipStatus.INVITED:
            return NotificationKind.INVITATION
        case MembershipChange.REQUESTED, MembershipStatus.PENDING:
            return NotificationKind.JOIN_REQUEST
        case MembershipChange.JOINED, MembershipStatus.ACTIVE:
            return NotificationKind.JOIN_APPROVAL
        case MembershipChange.ROLE_CHANGED, MembershipStatus.ACTIVE if membership and membership.role is event.role:
            return NotificationKind.ROLE_CHANGE
    return None


async def _moderators(load: Loaders, neighborhood_id: str) -> list[str]:
    """Returns the owners, admins and moderators, up to 20: the index has the highest roles first."""
    active = Membership.by_status(neighborhood_id=neighborhood_id, status=MembershipStatus.ACTIVE)
    page = await load.page(active, MOST_RECIPIENTS)
    return [member.user_id for member in page.records if is_at_least(member, MembershipRole.MODERATOR)]


@notification_rule(NotificationKind.JOIN_REQUEST)
def moderates(notified: Notification | NotificationGroup, viewer: Viewer) -> Step[bool]:
    """A user who no longer moderates the neighborhood does not see who asks to join."""
    target = target_of(notified)
    if target is None or viewer.user_id is None:
        return False
    (own,) = yield from readable_at([Membership.key(**target.values, user_id=viewer.user_id)])
    return is_at_least(own, MembershipRole.MODERATOR)


@NOTICES.of(Build)
async def builds(load: Loaders, builds: Sequence[Build]) -> list[Notice]:
    return [
        Notice(
            build.own_key,
            ENDED[build.status],
            [build.user_id],
            Site.key(user_id=build.user_id, site_id=build.site_id),
            None,
            build.completed_at or build.updated_at,
        )
        for build in builds
        if build.status in ENDED
    ]


@processor(MembershipEvent, Build, at_once=AT_ONCE)
async def notify_neighborhoods(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
    """Keeps the notifications of memberships and builds."""
    return await NOTICES.kept(load, changes)
