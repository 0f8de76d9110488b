"""Memberships of accounts that are deleted, restored and purged."""

import pytest

from datastore.accounts import Unique, User
from datastore.neighborhoods import Membership, MembershipEvent, MembershipRole, MembershipStatus
from resolvers.accounts import lifecycle
from resolvers.accounts.visibility_sync import purge_works
from resolvers.background.jobs import Worker
from resolvers.neighborhoods import jobs, member_commands
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.resolvers.neighborhoods.members import (
    CHANGE_ROLE,
    JOIN,
    LEAVE,
    history,
    membership_id,
    memberships,
    with_one_of_each,
)
from tests.resolvers.neighborhoods.test_neighborhood_commands import codes
from tests.resolvers.social.test_races import past_its_grace
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.neighborhoods import counts


async def purged(graph: Graph, person: User) -> None:
    await past_its_grace(graph, person)
    await lifecycle.purge_account(graph.context().load, user_id=person.user_id)


async def test_a_purged_account_leaves_everywhere(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    places = [await town.neighborhood(ada) for _ in MembershipStatus]
    for place, status in zip(places, MembershipStatus, strict=True):
        await town.member(bob, place, status=status)

    await purged(graph, bob)
    await purge_works(graph.context().load, bob.user_id)

    for place in places:
        assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}
        assert list(await memberships(graph, place)) == [ada.user_id]
        assert [entry[1] for entry in await history(graph, place)][-1] == "left"
    assert (await graph.table.query(Membership.of_user(user_id=bob.user_id), limit=5)).records == []


@pytest.mark.parametrize(
    ("roles", "heir"),
    [
        ({"a": "MEMBER", "b": "MODERATOR", "c": "MODERATOR"}, "b"),
        ({"a": "MEMBER", "b": "ADMIN"}, "b"),
        ({"a": "MEMBER"}, "a"),
        ({"gone": "ADMIN", "b": "MEMBER"}, "b"),
    ],
)
async def test_the_last_owner_is_succeeded_by_the_highest_and_oldest(graph, town, roles, heir):
    owner = await town.person("owner")
    place = await town.neighborhood(owner)
    for name, role in roles.items():
        person = await town.person(name, deleted_at="2026-01-01T00:00:00.000Z" if name == "gone" else None)
        await town.member(person, place, MembershipRole[role])
    await town.member(await town.person("guest"), place, status=MembershipStatus.INVITED)

    await purged(graph, owner)

    left = await memberships(graph, place)
    assert {record.user_id for record in left.values() if record.role is MembershipRole.OWNER} == {f"id-{heir}"}
    assert await counts(graph, place) == {"says": (len(roles), 1), "found": (len(roles), 1)}
    assert (await history(graph, place))[-2:] == [
        (f"id-{heir}", "role_changed", "id-owner"),
        ("id-owner", "left", "id-owner"),
    ]


async def test_a_neighborhood_nobody_is_left_in_is_closed(graph, town):
    owner = await town.person("owner")
    place = await town.neighborhood(owner, slug="empty")
    await town.member(await town.person("guest"), place, status=MembershipStatus.PENDING)

    await purged(graph, owner)
    await Worker(graph.table).do_what_is_due()

    assert await graph.table.get(place.own_key) is None
    assert await memberships(graph, place) == {}
    assert await graph.table.get(Unique.key(kind="slug", value="empty")) is None
    events = await graph.table.query(MembershipEvent.within(neighborhood_id=place.neighborhood_id), limit=9)
    assert [event.change.value for event in events.records] == ["founded", "joined", "closed"]


async def account_is(graph: Graph, person: User, command: str) -> None:
    """Deleted or restored, and everything done that follows from it."""
    await graph.ask(command, viewer_of(person))
    while await Worker(graph.table).do_what_is_due():
        pass


async def test_whoever_deletes_the_account_is_away_until_it_is_restored(graph, town):
    place, people = await with_one_of_each(town, private=True)
    member = people["moderator"]
    await account_is(graph, member, DELETE_ACCOUNT)
    away = await counts(graph, place)
    listed = await graph.ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { memberCount members { nodes { user { username } } } } }",
        viewer_of(people["owner"]),
        id=id_of(place),
    )
    unseen = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer_of(member), id=id_of(place))

    await account_is(graph, member, RESTORE_ACCOUNT)

    assert away == {"says": (3, 1), "found": (3, 1)}
    assert listed.data["neighborhood"] == {
        "memberCount": 3,
        "members": {"nodes": [{"user": {"username": name}} for name in ("owner", "admin", "member")]},
    }
    assert unseen.data["node"] is None
    assert await counts(graph, place) == {"says": (4, 1), "found": (4, 1)}
    back = (await memberships(graph, place))[member.user_id]
    assert (back.role, back.status) == (MembershipRole.MODERATOR, MembershipStatus.ACTIVE)
    assert [entry[1:] for entry in await history(graph, place)][-2:] == [
        ("away", member.user_id),
        ("returned", member.user_id),
    ]


async def test_owners_who_are_away_do_not_count(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    await town.member(bob, place, MembershipRole.OWNER)
    await account_is(graph, ada, DELETE_ACCOUNT)

    payload = await graph.command(LEAVE, viewer_of(bob), neighborhoodId=id_of(place))

    assert codes(payload) == [("FORBIDDEN", "neighborhoodId")]
    assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}


async def test_a_last_owner_who_goes_away_is_succeeded_and_comes_back_as_an_owner(graph, town):
    place, people = await with_one_of_each(town)

    await account_is(graph, people["owner"], DELETE_ACCOUNT)
    gone = await counts(graph, place)
    heir = (await memberships(graph, place))[people["admin"].user_id]
    await account_is(graph, people["owner"], RESTORE_ACCOUNT)

    assert gone == {"says": (3, 1), "found": (3, 1)}
    assert heir.role is MembershipRole.OWNER
    assert await counts(graph, place) == {"says": (4, 2), "found": (4, 2)}


async def test_a_last_owner_nobody_can_succeed_stays_one(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada)

    await account_is(graph, ada, DELETE_ACCOUNT)
    away = await counts(graph, place)
    await account_is(graph, ada, RESTORE_ACCOUNT)

    assert away == await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}


async def test_where_only_members_who_are_away_are_left_one_of_them_succeeds(graph, town):
    ada, ivy = await town.person("ada"), await town.person("ivy")
    place = await town.neighborhood(ada)
    await town.member(ivy, place)
    await account_is(graph, ivy, DELETE_ACCOUNT)
    assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}

    await purged(graph, ada)
    await account_is(graph, ivy, RESTORE_ACCOUNT)

    asked = await graph.ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { memberCount viewerMembership { role status } } }",
        viewer_of(ivy),
        id=id_of(place),
    )
    assert asked.data["neighborhood"] == {
        "memberCount": 1,
        "viewerMembership": {"role": "OWNER", "status": "ACTIVE"},
    }
    assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}


async def test_a_neighborhood_somebody_just_came_into_is_not_closed(graph, town, monkeypatch):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    heir = jobs._heir

    async def then_joined(*given, **named):
        found = await heir(*given, **named)
        await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))
        return found

    monkeypatch.setattr(jobs, "_heir", then_joined)
    await purged(graph, ada)

    assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}
    assert (await memberships(graph, place))[bob.user_id].role is MembershipRole.OWNER


async def test_somebody_who_left_and_came_back_meanwhile_is_listed_where_they_are(graph, town, monkeypatch):
    place, people = await with_one_of_each(town)
    member, target = people["member"], membership_id(place, people["member"])
    both = member_commands._both
    once = iter([True])

    async def then_back(*given):
        found = await both(*given)
        if next(once, False):
            await graph.command(LEAVE, viewer_of(member), neighborhoodId=id_of(place))
            await graph.command(JOIN, viewer_of(member), neighborhoodId=id_of(place))
        return found

    monkeypatch.setattr(member_commands, "_both", then_back)
    payload = await graph.command(CHANGE_ROLE, viewer_of(people["owner"]), membershipId=target, role="MODERATOR")

    assert payload["membership"]["role"] == "MODERATOR"
    stored = (await memberships(graph, place))[member.user_id]
    page = await graph.table.query(
        Membership.by_status(neighborhood_id=place.neighborhood_id, status=MembershipStatus.ACTIVE).between(
            f"2#{stored.joined_at}", f"2#{stored.joined_at}"
        ),
        limit=5,
    )
    assert [record.user_id for record in page.records] == [member.user_id]


async def test_a_purge_that_was_interrupted_goes_on(graph, town, monkeypatch):
    ada, bob = await town.person("ada"), await town.person("bob")
    places = [await town.neighborhood(ada) for _ in range(3)]
    for place in places:
        await town.member(bob, place)
    move = jobs.move

    async def crash(load, actor_id, neighborhood, *given):
        if neighborhood.neighborhood_id == places[1].neighborhood_id:
            raise ConnectionError("crash")
        await move(load, actor_id, neighborhood, *given)

    await past_its_grace(graph, bob)
    with monkeypatch.context() as broken:
        broken.setattr(jobs, "move", crash)
        with pytest.raises(ConnectionError):
            await lifecycle.purge_account(graph.context().load, user_id=bob.user_id)
    await lifecycle.purge_account(graph.context().load, user_id=bob.user_id)

    assert [(await counts(graph, place))["says"] for place in places] == [(1, 1)] * 3
