"""Visibility rules of the CMS."""

from collections.abc import Callable
from typing import Any, TypeVar

from datastore.cms import (
    Asset,
    AuditEntry,
    Consent,
    Content,
    ContentStatus,
    ContentVersion,
    EditorialContext,
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
from datastore.model.entity import Entity
from loaders.needs import Step
from loaders.viewer import Viewer
from loaders.visibility import judged_at, shown_to_everyone, visibility
from resolvers.cms.edges import content_key
from resolvers.cms.tenancy import is_staff

shown_to_everyone(Tenant)

F = TypeVar("F", bound=Callable[[Any, Viewer], bool])


def of_tenant(entity: type[Entity]) -> Callable[[F], F]:
    """Declares a rule for an entity of a tenant: invisible in requests about another tenant."""

    def declare(rule: F) -> F:
        @visibility(entity)
        def visible(record: Any, viewer: Viewer) -> bool:
            return record.tenant_id == viewer.tenant_id and rule(record, viewer)

        return rule

    return declare


@of_tenant(Content)
def content_visible(content: Content, viewer: Viewer) -> bool:
    return content.status is ContentStatus.PUBLISHED or is_staff(viewer)


@of_tenant(Product)
def product_visible(product: Product, viewer: Viewer) -> bool:
    return product.status is ProductStatus.PUBLISHED or is_staff(viewer)


@visibility(Route)
def route_visible(route: Route, viewer: Viewer) -> Step[bool]:
    """A route, or a redirect, is as visible as its content: the path of a draft tells what is planned."""
    return (yield from _content_visible(route, viewer))


@visibility(PageComment)
def page_comment_visible(comment: PageComment, viewer: Viewer) -> Step[bool]:
    """Visitors see approved comments on published pages."""
    if comment.status is not PageCommentStatus.APPROVED and not is_staff(viewer):
        return False
    return (yield from _content_visible(comment, viewer))


def _content_visible(about: Route | PageComment, viewer: Viewer) -> Step[bool]:
    """Reads the content for outsiders only: the staff sees everything of its tenant."""
    if about.tenant_id != viewer.tenant_id or is_staff(viewer):
        return about.tenant_id == viewer.tenant_id
    found: list[Content | None] = yield from judged_at([content_key(about.tenant_id, about.node_id)], viewer)
    return found[0] is not None


@of_tenant(Asset)
@of_tenant(Consent)
def public(record: Asset | Consent, viewer: Viewer) -> bool:
    """Public on the website. A consent is found only by the visitor's identifier, which no one else knows."""
    return True


@of_tenant(ContentVersion)
@of_tenant(EditorialContext)
@of_tenant(Resource)
@of_tenant(Signal)
@of_tenant(Lead)
def for_staff(record: ContentVersion | EditorialContext | Resource | Signal | Lead, viewer: Viewer) -> bool:
    return is_staff(viewer)


@of_tenant(AuditEntry)
def audit_entry_visible(entry: AuditEntry, viewer: Viewer) -> bool:
    return is_staff(viewer, "admin")
