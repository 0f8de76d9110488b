"""Rules of consistency of neighborhoods and sites."""

from dataclasses import replace

from datastore.model.keys import Range
from datastore.neighborhoods import Build, Membership, MembershipRole, Neighborhood, Site
from resolvers.maintenance.rules import counter, derived, guarded, is_undeleted, needs, outlives, placed, purged_by
from resolvers.neighborhoods.edges import neighborhood_of
from resolvers.neighborhoods.jobs import purge_neighborhood
from resolvers.neighborhoods.processors import rank_neighborhoods
from resolvers.neighborhoods.roles import is_at_least


def _members(neighborhood: Neighborhood) -> Range[Membership]:
    return Membership.within(neighborhood_id=neighborhood.neighborhood_id)


counter(
    "member_count",
    Neighborhood,
    of=Membership,
    at=neighborhood_of,
    items=_members,
    weight=lambda membership: is_at_least(membership, MembershipRole.MEMBER),
)
counter(
    "owner_count",
    Neighborhood,
    of=Membership,
    at=neighborhood_of,
    items=_members,
    weight=lambda membership: is_at_least(membership, MembershipRole.OWNER),
)

needs(Membership, keys=neighborhood_of)
outlives(Build, because="builds are kept for 90 days, and a deleted site for 7")

guarded(
    "slug",
    Neighborhood,
    values=lambda neighborhood: [neighborhood.slug],
    id_field="neighborhood_id",
    found_by=lambda neighborhood_id: Neighborhood.key(neighborhood_id=neighborhood_id),
    when=is_undeleted,
)
guarded(
    "subdomain",
    Site,
    values=lambda site: [site.subdomain],
    id_field="site_id",
    found_by=lambda site_id: Site.by_id(site_id=site_id),
)

# `replace` derives the name for the index again.
placed(Neighborhood, replace)
purged_by(Neighborhood, purge_neighborhood)
derived(Neighborhood, rank_neighborhoods)
