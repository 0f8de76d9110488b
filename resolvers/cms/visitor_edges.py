"""Edges of page comments, leads and consents: the key or range each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cms import Consent, Content, Lead, LeadStatus, PageComment, PageCommentStatus
from datastore.model.keys import Key, Range
from loaders.viewer import Viewer
from resolvers.cms.edges import content_key
from resolvers.cms.tenancy import is_staff, staff_of, tenant_of
from resolvers.core.constraints import Email


def comments(content: Content) -> Range[PageComment]:
    """Comments on the page, oldest first. Visitors see approved comments only."""
    return PageComment.within(tenant_id=content.tenant_id, node_id=content.node_id)


def commented_content(comment: PageComment) -> Key[Content]:
    """The page. Null if the viewer may not see it."""
    return content_key(comment.tenant_id, comment.node_id)


def author_email(comment: PageComment, viewer: Viewer) -> str | None:
    """Email address of the visitor. Null unless the viewer is on the staff."""
    return comment.author_email if is_staff(viewer) else None


def page_comments(
    viewer: Viewer,
    *,
    status: Annotated[
        PageCommentStatus, Doc("Returns only comments with this status. Defaults to PENDING.")
    ] = PageCommentStatus.PENDING,
) -> Range[PageComment]:
    """Comments on all pages, most recently updated first. Requires a staff role."""
    return PageComment.by_status(tenant_id=staff_of(viewer), status=status).newest_first()


def lead(viewer: Viewer, *, email: Annotated[str, Doc("Email address, case-insensitive.")]) -> Key[Lead] | None:
    """A lead by email address. Requires a staff role."""
    tenant_id = staff_of(viewer)
    problems: list[str] = []
    normalized = Email().check(email, problems.append)
    return None if problems else Lead.key(tenant_id=tenant_id, email=normalized)


def leads(
    viewer: Viewer, *, status: Annotated[LeadStatus | None, Doc("Returns only leads with this status.")] = None
) -> Range[Lead]:
    """Leads, most recently updated first. Requires a staff role."""
    tenant_id = staff_of(viewer)
    if status is None:
        return Lead.of_tenant(tenant_id=tenant_id).newest_first()
    return Lead.by_status(tenant_id=tenant_id, status=status).newest_first()


def consent(viewer: Viewer, *, visitor_id: Annotated[str, Doc("Identifier of the visitor.")]) -> Range[Consent]:
    """The visitor's current consent, or null. Needs no token, only the visitor's identifier."""
    return Consent.within(tenant_id=tenant_of(viewer), visitor_id=visitor_id).newest_first()


def consent_history(viewer: Viewer, *, visitor_id: Annotated[str, Doc("Identifier of the visitor.")]) -> Range[Consent]:
    """All consents of a visitor, newest first. Requires a staff role."""
    return Consent.within(tenant_id=staff_of(viewer), visitor_id=visitor_id).newest_first()
