"""Commands of routes: the paths of content, and redirects from former ones."""

from typing import Annotated, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Condition, Delete, Put, Update, Write, absent, equals, exists, same
from datastore.cms import Content, Route
from datastore.model.keys import Key
from resolvers.cms.audit_entries import audit_entry
from resolvers.cms.audited_writes import own
from resolvers.cms.constraints import UrlPath
from resolvers.cms.content_commands import slug_taken
from resolvers.cms.edges import content_key, route_key
from resolvers.core.access import AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import At, ProblemCode, Refused, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse

SYSTEM_ROUTES = ("/", "/contact")
MOST_REDIRECTS = 90


class DeletedRoute(NamedTuple):
    deleted_route_id: Route


@access(requires=AccessRole.TENANT_EDITOR)
@retries_on_conflict
async def change_slug(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("ID of the content.")],
    slug: Annotated[str, Doc("New path."), UrlPath()],
) -> Content:
    """Moves content to a new path. All former paths redirect to it."""
    path = slug
    content = await own(context, content_id)
    if content.slug == path:
        return content
    if content.slug in SYSTEM_ROUTES:
        raise _immutable(content.slug, content_id)
    old = [*content.old_slugs, *([content.slug] if content.slug else [])]
    redirects = [slug for slug in old if slug != path]
    if len(redirects) > MOST_REDIRECTS:
        raise _too_many_redirects()
    after = content.changed(slug=path, old_slugs=redirects, updated_at=content.updated_at)
    arrival = _arrival(content, path)
    await write_or_refuse(
        context.load,
        Update.of(content, after, when=_as_it_was(content)),
        arrival,
        # All redirects point to the current path, so there are no chains and no loops.
        *(Put(_redirect(content, slug, path)) for slug in redirects),
        refusals={arrival: slug_taken(path)},
        entry=await audit_entry(context, content, after),
    )
    return after


def _arrival(content: Content, path: str) -> Put:
    """A path is available if nothing is there, or a route to the same content."""
    route = Route(tenant_id=content.tenant_id, slug=path, node_id=content.node_id)
    return Put(route, when=absent() | equals("node_id", content.node_id))


def _redirect(content: Content, slug: str, target: str) -> Route:
    return Route(tenant_id=content.tenant_id, slug=slug, node_id=content.node_id, is_redirect=True, target=target)


@access(requires=AccessRole.TENANT_EDITOR)
@retries_on_conflict
async def create_redirect(
    context: Context,
    *,
    slug: Annotated[str, Doc("Path to redirect from. It must be available."), UrlPath()],
    content_id: Annotated[Key[Content], Doc("ID of the content to redirect to.")],
) -> Route:
    """Creates a redirect to content."""
    path = slug
    if path in SYSTEM_ROUTES:
        raise _immutable(path, "slug")
    content = await own(context, content_id)
    if content.slug is None:
        raise refused(ProblemCode.INVALID, "this content has no path to redirect to", at=content_id)
    if len(content.old_slugs) >= MOST_REDIRECTS:
        raise _too_many_redirects()
    redirect = _redirect(content, path, content.slug)
    made = Put(redirect, when=absent())
    after = content.changed(old_slugs=[*content.old_slugs, path], updated_at=content.updated_at)
    await write_or_refuse(
        context.load,
        made,
        Update.of(content, after, when=_as_it_was(content)),
        refusals={made: slug_taken(path)},
        entry=await audit_entry(context, None, redirect),
    )
    return redirect


@access(requires=AccessRole.TENANT_EDITOR)
@retries_on_conflict
async def delete_route(context: Context, *, route_id: Annotated[Key[Route], Doc("ID of the route.")]) -> DeletedRoute:
    """Deletes a route, and all redirects to it if it is the current path of the content. The content stays.

    `/` and `/contact` cannot be deleted.
    """
    route = await own(context, route_id)
    (content,) = await context.load.fresh(content_key(route.tenant_id, route.node_id))
    redirects = content.old_slugs if content and content.slug == route.slug else []
    for slug in SYSTEM_ROUTES:
        if slug in (route.slug, *redirects):
            raise _immutable(slug, route_id)
    removal = Delete(route_id, when=equals("updated_at", route.updated_at))
    writes: list[Write] = [removal]
    if content is not None:
        writes += _without(content, route.slug)
    await context.load.write(*writes, entry=await audit_entry(context, route, None, redirects=redirects))
    return DeletedRoute(route)


def _without(content: Content, slug: str) -> list[Write]:
    """Removes a path from content, together with the redirects to it."""
    if content.slug != slug:
        left = [old for old in content.old_slugs if old != slug]
        after = content.changed(old_slugs=left, updated_at=content.updated_at)
        return [Update.of(content, after, when=_as_it_was(content))]
    after = content.changed(slug=None, old_slugs=[], updated_at=content.updated_at)
    orphans = [route_key(content.tenant_id, old) for old in content.old_slugs]
    return [Update.of(content, after, when=_as_it_was(content)), *(Delete(orphan) for orphan in orphans)]


def _as_it_was(content: Content) -> Condition:
    return exists() & same("slug", content.slug) & equals("old_slugs", content.old_slugs)


def _immutable(slug: str, at: At) -> Refused:
    return refused(ProblemCode.FORBIDDEN, f"{slug} is part of every website and cannot be changed", at=at)


def _too_many_redirects() -> Refused:
    message = f"{MOST_REDIRECTS} paths redirect to it already; delete some of these routes first"
    return refused(ProblemCode.INVALID, message, at="slug")
