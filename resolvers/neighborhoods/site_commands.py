"""The commands of sites."""

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
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, outdated, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.neighborhoods.constraints import Subdomain
from resolvers.neighborhoods.edges import subdomain_guard
from resolvers.neighborhoods.member_commands import standing_as
from resolvers.neighborhoods.membership_writes import rules_as_they_were, still

MAX_TITLE = 200
MAX_CONFIG = 100_000
GRACE = timedelta(days=7)


async def create_site(
    context: Context,
    *,
    title: Annotated[str, Doc("What to call it, up to 200 characters.")],
    template: Annotated[str, Doc("What to make it of, such as blog.")],
    subdomain: Annotated[str, Doc("Its place on the web: 3 to 63 letters a-z, digits and dashes.")],
    config: Annotated[JSON | None, Doc("What to fill the template with: an object of up to 100,000 bytes.")] = None,
    neighborhood_id: Annotated[
        Key[Neighborhood] | None, Doc("The `id` of a neighborhood to make it in: one's own, if it allows that.")
    ] = None,
) -> Site:
    """Make a site. It is a draft until it is published."""
    checks = Checks()
    title = checks.required_text("title", title, at_most=MAX_TITLE)
    template = checks.name("template", template)
    subdomain = checks.satisfies("subdomain", subdomain, Subdomain())
    config = checks.json_object("config", {} if config is None else config, at_most=MAX_CONFIG)
    checks.done()
    site = Site(
        user_id=context.signed_in,
        site_id=new_id(),
        title=title,
        template=template,
        subdomain=subdomain,
        config=config,
        neighborhood_id=neighborhood_id.values["neighborhood_id"] if neighborhood_id else None,
    )
    return await settled(lambda: _create(context, site, neighborhood_id))


async def _create(context: Context, site: Site, neighborhood_id: Key[Neighborhood] | None) -> Site:
    allowed = await _allowed_in(context, neighborhood_id) if neighborhood_id else []
    guard = claim("subdomain", site.subdomain, site.site_id)
    account = Check(User.key(user_id=site.user_id), when=is_open())
    refusals: dict[Write, Refused] = {account: no_account(), guard: _subdomain_taken()}
    await write_or_refuse(context.load, account, guard, Put(site, when=absent()), *allowed, refusals=refusals)
    return site


async def _allowed_in(context: Context, key: Key[Neighborhood]) -> list[Check]:
    """That the viewer is a member of a neighborhood that allows sites, and that both are still so."""
    standing = await standing_as(context, key, MembershipRole.MEMBER)
    if not standing.neighborhood.settings.allow_site_creation:
        message = "this neighborhood does not allow to make sites in it"
        raise refused(ProblemCode.FORBIDDEN, message, "input", "neighborhoodId")
    assert standing.own is not None
    return [Check(key, when=rules_as_they_were(standing.neighborhood)), still(standing.own)]


async def update_site(
    context: Context,
    *,
    site_id: Annotated[Key[Site], Doc("The `id` of the site.")],
    expected_version: Annotated[int, Doc("The `version` that was read; nothing is changed if it is another by now.")],
    title: Annotated[str | None, Doc("What to call it.")] = UNSET,
    template: Annotated[str | None, Doc("What to make it of.")] = UNSET,
    subdomain: Annotated[str | None, Doc("Another place on the web; the old one is free for others at once.")] = UNSET,
    config: Annotated[JSON | None, Doc("What to fill the template with; takes the place of all that was.")] = UNSET,
) -> Site:
    """Change one's site. What is left out stays as it is; what is on the web changes with the next build."""
    checks = Checks()
    changes: dict[str, Any] = {}
    if title is not UNSET:
        changes["title"] = checks.required_text("title", title or "", at_most=MAX_TITLE)
    if template is not UNSET:
        changes["template"] = checks.name("template", template or "")
    if subdomain is not UNSET:
        changes["subdomain"] = checks.satisfies("subdomain", subdomain or "", Subdomain())
    if config is not UNSET:
        changes["config"] = checks.json_object("config", config, at_most=MAX_CONFIG)
    checks.done()
    return await settled(lambda: _update(context, site_id, expected_version, changes))


async def _update(context: Context, key: Key[Site], expected_version: int, changes: dict[str, Any]) -> Site:
    site = await own_site(context, key)
    if site.version != expected_version:
        raise outdated(site.version)
    changed = site.changed(**changes, version=site.version + 1)
    if site.public_url and changed.subdomain != site.subdomain:
        changed = changed.changed(public_url=_address(context, changed))
    return await _write(context, site, changed)


async def publish_site(context: Context, *, site_id: Annotated[Key[Site], Doc("The `id` of the site.")]) -> Site:
    """Put one's site on the web as it was last built. Doing so again changes nothing."""
    return await settled(lambda: _publish(context, site_id))


async def _publish(context: Context, key: Key[Site]) -> Site:
    site = await own_site(context, key)
    if site.status is SiteStatus.PUBLISHED:
        return site
    if site.built_at is None:
        message = "there is nothing to publish yet; build it first with startBuild"
        raise refused(ProblemCode.INVALID, message, "input", "siteId")
    published = site.changed(status=SiteStatus.PUBLISHED, public_url=_address(context, site), version=site.version + 1)
    return await _write(context, site, published)


async def unpublish_site(context: Context, *, site_id: Annotated[Key[Site], Doc("The `id` of the site.")]) -> Site:
    """Take one's site off the web; it is a draft again."""
    return await settled(lambda: _unpublish(context, site_id))


async def _unpublish(context: Context, key: Key[Site]) -> Site:
    site = await own_site(context, key)
    if site.status is SiteStatus.DRAFT:
        return site
    draft = site.changed(status=SiteStatus.DRAFT, public_url=None, version=site.version + 1)
    return await _write(context, site, draft)


async def delete_site(context: Context, *, site_id: Annotated[Key[Site], Doc("The `id` of the site.")]) -> Site:
    """Take one's site off the web at once, and delete it after 7 days. Until then `restoreSite` brings it back."""
    return await settled(lambda: _delete(context, site_id))


async def _delete(context: Context, key: Key[Site]) -> Site:
    site = await own_site(context, key, even_deleted=True)
    if site.deleted_at is not None:
        return site
    gone = site.changed(deleted_at=now(), expires_at=seconds_from_now(GRACE), version=site.version + 1)
    kept = Update(
        subdomain_guard(site.subdomain), set={"expires_at": gone.expires_at}, when=equals("owner_id", site.site_id)
    )
    return await _write(context, site, gone, kept)


async def restore_site(context: Context, *, site_id: Annotated[Key[Site], Doc("The `id` of the site.")]) -> Site:
    """Bring one's deleted site back as it was, within its 7 days."""
    return await settled(lambda: _restore(context, site_id))


async def _restore(context: Context, key: Key[Site]) -> Site:
    site = await own_site(context, key, even_deleted=True)
    if site.deleted_at is None:
        return site
    back = site.changed(deleted_at=None, expires_at=None, version=site.version + 1)
    kept = Update(subdomain_guard(site.subdomain), remove=["expires_at"], when=equals("owner_id", site.site_id))
    return await _write(context, site, back, kept)


async def own_site(context: Context, key: Key[Site], *, even_deleted: bool = False) -> Site:
    """One's site as it is now."""
    user_id = context.signed_in
    keys: list[Key[Any]] = [key, User.key(user_id=key.values["user_id"])]  # what it is inside of comes along
    await context.load.fresh(*keys)
    site = await context.load.one(key)
    if site is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such site", "input", "siteId")
    if site.user_id != user_id:
        raise refused(ProblemCode.FORBIDDEN, "only its owner may do this", "input", "siteId")
    if site.deleted_at is not None and not even_deleted:
        raise refused(ProblemCode.NOT_FOUND, "this site is deleted; use restoreSite first", "input", "siteId")
    return site


async def _write(context: Context, site: Site, changed: Site, *others: Write) -> Site:
    """A change by its owner: the version tells whether it was made of what is there. `others` keep the subdomain."""
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


def _address(context: Context, site: Site) -> str:
    return f"https://{site.subdomain}.{context.options.sites_domain}"


def _subdomain_taken() -> Refused:
    return refused(ProblemCode.TAKEN, "this subdomain is taken", "input", "subdomain")
