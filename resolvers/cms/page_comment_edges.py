"""Edges of page comments: the key or range each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cms import Content, PageComment, PageCommentStatus
from datastore.model.keys import Key, Range
from loaders.viewer import Viewer
from resolvers.cms.edges import content_key
from resolvers.cms.tenancy import is_staff, tenant_of
from resolvers.core.access import AccessRelation, AccessRole, access


def comments(content: Content) -> Range[PageComment]:
    """Comments on the page, oldest first. Visitors see approved comments only."""
    return PageComment.within(tenant_id=content.tenant_id, node_id=content.node_id)


def commented_content(comment: PageComment) -> Key[Content]:
    """The page. Null if the viewer may not see it."""
    return content_key(comment.tenant_id, comment.node_id)


@access(only=(AccessRelation.TENANT_STAFF,))
def author_email(comment: PageComment, viewer: Viewer) -> str | None:
    """Email address of the visitor."""
    return comment.author_email if is_staff(viewer) else None


@access(requires=AccessRole.TENANT_VIEWER)
def page_comments(
    viewer: Viewer,
    *,
    status: Annotated[
        PageCommentStatus, Doc("Returns only comments with this status. Defaults to PENDING.")
    ] = PageCommentStatus.PENDING,
) -> Range[PageComment]:
    """Comments on all pages, most recently updated first."""
    return PageComment.by_status(tenant_id=tenant_of(viewer), status=status).newest_first()
