"""Documents of neighborhoods and sites."""

from datastore.accounts import User
from datastore.model.keys import Key, Range
from datastore.neighborhoods import Neighborhood, NeighborhoodPrivacy, Site, SiteStatus
from resolvers.core.options import Options
from resolvers.search.documents import (
    EVERYONE,
    Audience,
    Document,
    Related,
    Searchable,
    Under,
    Weight,
    document_key,
    searchable,
    some_texts,
)


def neighborhood_document(neighborhood: Neighborhood, related: Related) -> Document | None:
    if neighborhood.deleted_at is not None:
        return None
    texts = some_texts(
        ("name", neighborhood.name, Weight.TITLE),
        ("slug", neighborhood.slug, Weight.TAGS),
        ("description", neighborhood.description, Weight.BODY),
    )
    is_public = neighborhood.privacy is NeighborhoodPrivacy.PUBLIC
    return Document(
        document_key(neighborhood.own_key),
        "Neighborhood",
        texts,
        [EVERYONE if is_public else Audience.neighborhood(neighborhood.neighborhood_id)],
        created_at=neighborhood.created_at,
        popularity=neighborhood.member_count,
    )


def all_neighborhoods(options: Options) -> list[Range[Neighborhood]]:
    return [Neighborhood.by_time()]


def site_document(site: Site, related: Related) -> Document | None:
    owner: User | None = related.get(User.key(user_id=site.user_id))
    if site.deleted_at is not None or owner is None or owner.deleted_at is not None:
        return None
    texts = some_texts(
        ("title", site.title, Weight.TITLE),
        ("subdomain", site.subdomain, Weight.TAGS),
        ("template", site.template, Weight.BODY),
    )
    is_public = site.status is SiteStatus.PUBLISHED
    return Document(
        document_key(site.own_key),
        "Site",
        texts,
        [EVERYONE if is_public else Audience.user(site.user_id)],
        owner_id=site.user_id,
        created_at=site.created_at,
    )


def owner_of(site: Site) -> list[Key[User]]:
    return [User.key(user_id=site.user_id)]


def sites_of(user: User) -> list[Range[Site]]:
    return [Site.within(user_id=user.user_id)]


searchable(Searchable(Neighborhood, neighborhood_document, all_neighborhoods))
searchable(Searchable(Site, site_document, under=Under(User, sites_of), reads=owner_of))
