"""Commands of page comments."""

from collections.abc import Mapping
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.cms import Content, ContentStatus, PageComment, PageCommentStatus
from datastore.model.keys import Key
from resolvers.cms.audited_writes import changed, deleted, own
from resolvers.cms.tenancy import tenant_of
from resolvers.cms.visitor_writes import created_at_unique_time, limit_client
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import Email, Text
from resolvers.core.context import Context
from resolvers.core.problems import not_found

COMMENTS_PER_CLIENT = 20


async def add_page_comment(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("ID of a published page.")],
    author_name: Annotated[str, Doc("Name of the visitor."), Text(at_most=100)],
    author_email: Annotated[str | None, Doc("Email address. Visible to staff only."), Email()] = None,
    body: Annotated[str, Doc("Text of the comment."), Text(at_most=2_000)],
) -> PageComment:
    """Adds a comment to a page. It is public once the staff approves it. Needs no token."""
    tenant_of(context.viewer)
    content = await context.load.one(content_id)
    if content is None or content.status is not ContentStatus.PUBLISHED:
        raise not_found(content_id)
    await limit_client(context, content.tenant_id, "comments", per_hour=COMMENTS_PER_CLIENT)
    fields: dict[str, Any] = {"author_name": author_name, "author_email": author_email, "body": body}
    return await created_at_unique_time(
        context, lambda: PageComment(tenant_id=content.tenant_id, node_id=content.node_id, **fields)
    )


async def added_page_comment(
    context: Context, keys: Mapping[str, Key[PageComment]], **_: object
) -> dict[str, PageComment | None]:
    """Replays `addPageComment`: shows visitors their comment before the staff approves it."""
    return {"page_comment": await context.load.stored(keys["page_comment"])}


@access(requires=AccessRole.TENANT_EDITOR)
async def moderate_page_comment(
    context: Context,
    *,
    comment_id: Annotated[Key[PageComment], Doc("ID of the comment.")],
    status: Annotated[PageCommentStatus, Doc("Moderation status.")],
) -> PageComment:
    """Changes the moderation status of a comment."""
    return await changed(context, await own(context, comment_id), status=status)


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_page_comment(
    context: Context, *, comment_id: Annotated[Key[PageComment], Doc("ID of the comment.")]
) -> PageComment:
    """Deletes a comment."""
    return await deleted(context, await own(context, comment_id))
