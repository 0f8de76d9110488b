"""Visibility of a neighborhood and its contents: every kind of viewer, by every path."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.model.entity import Entity
from datastore.model.times import now
from datastore.neighborhoods import Membership, MembershipEvent, SiteStatus
from loaders.viewer import ANONYMOUS, Viewer
from tests.support.copies import copied
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.neighborhoods import Town

STAFF = ["moderator", "admin", "owner"]
MEMBERS = ["member", *STAFF]
GUESTS = ["invited", *MEMBERS]
NOBODY: list[str] = []
EVERYBODY = ["anonymous", "operator", "builder", "stranger", "former", "pending", *GUESTS]


# People and records by name, and the number of records of the factory.
Written = tuple[dict[str, User], dict[str, Entity], int]


@dataclass
class Scene:
    """A neighborhood, one of each kind of person, and a site that a member made in it."""

    graph: Graph
    people: dict[str, User]
    records: dict[str, Entity]

    @classmethod
    async def of(cls, graph: Graph, town: Town, *, private: bool) -> "Scene":
        people, records, town.made = await copied(
            graph, (cls, private), lambda: cls._written(graph, town, private=private)
        )
        return cls(graph, people, records)

    @staticmethod
    async def _written(graph: Graph, town: Town, *, private: bool) -> Written:
        owner = await town.person("owner")
        place = await town.neighborhood(owner, private=private, slug="place", name="Place")
        people = {"owner": owner, **await town.people_in(place)}
        here = {"neighborhood_id": place.neighborhood_id}
        memberships = await graph.table.query(Membership.within(**here), limit=100)
        events = await graph.table.query(MembershipEvent.within(**here), limit=100)
        records: dict[str, Entity] = {"place": place}
        for name, person in people.items():
            records |= {f"{name} membership": each for each in memberships.records if each.user_id == person.user_id}
            records |= {f"{name} event": each for each in events.records if each.user_id == person.user_id}
            records[name] = person
        records["site"] = await town.site(people["member"], status=SiteStatus.PUBLISHED, **here)
        return people, records, town.made

    def viewer(self, name: str) -> Viewer:
        if name in self.people:
            return viewer_of(self.people[name])
        role = {"operator": "admin", "builder": "builder"}.get(name)
        return Viewer(f"id-{name}", frozenset({role})) if role else ANONYMOUS

    async def seen_by(self, path: "Path") -> list[str]:
        """Returns the kinds of viewers that see something by a path."""
        variables = {name: id_of(self.records[of]) for name, of in path.variables.items()}
        found = []
        for name in EVERYBODY:
            asked = await self.graph.ask(path.query, self.viewer(name), **variables)
            if anything(asked.shown):
                found.append(name)
        return found


def anything(data: Any) -> bool:
    """Returns True if the answer contains a value other than null and empty lists."""
    if isinstance(data, dict):
        return any(map(anything, data.values()))
    if isinstance(data, list):
        return any(map(anything, data))
    return data is not None


class Path(NamedTuple):
    query: str
    variables: dict[str, str]
    private: list[str]
    public: list[str]


def of_place(fields: str, private: list[str], public: list[str], **variables: str) -> Path:
    declared = "".join(f", ${name}: ID!" for name in variables)
    query = f"query ($id: ID!{declared}) {{ neighborhood(by: {{id: $id}}) {{ {fields} }} }}"
    return Path(query, {"id": "place", **variables}, private, public)


def node(record: str, fields: str, private: list[str], public: list[str]) -> Path:
    return Path(f"query ($id: ID!) {{ node(id: $id) {{ {fields} }} }}", {"id": record}, private, public)


PATHS = {
    # The neighborhood itself.
    "by id": of_place("name", GUESTS, EVERYBODY),
    "by slug": Path('{ neighborhood(by: {slug: "place"}) { name } }', {}, GUESTS, EVERYBODY),
    "listed": Path("{ neighborhoods { nodes { name } } }", {}, GUESTS, EVERYBODY),
    "node": node("place", "... on Neighborhood { name }", GUESTS, EVERYBODY),
    "node, nothing but its id": node("place", "id", GUESTS, EVERYBODY),
    "nodes": Path("query ($id: ID!) { nodes(ids: [$id]) { id } }", {"id": "place"}, GUESTS, EVERYBODY),
    "neighborhood of a site": Path(
        "query ($id: ID!) { site(by: {id: $id}) { neighborhood { name } } }", {"id": "site"}, GUESTS, EVERYBODY
    ),
    "neighborhoods of a member": Path(
        "query ($id: ID!) { user(by: {id: $id}) { neighborhoods { nodes { name } } } "
        "}", {"id": "member"}, MEMBERS, EVERYBODY
    ),
    "neighborhood of a member's membership": Path(
        "query ($id: ID!) { user(by: {id: $id}) { memberships { nodes { neighborhood { name } } } } }",
        {"id": "member"},
        MEMBERS,
        EVERYBODY,
    ),
    "neighborhood of one's own membership": Path(
        "{ viewer { memberships { nodes { neighborhood { name } } } } }", {}, GUESTS, ["pending", *GUESTS]
    ),
    "one's own neighborhoods": Path("{ viewer { neighborhoods { nodes { name } } } }", {}, MEMBERS, MEMBERS),
    # Who is in it.
    "members": of_place("members { nodes { user { username } } }", MEMBERS, EVERYBODY),
    "edges of members": of_place("members { edges { cursor } }", MEMBERS, EVERYBODY),
    "members of a role": of_place("members(role: MEMBER) { nodes { role } }", MEMBERS, EVERYBODY),
    "a member": of_place("member(userId: $user) { role }", MEMBERS, EVERYBODY, user="member"),
    "a member's membership": node("member membership", "id", MEMBERS, EVERYBODY),
    "the neighborhood of a member's membership": node(
        "member membership", "... on Membership { neighborhood { name } }", MEMBERS, EVERYBODY
    ),
    "memberships of a member": Path(
        "query ($id: ID!) { user(by: {id: $id}) { memberships { nodes { role } } } "
        "}", {"id": "member"}, MEMBERS, EVERYBODY
    ),
    "one's own membership": of_place("viewerMembership { role }", GUESTS, ["pending", *GUESTS]),
    # Who may come into it.
    "invitations": of_place("invitations { nodes { user { username } } }", STAFF, STAFF),
    "requests": of_place("joinRequests { nodes { user { username } } }", STAFF, STAFF),
    "somebody invited": of_place(
        "member(userId: $user) { status }", ["invited", *STAFF], ["invited", *STAFF], user="invited"
    ),
    "somebody who asks to join": of_place(
        "member(userId: $user) { status }", STAFF, ["pending", *STAFF], user="pending"
    ),
    "an invitation": node("invited membership", "id", ["invited", *STAFF], ["invited", *STAFF]),
    "a request": node("pending membership", "id", ["pending", *STAFF], ["pending", *STAFF]),
    "neighborhood of a request": node(
        "pending membership", "... on Membership { neighborhood { name } }", STAFF, ["pending", *STAFF]
    ),
    "memberships of somebody invited": Path(
        "query ($id: ID!) { user(by: {id: $id}) { memberships { nodes { role } } } }",
        {"id": "invited"},
        ["invited", *STAFF],
        ["invited", *STAFF],
    ),
    "neighborhoods of somebody invited": Path(
        "query ($id: ID!) { user(by: {id: $id}) { neighborhoods { nodes { name } } } "
        "}", {"id": "invited"}, NOBODY, NOBODY
    ),
    # What happened in it.
    "history": of_place("history { nodes { change } }", STAFF, STAFF),
    "history of a membership": of_place(
        "member(userId: $user) { history { nodes { change } } }", MEMBERS, MEMBERS, user="member"
    ),
    "an event": node("member event", "id", MEMBERS, MEMBERS),
    "an event of somebody who asked to join": node("pending event", "id", ["pending", *STAFF], ["pending", *STAFF]),
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("privacy", ["private", "public"])
async def test_who_sees_what(graph, town, privacy, path):
    scene = await Scene.of(graph, town, private=privacy == "private")

    assert await scene.seen_by(PATHS[path]) == [name for name in EVERYBODY if name in getattr(PATHS[path], privacy)]


@pytest.mark.parametrize("path", PATHS)
async def test_of_a_deleted_neighborhood_nobody_sees_anything(graph, town, path):
    scene = await Scene.of(graph, town, private=False)
    await graph.table.update(Update(scene.records["place"].own_key, set={"deleted_at": now()}))

    seen = await scene.seen_by(PATHS[path])

    # Members keep their own membership until it is purged and its history forever; the neighborhood is gone.
    own = {"a member's membership": ["member"], "an invitation": ["invited"], "a request": ["pending"]}
    own |= {"memberships of a member": ["member"], "memberships of somebody invited": ["invited"]}
    own |= {"an event": ["member"], "an event of somebody who asked to join": ["pending"]}
    assert seen == own.get(path, [])


async def test_what_one_may_not_see_looks_like_what_is_not_there(graph, town):
    scene = await Scene.of(graph, town, private=True)
    missing = {"id": "TmVpZ2hib3Job29kI25vdGhpbmc", "membership": "TWVtYmVyc2hpcCNub3RoaW5nI25vYm9keQ"}
    hidden = {"id": id_of(scene.records["place"]), "membership": id_of(scene.records["member membership"])}
    person = id_of(scene.people["pending"])
    commands = """mutation ($id: ID!, $membership: ID!, $user: ID!) {
        leaveNeighborhood(input: { neighborhoodId: $id }) { ...P0 }
        inviteMember(input: { neighborhoodId: $id, userId: $user }) { ...P6 }
        updateNeighborhood(input: { neighborhoodId: $id, name: "Mine" }) { ...P2 }
        deleteNeighborhood(input: { neighborhoodId: $id }) { ...P3 }
        approveMember(input: { membershipId: $membership }) { ...P7 }
        changeMemberRole(input: { membershipId: $membership, role: OWNER }) { ...P1 }
        removeMember(input: { membershipId: $membership }) { ...P4 }
        createSite(input: { title: "X", template: "blog", subdomain: "xyz", neighborhoodId: $id }) { ...P5 } }
        fragment P0 on LeaveNeighborhoodPayload { problems { code message path } }
        fragment P1 on ChangeMemberRolePayload { problems { code message path } }
        fragment P2 on UpdateNeighborhoodPayload { problems { code message path } }
        fragment P3 on DeleteNeighborhoodPayload { problems { code message path } }
        fragment P4 on RemoveMemberPayload { problems { code message path } }
        fragment P5 on CreateSitePayload { problems { code message path } }
        fragment P6 on InviteMemberPayload { problems { code message path } }
        fragment P7 on ApproveMemberPayload { problems { code message path } }"""

    stranger = scene.viewer("stranger")
    answers = [(await graph.ask(commands, stranger, user=person, **given)).data for given in (missing, hidden)]

    assert answers[0] == answers[1]
    assert {problem["code"] for payload in answers[0].values() for problem in payload["problems"]} == {"NOT_FOUND"}
