"""The commands of neighborhoods themselves; what roles may do is in `neighborhood_members`."""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Put, Update, Write, absent
from datastore.model.keys import Key
from datastore.model.times import new_id, now
from datastore.neighborhoods import (
    Membership,
    MembershipChange,
    MembershipRole,
    Neighborhood,
    NeighborhoodPrivacy,
    NeighborhoodSettings,
)
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.neighborhoods.edges import MAX_SLUG, slug_guard, slug_of
from resolvers.neighborhoods.jobs import closing
from resolvers.neighborhoods.member_commands import standing_as
from resolvers.neighborhoods.membership_writes import event_of, rules_as_they_were

MAX_NAME = 100
MAX_DESCRIPTION = 2_000


class DeletedNeighborhood(NamedTuple):
    deleted_neighborhood_id: Neighborhood


async def create_neighborhood(
    context: Context,
    *,
    name: Annotated[str, Doc("What to call it, up to 100 characters.")],
    slug: Annotated[str | None, Doc("Its unique name in addresses; made from the name unless given.")] = None,
    description: Annotated[str | None, Doc("What it is about, up to 2,000 characters.")] = None,
    privacy: Annotated[NeighborhoodPrivacy, Doc("Who sees it; everybody unless told.")] = NeighborhoodPrivacy.PUBLIC,
    allow_site_creation: Annotated[bool, Doc("Whether members may make sites in it; they may unless told.")] = True,
    require_email_verification: Annotated[bool, Doc("Whether one needs a verified e-mail address to join.")] = False,
) -> Neighborhood:
    """Found a neighborhood; one becomes its owner."""
    checks = Checks()
    name = checks.required_text("name", name, at_most=MAX_NAME)
    slug = _slug(checks, slug, name)
    description = checks.text("description", description, at_most=MAX_DESCRIPTION)
    checks.done()
    founder, moment = context.signed_in, now()
    neighborhood = Neighborhood(
        neighborhood_id=new_id(),
        name=name,
        slug=slug,
        description=description,
        creator_id=founder,
        member_count=1,
        owner_count=1,
        privacy=privacy,
        settings=NeighborhoodSettings(
            allow_site_creation=allow_site_creation, require_email_verification=require_email_verification
        ),
    )
    ownership = Membership(
        neighborhood_id=neighborhood.neighborhood_id, user_id=founder, role=MembershipRole.OWNER, joined_at=moment
    )
    account = Check(User.key(user_id=founder), when=is_open())
    guard = claim("slug", slug, neighborhood.neighborhood_id)
    await write_or_refuse(
        context.load,
        account,
        guard,
        Put(neighborhood, when=absent()),
        Put(ownership, when=absent()),
        event_of(ownership, MembershipChange.FOUNDED, founder),
        refusals={account: no_account(), guard: _slug_taken(slug)},
    )
    return neighborhood


async def update_neighborhood(
    context: Context,
    *,
    neighborhood_id: Annotated[Key[Neighborhood], Doc("The `id` of the neighborhood.")],
    name: Annotated[str | None, Doc("What to call it; the slug stays as it is.")] = UNSET,
    slug: Annotated[
        str | None, Doc("Another unique name in addresses; the old one is free for others at once.")
    ] = UNSET,
    description: Annotated[str | None, Doc("What it is about; null removes it.")] = UNSET,
    privacy: Annotated[NeighborhoodPrivacy | None, Doc("Who sees it.")] = UNSET,
    allow_site_creation: Annotated[bool | None, Doc("Whether members may make sites in it.")] = UNSET,
    require_email_verification: Annotated[bool | None, Doc("Whether one needs a verified address to join.")] = UNSET,
) -> Neighborhood:
    """Change a neighborhood: for its admins and owners. What is left out stays as it is."""
    checks = Checks()
    changes: dict[str, Any] = {}
    if name is not UNSET:
        changes["name"] = checks.required_text("name", name or "", at_most=MAX_NAME)
    if slug is not UNSET:
        changes["slug"] = _slug(checks, slug or "", "")
    if description is not UNSET:
        changes["description"] = checks.text("description", description, at_most=MAX_DESCRIPTION)
    if privacy is not UNSET:
        changes["privacy"] = checks.given("privacy", privacy)
    settings = {
        field: checks.given(path, value)
        for field, path, value in (
            ("allow_site_creation", "allowSiteCreation", allow_site_creation),
            ("require_email_verification", "requireEmailVerification", require_email_verification),
        )
        if value is not UNSET
    }
    checks.done()
    return await settled(lambda: _update(context, neighborhood_id, changes, settings))


async def _update(
    context: Context, key: Key[Neighborhood], changes: dict[str, Any], settings: dict[str, Any]
) -> Neighborhood:
    standing = await standing_as(context, key, MembershipRole.ADMIN)
    neighborhood = standing.neighborhood
    if settings:
        kept = vars(neighborhood.settings) | settings
        changes = {**changes, "settings": NeighborhoodSettings(**kept)}
    changed = neighborhood.changed(**changes)
    change = Update.of(neighborhood, changed, when=rules_as_they_were(neighborhood))
    writes: list[Write] = [change, *standing.rights()]
    guard = claim("slug", changed.slug, neighborhood.neighborhood_id)
    if changed.slug != neighborhood.slug:
        writes += [guard, release(slug_guard(neighborhood.slug), neighborhood.neighborhood_id)]
    await write_or_refuse(context.load, *writes, refusals={guard: _slug_taken(changed.slug)})
    return await _as_it_is(context, key)


async def _as_it_is(context: Context, key: Key[Neighborhood]) -> Neighborhood:
    neighborhood = await context.load.one(key)
    if neighborhood is None:
        raise refused(ProblemCode.NOT_FOUND, "it was deleted in the meantime", "input", "neighborhoodId")
    return neighborhood


async def delete_neighborhood(
    context: Context, *, neighborhood_id: Annotated[Key[Neighborhood], Doc("The `id` of the neighborhood.")]
) -> DeletedNeighborhood:
    """Close a neighborhood for good: for its owners. Nobody sees it from then on; sites made in it stay."""
    return await settled(lambda: _delete(context, neighborhood_id))


async def _delete(context: Context, key: Key[Neighborhood]) -> DeletedNeighborhood:
    standing = await standing_as(context, key, MembershipRole.OWNER)
    neighborhood, own, _ = standing
    assert own is not None
    await context.load.write(*closing(neighborhood, own, rules_as_they_were(neighborhood)), *standing.rights())
    return DeletedNeighborhood(neighborhood)


def _slug(checks: Checks, slug: str | None, name: str) -> str:
    """The slug that was given or, where none was, the one made from the name."""
    made = slug_of(name if slug is None else slug)
    if slug is None:
        if name and not made:
            checks.problem("name", "no slug can be made of this name; give one as `slug`")
    elif not made or made != slug.strip().lower():
        checks.problem("slug", f"a slug is 1 to {MAX_SLUG} letters a-z, digits and single dashes between them")
    return made


def _slug_taken(slug: str) -> Refused:
    return refused(ProblemCode.TAKEN, f"there is a neighborhood {slug} already; give another `slug`", "input", "slug")
