"""Changes become deliveries: once, to those that asked for them, with what they may see."""

from datetime import UTC, datetime, timedelta

import orjson

from datastore.changes.change import Change, What
from datastore.client.budget import Usage
from datastore.model.times import as_time, now
from datastore.social import Post
from datastore.webhooks import WebhookDeliveryStatus, WebhookEvent
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.webhooks.events import RULES, tenant_events
from resolvers.webhooks.processors import deliver_webhooks
from tests.resolvers.cards.card_mutations import CREATE as CREATE_CARD
from tests.resolvers.cards.card_mutations import new as new_card
from tests.support.cms import EDITOR, VISITOR, command
from tests.support.graph import Graph, id_of, mutation, viewer_of
from tests.support.social import COMMENT, CREATE, DELETE, FOLLOW
from tests.support.webhooks import add_hook, deliveries

PICTURE = "https://pictures.example.org/1.png"
URL = "https://hooks.example.org/"


async def post_by(graph: Graph, user) -> str:
    payload = await graph.command(CREATE, viewer_of(user), imageUrl=PICTURE, caption="Hello")
    return payload["post"]["id"]


async def jobs(graph: Graph) -> list[str]:
    return [job.job_id for job in await graph.jobs()]


def test_every_event_is_declared_once():
    declared = [rule.event for rules in RULES.values() for rule in rules]

    assert sorted(event.value for event in [*declared, WebhookEvent.TEST]) == sorted(e.value for e in WebhookEvent)
    assert {event.name for event in tenant_events()} == {
        "CONTENT_CHANGED",
        "CONTENT_PUBLISHED",
        "LEAD_CREATED",
        "PAGE_COMMENT_CREATED",
    }


async def test_a_change_is_one_delivery_with_one_job(graph):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)
    deaf = await add_hook(graph, ada, URL, WebhookEvent.FOLLOW_CREATED)

    post_id = await post_by(graph, ada)
    await graph.settle()

    (delivery,) = await deliveries(graph, hook)
    post = await graph.ask("query ($id: ID!) { node(id: $id) { ... on Post { createdAt databaseId } } }", id=post_id)
    created_at, database_id = post.data["node"]["createdAt"], post.data["node"]["databaseId"]
    assert delivery.status is WebhookDeliveryStatus.PENDING
    assert delivery.created_at == created_at
    assert orjson.loads(delivery.body) == {
        "type": "post.created",
        "timestamp": created_at,
        "data": {
            "id": post_id,
            "databaseId": database_id,
            "imageUrl": PICTURE,
            "caption": "Hello",
            "createdAt": created_at,
        },
    }
    assert await jobs(graph) == [delivery.delivery_id]
    assert await deliveries(graph, deaf) == []


async def test_a_change_that_is_processed_again_makes_no_second_delivery(graph):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)
    post = Post(post_id="p", user_id=ada.user_id, image_url=PICTURE)
    await graph.table.put(post)
    load = Loaders(graph.table, ANONYMOUS, consistent=True)
    changes = [Change(post.own_key, What.INSERTED, now()), Change(post.own_key, What.CHANGED, now())]

    for _ in range(3):
        await deliver_webhooks(load, changes)

    (delivery,) = await deliveries(graph, hook)
    assert await jobs(graph) == [delivery.delivery_id]


async def test_a_later_change_of_an_old_record_is_no_event(graph):
    ada = await graph.add_user("ada")
    hook = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED)
    old = as_time(datetime.now(UTC) - timedelta(days=2))
    post = Post(post_id="p", user_id=ada.user_id, image_url=PICTURE, created_at=old)
    await graph.table.put(post)
    load = Loaders(graph.table, ANONYMOUS, consistent=True)

    await deliver_webhooks(load, [Change(post.own_key, What.CHANGED, now())])
    assert await deliveries(graph, hook) == []

    # The same change, processed late.
    await deliver_webhooks(load, [Change(post.own_key, What.INSERTED, old)])
    assert len(await deliveries(graph, hook)) == 1


async def test_events_before_a_webhook_was_enabled_are_not_sent(graph):
    ada = await graph.add_user("ada")
    await post_by(graph, ada)
    late = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED, active_since=now())
    disabled = await add_hook(graph, ada, URL, WebhookEvent.POST_CREATED, active_since=None)
    await graph.settle()

    assert await deliveries(graph, late) == []
    assert await deliveries(graph, disabled) == []


async def test_users_are_told_what_concerns_them(graph, workshop):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    wood = await workshop.category("wood")
    events = [event for event in WebhookEvent if event not in tenant_events()]
    adas, bobs = [await add_hook(graph, user, URL, *events) for user in (ada, bob)]

    post_id = await post_by(graph, ada)
    comment = await graph.command(COMMENT, viewer_of(bob), postId=post_id, content="Nice.")
    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))
    card = await graph.command(CREATE_CARD, viewer_of(ada), **new_card(wood, publish=True, instructions=["Rub."]))
    card_id = card["card"]["id"]
    add = mutation("addCardComment", "comment { id }")
    card_comment = await graph.command(add, viewer_of(bob), cardId=card_id, content="Good.")
    await graph.settle()
    await graph.command(DELETE, viewer_of(ada), postId=post_id)
    await graph.settle()

    sent = {(body := orjson.loads(each.body))["type"]: body["data"] for each in await deliveries(graph, adas)}
    assert sent.keys() == {
        "post.created",
        "comment.created",
        "follow.created",
        "card.published",
        "cardComment.created",
        "post.deleted",
    }
    assert sent["comment.created"]["id"] == comment["comment"]["id"]
    assert sent["comment.created"]["authorId"] == id_of(bob)
    assert sent["comment.created"]["postId"] == post_id
    assert sent["follow.created"]["followerId"] == id_of(bob)
    assert sent["card.published"]["id"] == card_id
    assert sent["card.published"]["difficulty"] == "EXPERT"
    assert sent["cardComment.created"]["id"] == card_comment["comment"]["id"]
    assert sent["post.deleted"] == {"id": post_id, "databaseId": sent["post.created"]["databaseId"]}
    assert await deliveries(graph, bobs) == []


async def test_tenants_are_told_what_concerns_them(graph, website):
    await website.tenant("acme")
    await website.tenant("other")
    hook, strange = [await add_hook(graph, name, URL, *tenant_events()) for name in ("acme", "other")]

    page = command("createContent", "content { id }")
    content = await graph.command(page, EDITOR, title="Home", slug="/", blocks=[])
    await graph.command(
        command("addPageComment", "pageComment { id }"),
        VISITOR,
        contentId=content["content"]["id"],
        authorName="Eve",
        authorEmail="eve@example.org",
        body="Hi",
    )
    await graph.command(command("saveLead", "lead { id }"), EDITOR, email="eve@example.org", name="Eve")
    await graph.settle()

    sent = {(body := orjson.loads(each.body))["type"]: body["data"] for each in await deliveries(graph, hook)}
    assert sent["content.changed"] == {
        "id": content["content"]["id"],
        "databaseId": sent["content.changed"]["databaseId"],
        "contentType": "page",
        "title": "Home",
        "status": "DRAFT",
        "version": 1,
        "slug": "/",
        "updatedAt": sent["content.changed"]["updatedAt"],
    }
    assert sent["lead.created"]["email"] == "eve@example.org"
    assert await deliveries(graph, strange) == []


async def test_owners_of_a_neighborhood_are_told_of_members(graph, town):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    place = await town.neighborhood(ada)
    hook = await add_hook(graph, ada, URL, WebhookEvent.MEMBER_JOINED)

    join = mutation("joinNeighborhood", "membership { id }")
    joined = await graph.command(join, viewer_of(bob), neighborhoodId=id_of(place))
    await graph.settle()

    (delivery,) = await deliveries(graph, hook)
    data = orjson.loads(delivery.body)["data"]
    assert data["id"] == joined["membership"]["id"]
    assert (data["userId"], data["neighborhoodId"], data["role"]) == (id_of(bob), id_of(place), "MEMBER")


async def test_what_the_owner_may_not_see_is_not_sent(graph, society):
    """The author of a post that was deleted meanwhile sees no comments on it."""
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    hook = await add_hook(graph, ada, URL, WebhookEvent.COMMENT_CREATED)
    post_id = await post_by(graph, ada)
    await graph.command(COMMENT, viewer_of(bob), postId=post_id, content="Nice.")
    await graph.command(DELETE, viewer_of(ada), postId=post_id)
    await graph.settle()

    assert await deliveries(graph, hook) == []


async def calls_for(graph: Graph, changes: list[Change]) -> dict[str, int]:
    usage = Usage.lasting(60)
    await deliver_webhooks(Loaders(graph.services.table.using(usage), ANONYMOUS, consistent=True), changes)
    return dict(usage.calls)


async def test_without_webhooks_a_batch_costs_one_query(graph, society):
    people = [await society.person(f"p{n}") for n in range(50)]
    changes = [Change((await society.post(person)).own_key, What.INSERTED, now()) for person in people]

    assert await calls_for(graph, changes) == {"Query": 1}


async def test_with_a_webhook_of_another_a_batch_costs_two_batches_more(graph, society):
    people = [await society.person(f"p{n}") for n in range(50)]
    posts = [Post(post_id=person.user_id, user_id=person.user_id, image_url=PICTURE) for person in people]
    await graph.table.batch_write(puts=posts)
    changes = [Change(post.own_key, What.INSERTED, now()) for post in posts]
    eve = await graph.add_user("eve")
    await add_hook(graph, eve, URL, WebhookEvent.POST_CREATED)

    assert await calls_for(graph, changes) == {"Query": 1, "BatchGetItem": 2}

    # Those of an owner are read once for all changes; then each delivery is looked for, and written.
    await add_hook(graph, people[0], URL, WebhookEvent.POST_CREATED)
    assert await calls_for(graph, changes) == {
        "Query": 2,
        "BatchGetItem": 2,
        "GetItem": 1,
        "TransactWriteItems": 1,
    }
