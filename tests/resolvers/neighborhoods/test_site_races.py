"""Sites while something else is under way: races, accounts that go, and a database that misbehaves."""

import asyncio

import pytest

from datastore.client.writes import Delete, Update
from datastore.neighborhoods import Build, NeighborhoodSettings
from resolvers.accounts import lifecycle
from resolvers.neighborhoods import site_commands
from resolvers.neighborhoods.edges import subdomain_guard
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.resolvers.neighborhoods.test_build_edges import BY_STATUS, C, Q, R, build_that_is
from tests.resolvers.neighborhoods.test_site_commands import (
    CREATE,
    NEW,
    NO_ACCOUNT,
    in_table,
    nothing_was_made,
    subdomains,
)
from tests.resolvers.neighborhoods.test_site_commands_changes import DELETE, PUBLISH, TAKEN, UPDATE, guard_of, stored
from tests.resolvers.neighborhoods.test_site_edges import BUILDER, EVERY_WAY, published
from tests.resolvers.social.test_faults import in_conflict
from tests.resolvers.social.test_races import past_its_grace
from tests.support.fault_proxy import cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, problem, viewer_of
from tests.support.social import minute


async def test_of_many_who_want_a_subdomain_one_gets_it(graph, town):
    people = [await town.person(f"person{number}") for number in range(20)]

    payloads = await asyncio.gather(*(graph.command(CREATE, viewer_of(person), **NEW) for person in people))

    (won,) = [payload for payload in payloads if payload["site"]]
    lost = [payload for payload in payloads if payload is not won]
    assert won["problems"] == []
    assert lost == [{"site": None, "problems": [TAKEN]}] * 19
    assert [item["siteId"]["S"] for item in await in_table(graph, "Site")] == [won["site"]["databaseId"]]
    assert await subdomains(graph) == {"my-blog": won["site"]["databaseId"]}


async def test_of_two_who_move_to_a_subdomain_one_gets_it(graph, town):
    ada = await town.person("ada")
    sites = [await town.site(ada), await town.site(ada)]

    payloads = await asyncio.gather(
        *(
            graph.command(UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, subdomain="wanted")
            for site in sites
        )
    )

    (place,) = [place for place, payload in enumerate(payloads) if not payload["problems"]]
    won, lost = sites[place], sites[1 - place]
    assert payloads[1 - place]["problems"] == [TAKEN]
    assert await subdomains(graph) == {"wanted": won.site_id, lost.subdomain: lost.site_id}
    assert await stored(graph, lost) == lost


async def test_of_many_changes_to_one_version_one_is_made(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)

    payloads = await asyncio.gather(
        *(
            graph.command(UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, title=f"Title {number}")
            for number in range(10)
        )
    )

    (won,) = [payload["site"] for payload in payloads if payload["site"]]
    refusal = problem("CONFLICT", "the current version is 2; read it again", "input", "expectedVersion")
    assert [payload["problems"] for payload in payloads if not payload["site"]] == [[refusal]] * 9
    after = await stored(graph, site)
    assert (after.title, after.version) == (won["title"], 2)


async def test_publishing_while_another_change_is_made_does_both(graph, town, monkeypatch):
    ada = await town.person("ada")
    site = await town.site(ada, built_at=minute(0))
    own_site, changes = site_commands.own_site, [Update(site.own_key, set={"title": "Other", "version": 2})]

    async def then_it_changes(*given, **options):
        found = await own_site(*given, **options)
        while changes:
            await graph.table.update(changes.pop())
        return found

    monkeypatch.setattr(site_commands, "own_site", then_it_changes)
    payload = await graph.command(PUBLISH, viewer_of(ada), siteId=id_of(site))

    assert payload["problems"] == []
    after = await stored(graph, site)
    assert (after.title, after.status.name, after.version) == ("Other", "PUBLISHED", 3)


@pytest.mark.parametrize("what", ["the neighborhood forbids it", "one leaves", "the neighborhood goes", "one goes"])
async def test_what_allowed_a_site_has_to_hold_until_it_is_made(graph, town, monkeypatch, what):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(bob)
    own = await town.member(ada, place)
    forbidding = place.changed(settings=NeighborhoodSettings(allow_site_creation=False))
    change, code, path = {
        "the neighborhood forbids it": (Update.of(place, forbidding), "FORBIDDEN", ["input", "neighborhoodId"]),
        "one leaves": (Delete(own.own_key), "FORBIDDEN", ["input", "neighborhoodId"]),
        "the neighborhood goes": (
            Update.of(place, place.changed(deleted_at=minute(9))),
            "NOT_FOUND",
            ["input", "neighborhoodId"],
        ),
        "one goes": (Update.of(ada, ada.changed(deleted_at=minute(9))), "NOT_FOUND", []),
    }[what]
    standing_as = site_commands.standing_as

    async def then_it_changes(*given):
        found = await standing_as(*given)
        await graph.table.write(change)
        return found

    monkeypatch.setattr(site_commands, "standing_as", then_it_changes)
    payload = await graph.command(CREATE, viewer_of(ada), **NEW, neighborhoodId=id_of(place))

    (refusal,) = payload["problems"]
    assert (refusal["code"], refusal["path"]) == (code, path)
    assert await nothing_was_made(graph)


async def test_deleting_an_account_hides_its_sites_at_once_and_restoring_brings_them_back(graph, town):
    ada = await town.person("ada")
    site = await published(town, ada)
    build = await build_that_is(town, site, Q)
    ways = {
        "id": id_of(site),
        "siteId": site.site_id,
        "subdomain": site.subdomain,
        "buildId": id_of(build),
        "userId": id_of(ada),
    }

    async def world() -> list[dict]:
        by_status = (await graph.ask(BY_STATUS, BUILDER, status="QUEUED")).data
        return [(await graph.ask(EVERY_WAY, viewer, **ways)).data for viewer in (BUILDER, viewer_of(bob))] + [by_status]

    bob = await town.person("bob")
    before = await world()
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    hidden = await world()
    refused = await graph.command(UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, title="Other")
    taken = await graph.command(CREATE, viewer_of(bob), **{**NEW, "subdomain": site.subdomain})
    await graph.ask(RESTORE_ACCOUNT, viewer_of(ada))

    assert before[0]["site"] == before[1]["site"] == {"id": id_of(site)}
    nothing = dict.fromkeys(("node", "site", "byKey", "bySubdomain", "build", "user"))
    assert hidden == [nothing, nothing, {"builds": {"nodes": []}}]
    assert refused["problems"] == [NO_ACCOUNT]
    assert taken["problems"] == [TAKEN]
    assert await world() == before


async def test_the_purge_of_an_account_takes_its_sites_their_builds_and_their_subdomains(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    for person in (ada, bob):
        for status in (Q, R, C):
            await build_that_is(town, await town.site(person), status)
    deleted = await published(town, ada)
    await graph.command(DELETE, viewer_of(ada), siteId=id_of(deleted))
    await past_its_grace(graph, ada)

    await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)

    left = [item for item in await graph.items() if item["entityType"]["S"] != "Job"]
    assert not any("id-ada" in repr(item) for item in left)
    sites, builds = await in_table(graph, "Site"), await in_table(graph, "Build")
    assert {item["userId"]["S"] for item in sites + builds} == {"id-bob"}
    assert (len(sites), len(builds)) == (3, 3)
    assert await subdomains(graph) == {item["subdomain"]["S"]: item["siteId"]["S"] for item in sites}


async def test_a_purge_of_many_builds_takes_all_of_them(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)
    builds = [
        Build(site_id=site.site_id, user_id=ada.user_id, job_id=f"j{n}", created_at=f"2026-01-01T00:00:00.{n:03d}Z")
        for n in range(250)
    ]
    await graph.table.batch_write(puts=builds)
    await past_its_grace(graph, ada)

    await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)

    assert [await in_table(graph, kind) for kind in ("Site", "Build", "Unique")] == [[], [], []]


async def test_a_purge_leaves_a_subdomain_with_its_new_owner(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    site = await town.site(ada)
    await graph.command(DELETE, viewer_of(ada), siteId=id_of(site))
    for key in (site.own_key, subdomain_guard(site.subdomain)):
        await graph.table.update(Update(key, set={"expires_at": 1}))
    made = await graph.command(CREATE, viewer_of(bob), **{**NEW, "subdomain": site.subdomain})
    await past_its_grace(graph, ada)

    await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)

    assert (await guard_of(graph, site)).owner_id == made["site"]["databaseId"]
    assert [item["siteId"]["S"] for item in await in_table(graph, "Site")] == [made["site"]["databaseId"]]


async def test_a_purge_that_is_done_again_does_what_is_left(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)
    await past_its_grace(graph, ada)
    await graph.table.delete(subdomain_guard(site.subdomain))

    for _ in range(2):
        await lifecycle.purge_account(graph.context().load, user_id=ada.user_id)

    assert await nothing_was_made(graph)


async def is_made_once(graph: Graph, payload: dict) -> None:
    assert payload["problems"] == []
    (item,) = await in_table(graph, "Site")
    assert payload["site"]["databaseId"] == item["siteId"]["S"]
    assert await subdomains(graph) == {"my-blog": payload["site"]["databaseId"]}


@pytest.mark.parametrize("mishap", [cut_after, cut_before, throttled, error_500, in_conflict])
async def test_a_site_is_made_once_whatever_happens_to_the_write(graph, faulty_graph, proxy, town, engine_name, mishap):
    if engine_name == "moto" and mishap is cut_after:
        pytest.skip("moto ignores ClientRequestToken, so there a repeat finds its own subdomain taken")
    ada = await town.person("ada")
    proxy.will("TransactWriteItems", mishap, times=2)

    payload = await faulty_graph.command(CREATE, viewer_of(ada), **NEW)

    await is_made_once(graph, payload)
    assert proxy.seen["TransactWriteItems"] == 3


async def test_throttling_in_the_middle_loses_no_site(graph, faulty_graph, proxy, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(bob, private=True)
    await town.member(ada, place)
    for operation in ("GetItem", "BatchGetItem", "TransactWriteItems"):
        proxy.will(operation, throttled, times=3)

    payload = await faulty_graph.command(CREATE, viewer_of(ada), **NEW, neighborhoodId=id_of(place))

    await is_made_once(graph, payload)
    assert payload["site"]["neighborhood"] == {"name": place.name}


@pytest.mark.parametrize("mishap", [cut_after, cut_before, throttled])
async def test_a_site_moves_once_whatever_happens_to_the_write(graph, faulty_graph, proxy, town, engine_name, mishap):
    if engine_name == "moto" and mishap is cut_after:
        pytest.skip("moto ignores ClientRequestToken, so there a repeat finds its own subdomain taken")
    ada = await town.person("ada")
    site = await town.site(ada)
    proxy.will("TransactWriteItems", mishap, times=2)

    payload = await faulty_graph.command(
        UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, subdomain="other"
    )

    assert payload["problems"] == []
    after = await stored(graph, site)
    assert (after.subdomain, after.version) == ("other", 2)
    assert await subdomains(graph) == {"other": site.site_id}
