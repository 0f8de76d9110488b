"""Build reports: allowed transitions, permissions, and the effect on the site."""

import asyncio
from dataclasses import replace

import pytest

from datastore.model.times import epoch_seconds
from datastore.neighborhoods import BuildStatus, SiteStatus
from loaders.viewer import ANONYMOUS, Viewer
from tests.resolvers.background.test_jobs import queue
from tests.resolvers.neighborhoods.test_build_edges import START, C, F, Q, R, a_build, build_that_is, kept, places
from tests.resolvers.neighborhoods.test_site_commands import UNAUTHENTICATED, in_table
from tests.resolvers.neighborhoods.test_site_commands_changes import DELETE, PUBLISH, RESTORE, stored
from tests.resolvers.neighborhoods.test_site_edges import BUILDER
from tests.support.graph import id_of, mutation, problem, viewer_of

REPORT = mutation("reportBuild", "build { status startedAt completedAt error logUrl }")

NO_BUILD = problem("NOT_FOUND", "there is no such build", "input", "buildId")
ANOTHER_RUNS = problem("CONFLICT", "another build of this site is running", "input", "buildId")
URL = "a URL begins with https://, has no user name and at most 2048 bytes"
ONLY_FAILED = "only a FAILED build has an error"
ALLOWED = {(Q, R), (R, C), (R, F)}


async def test_from_a_draft_to_the_web(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada, subdomain="ada")
    build = (await graph.command(START, viewer_of(ada), siteId=id_of(site)))["build"]

    running = await graph.ask(REPORT, BUILDER, input={"buildId": build["id"], "status": "RUNNING"})
    at_work = await stored(graph, site)
    done = await graph.ask(
        REPORT, BUILDER, input={"buildId": build["id"], "status": "COMPLETED", "logUrl": "https://x.org/log"}
    )
    after = await stored(graph, site)
    payload = await graph.command(PUBLISH, viewer_of(ada), siteId=id_of(site))

    began, ended = (
        running.data["reportBuild"]["build"]["startedAt"],
        done.data["reportBuild"]["build"]["completedAt"],
    )
    said = {"status": "RUNNING", "startedAt": began, "completedAt": None, "error": None, "logUrl": None}
    assert running.data["reportBuild"] == {"build": said, "problems": []}
    said |= {"status": "COMPLETED", "completedAt": ended, "logUrl": "https://x.org/log"}
    assert done.data["reportBuild"] == {"build": said, "problems": []}
    assert build["createdAt"] <= began <= ended
    assert running.calls == done.calls == {"GetItem": 2, "TransactWriteItems": 1}
    # Nothing of it is a change its owner made: version and time stay.
    assert at_work == replace(site, running_build=build["createdAt"])
    assert after == replace(site, built_at=ended)
    assert (payload["site"]["builtAt"], payload["site"]["publicUrl"]) == (ended, "https://ada.example.org")


async def test_a_build_is_of_the_builder_that_comes_first(graph, town):
    site = await town.site(await town.person("ada"))
    build = await town.build(site)
    builders = [Viewer(f"builder-{number}", frozenset({"builder"})) for number in range(8)]

    running = await asyncio.gather(
        *(graph.command(REPORT, builder, buildId=id_of(build), status="RUNNING") for builder in builders)
    )
    (first,) = [builder for builder, payload in zip(builders, running, strict=True) if not payload["problems"]]
    done = [
        await graph.command(REPORT, builder, buildId=id_of(build), status="COMPLETED")
        for builder in (*(other for other in builders if other is not first), first)
    ]

    refusal = [problem("CONFLICT", "another builder owns this build", "input", "buildId")]
    assert sorted([payload["problems"] for payload in running], key=len) == [[], *[refusal] * 7]
    assert [payload["problems"] for payload in done] == [*[refusal] * 7, []]


async def test_a_builder_may_say_later_where_the_log_is(graph, town):
    site = await town.site(await town.person("ada"))
    build = await town.build(site)
    report = {"buildId": id_of(build), "status": "RUNNING"}

    await graph.command(REPORT, BUILDER, **report)
    later = await graph.ask(REPORT, BUILDER, input={**report, "logUrl": "https://x.org/log"})
    again = await graph.ask(REPORT, BUILDER, input={**report, "logUrl": "https://x.org/log"})

    assert later.data["reportBuild"]["problems"] == again.data["reportBuild"]["problems"] == []
    assert (await graph.table.get(build.own_key)).log_url == "https://x.org/log"
    assert later.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert again.calls == {"GetItem": 1}


@pytest.mark.parametrize("before", BuildStatus)
@pytest.mark.parametrize("after", BuildStatus)
async def test_from_each_status_to_each(graph, town, before, after):
    _, site, build = await a_build(town, before, log_url="https://x.org/before")

    asked = await graph.ask(
        REPORT, BUILDER, input={"buildId": id_of(build), "status": after.name, "logUrl": "https://x.org/after"}
    )

    payload, found = asked.data["reportBuild"], await kept(graph, build)
    if (before, after) in ALLOWED:
        moment = "started_at" if after is R else "completed_at"
        times = {moment: getattr(found, moment), "updated_at": found.updated_at}
        assert found == replace(build, status=after, log_url="https://x.org/after", builder_id=BUILDER.user_id, **times)
        assert found.updated_at > build.updated_at
        assert times[moment] > build.created_at
        assert payload["problems"] == []
        assert payload["build"]["status"] == after.name
        assert await stored(graph, site) == replace(
            site,
            queued_build=None,
            running_build=build.created_at if after is R else None,
            built_at=found.completed_at if after is C else None,
        )
        assert asked.calls == {"GetItem": 2, "TransactWriteItems": 1}
        assert [job.subject["status"] for job in await queue(graph)] == (["running"] if after is R else [])
        return
    if before is after:
        assert (payload["problems"], payload["build"]["logUrl"]) == ([], "https://x.org/before")
    else:
        message = f"a build cannot change from {before.name} to {after.name}"
        assert payload == {"build": None, "problems": [problem("CONFLICT", message, "input", "status")]}
    assert (found, await stored(graph, site)) == (build, site)
    assert asked.calls == {"GetItem": 1}
    assert await queue(graph) == []


async def test_a_running_build_is_given_an_hour(graph, town):
    _, site, build = await a_build(town)

    await graph.command(REPORT, BUILDER, buildId=id_of(build), status="RUNNING")

    (job,) = await queue(graph)
    assert (job.kind, job.subject) == (
        "give_up_on_build",
        {"site_id": site.site_id, "created_at": build.created_at, "status": "running"},
    )
    assert 0 <= epoch_seconds(job.due_at) - epoch_seconds((await kept(graph, build)).started_at) - 3600 <= 60


async def test_one_build_of_a_site_runs_at_a_time(graph, town):
    ada, site, first = await a_build(town, R)
    second = await build_that_is(town, site, Q)
    elsewhere = await build_that_is(town, await town.site(ada), Q)

    refused = await graph.command(REPORT, BUILDER, buildId=id_of(second), status="RUNNING")
    beside = await graph.command(REPORT, BUILDER, buildId=id_of(elsewhere), status="RUNNING")
    places_then = await places(graph, site)
    await graph.command(REPORT, BUILDER, buildId=id_of(first), status="FAILED", error="Oh.")
    now_it_may = await graph.command(REPORT, BUILDER, buildId=id_of(second), status="RUNNING")

    assert refused == {"build": None, "problems": [ANOTHER_RUNS]}
    assert beside["problems"] == now_it_may["problems"] == []
    assert places_then == (second.created_at, first.created_at)
    assert await places(graph, site) == (None, second.created_at)
    assert (await stored(graph, site)).built_at is None


@pytest.mark.parametrize("who", ["owner", "an owner who administrates", "nobody"])
async def test_only_builders_report(graph, town, who):
    ada, _, build = await a_build(town)
    viewer = {"owner": viewer_of(ada), "nobody": ANONYMOUS}.get(who, viewer_of(ada, "admin"))

    asked = await graph.ask(REPORT, viewer, input={"buildId": id_of(build), "status": "RUNNING"})

    refusal = problem("FORBIDDEN", "this requires a token with the role `builder`")
    refused = UNAUTHENTICATED if who == "nobody" else refusal
    assert asked.data["reportBuild"] == {"build": None, "problems": [refused]}
    assert asked.calls == {}


async def test_a_builder_reports_on_its_own_site_as_well(graph, town):
    ada, _, build = await a_build(town)

    payload = await graph.command(REPORT, viewer_of(ada, "builder"), buildId=id_of(build), status="RUNNING")

    assert payload["problems"] == []


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"status": "FAILED", "error": "x" * 4001}, {"error": "this has 4001 characters; at most 4000 are allowed"}),
        ({"status": "FAILED", "error": "a\x00"}, {"error": "control characters are not allowed"}),
        ({"status": "COMPLETED", "error": "Oh."}, {"error": ONLY_FAILED}),
        ({"status": "RUNNING", "error": "Oh."}, {"error": ONLY_FAILED}),
        ({"status": "COMPLETED", "logUrl": "http://x.org/log"}, {"logUrl": URL}),
        ({"status": "COMPLETED", "logUrl": ""}, {"logUrl": URL}),
        ({"status": "COMPLETED", "logUrl": "https://u:p@x.org"}, {"logUrl": URL}),
        ({"status": "COMPLETED", "logUrl": f"https://x.org/{'x' * 2048}"}, {"logUrl": URL}),
        ({"status": "COMPLETED", "error": "Oh.", "logUrl": "x"}, {"logUrl": URL}),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_report_that_is_refused(graph, town, given, problems):
    _, _, build = await a_build(town, R)

    asked = await graph.ask(REPORT, BUILDER, input={"buildId": id_of(build), **given})

    refused = [problem("INVALID", message, "input", field) for field, message in problems.items()]
    assert asked.data["reportBuild"] == {"build": None, "problems": refused}
    assert asked.calls == {}


async def test_a_failure_says_why(graph, town):
    _, site, build = await a_build(town, R)
    why = "Line one.\n\tLine two: ö."

    payload = await graph.command(
        REPORT, BUILDER, buildId=id_of(build), status="FAILED", error=f" {why} ", logUrl="https://x.org/log"
    )

    assert (payload["build"]["error"], payload["build"]["logUrl"]) == (why, "https://x.org/log")
    assert (await kept(graph, build)).error == why
    assert (await stored(graph, site)).built_at is None


async def test_a_log_is_kept_where_a_later_report_has_none(graph, town):
    _, _, build = await a_build(town)

    await graph.command(REPORT, BUILDER, buildId=id_of(build), status="RUNNING", logUrl="https://x.org/log")
    payload = await graph.command(REPORT, BUILDER, buildId=id_of(build), status="COMPLETED", logUrl=None, error=None)

    assert payload["build"]["logUrl"] == "https://x.org/log"


async def test_reporting_on_a_build_that_is_not_there(graph, town):
    _, _, build = await a_build(town)
    await graph.table.delete(build.own_key)

    payload = await graph.command(REPORT, BUILDER, buildId=id_of(build), status="RUNNING")

    assert payload == {"build": None, "problems": [NO_BUILD]}


async def test_a_site_that_is_deleted_while_it_is_built(graph, town):
    ada, site, build = await a_build(town, R)

    await graph.command(DELETE, viewer_of(ada), siteId=id_of(site))
    payload = await graph.command(REPORT, BUILDER, buildId=id_of(build), status="COMPLETED")
    deleted = await stored(graph, site)
    restored = await graph.command(RESTORE, viewer_of(ada), siteId=id_of(site))

    assert payload["problems"] == []
    assert (deleted.status, deleted.version) == (SiteStatus.DRAFT, 2)
    assert deleted.expires_at is not None
    assert restored["site"]["builtAt"] == payload["build"]["completedAt"]
    assert await places(graph, site) == (None, None)


@pytest.mark.parametrize(("before", "after"), sorted(ALLOWED, key=repr))
async def test_a_site_that_is_gone_while_it_is_built(graph, town, before, after):
    _, site, build = await a_build(town, before)
    await graph.table.delete(site.own_key)

    payload = await graph.command(REPORT, BUILDER, buildId=id_of(build), status=after.name)

    assert payload["problems"] == []
    assert (await kept(graph, build)).status is after
    assert await in_table(graph, "Site") == []
