"""The content system: tenants, their content with all its versions, routes, and what else a website is made of.

Everything but Tenant is in its tenant's partition: there is no key without the tenant.
"""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, Value, field
from datastore.model.enums import Choice


class Tenant(Entity, pk="SYSTEM", sk="TENANT#{tenant_id}", gsi1=("DOMAIN#{domain}", "TENANT#{tenant_id}")):
    """Somebody with websites of their own, apart from everybody else's."""

    tenant_id: str = field("The permanent identifier: what `x-tenant-id` says.")
    name: str = field("What they are called.")
    domain: str | None = field("The first of the domains.", default=None, private=True)
    domains: list[str] = field("The host names of their websites.", default_factory=list)
    config: JSON | None = field(
        "Their settings; null unless one is on their staff or a system administrator.",
        default=None,
        compressed=True,
        private=True,
    )


class ContentStatus(Choice):
    """How far content has come."""

    DRAFT = "DRAFT", "Being written; staff only."
    IN_REVIEW = "IN_REVIEW", "Waits for somebody's approval; staff only."
    PUBLISHED = "PUBLISHED", "On the website."
    ARCHIVED = "ARCHIVED", "Kept, and no longer on the website; staff only."


class Content(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="CONTENT#{node_id}#LATEST",
    gsi2=("TENANT#{tenant_id}#TYPE#CONTENT", "{updated_at}#{node_id}"),
    gsi3=("TENANT#{tenant_id}#STATUS#{status}", "{updated_at}#{node_id}"),
    gsi4=("TENANT#{tenant_id}#CONTENT#{content_type}#{status}", "{updated_at}#{node_id}"),
):
    """A page, or another piece of content, as it is now."""

    tenant_id: str = field("Whose it is.")
    node_id: str = field("The permanent identifier.")
    content_type: str = field("What kind of content it is, such as page or article.")
    title: str = field("What it is called.")
    status: ContentStatus = field("How far it has come.", default=ContentStatus.DRAFT)
    version: int = field("Goes up with every change; for `expectedVersion`.", default=1)
    slug: str | None = field("Its address on the website, if it has one.", default=None)
    old_slugs: list[str] = field("The addresses that redirect to it.", default_factory=list, private=True)
    author_id: str = field("Who made this version.")
    message: str | None = field("What its author says about the change; staff only.", default=None, private=True)
    blocks: JSON = field("What it consists of: a JSON list.", compressed=True, heavy=True)


class ContentVersion(Entity, pk="TENANT#{tenant_id}", sk="CONTENT#{node_id}#v{version}"):
    """Content as it was at one of its versions, from `updatedAt` on."""

    tenant_id: str = field("Whose it is.")
    node_id: str = field("The content.")
    version: int = field("Which version it is, from 1.")
    content_type: str = field("What kind of content it was.")
    title: str = field("What it was called.")
    status: ContentStatus = field("How far it had come.")
    author_id: str = field("Who made this version.")
    message: str | None = field("What its author said about the change.", default=None)
    blocks: JSON = field("What it consisted of: a JSON list.", compressed=True, heavy=True)


class Route(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="ROUTE#{slug}",
    gsi2=("TENANT#{tenant_id}#TYPE#ROUTE", "{slug}"),
):
    """An address on a website: where content is, or where it used to be."""

    tenant_id: str = field("Whose it is.")
    slug: str = field("The address, from its first slash.")
    node_id: str = field("The content it leads to.")
    is_redirect: bool = field("Whether the content has moved.", default=False)
    target: str | None = field("Where it has moved to.", default=None)


class ProductStatus(Choice):
    """Whether a product is on offer."""

    DRAFT = "DRAFT", "Being prepared; staff only."
    PUBLISHED = "PUBLISHED", "On offer."
    ARCHIVED = "ARCHIVED", "No longer on offer; staff only."


class Product(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="PRODUCT#{product_id}",
    gsi2=("TENANT#{tenant_id}#TYPE#PRODUCT", "{updated_at}#{product_id}"),
    gsi3=("TENANT#{tenant_id}#STATUS#{status}", "PRODUCT#{updated_at}#{product_id}"),
):
    """Something on offer."""

    tenant_id: str = field("Whose it is.")
    product_id: str = field("The permanent identifier.")
    title: str = field("What it is called.")
    status: ProductStatus = field("Whether it is on offer.", default=ProductStatus.DRAFT)
    sku: str | None = field("What it is called in the shop's own books.", default=None)
    price: int | None = field("What it costs, in the smallest unit of the currency.", default=None)
    currency: str | None = field("The currency of the price, such as EUR.", default=None)
    description: str | None = field("What there is to say about it.", default=None, compressed=True, heavy=True)
    data: JSON | None = field("Whatever else: a JSON object.", default=None, compressed=True, heavy=True)


class Asset(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="ASSET#{asset_id}",
    gsi2=("TENANT#{tenant_id}#TYPE#ASSET", "{updated_at}#{asset_id}"),
):
    """A picture or another file."""

    tenant_id: str = field("Whose it is.")
    asset_id: str = field("The permanent identifier.")
    title: str = field("What it is called.")
    url: str = field("Where it is.")
    media_type: str | None = field("What it is, such as image/png.", default=None)
    size: int | None = field("How large it is, in bytes.", default=None)
    alt: str | None = field("What it shows, for those who do not see it.", default=None)


class Resource(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="RESOURCE#{resource_id}",
    gsi2=("TENANT#{tenant_id}#TYPE#RESOURCE", "{updated_at}#{resource_id}"),
):
    """Something the staff works with, such as a document or a checklist."""

    tenant_id: str = field("Whose it is.")
    resource_id: str = field("The permanent identifier.")
    title: str = field("What it is called.")
    kind: str = field("What kind of resource it is.")
    url: str | None = field("Where it is, if it is on the web.", default=None)
    data: JSON | None = field("What it holds: a JSON object.", default=None, compressed=True, heavy=True)


class Context(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="CONTEXT#{context_id}",
    gsi2=("TENANT#{tenant_id}#TYPE#CONTEXT", "{updated_at}#{context_id}"),
):
    """What there is to know for those who write: a voice, an audience, a campaign."""

    tenant_id: str = field("Whose it is.")
    context_id: str = field("The permanent identifier.")
    title: str = field("What it is called.")
    data: JSON | None = field("What there is to know: a JSON object.", default=None, compressed=True, heavy=True)


class SignalStatus(Choice):
    """What was done about a signal."""

    OPEN = "OPEN", "Nothing yet."
    ACKNOWLEDGED = "ACKNOWLEDGED", "Somebody has seen it."
    CLOSED = "CLOSED", "It is over."


class Signal(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="SIGNAL#{signal_id}",
    gsi2=("TENANT#{tenant_id}#TYPE#SIGNAL", "{updated_at}#{signal_id}"),
    gsi3=("TENANT#{tenant_id}#STATUS#{status}", "SIGNAL#{updated_at}#{signal_id}"),
):
    """Something that happened which the staff should know of."""

    tenant_id: str = field("Whose it is.")
    signal_id: str = field("The permanent identifier.")
    title: str = field("What happened.")
    kind: str = field("What kind of thing it is.")
    status: SignalStatus = field("What was done about it.", default=SignalStatus.OPEN)
    data: JSON | None = field("What is known about it: a JSON object.", default=None, compressed=True, heavy=True)


class PageCommentStatus(Choice):
    """Whether a comment is on the page."""

    PENDING = "PENDING", "Waits for the staff; staff only."
    APPROVED = "APPROVED", "On the page."
    REJECTED = "REJECTED", "Not on the page; staff only."
    SPAM = "SPAM", "Not worth keeping; staff only."


class PageComment(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="COMMENT#{node_id}#{created_at}",
    gsi3=("TENANT#{tenant_id}#STATUS#{status}", "COMMENT#{updated_at}#{node_id}#{created_at}"),
):
    """What a visitor says about a page."""

    tenant_id: str = field("Whose page it is.")
    node_id: str = field("The page.")
    author_name: str = field("Who says it, by their own account.")
    author_email: str | None = field("Their e-mail address; staff only.", default=None, private=True)
    body: str = field("What they say.")
    status: PageCommentStatus = field("Whether it is on the page.", default=PageCommentStatus.PENDING)


class LeadStatus(Choice):
    """What came of somebody's interest."""

    NEW = "NEW", "Nobody has answered yet."
    CONTACTED = "CONTACTED", "Somebody has."
    QUALIFIED = "QUALIFIED", "It may become something."
    WON = "WON", "It did."
    LOST = "LOST", "It did not."


class Lead(
    Entity,
    pk="TENANT#{tenant_id}",
    sk="LEAD#{email}",
    gsi2=("TENANT#{tenant_id}#TYPE#LEAD", "{updated_at}#{email}"),
    gsi3=("TENANT#{tenant_id}#STATUS#{status}", "LEAD#{updated_at}#{email}"),
):
    """Somebody who is interested; one for each e-mail address."""

    tenant_id: str = field("Whose offer it is.")
    email: str = field("Their e-mail address.")
    name: str | None = field("Who they are.", default=None)
    status: LeadStatus = field("What came of it.", default=LeadStatus.NEW)
    source: str | None = field("Where they came from.", default=None)
    data: JSON | None = field("What else is known: a JSON object.", default=None, compressed=True, heavy=True)


class Consent(Entity, pk="TENANT#{tenant_id}", sk="CONSENT#{visitor_id}#{created_at}"):
    """What a visitor agreed to, from then on until the next one."""

    tenant_id: str = field("Whose website it was.")
    visitor_id: str = field("The visitor, by the identifier the website gave them.")
    purposes: list[str] = field("What they agreed to, such as analytics; nothing if it is empty.", default_factory=list)
    policy_version: str | None = field("The text they agreed to.", default=None)


class Actor(Value):
    """Who did something."""

    user_id: str | None = field("The identifier in their token; null for a visitor.", default=None)
    email: str | None = field("Their e-mail address, where it is known.", default=None)


class Target(Value):
    """What something was done to."""

    type: str = field("What kind of thing it is.")
    id: str = field("The permanent identifier.")
    title: str = field("What it is called.")


class AuditEntry(Entity, pk="TENANT#{tenant_id}", sk="AUDIT#{created_at}#{entry_id}"):
    """Something that was done; never changed and never deleted."""

    tenant_id: str = field("Where it was done.")
    entry_id: str = field("The permanent identifier.")
    actor: Actor = field("Who did it.")
    action: str = field("The command that did it.")
    target: Target = field("What it was done to.")
    before: JSON | None = field(
        "What changed, as it was; null for what is new.", default=None, compressed=True, heavy=True
    )
    after: JSON | None = field(
        "What changed, as it became; null for what is gone.", default=None, compressed=True, heavy=True
    )
