"""Joining, leaving, inviting and approving."""

import pytest

from datastore.client.writes import Update
from datastore.model.times import now
from datastore.neighborhoods import MembershipStatus, NeighborhoodPrivacy, NeighborhoodSettings
from loaders.viewer import ANONYMOUS, Viewer
from tests.resolvers.neighborhoods.members import (
    APPROVE,
    CHANGE_ROLE,
    INVITE,
    JOIN,
    LEAVE,
    REMOVE,
    history,
    membership_id,
    with_one_of_each,
)
from tests.resolvers.neighborhoods.test_neighborhood_commands import codes
from tests.support.graph import id_of, viewer_of
from tests.support.neighborhoods import counts


@pytest.mark.engine_contract
async def test_one_joins_a_public_neighborhood_at_once(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)

    asked = await graph.ask(JOIN, viewer_of(bob), input={"neighborhoodId": id_of(place)})
    again = await graph.ask(JOIN, viewer_of(bob), input={"neighborhoodId": id_of(place)})

    payload = asked.data["joinNeighborhood"]
    assert payload == {
        "membership": {
            "id": membership_id(place, bob),
            "role": "MEMBER",
            "status": "ACTIVE",
            "user": {"username": "bob"},
        },
        "problems": [],
    }
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert again.data["joinNeighborhood"] == payload
    assert again.calls == {"BatchGetItem": 1}
    assert await counts(graph, place) == {"says": (2, 1), "found": (2, 1)}
    assert (await history(graph, place))[1:] == [("id-bob", "joined", "id-bob")]


async def test_one_asks_to_join_a_private_one_and_is_approved(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada, private=True)

    asked = await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))
    again = await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))
    before = await counts(graph, place)
    approved = await graph.ask(APPROVE, viewer_of(ada), input={"membershipId": asked["membership"]["id"]})
    twice = await graph.command(APPROVE, viewer_of(ada), membershipId=asked["membership"]["id"])

    assert asked["membership"]["status"] == "PENDING"
    assert again == asked
    assert before == {"says": (1, 1), "found": (1, 1)}
    assert approved.data["approveMember"]["membership"]["status"] == "ACTIVE"
    assert approved.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert twice == approved.data["approveMember"]
    assert await counts(graph, place) == {"says": (2, 1), "found": (2, 1)}
    assert (await history(graph, place))[1:] == [
        ("id-bob", "requested", "id-bob"),
        ("id-bob", "joined", "id-ada"),
    ]


async def test_one_is_invited_and_joins(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada, private=True)

    invited = await graph.ask(INVITE, viewer_of(ada), input={"neighborhoodId": id_of(place), "userId": id_of(bob)})
    again = await graph.command(INVITE, viewer_of(ada), neighborhoodId=id_of(place), userId=id_of(bob))
    seen = await graph.ask(
        "{ viewer { memberships { nodes { status neighborhood { name memberCount members { nodes { id } } } } } } }",
        viewer_of(bob),
    )
    joined = await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))

    assert invited.data["inviteMember"]["membership"]["status"] == "INVITED"
    assert invited.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert again == invited.data["inviteMember"]
    assert seen.data["viewer"]["memberships"]["nodes"] == [
        {"status": "INVITED", "neighborhood": {"name": place.name, "memberCount": 1, "members": None}}
    ]
    assert joined["membership"]["status"] == "ACTIVE"
    assert await counts(graph, place) == {"says": (2, 1), "found": (2, 1)}
    assert (await history(graph, place))[1:] == [
        ("id-bob", "invited", "id-ada"),
        ("id-bob", "joined", "id-bob"),
    ]


async def test_inviting_somebody_who_asks_to_join_lets_them_in(graph, town):
    place, people = await with_one_of_each(town, private=True)

    payload = await graph.command(
        INVITE, viewer_of(people["moderator"]), neighborhoodId=id_of(place), userId=id_of(people["pending"])
    )

    assert payload["membership"]["status"] == "ACTIVE"
    assert await counts(graph, place) == {"says": (5, 1), "found": (5, 1)}


async def test_whoever_is_invited_joins_themselves(graph, town):
    place, people = await with_one_of_each(town)

    payload = await graph.command(
        APPROVE, viewer_of(people["owner"]), membershipId=membership_id(place, people["invited"])
    )

    assert codes(payload) == [("INVALID", "membershipId")]


async def test_a_request_to_a_private_neighborhood_that_became_public_is_joined_by_asking_again(graph, town):
    place, people = await with_one_of_each(town, private=True)
    await graph.table.update(Update(place.own_key, set={"privacy": NeighborhoodPrivacy.PUBLIC}))

    payload = await graph.command(JOIN, viewer_of(people["pending"]), neighborhoodId=id_of(place))

    assert payload["membership"]["status"] == "ACTIVE"
    assert await counts(graph, place) == {"says": (5, 1), "found": (5, 1)}


@pytest.mark.parametrize(("kind", "members"), [("pending", 4), ("invited", 4), ("member", 3), ("admin", 3)])
async def test_one_leaves(graph, town, kind, members):
    place, people = await with_one_of_each(town)

    asked = await graph.ask(LEAVE, viewer_of(people[kind]), input={"neighborhoodId": id_of(place)})
    again = await graph.command(LEAVE, viewer_of(people[kind]), neighborhoodId=id_of(place))

    assert asked.data["leaveNeighborhood"] == {
        "deletedMembershipId": membership_id(place, people[kind]),
        "neighborhood": {"memberCount": members},
        "problems": [],
    }
    # Where the count moved, the neighborhood is read again for the answer.
    moved = {} if members == 4 else {"GetItem": 1}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, **moved}
    assert codes(again) == [("NOT_FOUND", "neighborhoodId")]
    assert await counts(graph, place) == {"says": (members, 1), "found": (members, 1)}
    assert (await history(graph, place))[-1] == (f"id-{kind}", "left", f"id-{kind}")


async def test_whoever_leaves_a_private_neighborhood_sees_it_no_more(graph, town):
    place, people = await with_one_of_each(town, private=True)

    payload = await graph.command(LEAVE, viewer_of(people["member"]), neighborhoodId=id_of(place))

    assert payload["neighborhood"] is None
    assert payload["problems"] == []


async def test_what_happened_is_kept_when_somebody_comes_back(graph, town):
    place, people = await with_one_of_each(town)
    member = viewer_of(people["member"])
    await graph.command(LEAVE, member, neighborhoodId=id_of(place))
    back = await graph.command(JOIN, member, neighborhoodId=id_of(place))

    asked = await graph.ask(
        "query ($id: ID!) { node(id: $id) { ... on Membership { history { nodes { change } } } } }",
        member,
        id=back["membership"]["id"],
    )

    assert [node["change"] for node in asked.data["node"]["history"]["nodes"]] == ["JOINED", "LEFT", "JOINED"]


async def test_the_last_owner_stays(graph, town):
    place, people = await with_one_of_each(town)
    owner = viewer_of(people["owner"])
    own = membership_id(place, people["owner"])

    refusals = [
        await graph.command(LEAVE, owner, neighborhoodId=id_of(place)),
        await graph.command(CHANGE_ROLE, owner, membershipId=own, role="ADMIN"),
    ]
    promoted = await graph.command(
        CHANGE_ROLE, owner, membershipId=membership_id(place, people["member"]), role="OWNER"
    )
    two = await counts(graph, place)
    left = await graph.command(LEAVE, owner, neighborhoodId=id_of(place))
    stays = await graph.command(LEAVE, viewer_of(people["member"]), neighborhoodId=id_of(place))

    assert [codes(payload) for payload in refusals] == [
        [("FORBIDDEN", "neighborhoodId")],
        [("FORBIDDEN", "membershipId")],
    ]
    assert promoted["membership"]["role"] == "OWNER"
    assert two == {"says": (4, 2), "found": (4, 2)}
    assert left["problems"] == []
    assert codes(stays) == [("FORBIDDEN", "neighborhoodId")]
    assert await counts(graph, place) == {"says": (3, 1), "found": (3, 1)}


async def test_a_removed_member_is_gone_and_remembered(graph, town):
    place, people = await with_one_of_each(town)
    target = membership_id(place, people["member"])

    asked = await graph.ask(REMOVE, viewer_of(people["moderator"]), input={"membershipId": target})
    himself = await graph.command(
        REMOVE, viewer_of(people["moderator"]), membershipId=membership_id(place, people["moderator"])
    )

    assert asked.data["removeMember"] == {
        "deletedMembershipId": target,
        "neighborhood": {"memberCount": 3},
        "problems": [],
    }
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}
    assert codes(himself) == [("INVALID", "membershipId")]
    assert (await history(graph, place))[-1] == ("id-member", "removed", "id-moderator")


@pytest.mark.parametrize(
    ("verified", "viewer", "problems"),
    [
        (None, {}, [("FORBIDDEN", "neighborhoodId")]),
        ("2026-01-01T00:00:00.000Z", {}, []),
        (None, {"verified_email": "bob@example.org"}, []),
        (None, {"verified_email": "eve@example.org"}, [("FORBIDDEN", "neighborhoodId")]),
    ],
)
@pytest.mark.parametrize("status", [None, MembershipStatus.INVITED])
async def test_a_neighborhood_may_ask_for_a_verified_address(graph, town, verified, viewer, problems, status):
    place = await town.neighborhood(
        await town.person("ada"), settings=NeighborhoodSettings(require_email_verification=True)
    )
    bob = await town.person("bob", email_verified_at=verified)
    if status:
        await town.member(bob, place, status=status)

    payload = await graph.command(JOIN, Viewer(bob.user_id, **viewer), neighborhoodId=id_of(place))

    assert codes(payload) == problems
    assert (await counts(graph, place))["says"] == (1 if problems else 2, 1)


@pytest.mark.parametrize("command", ["approve", "invite"])
@pytest.mark.parametrize("verified", [None, "2026-01-01T00:00:00.000Z"])
async def test_nobody_is_let_in_without_the_verified_address_that_is_asked_for(graph, town, command, verified):
    ada, bob = await town.person("ada"), await town.person("bob", email_verified_at=verified)
    place = await town.neighborhood(ada, private=True, settings=NeighborhoodSettings(require_email_verification=True))
    waiting = await town.member(bob, place, status=MembershipStatus.PENDING)

    if command == "approve":
        payload = await graph.command(APPROVE, viewer_of(ada), membershipId=id_of(waiting))
    else:
        payload = await graph.command(INVITE, viewer_of(ada), neighborhoodId=id_of(place), userId=id_of(bob))

    path = {"approve": "membershipId", "invite": "userId"}[command]
    assert codes(payload) == ([] if verified else [("FORBIDDEN", path)])
    assert (await counts(graph, place))["says"] == (2 if verified else 1, 1)


async def test_an_address_the_identity_provider_vouches_for_is_noted_for_whoever_approves(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada, private=True, settings=NeighborhoodSettings(require_email_verification=True))
    proven = Viewer(bob.user_id, verified_email=bob.email)

    asked = await graph.command(JOIN, proven, neighborhoodId=id_of(place))
    payload = await graph.command(APPROVE, viewer_of(ada), membershipId=asked["membership"]["id"])

    assert (asked["membership"]["status"], payload["membership"]["status"]) == ("PENDING", "ACTIVE")
    assert (await graph.table.get(bob.own_key)).email_verified_at is not None


async def test_it_takes_an_open_account(graph, town):
    place, people = await with_one_of_each(town)
    gone = await town.person("gone", deleted_at=now())
    await graph.table.update(Update(people["admin"].own_key, set={"deleted_at": now()}))
    admin, target = viewer_of(people["admin"]), membership_id(place, people["member"])

    payloads = [
        await graph.command(JOIN, viewer_of(gone), neighborhoodId=id_of(place)),
        await graph.command(LEAVE, admin, neighborhoodId=id_of(place)),
        await graph.command(INVITE, admin, neighborhoodId=id_of(place), userId=id_of(people["stranger"])),
        await graph.command(APPROVE, admin, membershipId=membership_id(place, people["pending"])),
        await graph.command(CHANGE_ROLE, admin, membershipId=target, role="MODERATOR"),
        await graph.command(REMOVE, admin, membershipId=target),
    ]

    assert [codes(payload) for payload in payloads] == [[("NOT_FOUND",)]] * 6
    assert codes(await graph.command(JOIN, ANONYMOUS, neighborhoodId=id_of(place))) == [("UNAUTHENTICATED",)]


async def test_nobody_who_is_gone_comes_in(graph, town):
    place, people = await with_one_of_each(town)
    owner = viewer_of(people["owner"])
    for kind in ("stranger", "pending"):
        await graph.table.update(Update(people[kind].own_key, set={"deleted_at": now()}))

    invited = await graph.command(INVITE, owner, neighborhoodId=id_of(place), userId=id_of(people["stranger"]))
    approved = await graph.command(APPROVE, owner, membershipId=membership_id(place, people["pending"]))

    assert codes(invited) == [("NOT_FOUND", "userId")]
    assert codes(approved) == [("NOT_FOUND", "membershipId")]
    assert (await counts(graph, place))["says"] == (4, 1)


@pytest.mark.parametrize("id", ["", "rubbish", "VXNlciNh", "TmVpZ2hib3Job29kI25vdGhpbmc"])
async def test_ids_of_nothing(graph, town, id):
    ada = viewer_of(await town.person("ada"))

    joined = await graph.command(JOIN, ada, neighborhoodId=id)
    approved = await graph.command(APPROVE, ada, membershipId=id)

    assert [codes(payload)[0][1] for payload in (joined, approved)] == ["neighborhoodId", "membershipId"]
