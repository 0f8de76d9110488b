"""Events of neighborhoods and sites that webhooks are told about."""

from collections.abc import Sequence

from datastore.accounts import User
from datastore.client.table import RangeRead
from datastore.neighborhoods import Build, Membership, MembershipRole, MembershipStatus, Neighborhood, Site
from datastore.webhooks import USER, HookOwner, WebhookEvent
from loaders.needs import Pages, Step
from resolvers.webhooks.events import tells, user

MOST_OWNERS = 20


def _owners(membership: Membership) -> Step[Sequence[HookOwner]]:
    owners = Membership.by_status(
        neighborhood_id=membership.neighborhood_id, status=MembershipStatus.ACTIVE, role=MembershipRole.OWNER
    )
    (page,) = yield Pages([RangeRead(owners, MOST_OWNERS, None, False)])
    return [HookOwner(USER, owner.user_id) for owner in page.records]


tells(
    WebhookEvent.BUILD_FINISHED,
    Build,
    at=lambda build: build.completed_at,
    told=user("user_id"),
    fields=("job_id", "status", "started_at", "completed_at", "error", "log_url"),
    links={"siteId": lambda build: Site.key(user_id=build.user_id, site_id=build.site_id)},
)
tells(
    WebhookEvent.MEMBER_JOINED,
    Membership,
    at=lambda membership: membership.joined_at if membership.status is MembershipStatus.ACTIVE else None,
    told=_owners,
    fields=("role", "status", "joined_at"),
    links={
        "neighborhoodId": lambda membership: Neighborhood.key(neighborhood_id=membership.neighborhood_id),
        "userId": lambda membership: User.key(user_id=membership.user_id),
    },
)
