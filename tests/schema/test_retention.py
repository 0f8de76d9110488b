"""Periods of docs/retention.md, compared to the code."""

import time
from datetime import timedelta

import pytest

from datastore.accounts import Unique
from datastore.maintenance.segments import every_item
from datastore.model.entity import REGISTRY, entity_name
from resolvers import demo
from schema.retention import PERIODS, table
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.serving import ROOT
from tests.support.webhooks import add_hook

BY_ENTITY = {entity: each for each in PERIODS for entity in each.entities}


def test_the_page_has_the_periods_of_the_code():
    page = (ROOT / "docs/retention.md").read_text()
    assert "\n".join(table()) in page


@pytest.mark.parametrize("period", PERIODS, ids=lambda each: each.what)
def test_every_period_has_a_test(period):
    path, _, name = period.test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()


async def test_everything_that_expires_has_its_period(graph, town):
    """Items with a time to expire are of known entities, and none is kept longer than promised."""
    await demo.load(graph.table, graph.services.passwords)
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    await add_hook(graph, ada, "https://example.org/", *REGISTRY["Webhook"].fields["events"].hint.__args__[0])
    follow = mutation("followUser", "user { id }")
    await graph.command(follow, viewer_of(bob), userId=id_of(ada))
    sign_in = "mutation ($input: LogInInput!) { logIn(input: $input) { problems { code } } }"
    await graph.command(sign_in, login="maya", password=demo.PASSWORD)
    await graph.command(sign_in, login="maya", password="wrong password")
    site = await town.site(ada)
    await graph.command(mutation("deleteSite", "site { id }"), viewer_of(ada), siteId=id_of(site))
    graph.services.views.note("a-card")
    await graph.services.views.flush()
    await graph.services.security_counts.flush()
    await graph.settle(jobs=True)

    seen = set()
    async for item in every_item(graph.table):
        if "expiresAt" not in item:
            continue
        entity = REGISTRY[entity_name(item)]
        seen.add(entity.__name__)
        left = int(item["expiresAt"]["N"]) - time.time()
        # Of an hour or a day that has just begun, the end counts.
        assert left <= (BY_ENTITY[entity].period + timedelta(days=1, minutes=1)).total_seconds(), entity
    wanted = {"Notification", "NotificationGroup", "NotificationSource", "WebhookDelivery", "Tally", "ChangeBatch"}
    wanted |= {"SecurityEvent", "KnownAddress", "SignInFailures", "Site", "Unique", "Build", "Card"}
    assert wanted <= seen
    assert Unique in BY_ENTITY
