"""Commands of page comments, leads and consents."""

import asyncio
import random
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from typing_extensions import Doc

from datastore.client.writes import Update, equals
from datastore.cms import Consent, Content, ContentStatus, Lead, LeadStatus, PageComment, PageCommentStatus
from datastore.model.codec import JSON
from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.cms.audited_writes import changed, created, deleted, noted, own, tenant_for
from resolvers.cms.constraints import Data, Purposes, VisitorId
from resolvers.cms.tenancy import staff_of, tenant_of
from resolvers.core.constraints import Email, Text
from resolvers.core.context import Context
from resolvers.core.problems import not_found
from resolvers.core.rate_limit import count_attempt
from resolvers.core.retry import retries_on_conflict
from resolvers.core.unset import UNSET, given

HOUR = 60 * 60
COMMENTS_PER_CLIENT = 20
CONSENTS_PER_CLIENT = 200
FIRST_PAUSE = 0.03

E = TypeVar("E", bound=Entity)


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
    limits = {f"page comments at {content.tenant_id} from {context.client_address}": COMMENTS_PER_CLIENT}
    await count_attempt(context.load, limits, every=HOUR, too_many="too many comments")
    fields: dict[str, Any] = {"author_name": author_name, "author_email": author_email, "body": body}
    return await _created_at_unique_time(
        context, lambda: PageComment(tenant_id=content.tenant_id, node_id=content.node_id, **fields)
    )


async def moderate_page_comment(
    context: Context,
    *,
    comment_id: Annotated[Key[PageComment], Doc("ID of the comment.")],
    status: Annotated[PageCommentStatus, Doc("Moderation status.")],
) -> PageComment:
    """Changes the moderation status of a comment. Requires the `editor` role."""
    staff_of(context.viewer, "editor")
    return await changed(context, await own(context, comment_id), status=status)


async def delete_page_comment(
    context: Context, *, comment_id: Annotated[Key[PageComment], Doc("ID of the comment.")]
) -> PageComment:
    """Deletes a comment. Requires the `editor` role."""
    staff_of(context.viewer, "editor")
    return await deleted(context, await own(context, comment_id))


async def save_lead(
    context: Context,
    *,
    email: Annotated[str, Doc("Email address. Identifies the lead."), Email()],
    name: Annotated[str | None, Doc("Name."), Text(at_most=100)] = UNSET,
    source: Annotated[str | None, Doc("Source of the lead."), Text(at_most=200)] = UNSET,
    status: Annotated[LeadStatus, Doc("Status. Defaults to NEW.")] = UNSET,
    data: Annotated[JSON | None, Doc("Further data."), Data] = UNSET,
) -> Lead:
    """Creates or edits a lead. Omitted fields keep their values. Requires the `editor` role."""
    tenant_id = await tenant_for(context, "editor")
    fields = {"email": email, **given(name=name, source=source, status=status, data=data)}
    return await _save_lead(context, Lead.key(tenant_id=tenant_id, email=email), {"tenant_id": tenant_id, **fields})


@retries_on_conflict
async def _save_lead(context: Context, key: Key[Lead], fields: dict[str, Any]) -> Lead:
    (before,) = await context.load.fresh(key)
    if before is None:
        return await created(context, Lead(**fields))
    after = before.changed(**fields)
    await context.load.write(Update.of(before, after, when=equals("updated_at", before.updated_at)))
    noted(context, before, after)
    return after


async def delete_lead(context: Context, *, lead_id: Annotated[Key[Lead], Doc("ID of the lead.")]) -> Lead:
    """Deletes a lead. Requires the `editor` role."""
    staff_of(context.viewer, "editor")
    return await deleted(context, await own(context, lead_id))


async def record_consent(
    context: Context,
    *,
    visitor_id: Annotated[str, Doc("Identifier the website assigned to the visitor."), VisitorId],
    purposes: Annotated[
        list[str], Doc("All purposes consented to from now on. An empty list withdraws consent."), Purposes()
    ],
    policy_version: Annotated[str | None, Doc("Version of the policy consented to."), Text(at_most=100)] = None,
) -> Consent:
    """Records a visitor's consent. Earlier ones are kept. Needs no token."""
    tenant_id = await tenant_for(context, None)
    limits = {f"consents at {tenant_id} from {context.client_address}": CONSENTS_PER_CLIENT}
    await count_attempt(context.load, limits, every=HOUR, too_many="too many consents")
    fields: dict[str, Any] = {"visitor_id": visitor_id, "purposes": purposes, "policy_version": policy_version}
    return await _created_at_unique_time(context, lambda: Consent(tenant_id=tenant_id, **fields))


async def _created_at_unique_time(context: Context, make: Callable[[], E]) -> E:
    """Creates a record whose key holds its time. Backs off randomly when two fall into the same millisecond."""
    pause = 0.0

    @retries_on_conflict
    async def attempt() -> E:
        nonlocal pause
        await asyncio.sleep(random.uniform(0, pause))  # noqa: S311
        pause = pause * 2 or FIRST_PAUSE
        return await created(context, make())

    return await attempt()
