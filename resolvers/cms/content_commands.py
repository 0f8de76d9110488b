"""Commands of content and its versions."""

from typing import Annotated, Any

from slugify import slugify
from typing_extensions import Doc

from datastore.client.errors import Conflict
from datastore.client.writes import Put, Update, absent, equals, exists
from datastore.cms import Content, ContentStatus, Route
from datastore.model.codec import JSON
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.cms.audit_entries import audit_entry
from resolvers.cms.audited_writes import own, tenant_for
from resolvers.cms.constraints import Title, UrlPath
from resolvers.cms.edges import snapshot_of, version_key
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import JsonList, Name, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, outdated, refused
from resolvers.core.retry import write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.core.validation import Checks

Message = Text(at_most=500)
Blocks = JsonList(at_most=250_000)

DRAFT, IN_REVIEW, PUBLISHED, ARCHIVED = ContentStatus
MAY_BECOME = {
    DRAFT: (IN_REVIEW, PUBLISHED, ARCHIVED),
    IN_REVIEW: (DRAFT, PUBLISHED, ARCHIVED),
    PUBLISHED: (DRAFT, ARCHIVED),
    ARCHIVED: (DRAFT,),
}


@access(requires=AccessRole.TENANT_EDITOR)
async def create_content(
    context: Context,
    *,
    title: Annotated[str, Doc("Title."), Title],
    slug: Annotated[str | None, Doc("Path on the website. Defaults to one made from the title."), UrlPath()] = None,
    type: Annotated[str, Doc("Type of content. Defaults to page."), Name()] = "page",
    blocks: Annotated[JSON | None, Doc("Content blocks."), Blocks] = None,
    status: Annotated[ContentStatus, Doc("Publication status. Defaults to DRAFT.")] = DRAFT,
    message: Annotated[str | None, Doc("Change message."), Message] = None,
) -> Content:
    """Creates content and its route."""
    tenant_id = await tenant_for(context)
    checks = Checks()
    path = checks.satisfies("slug", slugify(title) or "-", UrlPath()) if slug is None else slug
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
        blocks=JSON([]) if blocks is None else blocks,
    )
    route = Put(Route(tenant_id=tenant_id, slug=path, node_id=content.node_id), when=absent())
    await write_or_refuse(
        context.load,
        Put(content, when=absent()),
        route,
        refusals={route: slug_taken(path)},
        entry=await audit_entry(context, None, content),
    )
    return content


@access(requires=AccessRole.TENANT_EDITOR)
async def update_content(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("ID of the content.")],
    expected_version: Annotated[int, Doc("The `version` you read. A different current version is a conflict.")],
    title: Annotated[str, Doc("Title."), Title] = UNSET,
    type: Annotated[str, Doc("Type of content."), Name()] = UNSET,
    blocks: Annotated[JSON | None, Doc("Content blocks. Replaces the current ones."), Blocks] = UNSET,
    status: Annotated[ContentStatus, Doc("Publication status.")] = UNSET,
    message: Annotated[str | None, Doc("Change message."), Message] = None,
) -> Content:
    """Creates a new version of content and keeps the old one. Omitted fields keep their values."""
    changes = given(title=title, content_type=type, blocks=blocks, status=status)
    if "blocks" in changes and blocks is None:
        changes["blocks"] = JSON([])
    content = await own(context, content_id)
    return await _next_version(context, content, expected_version, {**changes, "message": message})


@access(requires=AccessRole.TENANT_EDITOR)
async def restore_version(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("ID of the content.")],
    expected_version: Annotated[int, Doc("The `version` you read. A different current version is a conflict.")],
    number: Annotated[int, Doc("Version to restore.")],
) -> Content:
    """Restores an earlier version as a new one. Nothing is overwritten."""
    content = await own(context, content_id)
    (old,) = await context.load.fresh(version_key(content, number)) if 1 <= number < content.version else (None,)
    if old is None:
        raise refused(ProblemCode.NOT_FOUND, f"there is no earlier version {number}", at="number")
    changes = {"title": old.title, "content_type": old.content_type, "blocks": old.blocks}
    changes["message"] = f"Version {number} restored."
    return await _next_version(context, content, expected_version, changes)


async def _next_version(context: Context, content: Content, expected_version: int, changes: dict[str, Any]) -> Content:
    """Copy on write: stores the current version as an item of its own in the same transaction."""
    if content.version != expected_version:
        raise outdated(content.version)
    status = changes.get("status", content.status)
    if status is not content.status and status not in MAY_BECOME[content.status]:
        message = f"content cannot change from {content.status.name} to {status.name}"
        raise refused(ProblemCode.INVALID, message, at="status")
    after = content.changed(**changes, version=content.version + 1, author_id=context.signed_in)
    snapshot = Put(snapshot_of(content), when=absent())
    change = Update.of(content, after, when=exists() & equals("version", content.version))
    entry = await audit_entry(context, content, after)
    try:
        await context.load.write(snapshot, change, entry=entry)
    except Conflict:
        (current,) = await context.load.fresh(content.own_key)
        raise outdated(current.version if current else 0) from None
    return after


def slug_taken(path: str) -> Refused:
    return refused(ProblemCode.TAKEN, f"the path {path} is taken; choose another slug", at="slug")
