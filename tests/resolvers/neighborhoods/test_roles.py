"""Rights of each role over other members."""

import pytest

from datastore.neighborhoods import MembershipRole, MembershipStatus
from tests.resolvers.neighborhoods.members import (
    APPROVE,
    CHANGE_ROLE,
    INVITE,
    REMOVE,
    history,
    membership_id,
    with_one_of_each,
)
from tests.resolvers.neighborhoods.test_neighborhood_commands import codes
from tests.support.graph import id_of, viewer_of
from tests.support.neighborhoods import counts

KINDS = ["stranger", "pending", "invited", "member", "moderator", "admin", "owner"]
STAFF = ["moderator", "admin", "owner"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("privacy", ["public", "private"])
async def test_who_may_invite(graph, town, kind, privacy):
    place, people = await with_one_of_each(town, private=privacy == "private")
    someone = await town.person("someone")

    payload = await graph.command(INVITE, viewer_of(people[kind]), neighborhoodId=id_of(place), userId=id_of(someone))

    unseen = privacy == "private" and kind in ("stranger", "pending")
    refusal = [("NOT_FOUND" if unseen else "FORBIDDEN", "neighborhoodId")]
    assert codes(payload) == ([] if kind in STAFF else refusal)


@pytest.mark.parametrize("kind", KINDS)
async def test_who_may_approve(graph, town, kind):
    place, people = await with_one_of_each(town)
    someone = await town.person("someone")
    waiting = await town.member(someone, place, status=MembershipStatus.PENDING)

    payload = await graph.command(APPROVE, viewer_of(people[kind]), membershipId=id_of(waiting))

    # Requests are for moderators to see.
    assert codes(payload) == ([] if kind in STAFF else [("NOT_FOUND", "membershipId")])


MAY_REMOVE = {
    "member": [],
    "moderator": ["member", "invited", "pending"],
    "admin": ["member", "moderator", "invited", "pending"],
    "owner": ["member", "moderator", "admin", "owner", "invited", "pending"],
}


@pytest.mark.parametrize("actor", MAY_REMOVE)
async def test_who_may_remove_whom(graph, town, actor):
    place, people = await with_one_of_each(town)
    targets = {}
    for kind, role, status in [
        *((role.value, role, MembershipStatus.ACTIVE) for role in MembershipRole),
        ("invited", MembershipRole.MEMBER, MembershipStatus.INVITED),
        ("pending", MembershipRole.MEMBER, MembershipStatus.PENDING),
    ]:
        targets[kind] = await town.member(await town.person(f"target-{kind}"), place, role, status)

    removed = [
        kind
        for kind, target in targets.items()
        if not (await graph.command(REMOVE, viewer_of(people[actor]), membershipId=id_of(target)))["problems"]
    ]

    assert sorted(removed) == sorted(MAY_REMOVE[actor])
    stored = await counts(graph, place)
    assert stored["says"] == stored["found"]


def may_give(actor: str, before: str, after: str) -> bool:
    """The table in resolvers/neighborhoods/member_commands.py as a function."""
    return actor == "owner" or (actor == "admin" and {before, after} <= {"member", "moderator"})


@pytest.mark.parametrize("actor", [role.value for role in MembershipRole])
@pytest.mark.parametrize("before", list(MembershipRole))
async def test_who_may_give_which_role_to_whom(graph, town, actor, before):
    place, people = await with_one_of_each(town)
    target = await town.person("target")
    outcomes = {}
    for after in MembershipRole:
        membership = await town.member(target, place, before)
        payload = await graph.command(
            CHANGE_ROLE, viewer_of(people[actor]), membershipId=id_of(membership), role=after.name
        )
        outcomes[after.value] = codes(payload) == []
        place.member_count -= 1
        place.owner_count -= before is MembershipRole.OWNER

    assert outcomes == {after.value: may_give(actor, before.value, after.value) for after in MembershipRole}


@pytest.mark.parametrize("kind", ["admin", "moderator", "member"])
async def test_everybody_may_take_a_lower_role(graph, town, kind):
    place, people = await with_one_of_each(town)
    own = membership_id(place, people[kind])

    down = await graph.command(CHANGE_ROLE, viewer_of(people[kind]), membershipId=own, role="MEMBER")
    up = await graph.command(CHANGE_ROLE, viewer_of(people[kind]), membershipId=own, role="OWNER")

    assert down["membership"]["role"] == "MEMBER"
    assert codes(up) == [("FORBIDDEN", "membershipId")]


async def test_a_role_is_for_members(graph, town):
    place, people = await with_one_of_each(town)

    payload = await graph.command(
        CHANGE_ROLE, viewer_of(people["owner"]), membershipId=membership_id(place, people["pending"]), role="OWNER"
    )

    assert codes(payload) == [("INVALID", "membershipId")]


async def test_a_changed_role_is_listed_as_such(graph, town):
    place, people = await with_one_of_each(town)
    asked = await graph.ask(
        CHANGE_ROLE,
        viewer_of(people["owner"]),
        input={"membershipId": membership_id(place, people["member"]), "role": "ADMIN"},
    )

    listed = await graph.ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { members(role: ADMIN) { nodes { user { username } } } } }",
        id=id_of(place),
    )

    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    nodes = listed.data["neighborhood"]["members"]["nodes"]
    assert sorted(node["user"]["username"] for node in nodes) == ["admin", "member"]
    assert (await history(graph, place))[-1] == ("id-member", "role_changed", "id-owner")
