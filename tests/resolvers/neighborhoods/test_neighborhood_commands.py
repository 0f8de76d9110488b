"""Founding, changing and closing a neighborhood."""

import asyncio

import pytest

from datastore.accounts import Unique
from datastore.client.writes import Update
from datastore.model.times import now
from datastore.neighborhoods import Membership, MembershipEvent, MembershipRole, Neighborhood, NeighborhoodSettings
from loaders.viewer import ANONYMOUS
from resolvers.background.jobs import Worker
from resolvers.neighborhoods import neighborhood_commands
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.neighborhoods import counts

FIELDS = """neighborhood { id name slug description privacy memberCount
    settings { allowSiteCreation requireEmailVerification } viewerMembership { role } }
    problems { code message path }"""
CREATE = f"mutation ($input: CreateNeighborhoodInput!) {{ createNeighborhood(input: $input) {{ {FIELDS} }} }}"
UPDATE = f"mutation ($input: UpdateNeighborhoodInput!) {{ updateNeighborhood(input: $input) {{ {FIELDS} }} }}"
DELETE = """mutation ($input: DeleteNeighborhoodInput!) { deleteNeighborhood(input: $input) {
    deletedNeighborhoodId problems { code message path } } }"""


async def guard(graph: Graph, slug: str) -> str | None:
    """Returns the neighborhood that holds a slug."""
    found = await graph.table.get(Unique.key(kind="slug", value=slug), consistent=True)
    return found.owner_id if found else None


def codes(payload):
    return [(problem["code"], *problem["path"][1:]) for problem in payload["problems"]]


async def test_whoever_founds_a_neighborhood_is_its_owner(graph, town):
    ada = await town.person("ada")

    asked = await graph.ask(CREATE, viewer_of(ada), input={"name": "  Downtown Collective ", "description": "Ours."})

    payload = asked.data["createNeighborhood"]
    id = payload["neighborhood"].pop("id")
    assert payload == {
        "neighborhood": {
            "name": "Downtown Collective",
            "slug": "downtown-collective",
            "description": "Ours.",
            "privacy": "PUBLIC",
            "memberCount": 1,
            "settings": {"allowSiteCreation": True, "requireEmailVerification": False},
            "viewerMembership": {"role": "OWNER"},
        },
        "problems": [],
    }
    assert asked.calls == {"TransactWriteItems": 1}
    history = await graph.ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { history { nodes { change user { username } } } } }",
        viewer_of(ada),
        id=id,
    )
    assert history.data["neighborhood"]["history"]["nodes"] == [{"change": "FOUNDED", "user": {"username": "ada"}}]


async def test_everything_can_be_chosen(graph, town):
    ada = await town.person("ada")
    given = {"name": "Ⓐ", "slug": "circle-a", "privacy": "PRIVATE"}

    payload = await graph.command(
        CREATE, viewer_of(ada), **given, allowSiteCreation=False, requireEmailVerification=True
    )

    place = payload["neighborhood"]
    assert (place["slug"], place["privacy"]) == ("circle-a", "PRIVATE")
    assert place["settings"] == {"allowSiteCreation": False, "requireEmailVerification": True}


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Grünau & Œuvre", "grunau-oeuvre"),
        ("北京市", "bei-jing-shi"),
        ("it's #1!", "it-s-1"),
        ("a" * 100, "a" * 60),
        ("--- x ---", "x"),
    ],
)
async def test_a_slug_is_made_from_the_name(graph, town, name, slug):
    payload = await graph.command(CREATE, viewer_of(await town.person("ada")), name=name)

    assert payload["problems"] == []
    assert payload["neighborhood"]["slug"] == slug


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"name": ""}, [("INVALID", "name")]),
        ({"name": " \n "}, [("INVALID", "name")]),
        ({"name": "x" * 101, "description": "x" * 2_001}, [("INVALID", "name"), ("INVALID", "description")]),
        ({"name": "a\u0007b"}, [("INVALID", "name")]),
        ({"name": "!!!"}, [("INVALID", "name")]),
        ({"name": "\N{DECIDUOUS TREE}"}, [("INVALID", "name")]),
        ({"name": "Fine", "slug": ""}, [("INVALID", "slug")]),
        ({"name": "Fine", "slug": "not fine"}, [("INVALID", "slug")]),
        ({"name": "Fine", "slug": "a#b"}, [("INVALID", "slug")]),
        ({"name": "Fine", "slug": "a--b"}, [("INVALID", "slug")]),
        ({"name": "Fine", "slug": "x" * 61}, [("INVALID", "slug")]),
    ],
)
async def test_what_cannot_be_founded(graph, town, given, problems):
    asked = await graph.ask(CREATE, viewer_of(await town.person("ada")), input=given)

    assert codes(asked.data["createNeighborhood"]) == problems
    assert asked.calls == {}


async def test_it_takes_an_open_account(graph, town):
    gone = await town.person("gone", deleted_at=now())

    anonymous = await graph.command(CREATE, ANONYMOUS, name="Nowhere")
    deleted = await graph.command(CREATE, viewer_of(gone), name="Nowhere")

    assert codes(anonymous) == [("UNAUTHENTICATED",)]
    assert codes(deleted) == [("NOT_FOUND",)]
    assert await guard(graph, "nowhere") is None


async def test_a_slug_belongs_to_one_whoever_comes_first(graph, town):
    people = [await town.person(f"person{number}") for number in range(20)]

    payloads = await asyncio.gather(*(graph.command(CREATE, viewer_of(person), name="Old Town") for person in people))

    made = [payload["neighborhood"]["id"] for payload in payloads if payload["neighborhood"]]
    assert len(made) == 1
    assert sorted(map(codes, payloads)) == [[], *[[("TAKEN", "slug")]] * 19]
    stored = (await graph.table.query(Neighborhood.by_time(), limit=100)).records
    assert [id_of(record) for record in stored] == made
    assert await guard(graph, "old-town") == stored[0].neighborhood_id


async def test_admins_change_a_neighborhood(graph, town):
    place = await town.neighborhood(await town.person("ada"), description="Old.")
    admin = (await town.people_in(place))["admin"]

    asked = await graph.ask(
        UPDATE,
        viewer_of(admin),
        input={
            "neighborhoodId": id_of(place),
            "name": "New",
            "description": None,
            "privacy": "PRIVATE",
            "requireEmailVerification": True,
        },
    )

    assert asked.data["updateNeighborhood"]["neighborhood"] == {
        "id": id_of(place),
        "name": "New",
        "slug": place.slug,
        "description": None,
        "privacy": "PRIVATE",
        "memberCount": 4,
        "settings": {"allowSiteCreation": True, "requireEmailVerification": True},
        "viewerMembership": {"role": "ADMIN"},
    }
    # What is there and who asks; the change; the neighborhood for the answer.
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}


async def test_another_slug_frees_the_old_one(graph, town):
    ada = await town.person("ada")
    place, other = await town.neighborhood(ada, slug="old"), await town.neighborhood(ada, slug="other")

    taken = await graph.command(UPDATE, viewer_of(ada), neighborhoodId=id_of(place), slug="other", name="No")
    moved = await graph.command(UPDATE, viewer_of(ada), neighborhoodId=id_of(place), slug="New")
    found = await graph.ask(
        '{ new: neighborhood(by: {slug: "new"}) { id } old: neighborhood(by: {slug: "old"}) { id } }'
    )

    assert codes(taken) == [("TAKEN", "slug")]
    assert moved["neighborhood"]["slug"] == "new"
    assert moved["neighborhood"]["name"] == place.name
    assert found.data == {"new": {"id": id_of(place)}, "old": None}
    assert [await guard(graph, slug) for slug in ("old", "new", "other")] == [
        None,
        place.neighborhood_id,
        other.neighborhood_id,
    ]


@pytest.mark.parametrize(
    ("given", "path"),
    [({"name": None}, "name"), ({"slug": None}, "slug"), ({"privacy": None}, "privacy"), ({"name": ""}, "name"),
     ({"allowSiteCreation": None}, "allowSiteCreation"), ({"slug": "a b"}, "slug")],
)  # fmt: skip
async def test_what_cannot_be_changed(graph, town, given, path):
    ada = await town.person("ada")
    place = await town.neighborhood(ada)

    payload = await graph.command(UPDATE, viewer_of(ada), neighborhoodId=id_of(place), **given)

    assert codes(payload) == [("INVALID", path)]
    assert await graph.table.get(place.own_key) == place


@pytest.mark.engine_contract
async def test_two_settings_that_change_at_once_both_change(graph, town):
    ada = await town.person("ada")
    place = await town.neighborhood(ada)

    payloads = await asyncio.gather(
        *(
            graph.command(UPDATE, viewer_of(ada), neighborhoodId=id_of(place), **{name: value})
            for name, value in (("allowSiteCreation", False), ("requireEmailVerification", True))
        )
    )

    assert [payload["problems"] for payload in payloads] == [[], []]
    stored = await graph.table.get(place.own_key)
    assert stored.settings == NeighborhoodSettings(allow_site_creation=False, require_email_verification=True)


async def test_a_closed_neighborhood_is_gone_but_for_its_history(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada, slug="gone")
    await town.member(bob, place)

    asked = await graph.ask(DELETE, viewer_of(ada), input={"neighborhoodId": id_of(place)})
    again = await graph.command(DELETE, viewer_of(ada), neighborhoodId=id_of(place))
    found = await graph.ask(
        """query ($id: ID!) { neighborhood(by: {id: $id}) { name } neighborhoods { nodes { name } }
            slugAvailable(slug: "gone") viewer { neighborhoods { nodes { name } } } }""",
        viewer_of(bob),
        id=id_of(place),
    )
    new = await graph.command(CREATE, viewer_of(bob), name="Gone")
    by_slug = await graph.ask('{ neighborhood(by: {slug: "gone"}) { id } }')

    assert asked.data["deleteNeighborhood"] == {"deletedNeighborhoodId": id_of(place), "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert codes(again) == [("NOT_FOUND", "neighborhoodId")]
    assert found.data == {
        "neighborhood": None,
        "neighborhoods": {"nodes": []},
        "slugAvailable": True,
        "viewer": {"neighborhoods": {"nodes": []}},
    }
    assert by_slug.data["neighborhood"] == {"id": new["neighborhood"]["id"]}

    assert await Worker(graph.table).do_what_is_due() == 1
    here = {"neighborhood_id": place.neighborhood_id}
    assert await graph.table.get(place.own_key) is None
    assert (await graph.table.query(Membership.within(**here), limit=9)).records == []
    events = (await graph.table.query(MembershipEvent.within(**here), limit=9)).records
    assert [(event.user_id, event.change.value) for event in events] == [
        ("id-ada", "founded"),
        ("id-bob", "joined"),
        ("id-ada", "closed"),
    ]
    assert await guard(graph, "gone") is not None


@pytest.mark.parametrize("viewer", ["stranger", "pending", "invited", "member", "moderator", "admin", "owner"])
@pytest.mark.parametrize(
    ("command", "given", "allowed"), [(UPDATE, {"name": "New"}, ("admin", "owner")), (DELETE, {}, ("owner",))]
)
async def test_who_may_change_and_close_it(graph, town, command, given, allowed, viewer):
    owner = await town.person("owner")
    place = await town.neighborhood(owner)
    people = {"owner": owner, **await town.people_in(place)}

    payload = await graph.command(command, viewer_of(people[viewer]), neighborhoodId=id_of(place), **given)

    assert codes(payload) == ([] if viewer in allowed else [("FORBIDDEN", "neighborhoodId")])


async def test_a_slug_that_changed_hands_often_leads_to_whoever_has_it_now(graph, town):
    ada = await town.person("ada")
    for _ in range(6):
        made = await graph.command(CREATE, viewer_of(ada), name="Coveted")
        await graph.command(DELETE, viewer_of(ada), neighborhoodId=made["neighborhood"]["id"])
    now_there = await graph.command(CREATE, viewer_of(ada), name="Coveted")

    asked = await graph.ask('{ neighborhood(by: {slug: "coveted"}) { id } }')

    assert asked.data["neighborhood"] == {"id": now_there["neighborhood"]["id"]}


async def test_an_older_shape_of_the_settings_is_in_nobodys_way(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    await graph.table.update(Update(place.own_key, raw={"settings": {"M": {}}}))

    joined = await graph.ask(
        "mutation ($id: ID!) { joinNeighborhood(input: { neighborhoodId: $id }) { problems { code } } }",
        viewer_of(bob),
        id=id_of(place),
    )
    changed = await graph.command(UPDATE, viewer_of(ada), neighborhoodId=id_of(place), allowSiteCreation=False)

    assert joined.data["joinNeighborhood"]["problems"] == []
    assert changed["neighborhood"]["settings"] == {"allowSiteCreation": False, "requireEmailVerification": False}


async def test_somebody_who_lost_the_role_meanwhile_changes_nothing(graph, town, monkeypatch):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    membership = await town.member(bob, place, MembershipRole.ADMIN)
    standing_as = neighborhood_commands.standing_as

    async def then_demoted(*given):
        standing = await standing_as(*given)
        await graph.table.update(Update(membership.own_key, set={"role": MembershipRole.MEMBER}))
        return standing

    monkeypatch.setattr(neighborhood_commands, "standing_as", then_demoted)
    payload = await graph.command(UPDATE, viewer_of(bob), neighborhoodId=id_of(place), name="Mine")

    assert codes(payload) == [("FORBIDDEN", "neighborhoodId")]
    assert (await graph.table.get(place.own_key)).name == place.name
    assert (await counts(graph, place))["says"] == (2, 1)
