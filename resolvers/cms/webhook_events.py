"""Events of tenants that webhooks are told about."""

from datastore.cms import Content, ContentStatus, Lead, PageComment
from datastore.webhooks import WebhookEvent
from resolvers.cms.edges import content_key
from resolvers.webhooks.events import tells, tenant

CONTENT_FIELDS = ("node_id", "content_type", "title", "status", "version", "slug", "updated_at")

tells(
    WebhookEvent.CONTENT_CHANGED,
    Content,
    at=lambda content: content.updated_at,
    told=tenant(),
    fields=CONTENT_FIELDS,
)
tells(
    WebhookEvent.CONTENT_PUBLISHED,
    Content,
    at=lambda content: content.updated_at if content.status is ContentStatus.PUBLISHED else None,
    told=tenant(),
    fields=CONTENT_FIELDS,
)
tells(
    WebhookEvent.PAGE_COMMENT_CREATED,
    PageComment,
    at=lambda comment: comment.created_at,
    told=tenant(),
    fields=("author_name", "body", "status", "created_at"),
    links={"contentId": lambda comment: content_key(comment.tenant_id, comment.node_id)},
)
tells(
    WebhookEvent.LEAD_CREATED,
    Lead,
    at=lambda lead: lead.created_at,
    told=tenant(),
    fields=("email", "name", "status", "source", "created_at"),
)
