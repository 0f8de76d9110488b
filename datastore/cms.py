"""The multi-tenant CMS: entities for tenants, content and its versions, routes, catalog records and visitors.

Every entity but Tenant lives in its tenant's partition, so no key exists without a tenant.
"""

from datastore.model.codec import JSON, BigInt
from datastore.model.entity import Entity, field, own_id
from datastore.model.enums import Choice
from datastore.model.keys import indexable
from datastore.model.ownership import nobody, part_of
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4
from datastore.security import AuditActor, AuditTarget, target_key


class Tenant(
    Entity,
    pk="SYSTEM",
    sk="TENANT#{tenant_id}",
    owner=nobody("an organization outlives the accounts of its staff"),
):
    """A customer with websites of its own, isolated from all other tenants."""

    by_domain = gsi1("DOMAIN#{domain}", "TENANT#{tenant_id}")

    tenant_id: str = own_id("Permanent identifier, sent in the `x-tenant-id` header.")
    name: str = field("Display name.")
    domain: str | None = field("Primary domain.", default=None, private=True)
    domains: list[str] = field("Host names of its websites.", default_factory=list)
    config: JSON | None = field(
        "Settings as JSON. Null unless the viewer is on its staff or a system administrator.",
        default=None,
        compressed=True,
        private=True,
    )


class ContentStatus(Choice):
    """Publication status of content."""

    DRAFT = "DRAFT", "Work in progress. Visible to staff only."
    IN_REVIEW = "IN_REVIEW", "Waiting for approval. Visible to staff only."
    PUBLISHED = "PUBLISHED", "Public."
    ARCHIVED = "ARCHIVED", "Unpublished and kept. Visible to staff only."


class Content(Entity, pk="TENANT#{tenant_id}", sk="CONTENT#{node_id}#LATEST", owner=part_of(Tenant)):
    """The latest version of a page or another piece of content."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#CONTENT", "{updated_at}#{node_id}")
    by_status = gsi3("TENANT#{tenant_id}#STATUS#{status}", "{updated_at}#{node_id}")
    by_type = gsi4("TENANT#{tenant_id}#CONTENT#{content_type}#{status}", "{updated_at}#{node_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    node_id: str = own_id()
    content_type: str = field("Type of content, such as page or article.")
    title: str = field("Title.")
    status: ContentStatus = field("Publication status.", default=ContentStatus.DRAFT)
    version: int = field("Increments on every change. Pass it as `expectedVersion`.", default=1)
    slug: str | None = field("Path on the website, if it has one.", default=None)
    old_slugs: list[str] = field("Former paths that redirect to it.", default_factory=list, private=True)
    author_id: str = field(
        "`databaseId` of the author of this version, who may have no account here.", shown_as="author_database_id"
    )
    message: str | None = field("Change message of this version. Visible to staff only.", default=None, private=True)
    blocks: JSON = field("Content blocks as a JSON list.", compressed=True, heavy=True)


class ContentVersion(Entity, pk="TENANT#{tenant_id}", sk="CONTENT#{node_id}#v{version}", owner=part_of(Tenant)):
    """A version of content, valid from `updatedAt`."""

    tenant_id: str = field("ID of the tenant.", private=True)
    node_id: str = field("ID of the content.", private=True)
    version: int = field("Version number, starting at 1.")
    content_type: str = field("Type of content.")
    title: str = field("Title at this version.")
    status: ContentStatus = field("Publication status at this version.")
    author_id: str = field(
        "`databaseId` of the author of this version, who may have no account here.", shown_as="author_database_id"
    )
    message: str | None = field("Change message of this version.", default=None)
    blocks: JSON = field("Content blocks as a JSON list.", compressed=True, heavy=True)


class Route(Entity, pk="TENANT#{tenant_id}", sk="ROUTE#{slug}", owner=part_of(Tenant)):
    """A path on a website that leads to content or redirects to its new path."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#ROUTE", "{slug}")

    tenant_id: str = field("ID of the tenant.", private=True)
    slug: str = field("Path, starting with a slash.")
    node_id: str = field("ID of the content.", private=True)
    is_redirect: bool = field("True if the content has moved.", default=False)
    target: str | None = field("New path of content that has moved.", default=None)


class ProductStatus(Choice):
    """Publication status of a product."""

    DRAFT = "DRAFT", "Work in progress. Visible to staff only."
    PUBLISHED = "PUBLISHED", "For sale."
    ARCHIVED = "ARCHIVED", "No longer for sale. Visible to staff only."


class Product(Entity, pk="TENANT#{tenant_id}", sk="PRODUCT#{product_id}", owner=part_of(Tenant)):
    """A product in the tenant's catalog."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#PRODUCT", "{updated_at}#{product_id}")
    by_status = gsi3("TENANT#{tenant_id}#STATUS#{status}", "PRODUCT#{updated_at}#{product_id}")
    by_price = gsi4("TENANT#{tenant_id}#PRICE#{status}", "{currency}#{price:016d}#{product_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    product_id: str = own_id()
    title: str = field("Title.")
    status: ProductStatus = field("Publication status.", default=ProductStatus.DRAFT)
    sku: str | None = field("Stock keeping unit.", default=None)
    price: BigInt | None = field("Price in the smallest unit of the currency.", default=None, private=True)
    currency: str | None = field("Currency code, such as EUR.", default=None, private=True)
    description: str | None = field("Description.", default=None, compressed=True, heavy=True)
    data: JSON | None = field("Further attributes as a JSON object.", default=None, compressed=True, heavy=True)


class Asset(Entity, pk="TENANT#{tenant_id}", sk="ASSET#{asset_id}", owner=part_of(Tenant)):
    """An image or another file."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#ASSET", "{updated_at}#{asset_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    asset_id: str = own_id()
    title: str = field("Title.")
    url: str = field("URL of the file.")
    media_type: str | None = field("Media type, such as image/png.", default=None)
    size: BigInt | None = field("Size in bytes.", default=None)
    alt: str | None = field("Alternative text.", default=None)


class Resource(Entity, pk="TENANT#{tenant_id}", sk="RESOURCE#{resource_id}", owner=part_of(Tenant)):
    """A working document of the staff, such as a guideline or a checklist."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#RESOURCE", "{updated_at}#{resource_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    resource_id: str = own_id()
    title: str = field("Title.")
    kind: str = field("Kind of resource.")
    url: str | None = field("URL, if it is on the web.", default=None)
    data: JSON | None = field("Content as a JSON object.", default=None, compressed=True, heavy=True)


class EditorialContext(
    Entity, pk="TENANT#{tenant_id}", sk="CONTEXT#{context_id}", owner=part_of(Tenant), formerly="Context"
):
    """Background for authors: a voice, an audience or a campaign."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#CONTEXT", "{updated_at}#{context_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    context_id: str = own_id()
    title: str = field("Title.")
    data: JSON | None = field("Content as a JSON object.", default=None, compressed=True, heavy=True)


class SignalStatus(Choice):
    """Processing status of a signal."""

    OPEN = "OPEN", "Not handled yet."
    ACKNOWLEDGED = "ACKNOWLEDGED", "Seen by the staff."
    CLOSED = "CLOSED", "Handled."


class Signal(Entity, pk="TENANT#{tenant_id}", sk="SIGNAL#{signal_id}", owner=part_of(Tenant)):
    """An event the staff should know about."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#SIGNAL", "{updated_at}#{signal_id}")
    by_status = gsi3("TENANT#{tenant_id}#STATUS#{status}", "SIGNAL#{updated_at}#{signal_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    signal_id: str = own_id()
    title: str = field("Summary of the event.")
    kind: str = field("Kind of signal.")
    status: SignalStatus = field("Processing status.", default=SignalStatus.OPEN)
    data: JSON | None = field("Details as a JSON object.", default=None, compressed=True, heavy=True)


class PageCommentStatus(Choice):
    """Moderation status of a comment."""

    PENDING = "PENDING", "Waiting for moderation. Visible to staff only."
    APPROVED = "APPROVED", "Public."
    REJECTED = "REJECTED", "Rejected. Visible to staff only."
    SPAM = "SPAM", "Marked as spam. Visible to staff only."


class PageComment(Entity, pk="TENANT#{tenant_id}", sk="COMMENT#{node_id}#{created_at}", owner=part_of(Tenant)):
    """A visitor's comment on a page."""

    by_status = gsi3("TENANT#{tenant_id}#STATUS#{status}", "COMMENT#{updated_at}#{node_id}#{created_at}")

    tenant_id: str = field("ID of the tenant.", private=True)
    node_id: str = field("ID of the page.", private=True)
    author_name: str = field("Name the visitor gave.")
    author_email: str | None = field("Email address of the visitor. Visible to staff only.", default=None, private=True)
    body: str = field("Text of the comment.")
    status: PageCommentStatus = field("Moderation status.", default=PageCommentStatus.PENDING)


class LeadStatus(Choice):
    """Status of a lead."""

    NEW = "NEW", "Not contacted yet."
    CONTACTED = "CONTACTED", "Contacted."
    QUALIFIED = "QUALIFIED", "Likely to become a customer."
    WON = "WON", "Became a customer."
    LOST = "LOST", "Did not become a customer."


class Lead(Entity, pk="TENANT#{tenant_id}", sk="LEAD#{email}", owner=part_of(Tenant)):
    """A potential customer, one per email address."""

    of_tenant = gsi2("TENANT#{tenant_id}#TYPE#LEAD", "{updated_at}#{email}")
    by_status = gsi3("TENANT#{tenant_id}#STATUS#{status}", "LEAD#{updated_at}#{email}")

    tenant_id: str = field("ID of the tenant.", private=True)
    email: str = field("Email address.")
    name: str | None = field("Name.", default=None)
    status: LeadStatus = field("Status.", default=LeadStatus.NEW)
    source: str | None = field("Source of the lead.", default=None)
    data: JSON | None = field("Further details as a JSON object.", default=None, compressed=True, heavy=True)


class Consent(Entity, pk="TENANT#{tenant_id}", sk="CONSENT#{visitor_id}#{created_at}", owner=part_of(Tenant)):
    """A visitor's consent, valid until the next one is recorded."""

    tenant_id: str = field("ID of the tenant.", private=True)
    visitor_id: str = field("Key the website assigned to the visitor.", shown_as="visitor_key")
    purposes: list[str] = field("Purposes consented to, such as analytics. Empty if none.", default_factory=list)
    policy_version: str | None = field("Version of the policy consented to.", default=None)


class AuditEntry(Entity, pk="TENANT#{tenant_id}", sk="AUDIT#{created_at}#{entry_id}", owner=part_of(Tenant)):
    """An entry in the audit log of a tenant: a change, or security events of an hour. Kept forever."""

    by_actor = gsi1("TENANT#{tenant_id}#ACTOR#{actor_id}", "{created_at}#{entry_id}")
    by_action = gsi2("TENANT#{tenant_id}#ACTION#{action}", "{created_at}#{entry_id}")
    by_target = gsi3("TENANT#{tenant_id}#TARGET#{target_key}", "{created_at}#{entry_id}")

    tenant_id: str = field("ID of the tenant.", private=True)
    entry_id: str = own_id()
    actor: AuditActor = field("The author of the action.")
    action: str = field("Name of the mutation or of the security event, such as updateContent or roleUsed.")
    target: AuditTarget = field("The record that was changed, or that a security event is about.")
    before: JSON | None = field(
        "Changed attributes before the action. Null for a new record.", default=None, compressed=True, heavy=True
    )
    after: JSON | None = field(
        "Changed attributes after the action. Null for a deleted record.", default=None, compressed=True, heavy=True
    )
    blocks: JSON | None = field(
        "Changes of content blocks: `fromVersion`, `toVersion` and `changes`, each with `kind`, `path`, `old` and "
        "`new`. A large diff has `summary` instead of `changes`; the versions have the blocks. Null if none changed.",
        default=None,
        compressed=True,
        heavy=True,
    )
    count: int = field("Number of times, for security events: they are counted by the hour.", default=1)
    details: JSON | None = field("Details of a security event, such as the role.", default=None)
    actor_id: str | None = field("User ID of the actor, for the index.", default=None, private=True)
    target_key: str | None = field("Type and ID of the record, for the index.", default=None, private=True)

    def __post_init__(self) -> None:
        self.__dict__["actor_id"] = indexable(self.actor.user_id)
        self.__dict__["target_key"] = indexable(target_key(self.target.type, self.target.id))
