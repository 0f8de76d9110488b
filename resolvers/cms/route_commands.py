"""The commands of routes: where content is on a website, and where it used to be."""

from typing import Annotated, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Condition, Delete, Put, Update, Write, absent, equals, exists, same
from datastore.cms import Content, Route
from datastore.model.keys import Key
from resolvers.cms.audited_writes import noted, own
from resolvers.cms.constraints import UrlPath
from resolvers.cms.content_commands import slug_taken
from resolvers.cms.edges import content_key, route_key
from resolvers.cms.tenancy import staff_of
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.validation import Checks

SYSTEM_ROUTES = ("/", "/contact")
MOST_REDIRECTS = 90


class DeletedRoute(NamedTuple):
    deleted_route_id: Route


async def change_slug(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("The `id` of the content.")],
    slug: Annotated[str, Doc("Its new address.")],
) -> Content:
    """Move content to another address: for editors. The old one, and all before it, lead there from then on."""
    staff_of(context.viewer, "editor")
    checks = Checks()
    path = checks.satisfies("slug", slug, UrlPath())
    checks.done()
    return await settled(lambda: _change_slug(context, content_id, path))


async def _change_slug(context: Context, key: Key[Content], path: str) -> Content:
    content = await own(context, key)
    if content.slug == path:
        return content
    if content.slug in SYSTEM_ROUTES:
        raise _immutable(content.slug, "contentId")
    old = [*content.old_slugs, *([content.slug] if content.slug else [])]
    redirects = [slug for slug in old if slug != path]
    if len(redirects) > MOST_REDIRECTS:
        message = f"{MOST_REDIRECTS} addresses redirect to it already; delete some of these routes first"
        raise refused(ProblemCode.INVALID, message, "input", "slug")
    after = content.changed(slug=path, old_slugs=redirects, updated_at=content.updated_at)
    arrival = _arrival(content, path)
    await write_or_refuse(
        context.load,
        Update.of(content, after, when=_as_it_was(content)),
        arrival,
        # All of them lead straight to where it is now: no chains, and so no loops.
        *(Put(_redirect(content, slug, path)) for slug in redirects),
        refusals={arrival: slug_taken(path)},
    )
    noted(context, content, after)
    return after


def _arrival(content: Content, path: str) -> Put:
    """An address is free if there is nothing, or what leads to this very content."""
    route = Route(tenant_id=content.tenant_id, slug=path, node_id=content.node_id)
    return Put(route, when=absent() | equals("node_id", content.node_id))


def _redirect(content: Content, slug: str, target: str) -> Route:
    return Route(tenant_id=content.tenant_id, slug=slug, node_id=content.node_id, is_redirect=True, target=target)


async def create_redirect(
    context: Context,
    *,
    slug: Annotated[str, Doc("The address that shall lead elsewhere; nothing may be there.")],
    content_id: Annotated[Key[Content], Doc("The `id` of the content to lead to.")],
) -> Route:
    """Have an address lead to content that is at another one: for editors."""
    staff_of(context.viewer, "editor")
    checks = Checks()
    path = checks.satisfies("slug", slug, UrlPath())
    checks.done()
    if path in SYSTEM_ROUTES:
        raise _immutable(path, "slug")
    return await settled(lambda: _create_redirect(context, path, content_id))


async def _create_redirect(context: Context, path: str, key: Key[Content]) -> Route:
    content = await own(context, key)
    if content.slug is None:
        raise refused(ProblemCode.INVALID, "this content has no address to lead to", "input", "contentId")
    if len(content.old_slugs) >= MOST_REDIRECTS:
        message = f"{MOST_REDIRECTS} addresses redirect to it already; delete some of these routes first"
        raise refused(ProblemCode.INVALID, message, "input", "slug")
    redirect = _redirect(content, path, content.slug)
    made = Put(redirect, when=absent())
    after = content.changed(old_slugs=[*content.old_slugs, path], updated_at=content.updated_at)
    await write_or_refuse(
        context.load,
        made,
        Update.of(content, after, when=_as_it_was(content)),
        refusals={made: slug_taken(path)},
    )
    noted(context, None, redirect)
    return redirect


async def delete_route(
    context: Context, *, route_id: Annotated[Key[Route], Doc("The `id` of the route.")]
) -> DeletedRoute:
    """Take an address off the website: for editors. The content stays; `/` and `/contact` cannot be deleted."""
    staff_of(context.viewer, "editor")
    return await settled(lambda: _delete_route(context, route_id))


async def _delete_route(context: Context, key: Key[Route]) -> DeletedRoute:
    route = await own(context, key)
    (content,) = await context.load.fresh(content_key(route.tenant_id, route.node_id))
    gone = [route.slug, *(content.old_slugs if content and content.slug == route.slug else [])]
    for slug in SYSTEM_ROUTES:
        if slug in gone:
            raise _immutable(slug, "routeId")
    removal = Delete(key, when=equals("updated_at", route.updated_at))
    writes: list[Write] = [removal]
    if content is not None:
        writes += _without(content, route.slug)
    await context.load.write(*writes)
    noted(context, route, None)
    return DeletedRoute(route)


def _without(content: Content, slug: str) -> list[Write]:
    """With the address go the redirects to it: they would lead nowhere."""
    if content.slug != slug:
        left = [old for old in content.old_slugs if old != slug]
        after = content.changed(old_slugs=left, updated_at=content.updated_at)
        return [Update.of(content, after, when=_as_it_was(content))]
    after = content.changed(slug=None, old_slugs=[], updated_at=content.updated_at)
    orphans = [route_key(content.tenant_id, old) for old in content.old_slugs]
    return [Update.of(content, after, when=_as_it_was(content)), *(Delete(orphan) for orphan in orphans)]


def _as_it_was(content: Content) -> Condition:
    return exists() & same("slug", content.slug) & equals("old_slugs", content.old_slugs)


def _immutable(slug: str, path: str) -> Refused:
    return refused(ProblemCode.FORBIDDEN, f"{slug} is part of every website; it stays where it is", "input", path)
