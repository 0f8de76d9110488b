"""Mutations of memberships, and what they leave in the table."""

from datastore.model.times import now
from datastore.neighborhoods import Membership, MembershipEvent, Neighborhood
from tests.support.graph import Graph, id_of
from tests.support.neighborhoods import Town

MEMBERSHIP = "membership { id role status user { username } } problems { code message path }"
JOIN = f"mutation ($input: JoinNeighborhoodInput!) {{ joinNeighborhood(input: $input) {{ {MEMBERSHIP} }} }}"
INVITE = f"mutation ($input: InviteMemberInput!) {{ inviteMember(input: $input) {{ {MEMBERSHIP} }} }}"
APPROVE = f"mutation ($input: ApproveMemberInput!) {{ approveMember(input: $input) {{ {MEMBERSHIP} }} }}"
CHANGE_ROLE = f"mutation ($input: ChangeMemberRoleInput!) {{ changeMemberRole(input: $input) {{ {MEMBERSHIP} }} }}"
LEAVE = """mutation ($input: LeaveNeighborhoodInput!) { leaveNeighborhood(input: $input) {
    deletedMembershipId neighborhood { memberCount } problems { code message path } } }"""
REMOVE = """mutation ($input: RemoveMemberInput!) { removeMember(input: $input) {
    deletedMembershipId neighborhood { memberCount } problems { code message path } } }"""


async def history(graph: Graph, place) -> list[tuple[str, str, str]]:
    """Returns the history in order: member, change, actor."""
    page = await graph.table.query(
        MembershipEvent.within(neighborhood_id=place.neighborhood_id), limit=1_000, consistent=True
    )
    return [(event.user_id, event.change.value, event.actor_id) for event in page.records]


async def with_one_of_each(town: Town, *, private: bool = False):
    owner = await town.person("owner")
    place = await town.neighborhood(owner, private=private)
    return place, {"owner": owner, **await town.people_in(place)}


def membership_id(place, person) -> str:
    return id_of(Membership(neighborhood_id=place.neighborhood_id, user_id=person.user_id, joined_at=now()))


async def memberships(graph: Graph, place: Neighborhood) -> dict[str, Membership]:
    page = await graph.table.query(Membership.within(neighborhood_id=place.neighborhood_id), limit=200, consistent=True)
    return {record.user_id: record for record in page.records}
