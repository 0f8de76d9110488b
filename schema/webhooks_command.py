"""`heartwood webhooks`: lists the webhooks of an owner, and sends tests."""

import argparse
import asyncio
import sys

from datastore.client.budget import Usage
from datastore.client.transport import Transport
from datastore.client.writes import Put, absent
from datastore.local import endpoint
from datastore.webhooks import TENANT, USER, HookOwner, Webhook
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.background.webhook_sender import WebhookSender
from resolvers.webhooks.commands import MOST_HOOKS, test_of
from resolvers.webhooks.deliveries import attempt, note
from resolvers.webhooks.edges import hooks_of
from schema.declare.errors import BadInput
from schema.declare.ids import global_id, key_of
from schema.http.settings import Settings

TIME = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the webhooks of a user or a tenant")
    whose = listing.add_mutually_exclusive_group(required=True)
    whose.add_argument("--user", metavar="ID", help="`databaseId` of the user")
    whose.add_argument("--tenant", metavar="ID", help="`databaseId` of the tenant")
    testing = actions.add_parser("send-test", help="send a test event from this machine and print the outcome")
    testing.add_argument("id", help="`id` of the webhook, as `list` prints it")


def run(arguments: argparse.Namespace) -> int:
    settings = Settings()
    with endpoint.chosen(settings) as where:
        return asyncio.run(_at(where, settings, arguments))


async def _at(where: endpoint.Place, settings: Settings, arguments: argparse.Namespace) -> int:
    transport = Transport(region=where.region, endpoint=where.endpoint, credentials=where.credentials)
    try:
        table = where.table(transport, settings.table_name, Usage.lasting(TIME))
        load = Loaders(table, ANONYMOUS, consistent=True)
        if arguments.action == "list":
            owner = HookOwner(USER, arguments.user) if arguments.user else HookOwner(TENANT, arguments.tenant)
            hooks = (await load.page(hooks_of(owner), MOST_HOOKS)).records
            print("".join(f"{_line(hook)}\n" for hook in hooks), end="")
            return 0
        sender = WebhookSender(allow_private=settings.allows_private_webhooks(local_table=where.is_local))
        try:
            return await _test(load, sender, arguments.id)
        finally:
            sender.close()
    finally:
        await transport.close()


def _line(hook: Webhook) -> str:
    state = "enabled" if hook.active_since else f"disabled: {hook.disabled_reason or 'by its owner'}"
    failing = f"  failing since {hook.failing_since}" if hook.failing_since else ""
    events = ",".join(event.value for event in hook.events)
    return f"{global_id(hook)}  {hook.url}  {events}  {state}{failing}"


async def _test(load: Loaders, sender: WebhookSender, webhook_id: str) -> int:
    try:
        key = key_of(Webhook, webhook_id)
    except BadInput as bad:
        print(bad, file=sys.stderr)
        return 2
    (hook,) = await load.fresh(key)
    if hook is None:
        print("there is no such webhook; `heartwood webhooks list` prints the IDs", file=sys.stderr)
        return 1
    delivery = test_of(hook).delivery
    await load.write(Put(delivery, when=absent()))
    answer = await attempt(sender, hook, delivery)
    await note(load, delivery, answer)
    outcome = "delivered" if answer.succeeded else f"failed: {answer.error}"
    print(f"{delivery.delivery_id}  {hook.url}  {answer.status or '-'}  {answer.duration} ms  {outcome}")
    return 0 if answer.succeeded else 1
