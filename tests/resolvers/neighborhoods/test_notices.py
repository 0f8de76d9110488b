"""Notifications of memberships and builds."""

from datastore.neighborhoods import MembershipRole
from tests.resolvers.neighborhoods.members import APPROVE, CHANGE_ROLE, INVITE, JOIN, LEAVE, REMOVE
from tests.resolvers.neighborhoods.test_build_commands import REPORT
from tests.resolvers.neighborhoods.test_build_edges import START
from tests.resolvers.neighborhoods.test_site_edges import BUILDER
from tests.support.graph import id_of, viewer_of
from tests.support.notifications import sources, stored, texts


async def test_an_invitation_is_notified_until_it_is_accepted_or_withdrawn(graph, town):
    ada, bob, cyd = [await town.person(name) for name in ("ada", "bob", "cyd")]
    place = await town.neighborhood(ada, private=True, name="Elm Street")
    for person in (bob, cyd):
        invited = await graph.command(INVITE, viewer_of(ada), neighborhoodId=id_of(place), userId=id_of(person))
    assert await texts(graph, bob) == ["ada invited you to the neighborhood “Elm Street”."]

    await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))
    assert await texts(graph, bob) == []
    await graph.command(REMOVE, viewer_of(ada), membershipId=invited["membership"]["id"])
    assert await texts(graph, cyd) == []
    assert await sources(graph) == 0


async def test_a_join_request_is_notified_to_those_who_moderate(graph, town):
    ada, bob, cyd, dan = [await town.person(name) for name in ("ada", "bob", "cyd", "dan")]
    place = await town.neighborhood(ada, private=True, name="Elm Street")
    moderator = await town.member(bob, place, MembershipRole.MODERATOR)
    await town.member(cyd, place)

    asked = await graph.command(JOIN, viewer_of(dan), neighborhoodId=id_of(place))

    for person in (ada, bob):
        assert await texts(graph, person) == ["dan asked to join the neighborhood “Elm Street”."]
    assert await texts(graph, cyd) == []

    await graph.command(CHANGE_ROLE, viewer_of(ada), membershipId=id_of(moderator), role="MEMBER")
    assert await texts(graph, bob) == ["ada changed your role in the neighborhood “Elm Street”."]
    await graph.command(APPROVE, viewer_of(ada), membershipId=asked["membership"]["id"])
    assert await texts(graph, ada) == []
    assert await texts(graph, dan) == ["ada approved your request to join the neighborhood “Elm Street”."]

    await graph.command(LEAVE, viewer_of(dan), neighborhoodId=id_of(place))
    assert await texts(graph, dan) == []
    assert await stored(graph, dan) == (0, 0)


async def test_one_who_left_a_private_neighborhood_is_not_reminded_of_it(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada, private=True)
    await graph.command(INVITE, viewer_of(ada), neighborhoodId=id_of(place), userId=id_of(bob))
    assert len(await texts(graph, bob)) == 1

    # The membership is gone, and no processor has seen it.
    await graph.command(LEAVE, viewer_of(bob), neighborhoodId=id_of(place))
    asked = await graph.ask("{ viewer { unreadNotificationCount notifications { nodes { id } } } }", viewer_of(bob))

    assert asked.data["viewer"] == {"unreadNotificationCount": 0, "notifications": {"nodes": []}}


async def test_the_end_of_a_build_is_notified(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada, title="My blog")
    for status in ("COMPLETED", "FAILED", "FAILED"):
        build = (await graph.command(START, viewer_of(ada), siteId=id_of(site)))["build"]
        await graph.ask(REPORT, BUILDER, input={"buildId": build["id"], "status": "RUNNING"})
        await graph.ask(REPORT, BUILDER, input={"buildId": build["id"], "status": status})

    assert sorted(await texts(graph, ada)) == [
        "2 builds of your site “My blog” failed.",
        "A build of your site “My blog” succeeded.",
    ]
