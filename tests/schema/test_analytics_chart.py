"""Charts of analytics over HTTP: parameters, permissions and output."""

from xml.etree import ElementTree as ET

import pytest

from datastore.analytics import AnalyticsPeriod, Scope, Tally
from datastore.model.times import Time
from resolvers.analytics.metrics import PLATFORM
from tests.schema.test_tree_chart import HEADERS, SVG, get
from tests.support.graph import id_of

DAYS = "since=2026-01-01T00:00:00Z&until=2026-01-04T00:00:00Z"
NOT_FOUND = (404, "there is no such record, or its analytics are not yours to see")


def tally(scope: Scope, subject: str, day: int, **counts: int) -> Tally:
    begins_at = Time(f"2026-01-{day:02d}T00:00:00.000Z")
    return Tally(scope=scope, subject=subject, period=AnalyticsPeriod.DAY, begins_at=begins_at, **counts)


async def test_a_chart_shows_a_bar_for_each_day(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    await graph.table.batch_write(
        puts=[
            tally(Scope.POST, post.post_id, 2, likes=1_200),
            tally(Scope.POST, post.post_id, 3, likes=1, likes_removed=3),
        ]
    )
    answer = await get(graph, f"/analytics/{id_of(post)}.svg?metric=likes&{DAYS}", ada)
    svg = ET.fromstring(answer.text)
    assert svg.findtext(f"{SVG}title") == "Likes per day"
    assert svg.findtext(f"{SVG}desc") == "1,198 in all, from 2026-01-01 to 2026-01-04 (UTC). At most 1,200."
    bars = [(bar.get("class"), bar.findtext(f"{SVG}title")) for bar in svg.iter(f"{SVG}rect") if len(bar)]
    assert bars == [("bar", "2026-01-02: 1,200"), ("below", "2026-01-03: -2")]
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


async def test_a_chart_without_counts_is_empty(graph, society):
    ada = await society.person("ada")
    answer = await get(graph, f"/analytics/{id_of(ada)}.svg?metric=content_changes&period=hour", ada)
    svg = ET.fromstring(answer.text)
    assert svg.findtext(f"{SVG}title") == "Content changes per hour"
    assert [bar for bar in svg.iter(f"{SVG}rect") if len(bar)] == []


@pytest.mark.parametrize("stranger", [True, False])
async def test_others_get_no_chart(graph, society, workshop, stranger):
    ada, bob = await society.person("ada"), await society.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"))
    for record in (ada, card, await society.post(ada)):
        answer = await get(graph, f"/analytics/{id_of(record)}.svg?metric=likes", bob if stranger else None)
        assert (answer.status_code, answer.text) == NOT_FOUND


async def test_administrators_get_a_chart_of_the_platform(graph, society):
    ada = await society.person("ada")
    await graph.table.put(tally(Scope.PLATFORM, PLATFORM, 2, posts=7))
    path = f"/analytics/platform.svg?metric=posts&{DAYS}"
    refused = await get(graph, path, ada)
    assert (refused.status_code, refused.text) == NOT_FOUND
    token = graph.services.tokens.issue("id-root", roles=frozenset({"admin"}))
    answer = await get(graph, path, authorization=f"Bearer {token}")
    assert ET.fromstring(answer.text).findtext(f"{SVG}desc", "").startswith("7 in all")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "",
            "`metric` is one of views, votes, comments, likes, follows, posts, cards, users, builds, content_changes",
        ),
        ("?metric=likes&period=week", "`period` is one of day, hour"),
        ("?metric=likes&count=all", "`count` is one of net, added, removed"),
        ("?metric=likes&since=now", "'now' is not a time with an offset; write it like 2026-01-31T12:00:00Z"),
        (
            "?metric=likes&since=2020-01-01T00:00:00Z&until=2026-01-01T00:00:00Z",
            "this is a range of 2,193 days; at most 400 are allowed. Choose a later `since`",
        ),
    ],
)
async def test_a_wrong_parameter_is_explained(graph, society, asked, message):
    ada = await society.person("ada")
    answer = await get(graph, f"/analytics/{id_of(ada)}.svg{asked}", ada)
    assert (answer.status_code, answer.text) == (400, message)


@pytest.mark.parametrize("record_id", ["x", "platforms", "VGFsbHkjYSNiI2MjZA", "%00", "é" * 300])
async def test_what_is_no_id_is_not_found(graph, society, record_id):
    answer = await get(graph, f"/analytics/{record_id}.svg?metric=likes", await society.person("ada"))
    assert (answer.status_code, answer.text) == NOT_FOUND
