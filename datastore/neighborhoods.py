"""Neighborhoods: entities for neighborhoods, memberships, sites and builds."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, Value, field, own_id
from datastore.model.enums import Choice
from datastore.model.ownership import nobody, part_of, user
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4, gsi5
from datastore.model.sorting import sort_text, sortable
from datastore.model.times import Time


class NeighborhoodPrivacy(Choice):
    """Visibility of a neighborhood and its members."""

    PUBLIC = "public", "Visible to everyone. Anyone can join."
    PRIVATE = "private", "Visible to members. Others join by invitation or by request."


class NeighborhoodSettings(Value):
    """Settings of a neighborhood."""

    allow_site_creation: bool = field("True if members can create sites in it.", default=True)
    require_email_verification: bool = field("True if joining requires a verified email address.", default=False)


class Neighborhood(
    Entity,
    pk="NBHD#{neighborhood_id}",
    sk="METADATA",
    owner=nobody("its members share it, and a last owner who leaves is succeeded"),
):
    """A community of people who live near each other."""

    by_name = gsi1("TYPE#NBHD", "NAME#{sort_name}#{neighborhood_id}")
    by_slug = gsi2("SLUG#{slug}", "NBHD#{neighborhood_id}")
    by_time = gsi4("TYPE#NBHD", "{created_at}#{neighborhood_id}")

    neighborhood_id: str = own_id()
    name: str = field("Display name.")
    slug: str = field("Unique name used in URLs.")
    description: str | None = field("Description.", default=None)
    creator_id: str = field("User ID of the founder.", private=True)
    member_count: int = field("Number of active members.", default=0)
    owner_count: int = field("Number of members with the `owner` role.", default=0, private=True)
    privacy: NeighborhoodPrivacy = field(
        "Visibility of the neighborhood and its members.", default=NeighborhoodPrivacy.PUBLIC
    )
    settings: NeighborhoodSettings = field("Settings.", default_factory=NeighborhoodSettings)
    sort_name: str | None = field(
        "Name for the index by name. None while it is private or deleted, so that the index reveals nothing.",
        default=None,
        private=True,
    )
    deleted_at: Time | None = field("Time of deletion.", default=None, private=True)

    def __post_init__(self) -> None:
        is_open = self.privacy is NeighborhoodPrivacy.PUBLIC and self.deleted_at is None
        self.__dict__["sort_name"] = sort_text(sortable(self.name) or self.slug) if is_open else None


class NeighborhoodRank(Entity, pk="NBHD#{neighborhood_id}", sk="RANK", owner=part_of(Neighborhood), logged=False):
    """The place of a public neighborhood by size. The processor `rank_neighborhoods` derives it from the count."""

    by_members = gsi5("TYPE#NBHD", "MEMBERS#{members:score}#{neighborhood_id}")

    neighborhood_id: str = field("ID of the neighborhood.")
    members: int = field("Number of active members.")


class MembershipRole(Choice):
    """Role of a member, from most to least privileged."""

    OWNER = "owner", "Full control: may appoint owners and delete the neighborhood."
    ADMIN = "admin", "May also edit the neighborhood and appoint moderators."
    MODERATOR = "moderator", "May also invite, approve and remove members."
    MEMBER = "member", "Sees the neighborhood and its members, and may create sites in it."


class MembershipStatus(Choice):
    """Status of a membership."""

    ACTIVE = "active", "An active member."
    INVITED = "invited", "Invited, not yet accepted."
    PENDING = "pending", "Requested to join, waiting for approval."
    AWAY = "away", "A member whose account is deleted and can be restored for 30 days."


class Membership(Entity, pk="NBHD#{neighborhood_id}", sk="MEMBER#{user_id}", owner=user("user_id", "of_user")):
    """A user's membership, invitation or join request in a neighborhood."""

    by_status = gsi1("NBHD#{neighborhood_id}", "{status}#{role:place}#{joined_at}")
    of_user = gsi3("USER#{user_id}", "JOINED#{joined_at}")

    neighborhood_id: str = field("ID of the neighborhood.", private=True)
    user_id: str = field("User ID of the member.", private=True)
    role: MembershipRole = field("Role in the neighborhood.", default=MembershipRole.MEMBER)
    status: MembershipStatus = field("Status of the membership.", default=MembershipStatus.ACTIVE)
    joined_at: Time = field("Time they joined, or were invited or asked to join.")


class MembershipChange(Choice):
    """Kind of change to a membership."""

    FOUNDED = "founded", "Founded the neighborhood."
    INVITED = "invited", "Was invited."
    REQUESTED = "requested", "Requested to join."
    JOINED = "joined", "Became a member."
    ROLE_CHANGED = "role_changed", "Received another role."
    LEFT = "left", "Left, declined the invitation or withdrew the request."
    REMOVED = "removed", "Was removed, or the invitation or request was declined."
    AWAY = "away", "Deleted their account."
    RETURNED = "returned", "Restored their account."
    CLOSED = "closed", "Closed the neighborhood."


class MembershipEvent(
    Entity,
    pk="NBHD#{neighborhood_id}",
    sk="HISTORY#{created_at}#{user_id}",
    owner=nobody("the history of memberships is kept forever"),
):
    """An entry in the membership history. Kept forever."""

    of_member = gsi1("MEMBER#{neighborhood_id}#{user_id}", "HISTORY#{created_at}")

    neighborhood_id: str = field("ID of the neighborhood.", private=True)
    user_id: str = field("User ID of the member concerned.", private=True)
    actor_id: str = field("User ID of the person who made the change.", private=True)
    change: MembershipChange = field("Kind of change.")
    role: MembershipRole = field("Role after the change, or the last role held.")


class SiteStatus(Choice):
    """Publication status of a site."""

    DRAFT = "draft", "Visible to its owner only."
    PUBLISHED = "published", "Visible to everyone."


class Site(Entity, pk="USER#{user_id}", sk="SITE#{site_id}", owner=user("user_id")):
    """A website built from a template."""

    by_id = gsi1("SITE#{site_id}", "METADATA")
    by_subdomain = gsi2("SUBDOMAIN#{subdomain}", "SITE#{site_id}")

    user_id: str = field("User ID of the owner.", private=True)
    site_id: str = own_id()
    title: str = field("Title.")
    template: str = field("Name of the template.")
    status: SiteStatus = field("Publication status.", default=SiteStatus.DRAFT)
    subdomain: str = field("Unique subdomain.")
    config: JSON = field(
        "Template configuration as a JSON object.",
        compressed=True,
        heavy=True,
        private=True,
    )
    version: int = field("Increments on every change by its owner. Pass it as `expectedVersion`.", default=1)
    built_at: Time | None = field("Time of the last successful build.", default=None)
    public_url: str | None = field("Public URL, once published.", default=None)
    neighborhood_id: str | None = field("ID of the neighborhood it belongs to.", default=None, private=True)
    queued_build: Time | None = field("Start time of the queued build.", default=None, private=True)
    running_build: Time | None = field("Start time of the running build.", default=None, private=True)
    deleted_at: Time | None = field(
        "Time of deletion. A deleted site is visible to its owner only and can be restored for 7 days.", default=None
    )


class BuildStatus(Choice):
    """Status of a build. It only moves forward."""

    QUEUED = "queued", "Waiting for a builder."
    RUNNING = "running", "In progress."
    COMPLETED = "completed", "Succeeded with the configuration the site had when the build started."
    FAILED = "failed", "Failed. See `error`."


class Build(Entity, pk="BUILD#{site_id}", sk="JOB#{created_at}", owner=part_of(Site)):
    """A build of a site. Kept for 90 days."""

    by_id = gsi1("JOB#{job_id}", "METADATA")
    by_status = gsi4("BUILD#{status}", "{created_at}#{job_id}")

    site_id: str = field("ID of the site.", private=True)
    user_id: str = field("User ID of the site's owner.", private=True)
    job_id: str = own_id()
    status: BuildStatus = field("Status.", default=BuildStatus.QUEUED)
    started_at: Time | None = field("Time a builder started it.", default=None)
    completed_at: Time | None = field("Time it completed or failed.", default=None)
    error: str | None = field("Error message of a failed build.", default=None)
    log_url: str | None = field("URL of the build log.", default=None)
    builder_id: str | None = field("ID of the builder.", default=None, private=True)
