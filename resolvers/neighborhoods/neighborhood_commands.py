"""Commands of neighborhoods. `member_commands` lists the rights of each role."""

from typing import Annotated, NamedTuple

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
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Constraint, Report, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET, given
from resolvers.neighborhoods.edges import MAX_SLUG, slug_guard, slug_of
from resolvers.neighborhoods.jobs import closing
from resolvers.neighborhoods.member_commands import standing_as
from resolvers.neighborhoods.membership_writes import event_of, rules_as_they_were

Name = Text(at_most=100)
Description = Text(at_most=2_000)


class Slug(Constraint):
    """A neighborhood's unique name in URLs, in lower case."""

    @property
    def limit(self) -> str:
        return f"1–{MAX_SLUG} letters a–z, digits and single dashes."

    def check(self, value: str, report: Report) -> str:
        made = slug_of(value)
        if not made or made != value.strip().lower():
            report(f"a slug is 1 to {MAX_SLUG} letters a-z, digits and single dashes between them")
        return made


class DeletedNeighborhood(NamedTuple):
    deleted_neighborhood_id: Neighborhood


@access(requires=AccessRole.SIGNED_IN)
async def create_neighborhood(
    context: Context,
    *,
    name: Annotated[str, Doc("Display name."), Name],
    slug: Annotated[str | None, Doc("Unique name in URLs. Defaults to one made from the name."), Slug()] = None,
    description: Annotated[str | None, Doc("Description."), Description] = None,
    privacy: Annotated[
        NeighborhoodPrivacy, Doc("Visibility of the neighborhood. Defaults to PUBLIC.")
    ] = NeighborhoodPrivacy.PUBLIC,
    allow_site_creation: Annotated[bool, Doc("True if members can create sites in it. Defaults to true.")] = True,
    require_email_verification: Annotated[
        bool, Doc("True if joining requires a verified email address. Defaults to false.")
    ] = False,
) -> Neighborhood:
    """Creates a neighborhood owned by the viewer."""
    slug = slug or slug_of(name)
    if not slug:
        raise refused(ProblemCode.INVALID, "no slug can be made from this name; provide `slug`", at="name")
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


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.NEIGHBORHOOD_ADMIN,))
@retries_on_conflict
async def update_neighborhood(
    context: Context,
    *,
    neighborhood_id: Annotated[Key[Neighborhood], Doc("ID of the neighborhood.")],
    name: Annotated[str, Doc("Display name. The slug does not change."), Name] = UNSET,
    slug: Annotated[str, Doc("New slug. The old one becomes available immediately."), Slug()] = UNSET,
    description: Annotated[str | None, Doc("Description; null removes it."), Description] = UNSET,
    privacy: Annotated[NeighborhoodPrivacy, Doc("Visibility of the neighborhood.")] = UNSET,
    allow_site_creation: Annotated[bool, Doc("True if members can create sites in it.")] = UNSET,
    require_email_verification: Annotated[bool, Doc("True if joining requires a verified email address.")] = UNSET,
) -> Neighborhood:
    """Edits a neighborhood. Omitted fields keep their values."""
    standing = await standing_as(context, neighborhood_id, MembershipRole.ADMIN)
    neighborhood = standing.neighborhood
    changes = given(name=name, slug=slug, description=description, privacy=privacy)
    settings = given(allow_site_creation=allow_site_creation, require_email_verification=require_email_verification)
    if settings:
        changes["settings"] = NeighborhoodSettings(**(vars(neighborhood.settings) | settings))
    changed = neighborhood.changed(**changes)
    change = Update.of(neighborhood, changed, when=rules_as_they_were(neighborhood))
    writes: list[Write] = [change, *standing.rights()]
    guard = claim("slug", changed.slug, neighborhood.neighborhood_id)
    if changed.slug != neighborhood.slug:
        writes += [guard, release(slug_guard(neighborhood.slug), neighborhood.neighborhood_id)]
    await write_or_refuse(context.load, *writes, refusals={guard: _slug_taken(changed.slug)})
    return await _as_it_is(context, neighborhood_id)


async def _as_it_is(context: Context, key: Key[Neighborhood]) -> Neighborhood:
    neighborhood = await context.load.one(key)
    if neighborhood is None:
        raise refused(ProblemCode.NOT_FOUND, "it was deleted in the meantime", at=key)
    return neighborhood


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def delete_neighborhood(
    context: Context, *, neighborhood_id: Annotated[Key[Neighborhood], Doc("ID of the neighborhood.")]
) -> DeletedNeighborhood:
    """Deletes a neighborhood permanently. Its sites stay."""
    standing = await standing_as(context, neighborhood_id, MembershipRole.OWNER)
    neighborhood, own, _ = standing
    assert own is not None
    await context.load.write(*closing(neighborhood, own, rules_as_they_were(neighborhood)), *standing.rights())
    return DeletedNeighborhood(neighborhood)


def _slug_taken(slug: str) -> Refused:
    message = f"the slug {slug} is taken; choose another `slug`"
    return refused(ProblemCode.TAKEN, message, at="slug")
