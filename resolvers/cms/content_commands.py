"""The commands of tenants and of content."""

from typing import Annotated, Any

from slugify import slugify
from typing_extensions import Doc

from datastore.client.errors import Conflict
from datastore.client.writes import Put, Update, Write, absent, equals, exists
from datastore.cms import Content, ContentStatus, Route, Tenant
from datastore.model.codec import JSON
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.cms.audited_writes import noted, own, tenant_for
from resolvers.cms.constraints import UrlPath
from resolvers.cms.edges import domain_guard, snapshot_of, version_key
from resolvers.cms.tenancy import staff_of
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, outdated, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks

MAX_TITLE = 300
MAX_MESSAGE = 500
MAX_BLOCKS = 250_000
MAX_CONFIG = 100_000
MAX_DOMAINS = 20

DRAFT, IN_REVIEW, PUBLISHED, ARCHIVED = ContentStatus
MAY_BECOME = {
    DRAFT: (IN_REVIEW, PUBLISHED, ARCHIVED),
    IN_REVIEW: (DRAFT, PUBLISHED, ARCHIVED),
    PUBLISHED: (DRAFT, ARCHIVED),
    ARCHIVED: (DRAFT,),
}


async def create_tenant(
    context: Context,
    *,
    tenant_id: Annotated[str, Doc("1 to 40 letters a-z, digits and dashes; what `x-tenant-id` will say.")],
    name: Annotated[str, Doc("What they are called, up to 100 characters.")],
    domains: Annotated[list[str] | None, Doc("The host names of their websites, up to 20.")] = None,
    config: Annotated[JSON | None, Doc("Their settings: an object of up to 100,000 bytes.")] = None,
) -> Tenant:
    """Take in a tenant: for system administrators."""
    context.require_admin()
    checks = Checks()
    tenant_id = checks.name("tenantId", tenant_id)
    name = checks.required_text("name", name, at_most=100)
    names = _domains(checks, domains or [])
    config = checks.json_object("config", {} if config is None else config, at_most=MAX_CONFIG)
    checks.done()
    tenant = Tenant(tenant_id=tenant_id, name=name, domain=names[0] if names else None, domains=names, config=config)
    made = Put(tenant, when=absent())
    guards = {domain: claim("domain", domain, tenant_id) for domain in names}
    taken = refused(ProblemCode.TAKEN, "there is such a tenant already", "input", "tenantId")
    refusals: dict[Write, Refused] = {made: taken, **{guard: _taken(domain) for domain, guard in guards.items()}}
    await write_or_refuse(context.load, made, *guards.values(), refusals=refusals)
    noted(context, None, tenant)
    return tenant


async def update_tenant(
    context: Context,
    *,
    tenant_id: Annotated[Key[Tenant], Doc("The `id` of the tenant.")],
    name: Annotated[str | None, Doc("What they are called.")] = UNSET,
    domains: Annotated[list[str] | None, Doc("All host names of their websites; those left out are free.")] = UNSET,
    config: Annotated[JSON | None, Doc("Their settings; takes the place of all that were.")] = UNSET,
) -> Tenant:
    """Change a tenant: for system administrators. What is left out stays as it is."""
    context.require_admin()
    checks = Checks()
    changes: dict[str, Any] = {}
    if name is not UNSET:
        changes["name"] = checks.required_text("name", name or "", at_most=100)
    if domains is not UNSET:
        names = _domains(checks, domains or [])
        changes |= {"domains": names, "domain": names[0] if names else None}
    if config is not UNSET:
        changes["config"] = checks.json_object("config", {} if config is None else config, at_most=MAX_CONFIG)
    checks.done()
    return await settled(lambda: _update_tenant(context, tenant_id, changes))


async def _update_tenant(context: Context, key: Key[Tenant], changes: dict[str, Any]) -> Tenant:
    (tenant,) = await context.load.fresh(key)
    if tenant is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such tenant", "input", "tenantId")
    after = tenant.changed(**changes)
    new = {
        domain: claim("domain", domain, tenant.tenant_id) for domain in after.domains if domain not in tenant.domains
    }
    gone = [release(domain_guard(domain), tenant.tenant_id) for domain in tenant.domains if domain not in after.domains]
    change = Update.of(tenant, after, when=equals("updated_at", tenant.updated_at))
    refusals: dict[Write, Refused] = {guard: _taken(domain) for domain, guard in new.items()}
    await write_or_refuse(context.load, change, *new.values(), *gone, refusals=refusals)
    noted(context, tenant, after)
    return after


async def create_content(
    context: Context,
    *,
    title: Annotated[str, Doc("What it is called, up to 300 characters.")],
    slug: Annotated[str | None, Doc("Its address on the website; made from the title unless given.")] = None,
    type: Annotated[str, Doc("What kind of content it is.")] = "page",
    blocks: Annotated[JSON | None, Doc("What it consists of: a list of up to 250,000 bytes.")] = None,
    status: Annotated[ContentStatus, Doc("How far it has come.")] = DRAFT,
    message: Annotated[str | None, Doc("What there is to say about it, up to 500 characters.")] = None,
) -> Content:
    """Make content and its route: for editors."""
    tenant_id = await tenant_for(context, "editor")
    checks = Checks()
    title = checks.required_text("title", title, at_most=MAX_TITLE)
    path = checks.satisfies("slug", slugify(title) or "-" if slug is None else slug, UrlPath())
    type = checks.name("type", type)
    blocks = checks.json_list("blocks", [] if blocks is None else blocks, at_most=MAX_BLOCKS)
    message = checks.text("message", message, at_most=MAX_MESSAGE)
    checks.done()
    content = Content(
        tenant_id=tenant_id,
        node_id=new_id(),
        content_type=type,
        title=title,
        status=status,
        slug=path,
        author_id=context.signed_in,
        message=message,
        blocks=blocks,
    )
    route = Put(Route(tenant_id=tenant_id, slug=path, node_id=content.node_id), when=absent())
    await write_or_refuse(context.load, Put(content, when=absent()), route, refusals={route: slug_taken(path)})
    noted(context, None, content)
    return content


async def update_content(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("The `id` of the content.")],
    expected_version: Annotated[int, Doc("The `version` that was read; nothing is changed if it is another by now.")],
    title: Annotated[str | None, Doc("What it is called.")] = UNSET,
    type: Annotated[str | None, Doc("What kind of content it is.")] = UNSET,
    blocks: Annotated[JSON | None, Doc("What it consists of; takes the place of all that was.")] = UNSET,
    status: Annotated[ContentStatus | None, Doc("How far it has come.")] = UNSET,
    message: Annotated[str | None, Doc("What there is to say about the change, up to 500 characters.")] = None,
) -> Content:
    """Make a new version of content: for editors. What is left out stays as it is; the old version is kept."""
    staff_of(context.viewer, "editor")
    checks = Checks()
    changes: dict[str, Any] = {"message": checks.text("message", message, at_most=MAX_MESSAGE)}
    if title is not UNSET:
        changes["title"] = checks.required_text("title", title or "", at_most=MAX_TITLE)
    if type is not UNSET:
        changes["content_type"] = checks.name("type", type or "")
    if blocks is not UNSET:
        changes["blocks"] = checks.json_list("blocks", [] if blocks is None else blocks, at_most=MAX_BLOCKS)
    if status is not UNSET:
        changes["status"] = checks.given("status", status)
    checks.done()
    content = await own(context, content_id)
    return await _next_version(context, content, expected_version, changes)


async def restore_version(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("The `id` of the content.")],
    expected_version: Annotated[int, Doc("The `version` that was read; nothing is changed if it is another by now.")],
    number: Annotated[int, Doc("The version to go back to.")],
) -> Content:
    """Make content what it was at a version: for editors. That is a new version; nothing is overwritten."""
    staff_of(context.viewer, "editor")
    content = await own(context, content_id)
    (old,) = await context.load.fresh(version_key(content, number)) if 1 <= number < content.version else (None,)
    if old is None:
        message = f"there is no earlier version {number}"
        raise refused(ProblemCode.NOT_FOUND, message, "input", "number")
    changes = {"title": old.title, "content_type": old.content_type, "blocks": old.blocks}
    changes["message"] = f"Version {number} restored."
    return await _next_version(context, content, expected_version, changes)


async def _next_version(context: Context, content: Content, expected_version: int, changes: dict[str, Any]) -> Content:
    """Copy on write: what is there becomes a version of its own, in the same transaction."""
    if content.version != expected_version:
        raise outdated(content.version)
    status = changes.get("status", content.status)
    if status is not content.status and status not in MAY_BECOME[content.status]:
        message = f"what is {content.status.name} cannot become {status.name}"
        raise refused(ProblemCode.INVALID, message, "input", "status")
    after = content.changed(**changes, version=content.version + 1, author_id=context.signed_in)
    snapshot = Put(snapshot_of(content), when=absent())
    try:
        await context.load.write(
            snapshot, Update.of(content, after, when=exists() & equals("version", content.version))
        )
    except Conflict:
        (current,) = await context.load.fresh(content.own_key)
        raise outdated(current.version if current else 0) from None
    noted(context, content, after)
    return after


def slug_taken(path: str) -> Refused:
    return refused(ProblemCode.TAKEN, f"there is something at {path} already; choose another slug", "input", "slug")


def _taken(domain: str) -> Refused:
    return refused(ProblemCode.TAKEN, f"{domain} is another tenant's", "input", "domains")


def _domains(checks: Checks, domains: list[str]) -> list[str]:
    names = list(dict.fromkeys(checks.host_name("domains", domain) for domain in domains))
    if len(names) > MAX_DOMAINS:
        checks.problem("domains", f"these are {len(names)}; at most {MAX_DOMAINS} are allowed")
    return names
