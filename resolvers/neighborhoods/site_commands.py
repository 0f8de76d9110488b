"""Commands of sites."""

from datetime import timedelta
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Put, Update, Write, absent, equals, exists
from datastore.model.codec import JSON
from datastore.model.keys import Key
from datastore.model.times import new_id, now, seconds_from_now
from datastore.neighborhoods import MembershipRole, Neighborhood, Site, SiteStatus
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import JsonObject, Name, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, outdated, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET, given
from resolvers.neighborhoods.constraints import Subdomain
from resolvers.neighborhoods.edges import subdomain_guard
from resolvers.neighborhoods.member_commands import standing_as
from resolvers.neighborhoods.membership_writes import rules_as_they_were, still

Title = Text(at_most=200)
Config = JsonObject(at_most=100_000)
GRACE = timedelta(days=7)


@access(requires=AccessRole.SIGNED_IN)
async def create_site(
    context: Context,
    *,
    title: Annotated[str, Doc("Title."), Title],
    template: Annotated[str, Doc("Name of the template, such as blog."), Name()],
    subdomain: Annotated[str, Doc("Unique subdomain."), Subdomain()],
    config: Annotated[JSON | None, Doc("Template configuration."), Config] = None,
    neighborhood_id: Annotated[
        Key[Neighborhood] | None,
        Doc("ID of the neighborhood to create it in. The viewer must be a member, and it must allow sites."),
    ] = None,
) -> Site:
    """Creates a site as a draft."""
    site = Site(
        user_id=context.signed_in,
        site_id=new_id(),
        title=title,
        template=template,
        subdomain=subdomain,
        config=JSON({}) if config is None else config,
        neighborhood_id=neighborhood_id.values["neighborhood_id"] if neighborhood_id else None,
    )
    return await _create(context, site, neighborhood_id)


@retries_on_conflict
async def _create(context: Context, site: Site, neighborhood_id: Key[Neighborhood] | None) -> Site:
    allowed = await _allowed_in(context, neighborhood_id) if neighborhood_id else []
    guard = claim("subdomain", site.subdomain, site.site_id)
    account = Check(User.key(user_id=site.user_id), when=is_open())
    refusals: dict[Write, Refused] = {account: no_account(), guard: _subdomain_taken()}
    await write_or_refuse(context.load, account, guard, Put(site, when=absent()), *allowed, refusals=refusals)
    return site


async def _allowed_in(context: Context, key: Key[Neighborhood]) -> list[Check]:
    """Returns checks that the viewer is still a member and the neighborhood still allows sites."""
    standing = await standing_as(context, key, MembershipRole.MEMBER)
    if not standing.neighborhood.settings.allow_site_creation:
        raise refused(ProblemCode.FORBIDDEN, "this neighborhood does not allow members to create sites", at=key)
    assert standing.own is not None
    return [Check(key, when=rules_as_they_were(standing.neighborhood)), still(standing.own)]


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def update_site(
    context: Context,
    *,
    site_id: Annotated[Key[Site], Doc("ID of the site.")],
    expected_version: Annotated[int, Doc("The `version` you read. A different current version is a conflict.")],
    title: Annotated[str, Doc("Title."), Title] = UNSET,
    template: Annotated[str, Doc("Name of the template."), Name()] = UNSET,
    subdomain: Annotated[str, Doc("New subdomain. The old one becomes available immediately."), Subdomain()] = UNSET,
    config: Annotated[JSON, Doc("Template configuration. Replaces the current one."), Config] = UNSET,
) -> Site:
    """Edits a site. Omitted fields keep their values. The published site changes with the next build."""
    site = await own_site(context, site_id)
    if site.version != expected_version:
        raise outdated(site.version)
    changes = given(title=title, template=template, subdomain=subdomain, config=config)
    changed = site.changed(**changes, version=site.version + 1)
    if site.public_url and changed.subdomain != site.subdomain:
        changed = changed.changed(public_url=_url(context, changed))
    return await _write(context, site, changed)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def publish_site(context: Context, *, site_id: Annotated[Key[Site], Doc("ID of the site.")]) -> Site:
    """Publishes a site as last built. Idempotent."""
    site = await own_site(context, site_id)
    if site.status is SiteStatus.PUBLISHED:
        return site
    if site.built_at is None:
        raise refused(ProblemCode.INVALID, "there is nothing to publish yet; build it with startBuild", at=site_id)
    published = site.changed(status=SiteStatus.PUBLISHED, public_url=_url(context, site), version=site.version + 1)
    return await _write(context, site, published)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def unpublish_site(context: Context, *, site_id: Annotated[Key[Site], Doc("ID of the site.")]) -> Site:
    """Unpublishes a site; it becomes a draft again."""
    site = await own_site(context, site_id)
    if site.status is SiteStatus.DRAFT:
        return site
    draft = site.changed(status=SiteStatus.DRAFT, public_url=None, version=site.version + 1)
    return await _write(context, site, draft)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def delete_site(context: Context, *, site_id: Annotated[Key[Site], Doc("ID of the site.")]) -> Site:
    """Deletes a site. `restoreSite` restores it within 7 days."""
    site = await own_site(context, site_id, even_deleted=True)
    if site.deleted_at is not None:
        return site
    gone = site.changed(deleted_at=now(), expires_at=seconds_from_now(GRACE), version=site.version + 1)
    kept = Update(
        subdomain_guard(site.subdomain), set={"expires_at": gone.expires_at}, when=equals("owner_id", site.site_id)
    )
    return await _write(context, site, gone, kept)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def restore_site(context: Context, *, site_id: Annotated[Key[Site], Doc("ID of the site.")]) -> Site:
    """Restores a deleted site within 7 days."""
    site = await own_site(context, site_id, even_deleted=True)
    if site.deleted_at is None:
        return site
    back = site.changed(deleted_at=None, expires_at=None, version=site.version + 1)
    kept = Update(subdomain_guard(site.subdomain), remove=["expires_at"], when=equals("owner_id", site.site_id))
    return await _write(context, site, back, kept)


async def own_site(context: Context, key: Key[Site], *, even_deleted: bool = False) -> Site:
    """Returns the viewer's site with a strongly consistent read."""
    keys: list[Key[Any]] = [key, User.key(user_id=key.values["user_id"])]  # its owner decides on its visibility
    await context.load.fresh(*keys)
    site = await context.load.one(key)
    if site is None:
        raise not_found(key)
    if site.user_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its owner may do this", at=key)
    if site.deleted_at is not None and not even_deleted:
        raise refused(ProblemCode.NOT_FOUND, "this site is deleted; use restoreSite first", at=key)
    return site


async def _write(context: Context, site: Site, changed: Site, *others: Write) -> Site:
    """Writes a change with the version as optimistic lock. `others` keep the subdomain's guard."""
    account = Check(User.key(user_id=site.user_id), when=is_open())
    change = Update.of(site, changed, when=exists() & equals("version", site.version))
    guard = claim("subdomain", changed.subdomain, site.site_id)
    moved = [guard, release(subdomain_guard(site.subdomain), site.site_id)]
    await write_or_refuse(
        context.load,
        account,
        change,
        *(moved if changed.subdomain != site.subdomain else others),
        refusals={account: no_account(), guard: _subdomain_taken()},
    )
    return changed


def _url(context: Context, site: Site) -> str:
    return f"https://{site.subdomain}.{context.options.sites_domain}"


def _subdomain_taken() -> Refused:
    return refused(ProblemCode.TAKEN, "this subdomain is taken", at="subdomain")
