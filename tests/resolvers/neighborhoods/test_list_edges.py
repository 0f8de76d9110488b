"""Neighborhoods by name, sites and builds by status, and the number of members, each with its calls."""

from typing import Any

import pytest

from datastore.model.times import now
from datastore.neighborhoods import BuildStatus, MembershipRole, Neighborhood, NeighborhoodPrivacy, SiteStatus
from tests.support.graph import id_of, listed, mutation, viewer_of

NAMES = "{ neighborhoods%s { nodes { name } } }"


def names(asked: Any) -> list[str]:
    return [node["name"] for node in asked.data["neighborhoods"]["nodes"]]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("(orderBy: NAME)", ["alder street", "Älderbach", "Alpenrose", "Zoo"]),
        ('(nameStartsWith: "ALD")', ["alder street", "Älderbach"]),
        ('(nameStartsWith: "älder", orderBy: NAME)', ["alder street", "Älderbach"]),
        ('(nameStartsWith: "alder street and more")', []),
        ('(nameStartsWith: "#")', ["alder street", "Älderbach", "Alpenrose", "Zoo"]),
        ('(nameStartsWith: "al", last: 1)', ["Alpenrose"]),
        ("(orderBy: NEWEST_FIRST)", ["alder street", "Zoo", "Älderbach", "Alpenrose"]),
        ("", ["alder street", "Zoo", "Älderbach", "Alpenrose"]),
    ],
)
async def test_neighborhoods_by_name(graph, town, arguments, found):
    ada = await town.person("ada")
    for name in ("Alpenrose", "Älderbach", "Zoo", "alder street"):
        await town.neighborhood(ada, name=name)

    asked = await graph.ask(NAMES % arguments)

    assert names(asked) == found
    assert asked.calls == {"Query": 1}


async def test_a_shorter_name_comes_before_a_longer_one_that_begins_with_it(graph, town):
    ada = await town.person("ada")
    for name in ("Alder-Bach", "Alder Street", "Alder"):
        await town.neighborhood(ada, name=name)

    assert names(await graph.ask(NAMES % "(orderBy: NAME)")) == ["Alder", "Alder Street", "Alder-Bach"]


@pytest.mark.parametrize(
    "arguments",
    [
        '(orderBy: NEWEST_FIRST, nameStartsWith: "a")',
        '(nameStartsWith: "a", createdAfter: "2026-01-01T00:00:00Z")',
        '(orderBy: NAME, createdBefore: "2026-01-01T00:00:00Z")',
    ],
)
async def test_what_would_take_a_scan_is_refused(graph, arguments):
    asked = await graph.ask(NAMES % arguments)

    assert asked.error["extensions"]["code"] == "INVALID"
    assert asked.calls == {}


async def test_private_and_deleted_ones_are_not_in_the_index_by_name(graph, town):
    ada = await town.person("ada")
    await town.neighborhood(ada, name="Secret", private=True)
    closed = await town.neighborhood(ada, name="Secluded")
    close = mutation("deleteNeighborhood", "deletedNeighborhoodId")
    assert (await graph.command(close, viewer_of(ada), neighborhoodId=id_of(closed)))["problems"] == []

    stored = await graph.table.query(Neighborhood.by_name(), limit=10)
    asked = await graph.ask(NAMES % '(nameStartsWith: "sec")', viewer_of(ada))

    assert stored.records == []
    assert names(asked) == []


async def test_a_change_of_name_or_privacy_is_another_place(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada, name="Alpha")
    await town.neighborhood(ada, name="Beta")
    update = mutation("updateNeighborhood", "neighborhood { name }")

    await graph.command(update, viewer_of(ada), neighborhoodId=id_of(place), name="Gamma")
    renamed = names(await graph.ask(NAMES % "(orderBy: NAME)"))
    await graph.command(update, viewer_of(ada), neighborhoodId=id_of(place), privacy=NeighborhoodPrivacy.PRIVATE.name)
    hidden = names(await graph.ask(NAMES % "(orderBy: NAME)", viewer_of(ada)))

    assert (renamed, hidden) == (["Beta", "Gamma"], ["Beta"])


async def test_the_number_of_members_is_of_all_roles(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    await town.member(bob, place, MembershipRole.ADMIN)
    query = """query ($id: ID!, $role: MembershipRole) { neighborhood(by: { id: $id }) {
        members(role: $role) { totalCount nodes { role } } } }"""

    everybody = await graph.ask(query, id=id_of(place))
    admins = await graph.ask(query, id=id_of(place), role="ADMIN")

    assert everybody.data["neighborhood"]["members"] == {
        "totalCount": 2,
        "nodes": [{"role": "OWNER"}, {"role": "ADMIN"}],
    }
    assert admins.data["neighborhood"]["members"] == {"totalCount": None, "nodes": [{"role": "ADMIN"}]}
    assert everybody.calls == admins.calls == {"GetItem": 1, "Query": 1}


async def test_sites_by_status(graph, town):
    ada = await town.person("ada")
    draft = await town.site(ada, status=SiteStatus.DRAFT)
    shown = await town.site(ada, status=SiteStatus.PUBLISHED)
    query = """query ($id: ID!, $status: SiteStatus) { user(by: { id: $id }) { sites(status: $status) {
        nodes { id } } } }"""

    async def found(viewer: Any, status: str | None) -> Any:
        asked = await graph.ask(query, viewer, id=id_of(ada), status=status)
        assert asked.calls == {"GetItem": 1, "Query": 1}
        return asked.data["user"]["sites"]

    stranger = viewer_of(await town.person("bob"))
    assert await found(viewer_of(ada), "DRAFT") == listed(draft)
    assert await found(viewer_of(ada), "PUBLISHED") == listed(shown)
    assert await found(viewer_of(ada), None) == listed(shown, draft)
    assert await found(stranger, "DRAFT") == listed()
    assert await found(stranger, "PUBLISHED") == listed(shown)


async def test_builds_of_a_site_by_status(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)
    builds = [await town.build(site, status=status) for status in (*BuildStatus, *BuildStatus)]
    query = """query ($id: ID!) { site(by: { id: $id }) { builds(status: FAILED) { nodes { id } } } }"""

    asked = await graph.ask(query, viewer_of(ada), id=id_of(site))

    assert asked.data["site"]["builds"] == listed(builds[7], builds[3])
    assert asked.calls == {"BatchGetItem": 1, "Query": 1}


async def test_neighborhoods_by_size_without_private_and_deleted_ones(graph, town):
    ada = await town.person("ada")
    small, large = await town.neighborhood(ada, name="Small"), await town.neighborhood(ada, name="Large")
    secret = await town.neighborhood(ada, name="Secret", private=True)
    for place, others in ((small, 1), (large, 4), (secret, 6)):
        for number in range(others):
            await town.member(await town.person(f"{place.neighborhood_id}-{number}"), place)
    await graph.settle()

    asked = await graph.ask(NAMES % "(orderBy: MOST_MEMBERS)", viewer_of(ada))
    await graph.table.put((await graph.table.get(large.own_key)).changed(deleted_at=now()))
    await graph.settle()

    assert names(asked) == ["Large", "Small"]
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}
    assert names(await graph.ask(NAMES % "(orderBy: MOST_MEMBERS)")) == ["Small"]


async def test_neighborhoods_by_size_are_not_limited_to_a_time(graph):
    asked = await graph.ask(NAMES % '(orderBy: MOST_MEMBERS, createdBefore: "2026-01-01T00:00:00Z")')

    assert asked.error["message"] == "neighborhoods by size cannot be limited to a time; leave it out"
