"""Webhooks in the schema."""

import strawberry

from datastore import webhooks as stored
from resolvers.webhooks import commands, edges, processors
from schema.accounts import User
from schema.cms import Tenant
from schema.declare.commands import command
from schema.declare.connections import Connection
from schema.declare.edges import many, one
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, extend

PROCESSORS = (processors.deliver_webhooks,)


@expose(stored.Webhook)
class Webhook(Node):
    deliveries: Connection["WebhookDelivery"] = many(edges.deliveries)


@expose(stored.WebhookDelivery)
class WebhookDelivery(Node):
    webhook: Webhook | None = one(edges.webhook_of)


@extend(User)
class WebhooksOfUser:
    webhooks: Connection[Webhook] | None = many(edges.webhooks_of_user)


@extend(Tenant)
class WebhooksOfTenant:
    webhooks: Connection[Webhook] | None = many(edges.webhooks_of_tenant)


class WebhookPayload(Payload):
    webhook: Webhook | None = result("The webhook.")


class WebhookAndSecretPayload(Payload):
    webhook: Webhook | None = result("The webhook.")
    secret: str | None = result(
        "Secret of the signatures, shown only here. Null if the request was repeated: rotate the secret to get one."
    )


class DeleteWebhookPayload(Payload):
    deleted_webhook_id: strawberry.ID | None = result("ID of the deleted webhook.")


class WebhookDeliveryPayload(Payload):
    delivery: WebhookDelivery | None = result("The delivery.")


class Mutation:
    create_webhook: WebhookAndSecretPayload = command(commands.create_webhook, replay=commands.no_secret_again)
    update_webhook: WebhookPayload = command(commands.update_webhook)
    delete_webhook: DeleteWebhookPayload = command(commands.delete_webhook)
    rotate_webhook_secret: WebhookAndSecretPayload = command(
        commands.rotate_webhook_secret, replay=commands.no_secret_again
    )
    send_test_webhook: WebhookDeliveryPayload = command(commands.send_test_webhook)
    redeliver_webhook: WebhookDeliveryPayload = command(commands.redeliver_webhook)
