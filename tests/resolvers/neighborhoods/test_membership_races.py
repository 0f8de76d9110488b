"""Members join, leave and change roles concurrently. The counts are right."""

import asyncio
import random

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.model.times import now
from datastore.neighborhoods import MembershipRole, NeighborhoodPrivacy
from resolvers.background.jobs import Worker
from resolvers.neighborhoods import member_commands
from tests.resolvers.neighborhoods.members import (
    APPROVE,
    CHANGE_ROLE,
    INVITE,
    JOIN,
    LEAVE,
    REMOVE,
    history,
    membership_id,
    memberships,
    with_one_of_each,
)
from tests.resolvers.neighborhoods.test_neighborhood_commands import DELETE, codes
from tests.resolvers.social.test_faults import in_conflict
from tests.support.fault_proxy import FOR_EVER, cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.neighborhoods import counts

TURNS = 4


async def crowd(graph: Graph, size: int) -> list[User]:
    people = [User(user_id=f"u{n:02d}", username=f"u{n:02d}", email=f"u{n:02d}@example.org") for n in range(size)]
    await graph.table.batch_write(puts=people)
    return people


async def test_many_join_and_leave_while_the_database_throttles_and_loses_answers(
    graph, faulty_graph, proxy, town, engine_name
):
    place = await town.neighborhood(await town.person("owner"))
    people = await crowd(graph, 30 if engine_name != "moto" else 8)
    chance = random.Random(7)
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.08)
    proxy.will("BatchGetItem", throttled, FOR_EVER, when=lambda _: chance.random() < 0.2)
    proxy.will("GetItem", throttled, FOR_EVER, when=lambda _: chance.random() < 0.2)
    # People join and leave by turns; half of them stay in the end.
    turns = {person.user_id: TURNS - number % 2 for number, person in enumerate(people)}

    async def fickle(person: User) -> None:
        for turn in range(turns[person.user_id]):
            command = LEAVE if turn % 2 else JOIN
            payload = await faulty_graph.command(command, viewer_of(person), neighborhoodId=id_of(place))
            assert payload["problems"] == []

    await asyncio.gather(*map(fickle, people))

    proxy.recover()
    stay = 1 + sum(count % 2 for count in turns.values())
    assert await counts(graph, place) == {"says": (stay, 1), "found": (stay, 1)}
    assert len(await history(graph, place)) == 1 + sum(turns.values())


async def test_of_owners_who_leave_at_once_one_stays(graph, town):
    owners = [await town.person(f"owner{number}") for number in range(6)]
    place = await town.neighborhood(owners[0])
    for owner in owners[1:]:
        await town.member(owner, place, MembershipRole.OWNER)

    payloads = await asyncio.gather(
        *(graph.command(LEAVE, viewer_of(owner), neighborhoodId=id_of(place)) for owner in owners)
    )

    assert sorted(map(codes, payloads)) == [*[[]] * 5, [("FORBIDDEN", "neighborhoodId")]]
    assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}


async def test_owners_who_step_down_leave_and_remove_each_other_at_once(graph, town):
    owners = [await town.person(f"owner{number}") for number in range(6)]
    place = await town.neighborhood(owners[0])
    for owner in owners[1:]:
        await town.member(owner, place, MembershipRole.OWNER)
    own = [membership_id(place, owner) for owner in owners]

    await asyncio.gather(
        *(
            graph.command(CHANGE_ROLE, viewer_of(owner), membershipId=id, role="MEMBER")
            for owner, id in zip(owners[:3], own, strict=False)
        ),
        *(graph.command(LEAVE, viewer_of(owner), neighborhoodId=id_of(place)) for owner in owners[2:5]),
        *(graph.command(REMOVE, viewer_of(owners[5]), membershipId=id) for id in own[:5]),
        graph.command(REMOVE, viewer_of(owners[0]), membershipId=own[5]),
    )

    stored = await counts(graph, place)
    assert stored["says"] == stored["found"]
    assert stored["found"][1] >= 1


async def test_a_role_that_two_change_at_once_is_one_of_the_two(graph, town):
    place, people = await with_one_of_each(town)
    target = membership_id(place, people["member"])
    await town.member(await town.person("owner2"), place, MembershipRole.OWNER)

    payloads = await asyncio.gather(
        *(
            graph.command(CHANGE_ROLE, viewer_of(people["owner"]), membershipId=target, role=role)
            for role in ("OWNER", "ADMIN", "MODERATOR", "OWNER", "MEMBER")
        )
    )

    assert [payload["problems"] for payload in payloads] == [[]] * 5
    stored = await counts(graph, place)
    assert stored["says"] == stored["found"]


async def test_approved_invited_removed_and_leaving_at_once(graph, town):
    place, people = await with_one_of_each(town, private=True)
    pending, target = viewer_of(people["pending"]), membership_id(place, people["pending"])

    for _ in range(3):
        await asyncio.gather(
            graph.command(APPROVE, viewer_of(people["owner"]), membershipId=target),
            graph.command(REMOVE, viewer_of(people["admin"]), membershipId=target),
            graph.command(LEAVE, pending, neighborhoodId=id_of(place)),
            graph.command(JOIN, pending, neighborhoodId=id_of(place)),
            graph.command(
                INVITE,
                viewer_of(people["moderator"]),
                neighborhoodId=id_of(place),
                userId=id_of(people["pending"]),
            ),
        )
        stored = await counts(graph, place)
        assert stored["says"] == stored["found"]


async def test_nobody_joins_a_neighborhood_that_closes_meanwhile(graph, town):
    owner = await town.person("owner")
    place = await town.neighborhood(owner)
    people = await crowd(graph, 10)

    closed, *joined = await asyncio.gather(
        graph.command(DELETE, viewer_of(owner), neighborhoodId=id_of(place)),
        *(graph.command(JOIN, viewer_of(person), neighborhoodId=id_of(place)) for person in people),
    )
    assert await Worker(graph.table).do_what_is_due() == 1

    assert closed["problems"] == []
    assert {code for payload in joined for code in codes(payload)} <= {("NOT_FOUND", "neighborhoodId")}
    assert await memberships(graph, place) == {}


async def test_a_join_that_was_decided_under_other_rules_is_decided_again(graph, town, monkeypatch):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    standing = member_commands._standing
    once = iter([True])

    async def then_private(*given, **named):
        found = await standing(*given, **named)
        if next(once, False):
            await graph.table.update(
                Update(place.own_key, set={"privacy": NeighborhoodPrivacy.PRIVATE, "updated_at": now()})
            )
        return found

    monkeypatch.setattr(member_commands, "_standing", then_private)
    payload = await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))

    assert payload["membership"]["status"] == "PENDING"
    assert await counts(graph, place) == {"says": (1, 1), "found": (1, 1)}


async def test_too_much_at_once_is_said(graph, town, monkeypatch):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    standing = member_commands._standing

    async def then_other(*given, **named):
        found = await standing(*given, **named)
        (other,) = set(NeighborhoodPrivacy) - {found.neighborhood.privacy}
        await graph.table.update(Update(place.own_key, set={"privacy": other, "updated_at": now()}))
        return found

    monkeypatch.setattr(member_commands, "_standing", then_other)
    payload = await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))

    assert payload["problems"] == [
        {"code": "CONFLICT", "message": "too many requests change this at the same time; try again", "path": []}
    ]
    assert list(await memberships(graph, place)) == [ada.user_id]
