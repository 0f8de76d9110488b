"""Builds while something else is under way: races, builders that go away, and a database that misbehaves."""

import asyncio
from dataclasses import replace

import pytest

from datastore.client.writes import Update
from datastore.neighborhoods import Build, Site
from loaders.request import Loaders
from resolvers.background.jobs import Worker
from resolvers.neighborhoods import build_commands
from resolvers.neighborhoods.build_commands import give_up_on_build
from tests.resolvers.background.test_jobs import queue
from tests.resolvers.neighborhoods.test_build_commands import ANOTHER_RUNS, REPORT
from tests.resolvers.neighborhoods.test_build_edges import START, C, F, Q, R, a_build, build_that_is, kept, places
from tests.resolvers.neighborhoods.test_site_commands import in_table
from tests.resolvers.neighborhoods.test_site_commands_changes import stored
from tests.resolvers.neighborhoods.test_site_edges import BUILDER
from tests.resolvers.social.test_faults import in_conflict
from tests.support.fault_proxy import cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import minute

NOT_IN_TIME = "the builder did not report in time"


def giving_up(build: Build) -> dict[str, str]:
    """Returns the arguments of the job."""
    return {"site_id": build.site_id, "created_at": build.created_at, "status": build.status.value}


async def give_up(graph: Graph, build: Build) -> None:
    await give_up_on_build(graph.context().load, **giving_up(build))


async def test_many_who_start_at_once_start_one_build(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)

    payloads = await asyncio.gather(*(graph.command(START, viewer_of(ada), siteId=id_of(site)) for _ in range(10)))

    assert [payload["problems"] for payload in payloads] == [[]] * 10
    (build,) = await in_table(graph, "Build")
    assert {payload["build"]["databaseId"] for payload in payloads} == {build["jobId"]["S"]}
    assert await places(graph, site) == (build["createdAt"]["S"], None)
    assert len(await queue(graph)) == 1


async def test_of_two_builds_that_begin_at_once_one_runs(graph, town):
    _, site, first = await a_build(town)
    second = await build_that_is(town, site, Q)

    payloads = await asyncio.gather(
        *(graph.command(REPORT, BUILDER, buildId=id_of((first, second)[n % 2]), status="RUNNING") for n in range(10))
    )

    runs, waits = (first, second) if (await kept(graph, first)).status is R else (second, first)
    began = (await kept(graph, runs)).started_at
    of = {first.job_id: payloads[::2], second.job_id: payloads[1::2]}
    assert [(each["problems"], each["build"]["startedAt"]) for each in of[runs.job_id]] == [([], began)] * 5
    assert of[waits.job_id] == [{"build": None, "problems": [ANOTHER_RUNS]}] * 5
    assert await kept(graph, waits) == waits
    assert (await stored(graph, site)).running_build == runs.created_at
    assert [job.subject["created_at"] for job in await queue(graph)] == [runs.created_at]


async def test_a_build_does_not_begin_beside_one_that_began_just_before(graph, town, monkeypatch):
    _, site, first = await a_build(town)
    second = await build_that_is(town, site, Q)
    write, in_between = Loaders.write, [Update(site.own_key, set={"running_build": first.created_at})]

    async def late(self, *writes):
        while in_between:
            await graph.table.update(in_between.pop())
        await write(self, *writes)

    monkeypatch.setattr(Loaders, "write", late)
    payload = await graph.command(REPORT, BUILDER, buildId=id_of(second), status="RUNNING")

    assert payload == {"build": None, "problems": [ANOTHER_RUNS]}
    assert await kept(graph, second) == second
    assert await places(graph, site) == (second.created_at, first.created_at)


async def test_many_who_report_the_same_at_once_say_it_once(graph, town):
    _, site, build = await a_build(town, R)

    payloads = await asyncio.gather(
        *(graph.command(REPORT, BUILDER, buildId=id_of(build), status="COMPLETED") for _ in range(10))
    )

    ended = (await stored(graph, site)).built_at
    assert [(each["problems"], each["build"]["completedAt"]) for each in payloads] == [([], ended)] * 10


async def test_of_two_ends_of_a_build_one_counts(graph, town):
    _, site, build = await a_build(town, R)

    payloads = await asyncio.gather(
        *(graph.command(REPORT, BUILDER, buildId=id_of(build), status=("FAILED", "COMPLETED")[n % 2]) for n in range(6))
    )

    after = await kept(graph, build)
    lost = "COMPLETED" if after.status is F else "FAILED"
    messages = {entry["message"] for payload in payloads for entry in payload["problems"]}
    assert messages == {f"a build cannot change from {after.status.name} to {lost}"}
    assert sum(not payload["problems"] for payload in payloads) == 3
    assert (await stored(graph, site)).built_at == (after.completed_at if after.status is C else None)
    assert await places(graph, site) == (None, None)


async def test_a_build_that_began_in_between_is_not_the_one_that_waits(graph, town, monkeypatch):
    """An owner who edits a site and builds it gets a build that has not read the site yet."""
    ada, site, build = await a_build(town)
    own_site = build_commands.own_site

    async def then_it_begins(*given):
        found = await own_site(*given)
        await graph.command(REPORT, BUILDER, buildId=id_of(build), status="RUNNING")
        return found

    monkeypatch.setattr(build_commands, "own_site", then_it_begins)
    payload = await graph.command(START, viewer_of(ada), siteId=id_of(site))

    assert payload["problems"] == []
    assert payload["build"]["status"] == "QUEUED"
    assert await places(graph, site) == (payload["build"]["createdAt"], build.created_at)


async def test_the_build_that_waits_is_read_as_it_is_now(graph, faulty_graph, proxy, town):
    """A replica that lags may not know of it yet, and a second one would wait beside it."""
    ada, site, build = await a_build(town)
    reads = []
    proxy.will("GetItem", throttled, when=lambda request: reads.append(request["ConsistentRead"]))

    payload = await faulty_graph.command(START, viewer_of(ada), siteId=id_of(site))

    assert payload["build"]["id"] == id_of(build)
    assert reads == [True]


@pytest.mark.parametrize("status", [Q, R])
async def test_a_builder_that_went_away_frees_its_place(graph, town, status):
    ada, site, build = await a_build(town, status)

    await give_up(graph, build)

    after = await kept(graph, build)
    times = {"completed_at": after.completed_at, "updated_at": after.updated_at}
    assert after == replace(build, status=F, error=NOT_IN_TIME, **times)
    assert after.completed_at is not None
    assert await stored(graph, site) == replace(site, queued_build=None, running_build=None)
    payload = await graph.command(START, viewer_of(ada), siteId=id_of(site))
    again = await graph.command(REPORT, BUILDER, buildId=payload["build"]["id"], status="RUNNING")
    assert again["problems"] == []


@pytest.mark.parametrize(("status", "became"), [(Q, R), (Q, C), (Q, F), (R, C), (R, F)])
async def test_a_build_that_went_on_is_not_given_up(graph, town, status, became):
    _, site, build = await a_build(town, became)

    await give_up(graph, replace(build, status=status))

    assert (await kept(graph, build), await stored(graph, site)) == (build, site)


@pytest.mark.parametrize("missing", ["build", "site", "both"])
async def test_giving_up_on_what_is_gone(graph, town, missing):
    _, site, build = await a_build(town, R)
    gone = {"build": [build], "site": [site], "both": [site, build]}[missing]
    await graph.table.batch_write(deletes=[record.own_key for record in gone])

    await give_up(graph, build)

    assert [len(await in_table(graph, kind)) for kind in ("Site", "Build")] == [
        int(missing == "build"),
        int(missing == "site"),
    ]
    if missing == "site":
        assert (await kept(graph, build)).status is F


async def test_giving_up_leaves_the_places_of_other_builds(graph, town):
    _, site, running = await a_build(town, R)
    waiting = await build_that_is(town, site, Q)

    await give_up(graph, running)

    assert await places(graph, site) == (waiting.created_at, None)
    assert (await kept(graph, waiting)) == waiting


async def test_a_build_is_given_up_although_another_one_is_started_just_then(graph, town, monkeypatch):
    """Else it would run for ever, and keep all others from it."""
    _, site, build = await a_build(town, R)
    load = graph.context().load
    write, in_between = load.write, [Update(site.own_key, set={"queued_build": "2026-02-02T00:00:00.000Z"})]

    async def late(*writes):
        while in_between:
            await graph.table.update(in_between.pop())
        await write(*writes)

    monkeypatch.setattr(load, "write", late)
    await give_up_on_build(load, **giving_up(build))

    assert (await kept(graph, build)).status is F
    assert await places(graph, site) == ("2026-02-02T00:00:00.000Z", None)


async def test_a_build_that_ends_just_as_it_is_given_up_has_ended(graph, town, monkeypatch):
    _, site, build = await a_build(town, R)
    load = graph.context().load
    write = load.write

    async def late(*writes):
        await graph.command(REPORT, BUILDER, buildId=id_of(build), status="COMPLETED")
        await write(*writes)

    monkeypatch.setattr(load, "write", late)
    await give_up_on_build(load, **giving_up(build))

    after = await kept(graph, build)
    assert (after.status, after.error) == (C, None)
    assert (await stored(graph, site)).built_at == after.completed_at


async def test_the_worker_gives_up_on_builds_when_it_is_time(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)
    await graph.command(START, viewer_of(ada), siteId=id_of(site))
    assert await Worker(graph.table).do_what_is_due() == 0

    (job,) = await queue(graph)
    await graph.table.batch_write(deletes=[job.own_key], puts=[replace(job, due_at=minute(0))])
    assert await Worker(graph.table).do_what_is_due() == 1

    (item,) = await in_table(graph, "Build")
    assert (item["status"]["S"], item["error"]["S"]) == ("failed", NOT_IN_TIME)
    assert await places(graph, site) == (None, None)
    assert await queue(graph) == []


async def is_started_once(graph: Graph, site: Site, payload: dict) -> None:
    assert payload["problems"] == []
    (build,) = await in_table(graph, "Build")
    assert payload["build"]["databaseId"] == build["jobId"]["S"]
    assert await places(graph, site) == (payload["build"]["createdAt"], None)
    assert len(await queue(graph)) == 1


MISHAPS = [cut_after, cut_before, throttled, error_500, in_conflict]


@pytest.mark.parametrize("mishap", MISHAPS)
async def test_a_start_goes_through_whatever_happens_to_the_write(graph, faulty_graph, proxy, town, mishap):
    ada = await town.person("ada")
    site = await town.site(ada)
    proxy.will("TransactWriteItems", mishap, times=2)

    payload = await faulty_graph.command(START, viewer_of(ada), siteId=id_of(site))

    await is_started_once(graph, site, payload)
    assert proxy.seen["TransactWriteItems"] >= 2


@pytest.mark.parametrize("mishap", MISHAPS)
@pytest.mark.parametrize(("before", "after"), [(Q, R), (R, C), (R, F)])
async def test_a_report_goes_through_whatever_happens_to_the_write(
    graph, faulty_graph, proxy, town, mishap, before, after
):
    _, site, build = await a_build(town, before)
    proxy.will("TransactWriteItems", mishap, times=2)

    payload = await faulty_graph.command(REPORT, BUILDER, buildId=id_of(build), status=after.name)

    assert payload["problems"] == []
    found = await kept(graph, build)
    assert found.status is after
    assert (payload["build"]["startedAt"], payload["build"]["completedAt"]) == (found.started_at, found.completed_at)
    assert await places(graph, site) == (None, build.created_at if after is R else None)
    assert (await stored(graph, site)).built_at == (found.completed_at if after is C else None)
    assert len(await queue(graph)) == int(after is R)


async def test_throttled_reads_lose_no_report(graph, faulty_graph, proxy, town):
    ada, site, build = await a_build(town)
    for operation in ("GetItem", "BatchGetItem", "TransactWriteItems"):
        proxy.will(operation, throttled, times=3)

    running = await faulty_graph.command(REPORT, BUILDER, buildId=id_of(build), status="RUNNING")
    payload = await faulty_graph.command(START, viewer_of(ada), siteId=id_of(site))

    assert running["problems"] == payload["problems"] == []
    assert await places(graph, site) == (payload["build"]["createdAt"], build.created_at)
