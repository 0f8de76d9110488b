"""Edges of tenants, content, versions and routes: the key or range each field reads."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import Unique, User
from datastore.client.table import KeysRead, Page
from datastore.cms import (
    Content,
    ContentStatus,
    ContentVersion,
    Route,
    Tenant,
)
from datastore.model.codec import JSON
from datastore.model.enums import Choice
from datastore.model.keys import Key, Range
from datastore.model.times import Time
from loaders.merge import Merge
from loaders.needs import Items, Pages, Step
from loaders.numbered import Numbered
from loaders.searched import Searched
from loaders.viewer import Viewer
from loaders.visibility import seen_at
from resolvers.cms.json_diff import ContentChange, changes
from resolvers.cms.tenancy import GLOBAL_ID, STAFF, is_staff, tenant_of
from resolvers.cms.url_paths import path_of
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.search.finding import SearchText, Wanted, found_by
from resolvers.search.index import SearchIndex


class ContentOrder(Choice):
    """Order of content."""

    NEWEST_UPDATE_FIRST = "NEWEST_UPDATE_FIRST", "By time of the last change, newest first."
    OLDEST_UPDATE_FIRST = "OLDEST_UPDATE_FIRST", "By time of the last change, oldest first."


# In the index by status, content sorts by time and other entities by name: digits sort before letters.
TIMES_ONLY = ("0", ":")
SEARCHED_AT_ONCE = 100


def tenant(viewer: Viewer) -> Key[Tenant]:
    """A tenant. Without `by`, the tenant of the request."""
    return Tenant.key(tenant_id=tenant_of(viewer))


def tenant_by_domain(
    viewer: Viewer, *, domain: Annotated[str, Doc("Host name, case-insensitive.")]
) -> Step[Tenant | None]:
    """The tenant of a website by host name. Needs no `x-tenant-id` header; send its `databaseId` there."""
    name = domain.strip().lower().rstrip(".")
    (guard,) = yield Items([domain_guard(name)])
    if guard is None:
        return None
    found: list[Tenant | None] = yield from seen_at([Tenant.key(tenant_id=guard.owner_id)], viewer)
    return found[0]


def tenant_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Key[Tenant]:
    """The tenant with this permanent identifier."""
    return Tenant.key(tenant_id=database_id)


def domain_guard(domain: str) -> Key[Unique]:
    return Unique.key(kind="domain", value=domain)


@access(only=(AccessRelation.TENANT_STAFF, AccessRelation.ADMIN))
def tenant_config(tenant: Tenant, viewer: Viewer) -> JSON | None:
    """Settings as JSON."""
    on_staff = viewer.tenant_id == tenant.tenant_id and is_staff(viewer)
    return tenant.config if on_staff or viewer.is_admin else None


def content_by_id(viewer: Viewer, *, id: Annotated[Key[Content], Doc(GLOBAL_ID)]) -> Key[Content]:
    """The content with this ID."""
    tenant_of(viewer)
    return id


def content_by_database_id(
    viewer: Viewer, *, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]
) -> Key[Content]:
    """The content of the tenant with this permanent identifier."""
    return content_key(tenant_of(viewer), database_id)


def content_key(tenant_id: str, node_id: str) -> Key[Content]:
    return Content.key(tenant_id=tenant_id, node_id=node_id)


def contents(
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    type: Annotated[str | None, Doc("Returns only this type of content, such as page.")] = None,
    status: Annotated[
        ContentStatus | None,
        Doc("Returns only content with this status. Statuses other than PUBLISHED require a staff role."),
    ] = None,
    search: SearchText = None,
    order_by: Annotated[ContentOrder, Doc("Order of the content.")] = ContentOrder.NEWEST_UPDATE_FIRST,
) -> Range[Content] | Merge[Content] | Searched[Content]:
    """Content of the tenant. `blocks` are read only when selected."""
    tenant_id = tenant_of(viewer)
    if status is not ContentStatus.PUBLISHED and not is_staff(viewer):
        if status is not None:
            STAFF.check(viewer)
        status = ContentStatus.PUBLISHED
    if search is not None:
        wanted = Wanted(search, frozenset({"Content"}), at="search", within=tenant_id)
        return found_by(
            search_index,
            viewer,
            wanted,
            lambda content: type in (None, content.content_type) and status in (None, content.status),
        )
    if type is not None:
        statuses = [status] if status else [*ContentStatus]
        ranges = (Content.by_type(tenant_id=tenant_id, content_type=type, status=each) for each in statuses)
        return Merge(tuple(_in_order(within, order_by) for within in ranges), tenant_id)
    if status is not None:
        by_status = Content.by_status(tenant_id=tenant_id, status=status)
        return _in_order(by_status.between(*TIMES_ONLY), order_by)
    return _in_order(Content.of_tenant(tenant_id=tenant_id), order_by)


def _in_order(contents: Range[Content], order: ContentOrder) -> Range[Content]:
    return contents.directed(descending=order is ContentOrder.NEWEST_UPDATE_FIRST)


@access(only=(AccessRelation.TENANT_STAFF,))
def message(content: Content, viewer: Viewer) -> str | None:
    """Change message of the latest version."""
    return content.message if is_staff(viewer) else None


def author(work: Content | ContentVersion) -> Key[User]:
    """The author of this version. Null if they have no account here."""
    return User.key(user_id=work.author_id)


def content_route(content: Content) -> Key[Route] | None:
    """The route to it."""
    return Route.key(tenant_id=content.tenant_id, slug=content.slug) if content.slug else None


@access(requires=AccessRole.TENANT_VIEWER)
def versions(content: Content) -> Numbered[ContentVersion]:
    """All versions, newest first, starting with the latest."""
    return Numbered(
        as_version(content),
        lambda number: version_key(content, number),
        "version",
        f"{content.tenant_id} {content.node_id}",
    )


def version_key(content: Content, number: int) -> Key[ContentVersion]:
    return ContentVersion.key(tenant_id=content.tenant_id, node_id=content.node_id, version=number)


def snapshot_of(content: Content) -> ContentVersion:
    """Returns the content as the version it will become."""
    return ContentVersion(**{name: getattr(content, name) for name in ContentVersion.fields})


def as_version(content: Content) -> ContentVersion:
    """Returns the latest content as a version for display, keyed by the content itself."""
    version = snapshot_of(content)
    version.__dict__["own_key"] = content.own_key
    return version


@access(requires=AccessRole.TENANT_VIEWER)
def version(
    content: Content, *, number: Annotated[int, Doc("Version number, starting at 1.")]
) -> Step[ContentVersion | None]:
    """A version by number. Null if there is none."""
    if not 1 <= number <= content.version:
        return None
    if number == content.version:
        return as_version(content)
    found: list[ContentVersion | None] = yield Items([version_key(content, number)])
    if found[0] is None:
        # It exists but has not been replicated yet; a page read by key retries consistently.
        pages: list[Page[ContentVersion]] = yield Pages([KeysRead((version_key(content, number),))])
        found = [*pages[0].records, None]
    return found[0]


def version_blocks(version: ContentVersion) -> Step[JSON | None]:
    """Content blocks as a JSON list."""
    if not version.is_lean:
        return version.blocks
    (found,) = yield Items([version.own_key])
    if isinstance(found, Content) and found.version != version.version:
        # The content has changed meanwhile, so this version now has an item of its own.
        own = ContentVersion.key(tenant_id=version.tenant_id, node_id=version.node_id, version=version.version)
        (found,) = yield Items([own])
    return found.blocks if found else None


@access(requires=AccessRole.TENANT_VIEWER)
def as_of(
    content: Content, *, time: Annotated[Time, Doc("A point in time in the past.")]
) -> Step[ContentVersion | None]:
    """The version at a point in time. Null before its creation."""
    if content.updated_at <= time:
        return as_version(content)
    return (yield from version_at(content, time))


def version_at(content: Content, time: Time) -> Step[ContentVersion | None]:
    """Finds the version by time with a search of a hundred versions per read."""
    low, high = 0, content.version - 1
    known: ContentVersion | None = None
    while low < high:
        numbers = range(low + 1, high + 1, -(-(high - low) // SEARCHED_AT_ONCE))
        keys = tuple(version_key(content, number) for number in numbers)
        pages: list[Page[ContentVersion]] = yield Pages([KeysRead(keys)])
        for record in pages[0].records:
            if record.updated_at <= time:
                low, known = record.version, record
            else:
                high = record.version - 1
                break
        else:
            high = min(high, low + numbers.step - 1)
    return known


@access(requires=AccessRole.TENANT_VIEWER)
def diff(
    content: Content,
    *,
    from_: Annotated[int, Doc("Version to compare from.")],
    to: Annotated[int, Doc("Version to compare to.")],
) -> Step[list[ContentChange] | None]:
    """Changes between two versions. Null if either is missing."""
    old = yield from version(content, number=from_)
    new = yield from version(content, number=to)
    if old is None or new is None:
        return None
    before, after = (yield from _compared(old)), (yield from _compared(new))
    return changes(before, after)


def _compared(version: ContentVersion) -> Step[dict[str, Any]]:
    return {
        "title": version.title,
        "contentType": version.content_type,
        "status": version.status.value,
        "blocks": (yield from version_blocks(version)),
    }


def route_by_id(viewer: Viewer, *, id: Annotated[Key[Route], Doc(GLOBAL_ID)]) -> Key[Route]:
    """The route with this ID."""
    tenant_of(viewer)
    return id


def route_by_slug(
    viewer: Viewer, *, slug: Annotated[str, Doc("Path on the website, as in a browser's address bar.")]
) -> Key[Route] | None:
    """The route at a path. If the content has moved, `isRedirect` is true and `target` is its new path.

    Null if the viewer may not see the content.
    """
    tenant_id, path = tenant_of(viewer), path_of(slug)
    return route_key(tenant_id, path) if path else None


def route_key(tenant_id: str, slug: str) -> Key[Route]:
    return Route.key(tenant_id=tenant_id, slug=slug)


def routes(viewer: Viewer) -> Range[Route]:
    """Routes of the website, sorted by path. Visitors see those of published content only."""
    return Route.of_tenant(tenant_id=tenant_of(viewer))


def routed_content(route: Route) -> Key[Content]:
    """The content the route leads to. Null if the viewer may not see it."""
    return content_key(route.tenant_id, route.node_id)
