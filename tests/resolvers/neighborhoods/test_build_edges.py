"""Builds: lookups, their calls, permissions, and starting one."""

from dataclasses import replace

import pytest

from datastore.accounts import User
from datastore.model.times import epoch_seconds, now
from datastore.neighborhoods import Build, BuildStatus, Site
from loaders.viewer import ANONYMOUS
from tests.resolvers.background.test_jobs import queue
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED, in_table
from tests.resolvers.neighborhoods.test_site_commands_changes import IS_DELETED, NO_SITE, NOT_YOURS, stored
from tests.resolvers.neighborhoods.test_site_edges import ADMIN, BUILDER, NEVER, published
from tests.support.graph import Graph, id_of, mutation, viewer_of
from tests.support.neighborhoods import Town
from tests.support.social import minute

START = mutation("startBuild", "build { id databaseId status startedAt completedAt error logUrl createdAt }")
BUILDS = """query ($id: ID!, $first: Int, $after: String) { site(by: {id: $id}) { builds(first: $first, after: $after) {
    nodes { databaseId } pageInfo { hasNextPage endCursor } } } }"""
BY_STATUS = "query ($status: BuildStatus!) { builds(status: $status) { nodes { databaseId site { title } } } }"

DAY = 24 * 3600
Q, R, C, F = BuildStatus
PLACES = {Q: "queued_build", R: "running_build"}


async def build_that_is(town: Town, site: Site, status: BuildStatus, **fields) -> Build:
    """A build and its place at its site, as reports leave them."""
    started = {} if status is Q else {"started_at": minute(100)}
    over = {"completed_at": minute(101)} if status in (C, F) else {}
    build = await town.build(site, status=status, **started, **over, **fields)
    if status in PLACES:
        setattr(site, PLACES[status], build.created_at)
        await town.graph.table.put(site)
    return build


async def a_build(town: Town, status: BuildStatus = Q, **fields) -> tuple[User, Site, Build]:
    ada = await town.person("ada")
    site = await town.site(ada)
    return ada, site, await build_that_is(town, site, status, **fields)


async def kept(graph: Graph, build: Build) -> Build:
    found = await graph.table.get(build.own_key, consistent=True)
    assert found is not None
    return found


async def places(graph: Graph, site: Site) -> tuple[str | None, str | None]:
    """The builds that wait and run, by when they were started."""
    after = await stored(graph, site)
    return after.queued_build, after.running_build


@pytest.mark.parametrize("who", ["owner", "builder"])
async def test_a_build_by_its_id_and_by_its_job_id(graph, town, who):
    ada, site, build = await a_build(town, F, error="No such template.", log_url="https://x.org/log")
    viewer = viewer_of(ada) if who == "owner" else BUILDER
    fields = "{ id databaseId status startedAt completedAt error logUrl createdAt site { title } }"

    by_id = await graph.ask(f"query ($id: ID!) {{ build(by: {{id: $id}}) {fields} }}", viewer, id=id_of(build))
    by_job_id = await graph.ask(f'{{ build(by: {{databaseId: "job00003"}}) {fields} }}', viewer)

    assert by_id.data["build"] == by_job_id.data["build"]
    assert by_id.data["build"] == {
        "id": id_of(build),
        "databaseId": "job00003",
        "status": "FAILED",
        "startedAt": minute(100),
        "completedAt": minute(101),
        "error": "No such template.",
        "logUrl": "https://x.org/log",
        "createdAt": minute(3),
        "site": {"title": site.title},
    }
    # The build; then its site and whose that is: it is seen as long as they are.
    assert by_id.calls == {"GetItem": 1, "BatchGetItem": 1}
    assert by_job_id.calls == {"Query": 1, "BatchGetItem": 1}


@pytest.mark.parametrize(
    ("viewer", "errors"),
    [
        (ANONYMOUS, {("builds", "UNAUTHENTICATED"), ("site.builds", "UNAUTHENTICATED")}),
        (ADMIN, {("builds", "FORBIDDEN")}),
    ],
)
async def test_builds_are_nobody_elses_business(graph, town, viewer, errors):
    ada = await town.person("ada")
    site = await published(town, ada)
    build = await town.build(site)

    asked = await graph.ask(
        """query ($id: ID!, $site: ID!) { node(id: $id) { id } build(by: {id: $id}) { id } site(by: {id: $site}) {
            builds { nodes { id } } } byKey: build(by: {databaseId: "job00003"}) { id } builds(status: QUEUED) {
            nodes { id } } }""",
        viewer,
        id=id_of(build),
        site=id_of(site),
    )
    alone = await graph.ask("{ builds(status: QUEUED) { nodes { id } } }", viewer)

    assert asked.shown == {
        "node": None,
        "build": None,
        "site": {"builds": None},
        "byKey": None,
        "builds": None,
    }
    assert set(asked.errors) == errors
    assert alone.calls == {}


@pytest.mark.parametrize("who", ["owner", "builder"])
async def test_the_last_builds_of_a_site_newest_first_and_in_pages(graph, town, who):
    ada = await town.person("ada")
    site, other = await town.site(ada), await town.site(ada)
    jobs = [(await town.build(site)).job_id for _ in range(5)]
    await town.build(other)
    viewer = viewer_of(ada) if who == "owner" else BUILDER

    asked = await graph.ask(BUILDS, viewer, id=id_of(site), first=2)
    first = asked.data["site"]["builds"]
    rest = (await graph.ask(BUILDS, viewer, id=id_of(site), first=3, after=first["pageInfo"]["endCursor"])).data

    assert [node["databaseId"] for node in first["nodes"]] == jobs[:2:-1]
    assert [node["databaseId"] for node in rest["site"]["builds"]["nodes"]] == jobs[2::-1]
    assert first["pageInfo"]["hasNextPage"] is True
    assert rest["site"]["builds"]["pageInfo"]["hasNextPage"] is False
    assert asked.calls == {"BatchGetItem": 1, "Query": 1}


async def test_a_builder_finds_its_work_the_oldest_first(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    sites = [await town.site(person) for person in (ada, bob, ada)]
    waiting = [await build_that_is(town, site, Q) for site in sites]
    await build_that_is(town, sites[0], C)

    asked = await graph.ask(BY_STATUS, BUILDER, status="QUEUED")
    none = await graph.ask(BY_STATUS, BUILDER, status="RUNNING")

    assert asked.data["builds"]["nodes"] == [
        {"databaseId": build.job_id, "site": {"title": site.title}} for build, site in zip(waiting, sites, strict=True)
    ]
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}
    assert none.data["builds"]["nodes"] == []
    assert none.calls == {"Query": 1}


async def test_a_builder_finds_no_work_at_what_is_deleted(graph, town):
    ada, bob = await town.person("ada", deleted_at=now(), expires_at=NEVER), await town.person("bob")
    await build_that_is(town, await town.site(ada), Q)
    await build_that_is(town, await town.site(bob, deleted_at=minute(9), expires_at=NEVER), Q)
    build = await build_that_is(town, await town.site(bob), Q)

    asked = await graph.ask(BY_STATUS, BUILDER, status="QUEUED")

    assert [node["databaseId"] for node in asked.data["builds"]["nodes"]] == [build.job_id]


@pytest.mark.parametrize(("expires_at", "is_seen"), [(NEVER, True), (1, False)])
async def test_a_build_is_seen_until_it_expires(graph, town, expires_at, is_seen):
    ada, site, build = await a_build(town, C, expires_at=expires_at)

    asked = await graph.ask(
        """query ($id: ID!, $site: ID!) { node(id: $id) { id } build(by: {id: $id}) { id }
            byKey: build(by: {databaseId: "job00003"}) { id } site(by: {id: $site}) { builds { nodes { id } } } }""",
        viewer_of(ada),
        id=id_of(build),
        site=id_of(site),
    )
    at_work = await graph.ask("{ builds(status: COMPLETED) { nodes { id } } }", BUILDER)

    found = {"id": id_of(build)} if is_seen else None
    nodes = [found] if is_seen else []
    assert asked.data == {"node": found, "build": found, "byKey": found, "site": {"builds": {"nodes": nodes}}}
    assert at_work.data["builds"]["nodes"] == nodes
    assert await kept(graph, build) == build


async def test_starting_a_build(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)

    asked = await graph.ask(START, viewer_of(ada), input={"siteId": id_of(site)})

    started = asked.data["startBuild"]["build"]
    assert asked.data["startBuild"]["problems"] == []
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    build = await graph.table.get(Build.key(site_id=site.site_id, created_at=started["createdAt"]))
    assert build == Build(
        site_id=site.site_id,
        user_id="id-ada",
        job_id=started["databaseId"],
        created_at=started["createdAt"],
        updated_at=build.updated_at,
        expires_at=build.expires_at,
    )
    assert started == {
        "id": id_of(build),
        "databaseId": build.job_id,
        "status": "QUEUED",
        "startedAt": None,
        "completedAt": None,
        "error": None,
        "logUrl": None,
        "createdAt": build.created_at,
    }
    assert 0 <= build.expires_at - epoch_seconds(build.created_at) - 90 * DAY <= 60
    assert await stored(graph, site) == replace(site, queued_build=build.created_at)
    (job,) = await queue(graph)
    assert (job.kind, job.subject) == (
        "give_up_on_build",
        {"site_id": site.site_id, "created_at": build.created_at, "status": "queued"},
    )
    assert 0 <= epoch_seconds(job.due_at) - epoch_seconds(build.created_at) - DAY <= 60


async def test_while_a_build_waits_starting_one_answers_with_it(graph, town):
    ada, site, build = await a_build(town)

    asked = await graph.ask(START, viewer_of(ada), input={"siteId": id_of(site)})

    assert asked.data["startBuild"]["build"]["id"] == id_of(build)
    assert asked.calls == {"BatchGetItem": 1, "GetItem": 1}
    assert len(await in_table(graph, "Build")) == 1
    assert await queue(graph) == []


@pytest.mark.parametrize("status", [R, C, F])
async def test_the_next_build_is_started_once_the_last_one_does_not_wait_any_more(graph, town, status):
    ada, site, build = await a_build(town, status)

    payload = await graph.command(START, viewer_of(ada), siteId=id_of(site))

    assert payload["build"]["status"] == "QUEUED"
    assert payload["build"]["id"] != id_of(build)
    assert await places(graph, site) == (payload["build"]["createdAt"], build.created_at if status is R else None)


async def test_a_place_whose_build_is_gone_is_free(graph, town):
    ada, site, build = await a_build(town, expires_at=1)

    payload = await graph.command(START, viewer_of(ada), siteId=id_of(site))

    assert payload["problems"] == []
    assert payload["build"]["id"] != id_of(build)


async def test_who_may_not_start_a_build(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    eve = await town.person("eve", deleted_at=now(), expires_at=NEVER)
    draft, site, eves = await town.site(ada), await published(town, ada), await town.site(eve)
    deleted = await town.site(ada, deleted_at=minute(9), expires_at=NEVER)

    payloads = [
        await graph.command(START, viewer, siteId=id_of(each))
        for viewer, each in (
            (ANONYMOUS, site),
            (viewer_of(bob), site),
            (viewer_of(bob), draft),
            (BUILDER, draft),
            (viewer_of(ada), deleted),
            (viewer_of(eve), eves),
        )
    ]

    refusals = [UNAUTHENTICATED, NOT_YOURS, NO_SITE, NOT_YOURS, IS_DELETED, NO_ACCOUNT]
    assert payloads == [{"build": None, "problems": [refusal]} for refusal in refusals]
    assert await in_table(graph, "Build") == []
