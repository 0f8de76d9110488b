"""Neighborhoods and who is in them; the sites people make, and the builds of these."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, Value, field
from datastore.model.enums import Choice
from datastore.model.times import Time


class NeighborhoodPrivacy(Choice):
    """Who sees a neighborhood and its members."""

    PUBLIC = "public", "Everybody; whoever likes can join."
    PRIVATE = "private", "Its members; others join by invitation or ask to."


class NeighborhoodSettings(Value):
    """What a neighborhood allows and asks for."""

    allow_site_creation: bool = field("Whether members may make sites in it.", default=True)
    require_email_verification: bool = field("Whether one needs a verified e-mail address to join.", default=False)


class Neighborhood(
    Entity,
    pk="NBHD#{neighborhood_id}",
    sk="METADATA",
    gsi2=("SLUG#{slug}", "NBHD#{neighborhood_id}"),
    gsi4=("TYPE#NBHD", "{created_at}#{neighborhood_id}"),
):
    """A community of people who live near each other, or feel as if."""

    neighborhood_id: str = field("The permanent identifier.")
    name: str = field("What it is called.")
    slug: str = field("Its unique name in addresses.")
    description: str | None = field("What it is about.", default=None)
    creator_id: str = field("Who founded it.", private=True)
    member_count: int = field("How many members it has.", default=0)
    owner_count: int = field("How many of these are owners.", default=0, private=True)
    privacy: NeighborhoodPrivacy = field("Who sees it and its members.", default=NeighborhoodPrivacy.PUBLIC)
    settings: NeighborhoodSettings = field("What it allows and asks for.", default_factory=NeighborhoodSettings)
    deleted_at: Time | None = field("When it was deleted.", default=None, private=True)


class MembershipRole(Choice):
    """What somebody is in a neighborhood, the one who may do most first."""

    OWNER = "owner", "May do everything: make others owner, delete the neighborhood."
    ADMIN = "admin", "May also change the neighborhood, and make members moderators."
    MODERATOR = "moderator", "May also invite and approve people, and remove members."
    MEMBER = "member", "Sees the neighborhood and its members, and may make sites in it."


class MembershipStatus(Choice):
    """How far somebody has come into a neighborhood."""

    ACTIVE = "active", "A member."
    INVITED = "invited", "Asked by a member to join, and has not answered yet."
    PENDING = "pending", "Asks to join, and waits for approval."
    AWAY = "away", "A member whose account is deleted, and who may come back for 30 days."


class Membership(
    Entity,
    pk="NBHD#{neighborhood_id}",
    sk="MEMBER#{user_id}",
    gsi1=("NBHD#{neighborhood_id}", "{status}#{role:place}#{joined_at}"),
    gsi3=("USER#{user_id}", "JOINED#{joined_at}"),
):
    """Somebody is in a neighborhood, is invited to it or asks to join it."""

    neighborhood_id: str = field("The neighborhood.", private=True)
    user_id: str = field("Who it is.", private=True)
    role: MembershipRole = field("What they are there.", default=MembershipRole.MEMBER)
    status: MembershipStatus = field("How far they have come.", default=MembershipStatus.ACTIVE)
    joined_at: Time = field("When they joined; of those who have not yet, when they were invited or asked.")


class MembershipChange(Choice):
    """What happened to a membership."""

    FOUNDED = "founded", "They founded the neighborhood."
    INVITED = "invited", "They were invited."
    REQUESTED = "requested", "They asked to join."
    JOINED = "joined", "They became a member."
    ROLE_CHANGED = "role_changed", "They were given another role."
    LEFT = "left", "They left, declined the invitation or took their request back."
    REMOVED = "removed", "They were removed, or the invitation or request was declined."
    AWAY = "away", "Their account was deleted."
    RETURNED = "returned", "Their account was restored."
    CLOSED = "closed", "They closed the neighborhood."


class MembershipEvent(
    Entity,
    pk="NBHD#{neighborhood_id}",
    sk="HISTORY#{created_at}#{user_id}",
    gsi1=("MEMBER#{neighborhood_id}#{user_id}", "HISTORY#{created_at}"),
):
    """Something that happened to a membership; kept for ever."""

    neighborhood_id: str = field("The neighborhood.", private=True)
    user_id: str = field("Whose membership it was.", private=True)
    actor_id: str = field("Who did it.", private=True)
    change: MembershipChange = field("What happened.")
    role: MembershipRole = field("The role they had from then on, or last.")


class SiteStatus(Choice):
    """Whether a site is on the web."""

    DRAFT = "draft", "Only its owner sees it."
    PUBLISHED = "published", "Everybody does."


class Site(
    Entity,
    pk="USER#{user_id}",
    sk="SITE#{site_id}",
    gsi1=("SITE#{site_id}", "METADATA"),
    gsi2=("SUBDOMAIN#{subdomain}", "SITE#{site_id}"),
):
    """A web site somebody makes of a template."""

    user_id: str = field("Whose it is.", private=True)
    site_id: str = field("The permanent identifier.")
    title: str = field("What it is called.")
    template: str = field("What it is made of.")
    status: SiteStatus = field("Whether it is on the web.", default=SiteStatus.DRAFT)
    subdomain: str = field("Its unique place on the web.")
    config: JSON = field(
        "What the template is filled with: a JSON object; null unless the site is yours or you build sites.",
        compressed=True,
        heavy=True,
        private=True,
    )
    version: int = field("Goes up with every change its owner makes; for `expectedVersion`.", default=1)
    built_at: Time | None = field("When it was last built.", default=None)
    public_url: str | None = field("Where it is on the web, once it is published.", default=None)
    neighborhood_id: str | None = field("The neighborhood it was made in.", default=None, private=True)
    queued_build: Time | None = field("When the build that waits was started.", default=None, private=True)
    running_build: Time | None = field("When the build that runs was started.", default=None, private=True)
    deleted_at: Time | None = field(
        "When it was deleted; only its owner sees it from then on, and can restore it for 7 days.", default=None
    )


class BuildStatus(Choice):
    """How far a build has come; it never goes back."""

    QUEUED = "queued", "Waits for a builder."
    RUNNING = "running", "A builder is at it."
    COMPLETED = "completed", "Done: the site is as it was configured when the build began."
    FAILED = "failed", "It came to nothing; `error` says why."


class Build(
    Entity,
    pk="BUILD#{site_id}",
    sk="JOB#{created_at}",
    gsi1=("JOB#{job_id}", "METADATA"),
    gsi4=("BUILD#{status}", "{created_at}#{job_id}"),
):
    """One time a site is built; kept for 90 days."""

    site_id: str = field("The site.", private=True)
    user_id: str = field("Whose site it is.", private=True)
    job_id: str = field("The permanent identifier.")
    status: BuildStatus = field("How far it has come.", default=BuildStatus.QUEUED)
    started_at: Time | None = field("When a builder began.", default=None)
    completed_at: Time | None = field("When it was over, well or not.", default=None)
    error: str | None = field("Why it failed.", default=None)
    log_url: str | None = field("Where the builder's log is.", default=None)
    builder_id: str | None = field("The builder that is or was at it.", default=None, private=True)
