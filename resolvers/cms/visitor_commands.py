"""The visitors of a website: what they say about its pages, who is interested, and what they agreed to."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from typing_extensions import Doc

from datastore.client.writes import Update, equals
from datastore.cms import Consent, Content, ContentStatus, Lead, LeadStatus, PageComment, PageCommentStatus
from datastore.model.codec import JSON
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.viewer import Viewer
from resolvers.cms.audited_writes import changed, created, deleted, noted, own, tenant_for
from resolvers.cms.edges import content_key
from resolvers.cms.field_validation import checked
from resolvers.cms.tenancy import is_staff, staff_of, tenant_of
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, refused
from resolvers.core.rate_limit import count_attempt
from resolvers.core.retry import settled
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks

HOUR = 60 * 60
COMMENTS_PER_CLIENT = 20
CONSENTS_PER_CLIENT = 200
FIRST_PAUSE = 0.03

E = TypeVar("E", bound=Entity)


def comments(content: Content) -> Range[PageComment]:
    """What visitors say about it, in the order of time; the public sees what was approved."""
    return PageComment.within(tenant_id=content.tenant_id, node_id=content.node_id)


def commented_content(comment: PageComment) -> Key[Content]:
    """The page; null unless one may see it."""
    return content_key(comment.tenant_id, comment.node_id)


def author_email(comment: PageComment, viewer: Viewer) -> str | None:
    """Their e-mail address; null unless one is on the staff."""
    return comment.author_email if is_staff(viewer) else None


def page_comments(
    viewer: Viewer,
    *,
    status: Annotated[PageCommentStatus, Doc("Only those of which this is so.")] = PageCommentStatus.PENDING,
) -> Range[PageComment]:
    """What visitors say about all pages, last changed first: for the staff."""
    return PageComment.by_status(tenant_id=staff_of(viewer), status=status).newest_first()


async def add_page_comment(
    context: Context,
    *,
    content_id: Annotated[Key[Content], Doc("The `id` of a page that is on the website.")],
    author_name: Annotated[str, Doc("Who says it, up to 100 characters.")],
    author_email: Annotated[str | None, Doc("Shown to the staff only.")] = None,
    body: Annotated[str, Doc("What there is to say, up to 2,000 characters.")],
) -> PageComment:
    """Say something about a page, without a token. It is on the page once the staff has approved it."""
    tenant_of(context.viewer)
    fields = checked(PageComment, author_name=author_name, author_email=author_email, body=body)
    content = await context.load.one(content_id)
    if content is None or content.status is not ContentStatus.PUBLISHED:
        raise refused(ProblemCode.NOT_FOUND, "there is no such content", "input", "contentId")
    fields |= {"tenant_id": content.tenant_id, "node_id": content.node_id}
    limits = {f"page comments at {content.tenant_id} from {context.client_address}": COMMENTS_PER_CLIENT}
    await count_attempt(context.load, limits, every=HOUR, too_many="too many comments")
    return await _at_a_time_of_its_own(lambda: created(context, PageComment(**fields)))


async def moderate_page_comment(
    context: Context,
    *,
    comment_id: Annotated[Key[PageComment], Doc("The `id` of the comment.")],
    status: Annotated[PageCommentStatus, Doc("Whether it is on the page.")],
) -> PageComment:
    """Decide whether a comment is on its page: for editors."""
    staff_of(context.viewer, "editor")
    comment = await own(context, comment_id)
    return await changed(context, comment, status=status)


async def delete_page_comment(
    context: Context, *, comment_id: Annotated[Key[PageComment], Doc("The `id` of the comment.")]
) -> PageComment:
    """Delete a comment: for editors."""
    staff_of(context.viewer, "editor")
    comment = await own(context, comment_id)
    return await deleted(context, comment)


def lead(viewer: Viewer, *, email: Annotated[str, Doc("Their e-mail address, in any case.")]) -> Key[Lead] | None:
    """Somebody who is interested: for the staff."""
    tenant_id = staff_of(viewer)
    checks = Checks()
    normal = checks.email("email", email)
    return None if checks.found else Lead.key(tenant_id=tenant_id, email=normal)


def leads(
    viewer: Viewer, *, status: Annotated[LeadStatus | None, Doc("Only those of whom this is so.")] = None
) -> Range[Lead]:
    """Everybody who is interested, last changed first: for the staff."""
    tenant_id = staff_of(viewer)
    if status is None:
        return Lead.of_tenant(tenant_id=tenant_id).newest_first()
    return Lead.by_status(tenant_id=tenant_id, status=status).newest_first()


async def save_lead(
    context: Context,
    *,
    email: Annotated[str, Doc("Their e-mail address: there is one lead for each.")],
    name: Annotated[str | None, Doc("Who they are, up to 100 characters.")] = UNSET,
    source: Annotated[str | None, Doc("Where they came from, up to 200 characters.")] = UNSET,
    status: Annotated[LeadStatus | None, Doc("What came of it; NEW to begin with.")] = UNSET,
    data: Annotated[JSON | None, Doc("What else is known: an object of up to 100,000 bytes.")] = UNSET,
) -> Lead:
    """Write down who is interested, or what more is known of them: for editors. What is left out stays as it is."""
    tenant_id = await tenant_for(context, "editor")
    fields = checked(Lead, email=email, name=name, source=source, status=status, data=data)
    key = Lead.key(tenant_id=tenant_id, email=fields["email"])
    return await settled(lambda: _save_lead(context, key, {"tenant_id": tenant_id, **fields}))


async def _save_lead(context: Context, key: Key[Lead], fields: dict[str, Any]) -> Lead:
    (before,) = await context.load.fresh(key)
    if before is None:
        return await created(context, Lead(**fields))
    after = before.changed(**fields)
    await context.load.write(Update.of(before, after, when=equals("updated_at", before.updated_at)))
    noted(context, before, after)
    return after


async def delete_lead(context: Context, *, lead_id: Annotated[Key[Lead], Doc("The `id` of the lead.")]) -> Lead:
    """Forget somebody who was interested: for editors."""
    staff_of(context.viewer, "editor")
    return await deleted(context, await own(context, lead_id))


def consent(viewer: Viewer, *, visitor_id: Annotated[str, Doc("The identifier of the visitor.")]) -> Range[Consent]:
    """What a visitor agrees to now; null if they never said. Whoever knows the identifier may ask."""
    return Consent.within(tenant_id=tenant_of(viewer), visitor_id=visitor_id).newest_first()


def consent_history(
    viewer: Viewer, *, visitor_id: Annotated[str, Doc("The identifier of the visitor.")]
) -> Range[Consent]:
    """All that a visitor ever agreed to, newest first: for the staff."""
    return Consent.within(tenant_id=staff_of(viewer), visitor_id=visitor_id).newest_first()


async def record_consent(
    context: Context,
    *,
    visitor_id: Annotated[str, Doc("What the website calls the visitor: 16 to 128 letters, digits, - and _.")],
    purposes: Annotated[list[str], Doc("All they agree to now, up to 20; an empty list takes everything back.")],
    policy_version: Annotated[str | None, Doc("The text they agree to, up to 100 characters.")] = None,
) -> Consent:
    """Write down what a visitor agrees to from now on, without a token. What they agreed to before is kept."""
    tenant_id = await tenant_for(context, None)
    fields = checked(Consent, visitor_id=visitor_id, purposes=purposes, policy_version=policy_version)
    limits = {f"consents at {tenant_id} from {context.client_address}": CONSENTS_PER_CLIENT}
    await count_attempt(context.load, limits, every=HOUR, too_many="too many consents")
    return await _at_a_time_of_its_own(lambda: created(context, Consent(tenant_id=tenant_id, **fields)))


async def _at_a_time_of_its_own(attempt: Callable[[], Awaitable[E]]) -> E:
    """Two in one millisecond would be one. Whoever comes second waits a moment, and no two wait for the same one."""
    pause = 0.0

    async def after_a_pause() -> E:
        nonlocal pause
        await asyncio.sleep(random.uniform(0, pause))  # noqa: S311
        pause = pause * 2 or FIRST_PAUSE
        return await attempt()

    return await settled(after_a_pause)
