"""Commands of webhooks: who may, what is refused, and what is never shown again."""

import asyncio

import pytest

from datastore.model.times import now
from datastore.webhooks import Webhook, WebhookCount, WebhookDelivery, WebhookDeliveryStatus, WebhookEvent
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.accounts.lifecycle import purge_account
from resolvers.webhooks.commands import MOST_HOOKS
from schema.http.settings import Settings
from tests.conftest import services_at
from tests.support.cms import EDITOR, staff
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of
from tests.support.receiver import answer
from tests.support.webhooks import CREATE, add_delivery, add_hook, deliveries, latest

UPDATE = mutation("updateWebhook", "webhook { url events activeSince disabledReason failureCount }")
DELETE = mutation("deleteWebhook", "deletedWebhookId")
ROTATE = mutation("rotateWebhookSecret", "webhook { id } secret")
TEST = mutation("sendTestWebhook", "delivery { id event status body }")
REDELIVER = mutation("redeliverWebhook", "delivery { id status attemptCount }")
URL = "https://hooks.example.org/in"
NO_WEBHOOK = problem("NOT_FOUND", "there is no such webhook", "input", "webhookId")
TENANT_ADMIN = staff("admin")

OWN = """query { viewer { webhooks { nodes { id url deliveries { nodes { event status webhook { id } } } } } } }"""


async def test_a_secret_is_shown_once(graph):
    ada = await graph.add_user("ada")

    asked = await graph.ask(
        CREATE, viewer_of(ada), input={"url": f" {URL} ", "events": ["POST_CREATED", "POST_CREATED"]}
    )

    payload = asked.data["createWebhook"]
    assert payload["webhook"]["url"] == URL
    assert payload["webhook"]["events"] == ["POST_CREATED"]
    (hook,) = (await graph.table.query(Webhook.within(owner_kind="USER", owner_id=ada.user_id), limit=2)).records
    assert payload["secret"] == hook.secret
    assert asked.calls == {"TransactWriteItems": 1}
    assert "secret" not in str((await graph.ask(OWN, viewer_of(ada))).data).lower()
    described = await graph.ask('query { __type(name: "Webhook") { fields { name } } }')
    names = {field["name"] for field in described.data["__type"]["fields"]}
    assert {name for name in names if "ecret" in name} == set()


async def test_a_repeated_request_shows_no_secret(graph):
    ada = await graph.add_user("ada")
    once = graph.with_key("0b8c6e1e-6f0e-4a55-9e8e-0c2d5f1a7b11")
    given = {"url": URL, "events": ["POST_CREATED"]}

    first, second = [await once.command(CREATE, viewer_of(ada), **given) for _ in range(2)]

    assert first["webhook"]["id"] == second["webhook"]["id"]
    assert first["secret"] is not None
    assert second["secret"] is None


async def test_a_rotation_returns_another_secret_and_keeps_the_former_one_for_a_day(graph):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)

    payload = await graph.command(ROTATE, viewer_of(ada), webhookId=id_of(hook))

    after = await latest(graph, hook)
    assert payload["secret"] == after.secret != hook.secret
    assert after.former_secret == hook.secret
    assert after.former_secret_until > now()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"url": "gopher://x"}, problem("INVALID", "a URL begins with https://", "input", "url")),
        ({"events": []}, problem("INVALID", "choose at least one event", "input", "events")),
        ({"events": ["TEST"]}, problem("INVALID", "tests come on request only; leave out TEST", "input", "events")),
        (
            {"events": ["LEAD_CREATED"]},
            problem("INVALID", "LEAD_CREATED: not an event of a user; see the enum WebhookEvent", "input", "events"),
        ),
    ],
)
async def test_what_cannot_work_is_refused(graph, given, expected):
    ada = await graph.add_user("ada")

    payload = await graph.command(CREATE, viewer_of(ada), **{"url": URL, "events": ["POST_CREATED"], **given})

    assert payload["problems"] == [expected]


async def test_private_addresses_are_refused_unless_only_this_machine_reaches_the_server(graph, endpoint, table_name):
    ada = await graph.add_user("ada")
    given = {"url": "http://localhost:3000/", "events": ["POST_CREATED"]}
    assert (await graph.command(CREATE, viewer_of(ada), **given))["problems"] == []

    settings = Settings(dynamodb_endpoint=endpoint, table_name=table_name, webhooks_allow_private="off")
    async with services_at(endpoint, settings) as services:
        payload = await Graph(services).command(CREATE, viewer_of(ada), **given)

    assert payload["problems"] == [problem("INVALID", "a URL begins with https://", "input", "url")]


async def test_an_owner_has_ten_webhooks_at_most_even_at_once(graph):
    ada = await graph.add_user("ada")
    given = {"url": URL, "events": ["POST_CREATED"]}

    made = await asyncio.gather(*(graph.command(CREATE, viewer_of(ada), **given) for _ in range(MOST_HOOKS + 4)))

    refusals = [payload["problems"] for payload in made if payload["problems"]]
    assert len(refusals) == 4
    kept = (await graph.table.query(Webhook.within(owner_kind="USER", owner_id=ada.user_id), limit=50)).records
    assert len(kept) == MOST_HOOKS
    payload = await graph.command(CREATE, viewer_of(ada), **given)
    assert payload["problems"] == [problem("INVALID", "you have 10 webhooks already; delete one first")]

    await graph.command(DELETE, viewer_of(ada), webhookId=id_of(kept[0]))
    assert (await graph.command(CREATE, viewer_of(ada), **given))["problems"] == []


async def test_webhooks_of_a_tenant_are_for_its_administrators(graph, website):
    await website.tenant("acme")
    given = {"url": URL, "events": ["LEAD_CREATED"], "forTenant": True}
    created = await graph.command(CREATE, TENANT_ADMIN, **given)
    webhook_id = created["webhook"]["id"]

    refused = await graph.command(CREATE, EDITOR, **given)
    assert [each["code"] for each in refused["problems"]] == ["FORBIDDEN"]
    wrong = await graph.command(CREATE, TENANT_ADMIN, **{**given, "events": ["POST_CREATED"]})
    assert wrong["problems"] == [
        problem("INVALID", "POST_CREATED: not an event of a tenant; see the enum WebhookEvent", "input", "events")
    ]
    query = "query { tenant { webhooks { nodes { id } } } }"
    assert (await graph.ask(query, TENANT_ADMIN)).data["tenant"]["webhooks"] == {"nodes": [{"id": webhook_id}]}
    assert (await graph.ask(query, EDITOR)).errors == [("tenant.webhooks", "FORBIDDEN")]
    assert (await graph.command(DELETE, EDITOR, webhookId=webhook_id))["problems"] == [NO_WEBHOOK]
    other = Viewer(user_id="ada", tenant_id="other", tenants=frozenset({("acme", "admin"), ("other", "admin")}))
    assert (await graph.command(DELETE, other, webhookId=webhook_id))["problems"] == [NO_WEBHOOK]
    strange = 'query { tenant(by: { databaseId: "acme" }) { webhooks { nodes { id } } } }'
    assert (await graph.ask(strange, other)).data == {"tenant": {"webhooks": None}}


async def test_changes_of_a_tenants_webhook_are_in_its_audit_log_without_secrets(graph, website):
    await website.tenant("acme")
    given = {"url": URL, "events": ["LEAD_CREATED"], "forTenant": True}
    created = await graph.command(CREATE, TENANT_ADMIN, **given)
    webhook_id = created["webhook"]["id"]
    await graph.command(UPDATE, TENANT_ADMIN, webhookId=webhook_id, description="Leads")
    await graph.command(ROTATE, TENANT_ADMIN, webhookId=webhook_id)
    await graph.command(DELETE, TENANT_ADMIN, webhookId=webhook_id)

    query = "query ($id: ID!) { auditLog(targetId: $id) { nodes { action target { databaseId title } before after } } }"
    entries = (await graph.ask(query, TENANT_ADMIN, id=webhook_id)).data["auditLog"]["nodes"]

    assert [entry["action"] for entry in entries] == [
        "deleteWebhook",
        "rotateWebhookSecret",
        "updateWebhook",
        "createWebhook",
    ]
    own_id = created["webhook"]["databaseId"]
    assert [entry["target"] for entry in entries] == [{"databaseId": own_id, "title": URL}] * 4
    assert (entries[2]["before"], entries[2]["after"]) == ({"description": None}, {"description": "Leads"})
    assert created["secret"] not in repr(entries)
    assert "ecret" not in repr([{**entry, "action": ""} for entry in entries]).replace("formerSecretUntil", "")


@pytest.mark.parametrize("command", [UPDATE, DELETE, ROTATE, TEST])
async def test_webhooks_of_others_are_not_found(graph, command):
    ada, eve = await graph.add_user("ada"), await graph.add_user("eve")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)

    assert (await graph.command(command, viewer_of(eve), webhookId=id_of(hook)))["problems"] == [NO_WEBHOOK]
    refused = await graph.command(command, ANONYMOUS, webhookId=id_of(hook))
    assert [each["code"] for each in refused["problems"]] == ["UNAUTHENTICATED"]
    assert await latest(graph, hook) == hook


async def test_others_see_neither_webhooks_nor_deliveries(graph, receiver):
    ada, eve = await graph.add_user("ada"), await graph.add_user("eve")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    tested = await graph.command(TEST, viewer_of(ada), webhookId=id_of(hook))
    ids = [id_of(hook), tested["delivery"]["id"]]
    nodes = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"

    assert (await graph.ask(nodes, viewer_of(ada), ids=ids)).data == {"nodes": [{"id": id} for id in ids]}
    assert (await graph.ask(nodes, viewer_of(eve), ids=ids)).data == {"nodes": [None, None]}
    theirs = 'query { user(by: { username: "ada" }) { webhooks { nodes { id } } } }'
    assert (await graph.ask(theirs, viewer_of(eve))).data == {"user": {"webhooks": None}}
    refused = await graph.command(REDELIVER, viewer_of(eve), deliveryId=ids[1])
    assert refused["problems"] == [problem("NOT_FOUND", "there is no such webhook delivery", "input", "deliveryId")]


async def test_a_test_arrives_once_even_at_a_disabled_webhook(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED, active_since=None)
    receiver.answers = [answer(500)]

    payload = await graph.command(TEST, viewer_of(ada), webhookId=id_of(hook))
    await graph.settle(jobs=True)

    assert (payload["delivery"]["event"], payload["delivery"]["status"]) == ("TEST", "PENDING")
    assert receiver.types == ["webhook.test"]
    assert receiver.received[0].body.decode() == payload["delivery"]["body"]
    (delivery,) = await deliveries(graph, hook)
    assert (delivery.status, delivery.attempt_count) == (WebhookDeliveryStatus.FAILED, 1)
    assert (await latest(graph, hook)).failure_count == 0


async def test_the_log_of_deliveries_is_two_queries_with_its_webhooks(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    await graph.command(TEST, viewer_of(ada), webhookId=id_of(hook))
    await graph.settle(jobs=True)

    asked = await graph.ask(OWN, viewer_of(ada))

    log = {"nodes": [{"event": "TEST", "status": "DELIVERED", "webhook": {"id": id_of(hook)}}]}
    shown = {"id": id_of(hook), "url": receiver.url, "deliveries": log}
    assert asked.data == {"viewer": {"webhooks": {"nodes": [shown]}}}
    assert asked.calls == {"GetItem": 1, "Query": 2}


async def test_a_delivery_is_sent_again_with_the_same_id(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    tested = await graph.command(TEST, viewer_of(ada), webhookId=id_of(hook))
    await graph.settle(jobs=True)

    payload = await graph.command(REDELIVER, viewer_of(ada), deliveryId=tested["delivery"]["id"])
    await graph.settle(jobs=True)

    assert (payload["delivery"]["status"], payload["delivery"]["attemptCount"]) == ("PENDING", 0)
    first, second = receiver.received
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    assert [each.status for each in await deliveries(graph, hook)] == [WebhookDeliveryStatus.DELIVERED]


async def test_a_delivery_that_waits_for_a_retry_can_be_sent_at_once(graph, receiver):
    """The job of the retry finds that it is no longer its turn."""
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    tested = await graph.command(TEST, viewer_of(ada), webhookId=id_of(hook))

    await graph.command(REDELIVER, viewer_of(ada), deliveryId=tested["delivery"]["id"])
    await graph.settle(jobs=True)

    assert len(receiver.received) == 1


async def test_enabling_a_webhook_forgets_its_failures(graph):
    ada = await graph.add_user("ada")
    state = {"active_since": None, "disabled_reason": "broken", "failing_since": now(), "failure_count": 30}
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED, **state)
    made = await add_delivery(graph, hook)

    early = await graph.command(REDELIVER, viewer_of(ada), deliveryId=id_of(made))
    payload = await graph.command(UPDATE, viewer_of(ada), webhookId=id_of(hook), enabled=True)
    later = await graph.command(REDELIVER, viewer_of(ada), deliveryId=id_of(made))

    assert early["problems"] == [problem("CONFLICT", "the webhook is disabled; enable it with `updateWebhook` first")]
    assert payload["webhook"]["activeSince"] is not None
    assert (payload["webhook"]["disabledReason"], payload["webhook"]["failureCount"]) == (None, 0)
    assert later["problems"] == []


async def test_an_edit_changes_what_was_given(graph):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)

    events = await graph.command(UPDATE, viewer_of(ada), webhookId=id_of(hook), events=["FOLLOW_CREATED"])
    url = await graph.command(UPDATE, viewer_of(ada), webhookId=id_of(hook), url="https://example.org/", enabled=False)

    assert (events["webhook"]["url"], events["webhook"]["events"]) == (URL, ["FOLLOW_CREATED"])
    assert (url["webhook"]["url"], url["webhook"]["activeSince"]) == ("https://example.org/", None)


async def left(graph: Graph, owner_id: str) -> int:
    kinds = (Webhook, WebhookDelivery, WebhookCount)
    pages = [await graph.table.query(kind.within(owner_kind="USER", owner_id=owner_id), limit=50) for kind in kinds]
    return sum(len(page.records) for page in pages)


async def test_a_deleted_webhook_takes_its_deliveries_along(graph, receiver):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    await graph.command(TEST, viewer_of(ada), webhookId=id_of(hook))

    payload = await graph.command(DELETE, viewer_of(ada), webhookId=id_of(hook))
    await graph.settle(jobs=True)

    assert payload["deletedWebhookId"] == id_of(hook)
    assert await left(graph, ada.user_id) == 0
    assert await graph.jobs() == []
    assert (await graph.command(DELETE, viewer_of(ada), webhookId=id_of(hook)))["problems"] == [NO_WEBHOOK]


async def test_a_purged_account_takes_its_webhooks_along(graph, receiver):
    ada = await graph.add_user("ada", deleted_at=now(), expires_at=1)
    hook = await add_hook(graph, ada, receiver.url, WebhookEvent.POST_CREATED)
    await add_delivery(graph, hook)

    await purge_account(graph.context().load, user_id=ada.user_id)

    assert await left(graph, ada.user_id) == 0
