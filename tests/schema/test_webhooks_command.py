"""`heartwood webhooks`."""

import asyncio

from datastore.webhooks import WebhookDeliveryStatus, WebhookEvent
from tests.support.command_line import Done, heartwood
from tests.support.graph import Graph, id_of
from tests.support.receiver import a_receiver, answer
from tests.support.webhooks import add_hook, deliveries

URL = "https://hooks.example.org/"


async def run(graph: Graph, endpoint: str, *arguments: str, **variables: str) -> Done:
    given = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": graph.table.name, **variables}
    return await asyncio.to_thread(heartwood, "webhooks", *arguments, **given)


async def test_webhooks_of_an_owner_are_listed(graph, endpoint, website):
    ada = await graph.add_user("ada")
    await website.tenant("acme")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED, WebhookEvent.FOLLOW_CREATED)
    other = await add_hook(
        graph, "acme", URL, WebhookEvent.LEAD_CREATED, active_since=None, disabled_reason="it is gone"
    )

    of_ada, of_acme = (
        await run(graph, endpoint, "list", "--user", ada.user_id),
        await run(graph, endpoint, "list", "--tenant", "acme"),
    )

    assert of_ada == Done(0, f"{id_of(hook)}  {URL}  post.created,follow.created  enabled\n", "")
    assert of_acme == Done(0, f"{id_of(other)}  {URL}  lead.created  disabled: it is gone\n", "")


async def test_a_test_is_sent_and_its_outcome_printed(graph, endpoint):
    ada = await graph.add_user("ada")
    async with a_receiver() as receiver:
        hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
        receiver.answers = [answer(204), answer(500)]

        done, failed = [
            await run(graph, endpoint, "send-test", id_of(hook), WEBHOOKS_ALLOW_PRIVATE="on") for _ in range(2)
        ]

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(" ms  delivered\n")
        assert failed.returncode == 1
        assert failed.stdout.endswith(" ms  failed: the receiver answered 500\n")
        assert receiver.types == ["webhook.test"] * 2
    assert [each.status for each in await deliveries(graph, hook)] == [
        WebhookDeliveryStatus.DELIVERED,
        WebhookDeliveryStatus.FAILED,
    ]


async def test_a_private_receiver_is_refused(graph, endpoint):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, "https://127.0.0.1/", WebhookEvent.POST_CREATED)

    done = await run(graph, endpoint, "send-test", id_of(hook), WEBHOOKS_ALLOW_PRIVATE="off")

    assert done.returncode == 1
    assert "failed: the address 127.0.0.1 is not public" in done.stdout


async def test_an_unknown_webhook_is_refused(graph, endpoint):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)
    await graph.table.batch_write(deletes=[hook.own_key])

    gone, wrong = await run(graph, endpoint, "send-test", id_of(hook)), await run(graph, endpoint, "send-test", "x")

    assert gone == Done(1, "", "there is no such webhook; `heartwood webhooks list` prints the IDs\n")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "'x' is not an id; use the field `id` of something this API returned\n",
    )
