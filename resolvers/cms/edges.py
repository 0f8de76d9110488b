"""The content system: where each field leads, and who may see what."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import Unique, User
from datastore.client.table import KeysRead, Page
from datastore.cms import (
    Asset,
    AuditEntry,
    Consent,
    Content,
    ContentStatus,
    ContentVersion,
    Context,
    Lead,
    PageComment,
    PageCommentStatus,
    Product,
    ProductStatus,
    Resource,
    Route,
    Signal,
    Tenant,
)
from datastore.model.codec import JSON
from datastore.model.keys import Key, Range
from datastore.model.times import Time
from loaders.merge import Merge
from loaders.needs import Items, Pages, Step
from loaders.numbered import Numbered
from loaders.viewer import Viewer
from loaders.visibility import seen_at, visibility
from resolvers.cms.json_diff import Change, changes
from resolvers.cms.tenancy import is_staff, of_tenant, staff_of, tenant_of
from resolvers.cms.url_paths import path_of

# In an index by status, content comes under its time and everything else under its name: digits sort before letters.
TIMES_ONLY = ("0", ":")
SEARCHED_AT_ONCE = 100


@visibility(Tenant)
def tenant_visible(tenant: Tenant, viewer: Viewer) -> bool:
    return True


@of_tenant(Content)
def content_visible(content: Content, viewer: Viewer) -> bool:
    return content.status is ContentStatus.PUBLISHED or is_staff(viewer)


@of_tenant(Product)
def product_visible(product: Product, viewer: Viewer) -> bool:
    return product.status is ProductStatus.PUBLISHED or is_staff(viewer)


@of_tenant(PageComment)
def page_comment_visible(comment: PageComment, viewer: Viewer) -> bool:
    return comment.status is PageCommentStatus.APPROVED or is_staff(viewer)


@of_tenant(Route)
@of_tenant(Asset)
@of_tenant(Consent)
def public(record: Route | Asset | Consent, viewer: Viewer) -> bool:
    """What a website needs. A consent is found by the visitor's identifier only, which nobody else knows."""
    return True


@of_tenant(ContentVersion)
@of_tenant(Context)
@of_tenant(Resource)
@of_tenant(Signal)
@of_tenant(Lead)
def for_staff(record: ContentVersion | Context | Resource | Signal | Lead, viewer: Viewer) -> bool:
    return is_staff(viewer)


@of_tenant(AuditEntry)
def audit_entry_visible(entry: AuditEntry, viewer: Viewer) -> bool:
    return is_staff(viewer, "admin")


def tenant(viewer: Viewer) -> Key[Tenant]:
    """The tenant the request is about."""
    return Tenant.key(tenant_id=tenant_of(viewer))


def tenant_by_domain(
    viewer: Viewer, *, domain: Annotated[str, Doc("A host name, in any case.")]
) -> Step[Tenant | None]:
    """Whose website is at this host name; needs no `x-tenant-id`, and tells what to send there."""
    name = domain.strip().lower().rstrip(".")
    (guard,) = yield Items([domain_guard(name)])
    if guard is None:
        return None
    found: list[Tenant | None] = yield from seen_at([Tenant.key(tenant_id=guard.owner_id)], viewer)
    return found[0]


def domain_guard(domain: str) -> Key[Unique]:
    return Unique.key(kind="domain", value=domain)


def tenant_config(tenant: Tenant, viewer: Viewer) -> JSON | None:
    """Their settings; null unless one is on their staff or a system administrator."""
    on_staff = viewer.tenant_id == tenant.tenant_id and is_staff(viewer)
    return tenant.config if on_staff or viewer.is_admin else None


def content(viewer: Viewer, *, node_id: Annotated[str, Doc("The `nodeId` of the content.")]) -> Key[Content]:
    """A piece of content as it is now."""
    return content_key(tenant_of(viewer), node_id)


def content_key(tenant_id: str, node_id: str) -> Key[Content]:
    return Content.key(tenant_id=tenant_id, node_id=node_id)


def contents(
    viewer: Viewer,
    *,
    type: Annotated[str | None, Doc("Only this kind of content, such as page.")] = None,
    status: Annotated[ContentStatus | None, Doc("Only what has come so far; staff see more than PUBLISHED.")] = None,
) -> Range[Content] | Merge[Content]:
    """The tenant's content, last changed first, without what it consists of unless `blocks` are asked for."""
    tenant_id = tenant_of(viewer)
    if status is not ContentStatus.PUBLISHED and not is_staff(viewer):
        if status is not None:
            staff_of(viewer)
        status = ContentStatus.PUBLISHED
    if type is not None:
        statuses = [status] if status else [*ContentStatus]
        ranges = (Content.by_type(tenant_id=tenant_id, content_type=type, status=each) for each in statuses)
        return Merge(tuple(within.newest_first() for within in ranges), tenant_id)
    if status is not None:
        return Content.by_status(tenant_id=tenant_id, status=status).between(*TIMES_ONLY).newest_first()
    return Content.of_tenant(tenant_id=tenant_id).newest_first()


def message(content: Content, viewer: Viewer) -> str | None:
    """What its author says about the change; null unless one is on the staff."""
    return content.message if is_staff(viewer) else None


def author(work: Content | ContentVersion) -> Key[User]:
    """Who made this version; null where that is no account here."""
    return User.key(user_id=work.author_id)


def content_route(content: Content) -> Key[Route] | None:
    """Where it is on the website."""
    return Route.key(tenant_id=content.tenant_id, slug=content.slug) if content.slug else None


def versions(content: Content, viewer: Viewer) -> Numbered[ContentVersion] | None:
    """All versions, the newest first, which is what it is now; null unless one is on the staff."""
    if not is_staff(viewer):
        return None
    return Numbered(
        as_version(content),
        lambda number: version_key(content, number),
        "version",
        f"{content.tenant_id} {content.node_id}",
    )


def version_key(content: Content, number: int) -> Key[ContentVersion]:
    return ContentVersion.key(tenant_id=content.tenant_id, node_id=content.node_id, version=number)


def snapshot_of(content: Content) -> ContentVersion:
    """What content is now, as the version it will have been."""
    return ContentVersion(**{name: getattr(content, name) for name in ContentVersion.fields})


def as_version(content: Content) -> ContentVersion:
    """The same to be shown: until there is a next version, it is where the content is."""
    version = snapshot_of(content)
    version.__dict__["own_key"] = content.own_key
    return version


def version(
    content: Content, viewer: Viewer, *, number: Annotated[int, Doc("Which one, from 1.")]
) -> Step[ContentVersion | None]:
    """One version; null if there is none, and unless one is on the staff."""
    if not is_staff(viewer) or not 1 <= number <= content.version:
        return None
    if number == content.version:
        return as_version(content)
    found: list[ContentVersion | None] = yield Items([version_key(content, number)])
    if found[0] is None:
        # It is there, if not yet everywhere; a page by its key looks again where it must be.
        pages: list[Page[ContentVersion]] = yield Pages([KeysRead((version_key(content, number),))])
        found = [*pages[0].records, None]
    return found[0]


def version_blocks(version: ContentVersion) -> Step[JSON | None]:
    """What it consisted of: a JSON list."""
    if not version.is_lean:
        return version.blocks
    (found,) = yield Items([version.own_key])
    if isinstance(found, Content) and found.version != version.version:
        # The content went on in the meantime, and this version has its own place by now.
        own = ContentVersion.key(tenant_id=version.tenant_id, node_id=version.node_id, version=version.version)
        (found,) = yield Items([own])
    return found.blocks if found else None


def content_as_of(
    viewer: Viewer,
    *,
    node_id: Annotated[str, Doc("The `nodeId` of the content.")],
    time: Annotated[Time, Doc("A moment in the past.")],
) -> Step[ContentVersion | None]:
    """A piece of content as it was at a time; null before it was made. For the staff."""
    found: list[Content | None] = yield from seen_at([content_key(staff_of(viewer), node_id)], viewer)
    content = found[0]
    if content is None:
        return None
    if content.updated_at <= time:
        return as_version(content)
    return (yield from version_at(content, time))


def version_at(content: Content, time: Time) -> Step[ContentVersion | None]:
    """Versions follow each other in time: a hundred of them at once tell between which two to look on."""
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


def diff(
    content: Content,
    viewer: Viewer,
    *,
    from_: Annotated[int, Doc("The version to start from.")],
    to: Annotated[int, Doc("The version to end with.")],
) -> Step[list[Change] | None]:
    """What changed from one version to another; null if there is none of these, and unless one is on the staff."""
    old = yield from version(content, viewer, number=from_)
    new = yield from version(content, viewer, number=to)
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


def route(
    viewer: Viewer, *, slug: Annotated[str, Doc("An address on the website, as a browser has it.")]
) -> Key[Route] | None:
    """What is at an address. Where content has moved, `isRedirect` says so, `target` where to, and `content` is it."""
    tenant_id, path = tenant_of(viewer), path_of(slug)
    return route_key(tenant_id, path) if path else None


def route_key(tenant_id: str, slug: str) -> Key[Route]:
    return Route.key(tenant_id=tenant_id, slug=slug)


def routes(viewer: Viewer) -> Range[Route]:
    """All addresses of the website, in the order of their text."""
    return Route.of_tenant(tenant_id=tenant_of(viewer))


def routed_content(route: Route) -> Key[Content]:
    """What is there, or was and has moved; null unless one may see it."""
    return content_key(route.tenant_id, route.node_id)


def audit_log(
    viewer: Viewer,
    *,
    created_after: Annotated[Time | None, Doc("Only what was done at this time or later.")] = None,
    created_before: Annotated[Time | None, Doc("Only what was done before this time.")] = None,
) -> Range[AuditEntry]:
    """Everything that was done, newest first: for the tenant's admins."""
    return AuditEntry.within(tenant_id=staff_of(viewer, "admin")).between(created_after, created_before).newest_first()
