"""Rules of consistency of the CMS."""

from collections.abc import Sequence

from datastore.client.writes import Check, Put, Update, Write, absent, equals, same
from datastore.cms import Content, ContentVersion, PageComment, Route, Tenant
from datastore.model.keys import Key
from resolvers.cms.edges import content_key, route_key, routed_content
from resolvers.cms.page_comment_edges import commented_content
from resolvers.maintenance.rules import Listed, guarded, lists, needs

guarded(
    "domain",
    Tenant,
    values=lambda tenant: tenant.domains,
    id_field="tenant_id",
    found_by=lambda tenant_id: Tenant.key(tenant_id=tenant_id),
)

needs(ContentVersion, keys=lambda version: content_key(version.tenant_id, version.node_id))
needs(PageComment, keys=commented_content)
needs(Route, keys=routed_content)


def _routes(content: Content) -> list[Key[Route]]:
    slugs = [*([content.slug] if content.slug else []), *content.old_slugs]
    return [route_key(content.tenant_id, slug) for slug in slugs]


def _routed(content: Content, missing: Key[Route]) -> list[Write]:
    """Writes the missing route as the content names it."""
    slug = missing.values["slug"]
    is_redirect = slug != content.slug
    route = Route(
        tenant_id=content.tenant_id,
        slug=slug,
        node_id=content.node_id,
        is_redirect=is_redirect,
        target=content.slug if is_redirect else None,
    )
    unchanged = same("slug", content.slug) & equals("old_slugs", content.old_slugs)
    return [Put(route, when=absent()), Check(content.own_key, when=unchanged)]


needs(Content, keys=_routes, mend=_routed)


def _renumbered(content: Content, versions: Sequence[ContentVersion]) -> list[Write] | None:
    """A missing version is lost: only a backup has it. Content that is behind its versions goes after them."""
    last = max((version.version for version in versions), default=0)
    if last < content.version:
        return None
    changed = content.changed(version=last + 1, updated_at=content.updated_at)
    return [Update.of(content, changed, when=equals("version", content.version))]


lists(
    Listed(
        "Content.version",
        Content,
        of=ContentVersion,
        at=lambda version: content_key(version.tenant_id, version.node_id),
        items=lambda content: ContentVersion.within(tenant_id=content.tenant_id, node_id=content.node_id),
        values=lambda content: [str(number) for number in range(1, min(content.version, 100_000))],
        value=lambda version: str(version.version),
        mend=_renumbered,
    )
)
