"""Access to counts, and the cost of a range of them."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from datastore.analytics import AnalyticsPeriod, Scope, Tally, TopList
from datastore.model.times import Day, Time
from datastore.neighborhoods import SiteStatus
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.analytics.metrics import PLATFORM, Metric
from resolvers.analytics.results import AnalyticsCounts, AnalyticsPoint
from tests.support.cms import READER, STRANGER, VISITOR
from tests.support.graph import id_of, viewer_of

ROOT = Viewer("id-root", roles=frozenset({"admin"}))
RANGE = 'since: "2026-01-01T12:00:00Z", until: "2026-01-30T00:00:00Z"'


def day(number: int, hour: int = 0) -> Time:
    return Time(f"2026-01-{number:02d}T{hour:02d}:00:00.000Z")


def tally(scope: Scope, subject: str, at: Time, period: AnalyticsPeriod = AnalyticsPeriod.DAY, **counts: int) -> Tally:
    return Tally(scope=scope, subject=subject, period=period, begins_at=at, **counts)


def top(scope: Scope, subject: str, kind: Scope, metric: str, number: int, **counts: int) -> TopList:
    found = Day(f"2026-01-{number:02d}")
    return TopList(scope=scope, subject=subject, kind=kind, metric=metric, day=found, counts=counts)


def test_every_metric_has_its_place_in_results():
    names = tuple(metric.value for metric in Metric)
    assert names == AnalyticsCounts._fields == AnalyticsPoint._fields[1:]


async def test_a_range_of_thirty_days_is_one_query(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    await graph.table.batch_write(
        puts=[
            tally(Scope.POST, post.post_id, day(1), likes=3, likes_removed=1),
            tally(Scope.POST, post.post_id, day(30), likes=2, comments=5),
            tally(Scope.POST, post.post_id, day(31), likes=100),
            tally(Scope.POST, post.post_id, day(1), AnalyticsPeriod.HOUR, likes=100),
        ]
    )
    fields = "points { at likes comments } totals { likes comments views }"
    query = f"query ($id: ID!) {{ post(by: {{id: $id}}) {{ analytics({RANGE}) {{ {fields} }} }} }}"
    asked = await graph.ask(query, viewer_of(ada), id=id_of(post))
    found = asked.data["post"]["analytics"]
    assert found["points"] == [
        {"at": day(number), "likes": {1: 2, 30: 2}.get(number, 0), "comments": 5 * (number == 30)}
        for number in range(1, 31)
    ]
    assert found["totals"] == {"likes": 4, "comments": 5, "views": 0}
    assert asked.calls == {"GetItem": 1, "Query": 1}


@pytest.mark.parametrize(("count", "likes"), [("NET", 2), ("ADDED", 3), ("REMOVED", 1)])
async def test_what_was_added_and_what_was_removed_are_told_apart(graph, society, count, likes):
    ada = await society.person("ada")
    await graph.table.put(tally(Scope.USER, ada.user_id, day(5, 7), AnalyticsPeriod.HOUR, likes=3, likes_removed=1))
    hours = 'period: HOUR, since: "2026-01-05T06:59:00Z", until: "2026-01-05T08:00:00Z"'
    query = f"{{ viewer {{ analytics({hours}, count: {count}) {{ points {{ at likes }} }} }} }}"
    asked = await graph.ask(query, viewer_of(ada))
    points = [{"at": day(5, hour), "likes": likes if hour == 7 else 0} for hour in (6, 7, 8)]
    assert asked.data["viewer"]["analytics"]["points"] == points


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            'since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z"',
            "`since` is after `until`; exchange them",
        ),
        (
            'since: "2025-01-01T00:00:00Z", until: "2026-02-05T00:00:00Z"',
            "this is a range of 401 days; at most 400 are allowed. Choose a later `since`",
        ),
        (
            'period: HOUR, since: "0001-01-01T00:00:00Z", until: "9999-12-31T23:59:59Z"',
            "this is a range of 87,649,416 hours; at most 400 are allowed. Choose a later `since`",
        ),
    ],
)
async def test_a_range_has_bounds(graph, society, given, message):
    ada = await society.person("ada")
    asked = await graph.ask(f"{{ viewer {{ analytics({given}) {{ totals {{ likes }} }} }} }}", viewer_of(ada))
    assert (asked.error["message"], asked.error["extensions"]["code"]) == (message, "INVALID")


@pytest.mark.parametrize("until", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_the_ends_of_the_calendar_are_no_error(graph, society, until):
    ada = await society.person("ada")
    query = f'{{ viewer {{ analytics(until: "{until}") {{ points {{ at }} }} }} }}'
    points = (await graph.ask(query, viewer_of(ada))).data["viewer"]["analytics"]["points"]
    assert (len(points), points[-1]["at"]) == (1 if until[0] == "0" else 30, f"{until[:10]}T00:00:00.000Z")


async def test_without_bounds_it_is_the_last_thirty_days_or_twenty_four_hours(graph, society):
    ada = await society.person("ada")
    before = datetime.now(UTC)
    asked = await graph.ask(
        "{ viewer { days: analytics { points { at } } hours: analytics(period: HOUR) { points { at } } } }",
        viewer_of(ada),
    )
    ends = {f"{moment:%Y-%m-%dT%H}" for moment in (before, datetime.now(UTC))}
    days, hours = (asked.data["viewer"][name]["points"] for name in ("days", "hours"))
    assert (len(days), len(hours)) == (30, 24)
    assert days[-1]["at"][:10] in {end[:10] for end in ends}
    assert hours[-1]["at"][:13] in ends


EVERYTHING = """
query ($post: ID!, $card: ID!, $site: ID!, $user: ID!, $tenant: ID!, $content: ID!) {
  post(by: {id: $post}) { analytics { totals { likes } } }
  card(by: {id: $card}) { analytics { totals { likes } } }
  site(by: {id: $site}) { analytics { totals { likes } } }
  user(by: {id: $user}) { analytics { totals { likes } } topPosts { added } topCards { added } }
  tenant(by: {id: $tenant}) { analytics { totals { likes } } topContents { added } }
  content(by: {id: $content}) { analytics { totals { likes } } }
  platformAnalytics { totals { likes } }
  platformTopPosts { added }
  platformTopCards { added }
}
"""
OF_AUTHORS = {"post", "card", "site", "user"}
OF_STAFF = {"tenant", "content"}
OF_ADMINS = {"platformAnalytics", "platformTopPosts", "platformTopCards"}


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        (ANONYMOUS, set()),
        (Viewer("id-bob"), set()),
        (Viewer("id-ada"), OF_AUTHORS),
        (VISITOR, set()),
        (STRANGER, set()),
        (READER, OF_AUTHORS | OF_STAFF),
        (ROOT, OF_AUTHORS | OF_STAFF | OF_ADMINS),
    ],
    ids=["anonymous", "another user", "author", "visitor", "staff elsewhere", "staff", "administrator"],
)
async def test_everyone_sees_what_is_theirs(graph, society, workshop, website, town, who, seen):
    ada = await society.person("ada")
    records = {
        "post": await society.post(ada),
        "card": await workshop.card(ada, await workshop.category("wood")),
        "site": await town.site(ada, status=SiteStatus.PUBLISHED),
        "user": ada,
        "tenant": await website.tenant(),
        "content": await website.content(),
    }
    # Content is read in requests about its tenant.
    who = replace(who, tenant_id="acme")
    asked = await graph.ask(EVERYTHING, who, **{name: id_of(record) for name, record in records.items()})
    shown = {name for name in OF_AUTHORS | OF_STAFF if None not in asked.shown[name].values()}
    hidden = {name for name in OF_AUTHORS | OF_STAFF if not any(asked.shown[name].values())}
    shown_to_admins = {name for name in OF_ADMINS if asked.shown[name] is not None}
    assert shown | shown_to_admins == seen
    assert hidden == (OF_AUTHORS | OF_STAFF) - seen


async def test_top_lists_add_up_the_days(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    one, two, three = [await society.post(ada) for _ in range(3)]
    gone = await society.post(ada, deleted_at=day(1))
    owner = (Scope.USER, ada.user_id, Scope.POST, "likes")
    await graph.table.batch_write(
        puts=[
            top(*owner, 1, **{one.post_id: 5, two.post_id: 1, gone.post_id: 9}),
            top(*owner, 2, **{two.post_id: 7, three.post_id: 5}),
            top(*owner, 3, **{three.post_id: 100}),
        ]
    )
    query = (
        '{ user(by: {username: "ada"}) { topPosts(since: "2026-01-01", until: "2026-01-02") { added node { id } } } }'
    )
    asked = await graph.ask(query, viewer_of(ada))
    found = [(each["node"]["id"], each["added"]) for each in asked.data["user"]["topPosts"]]
    assert found == [(id_of(two), 8), (id_of(one), 5), (id_of(three), 5)]
    # The user, the lists of both days, and the posts.
    assert asked.calls == {"Query": 2, "BatchGetItem": 1}
    assert (await graph.ask(query, viewer_of(bob))).data == {"user": {"topPosts": None}}


async def test_top_lists_are_short(graph, society):
    ada = await society.person("ada")
    asked = await graph.ask("{ viewer { topPosts(first: 51) { added } } }", viewer_of(ada))
    assert asked.error["message"] == "`first` is a number from 1 to 50"
    asked = await graph.ask(
        '{ viewer { topCards(since: "2025-01-01", until: "2026-01-01") { added } } }', viewer_of(ada)
    )
    assert asked.error["message"] == ("this is a range of 366 days; at most 100 are allowed. Choose a later `since`")


async def test_contents_and_platform_have_top_lists(graph, society, workshop, website):
    ada = await society.person("ada")
    await website.tenant()
    content = await website.content()
    card = await workshop.card(ada, await workshop.category("wood"))
    page = f"{content.tenant_id}/{content.node_id}"
    await graph.table.batch_write(
        puts=[
            top(Scope.TENANT, "acme", Scope.CONTENT, "content_changes", 2, **{page: 3}),
            top(Scope.PLATFORM, PLATFORM, Scope.CARD, "views", 2, **{card.card_id: 4}),
        ]
    )
    days = 'since: "2026-01-01", until: "2026-01-03"'
    staff, admin = await asyncio.gather(
        graph.ask(
            f'{{ tenant(by: {{databaseId: "acme"}}) {{ topContents({days}) {{ added node {{ title }} }} }} }}', READER
        ),
        graph.ask(f"{{ platformTopCards({days}) {{ added node {{ title }} }} }}", ROOT),
    )
    assert staff.data["tenant"]["topContents"] == [{"added": 3, "node": {"title": content.title}}]
    assert admin.data["platformTopCards"] == [{"added": 4, "node": {"title": card.title}}]
