"""The access patterns of neighborhoods and memberships, each with its calls."""

import pytest

from datastore.client.writes import Update
from datastore.model.times import now
from datastore.neighborhoods import MembershipRole, MembershipStatus, NeighborhoodSettings
from tests.support.graph import id_of, viewer_of
from tests.support.social import ids, minute

ONE = """query ($id: ID!) { neighborhood(by: {id: $id}) {
    databaseId name slug description memberCount privacy createdAt creator { username }
    settings { allowSiteCreation requireEmailVerification } } }"""
MEMBERS = """query ($id: ID!, $role: MembershipRole, $first: Int, $after: String) {
    neighborhood(by: {id: $id}) { members(role: $role, first: $first, after: $after) {
        nodes { role status joinedAt user { username } } pageInfo { hasNextPage endCursor } } } }"""


def usernames(page):
    return [node["user"]["username"] for node in page["nodes"]]


async def test_a_neighborhood_by_its_id(graph, town):
    ada = await town.person("ada")
    settings = NeighborhoodSettings(allow_site_creation=False, require_email_verification=True)
    place = await town.neighborhood(ada, description="By the river.", settings=settings)

    asked = await graph.ask(ONE, id=id_of(place))

    assert asked.data["neighborhood"] == {
        "databaseId": "nbhd00002",
        "name": "Place 2",
        "slug": "place-2",
        "description": "By the river.",
        "memberCount": 1,
        "privacy": "PUBLIC",
        "createdAt": minute(2),
        "creator": {"username": "ada"},
        "settings": {"allowSiteCreation": False, "requireEmailVerification": True},
    }
    assert asked.calls == {"GetItem": 2}


async def test_a_neighborhood_by_its_slug(graph, town):
    place = await town.neighborhood(await town.person("ada"), slug="old-town")

    asked = await graph.ask('{ neighborhood(by: {slug: " Old-Town "}) { id } }')

    assert asked.data["neighborhood"] == {"id": id_of(place)}
    assert asked.calls == {"Query": 1}


async def test_a_private_one_costs_its_members_one_read_more(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada, private=True, slug="hidden")

    by_id = await graph.ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { name } }", viewer_of(ada), id=id_of(place)
    )
    by_slug = await graph.ask('{ neighborhood(by: {slug: "hidden"}) { name } }', viewer_of(ada))
    anonymous = await graph.ask("query ($id: ID!) { neighborhood(by: {id: $id}) { name } }", id=id_of(place))

    assert by_id.data["neighborhood"] == by_slug.data["neighborhood"] == {"name": place.name}
    assert by_id.calls == {"GetItem": 2}
    assert by_slug.calls == {"Query": 1, "GetItem": 1}
    assert anonymous.data["neighborhood"] is None
    assert anonymous.calls == {"GetItem": 1}


async def test_neighborhoods_newest_first_and_by_date(graph, town):
    ada = await town.person("ada")
    first, second, third = [await town.neighborhood(ada) for _ in range(3)]
    listed = """query ($from: DateTime, $to: DateTime) {
        neighborhoods(createdAfter: $from, createdBefore: $to) { nodes { id } } }"""

    everything = await graph.ask(listed)
    some = await graph.ask(listed, **{"from": first.created_at, "to": third.created_at})

    assert everything.data["neighborhoods"]["nodes"] == [{"id": id} for id in ids(third, second, first)]
    assert some.data["neighborhoods"]["nodes"] == [{"id": id} for id in ids(second, first)]
    assert everything.calls == some.calls == {"Query": 1}


async def test_private_ones_are_listed_for_their_members_at_one_call_more(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    hidden = [await town.neighborhood(ada, private=True) for _ in range(3)]
    public = await town.neighborhood(bob)
    await town.member(bob, hidden[1])

    asked = [await graph.ask("{ neighborhoods { nodes { id } } }", viewer_of(person)) for person in (ada, bob)]

    assert [each.data["neighborhoods"]["nodes"] for each in asked] == [
        [{"id": id} for id in ids(public, *reversed(hidden))],
        [{"id": id} for id in ids(public, hidden[1])],
    ]
    assert [each.calls for each in asked] == [{"Query": 1, "BatchGetItem": 1}] * 2


@pytest.mark.engine_contract
async def test_members_come_by_role_and_then_by_when_they_joined(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada)
    await town.people_in(place)
    late, admin = await town.person("late"), await town.person("admin2")
    await town.member(late, place)
    await town.member(admin, place, MembershipRole.ADMIN)

    asked = await graph.ask(MEMBERS, id=id_of(place))

    assert usernames(asked.data["neighborhood"]["members"]) == [
        "ada",
        "admin",
        "admin2",
        "moderator",
        "member",
        "late",
    ]
    assert asked.data["neighborhood"]["members"]["nodes"][0] == {
        "role": "OWNER",
        "status": "ACTIVE",
        "joinedAt": minute(3),
        "user": {"username": "ada"},
    }
    assert asked.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_members_of_one_role_are_one_query_and_not_a_filter(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada)
    for number in range(15):
        await town.member(await town.person(f"member{number:02d}"), place)
    boss = await town.person("boss")
    await town.member(boss, place, MembershipRole.ADMIN)

    admins = await graph.ask(MEMBERS, id=id_of(place), role="ADMIN", first=1)
    members = await graph.ask(MEMBERS, id=id_of(place), role="MEMBER", first=10)
    rest = await graph.ask(
        MEMBERS,
        id=id_of(place),
        role="MEMBER",
        first=10,
        after=members.data["neighborhood"]["members"]["pageInfo"]["endCursor"],
    )

    assert usernames(admins.data["neighborhood"]["members"]) == ["boss"]
    assert admins.data["neighborhood"]["members"]["pageInfo"]["hasNextPage"] is False
    assert admins.calls == {"GetItem": 2, "Query": 1}
    assert usernames(members.data["neighborhood"]["members"]) == [f"member{number:02d}" for number in range(10)]
    assert usernames(rest.data["neighborhood"]["members"]) == [f"member{number:02d}" for number in range(10, 15)]
    assert rest.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_one_member_and_what_the_viewer_is(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    await town.member(bob, place, MembershipRole.MODERATOR)

    asked = await graph.ask(
        """query ($id: ID!, $user: ID!) { neighborhood(by: {id: $id}) {
            member(userId: $user) { role joinedAt } viewerMembership { role } } }""",
        viewer_of(ada),
        id=id_of(place),
        user=id_of(bob),
    )

    assert asked.data["neighborhood"] == {
        "member": {"role": "MODERATOR", "joinedAt": minute(5)},
        "viewerMembership": {"role": "OWNER"},
    }
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1}


async def test_nobody_in_particular_is_nothing_anywhere(graph, town):
    place = await town.neighborhood(await town.person("ada"))

    asked = await graph.ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { viewerMembership { role } } }", id=id_of(place)
    )

    assert asked.data["neighborhood"] == {"viewerMembership": None}
    assert asked.calls == {"GetItem": 1}


async def test_the_memberships_of_a_user_by_when_they_joined_newest_first(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    first, second, hidden = [await town.neighborhood(ada, private=private) for private in (False, False, True)]
    for place in (second, first, hidden):
        await town.member(bob, place)
    await town.member(bob, await town.neighborhood(ada), status=MembershipStatus.PENDING)
    query = """query ($id: ID!) { user(by: {id: $id}) { memberships { nodes { status neighborhood { name } } }
        neighborhoods { edges { role joinedAt node { name } } } } }"""

    stranger = await graph.ask(query, id=id_of(bob))
    himself = await graph.ask(query, viewer_of(bob), id=id_of(bob))

    assert stranger.data["user"]["memberships"]["nodes"] == [
        {"status": "ACTIVE", "neighborhood": {"name": place.name}} for place in (first, second)
    ]
    assert [edge["node"]["name"] for edge in stranger.data["user"]["neighborhoods"]["edges"]] == [
        first.name,
        second.name,
    ]
    assert [node["status"] for node in himself.data["user"]["memberships"]["nodes"]] == [
        "PENDING",
        "ACTIVE",
        "ACTIVE",
        "ACTIVE",
    ]
    assert [edge["node"]["name"] for edge in himself.data["user"]["neighborhoods"]["edges"]] == [
        hidden.name,
        first.name,
        second.name,
    ]
    assert stranger.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}
    assert himself.calls == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}


async def test_the_history_of_a_membership_newest_first(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    await town.member(bob, place, status=MembershipStatus.PENDING)
    await town.member(await town.person("cleo"), place)
    membership = await town.member(bob, place)

    asked = await graph.ask(
        """query ($id: ID!) { node(id: $id) { ... on Membership { history { nodes {
            change role createdAt user { username } actor { username } } } } } }""",
        viewer_of(ada),
        id=id_of(membership),
    )

    nodes = asked.data["node"]["history"]["nodes"]
    assert [node["createdAt"] for node in nodes] == [membership.created_at, minute(5)]
    assert nodes[0]["user"] == nodes[0]["actor"] == {"username": "bob"}
    # The membership and its neighborhood; ada's membership; the events; their users.
    assert asked.calls == {"GetItem": 4, "Query": 1}


async def test_whether_a_slug_is_free(graph, town):
    await town.neighborhood(await town.person("ada"), slug="old-town")

    asked = await graph.ask(
        """{ taken: slugAvailable(slug: "Old Town!") same: slugAvailable(slug: "old-town")
            free: slugAvailable(slug: "new") none: slugAvailable(slug: "!!!") empty: slugAvailable(slug: "") }"""
    )

    assert asked.data == {"taken": False, "same": False, "free": True, "none": False, "empty": False}
    assert asked.calls == {"BatchGetItem": 1}


async def test_a_deleted_founder_is_nobody(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada)
    await graph.table.update(Update(ada.own_key, set={"deleted_at": now()}))

    asked = await graph.ask(
        """query ($id: ID!) { neighborhood(by: {id: $id}) {
            creator { username } members { nodes { role user { username } } } } }""",
        id=id_of(place),
    )

    assert asked.data["neighborhood"] == {"creator": None, "members": {"nodes": [{"role": "OWNER", "user": None}]}}
