"""Sites: how they are found, what finding them costs, and who sees what of them."""

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.neighborhoods import NeighborhoodSettings, Site, SiteStatus
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.neighborhoods.edges import subdomain_guard
from tests.support.graph import id_of, viewer_of
from tests.support.neighborhoods import Town
from tests.support.social import ids, minute

BUILDER = Viewer("id-builder", frozenset({"builder"}))
ADMIN = Viewer("id-admin", frozenset({"admin"}))
NEVER = 4_000_000_000

SITES = "query ($id: ID!) { user(by: {id: $id}) { sites { nodes { id } } } }"
CONFIGS = "query ($id: ID!) { user(by: {id: $id}) { sites { nodes { id config } } } }"
SITE = "query ($id: ID!) { site(by: {id: $id}) { id config } }"

EVERY_WAY = """query ($id: ID!, $siteId: String!, $subdomain: String!, $buildId: ID!, $userId: ID!) {
    node(id: $id) { id } site(by: {id: $id}) { id } byKey: site(by: {databaseId: $siteId}) { id }
    bySubdomain: site(by: {subdomain: $subdomain}) { id } build(by: {id: $buildId}) { site { id } }
    user(by: {id: $userId}) { sites { nodes { id } } } }"""


async def published(town: Town, owner: User, **fields) -> Site:
    """A site on the web, as publishing leaves it."""
    site = await town.site(owner, status=SiteStatus.PUBLISHED, built_at=minute(0), **fields)
    site.public_url = f"https://{site.subdomain}.example.org"
    await town.graph.table.put(site)
    return site


async def one_of_each(town: Town, owner: User) -> dict[str, Site]:
    return {
        "published": await published(town, owner),
        "draft": await town.site(owner),
        "deleted": await published(town, owner, deleted_at=minute(9), expires_at=NEVER),
    }


def seen(asked, sites: dict[str, Site]) -> list[str]:
    """Returns the names in a user's list of sites, in order."""
    names = {id_of(site): name for name, site in sites.items()}
    return [names[node["id"]] for node in asked.data["user"]["sites"]["nodes"]]


async def test_a_site_by_its_id(graph, town):
    site = await published(town, await town.person("ada"), title="My blog", subdomain="ada")

    asked = await graph.ask(
        """query ($id: ID!) { site(by: {id: $id}) { id databaseId title template status subdomain config version
            builtAt publicUrl
            deletedAt createdAt updatedAt } }""",
        id=id_of(site),
    )

    assert asked.data["site"] == {
        "id": id_of(site),
        "databaseId": "site00002",
        "title": "My blog",
        "template": "blog",
        "status": "PUBLISHED",
        "subdomain": "ada",
        "config": None,
        "version": 1,
        "builtAt": minute(0),
        "publicUrl": "https://ada.example.org",
        "deletedAt": None,
        "createdAt": minute(2),
        "updatedAt": minute(2),
    }
    # The site, and its owner: it is seen as long as they are.
    assert asked.calls == {"BatchGetItem": 1}


async def test_a_site_by_its_site_id(graph, town):
    site = await published(town, await town.person("ada"))

    asked = await graph.ask('{ site(by: {databaseId: "site00002"}) { id } }')
    missing = await graph.ask('{ site(by: {databaseId: "site00003"}) { id } }')

    assert asked.data["site"] == {"id": id_of(site)}
    assert asked.calls == {"Query": 1, "GetItem": 1}
    assert missing.data["site"] is None
    assert missing.calls == {"Query": 1}


@pytest.mark.parametrize("subdomain", ["ada-2", "ADA-2", " Ada-2 "])
async def test_a_site_by_its_subdomain_in_any_case(graph, town, subdomain):
    site = await published(town, await town.person("ada"), subdomain="ada-2")

    asked = await graph.ask("query ($s: String!) { site(by: {subdomain: $s}) { id } }", s=subdomain)

    assert asked.data["site"] == {"id": id_of(site)}
    assert asked.calls == {"Query": 1, "GetItem": 1}


@pytest.mark.parametrize(
    ("subdomain", "available", "calls"),
    [
        ("free", True, {"GetItem": 1}),
        (" FREE ", True, {"GetItem": 1}),
        ("past", True, {"GetItem": 1}),
        ("taken", False, {"GetItem": 1}),
        ("Taken", False, {"GetItem": 1}),
        ("draft", False, {"GetItem": 1}),
        ("deleted", False, {"GetItem": 1}),
        ("www", False, {}),
        ("ab", False, {}),
        ("a#b", False, {}),
        ("", False, {}),
    ],
)
async def test_whether_a_subdomain_is_available(graph, town, subdomain, available, calls):
    ada = await town.person("ada")
    await published(town, ada, subdomain="taken")
    await town.site(ada, subdomain="draft")
    for name, expires_at in (("deleted", NEVER), ("past", 1)):
        site = await town.site(ada, subdomain=name, deleted_at=minute(9), expires_at=expires_at)
        await graph.table.update(Update(subdomain_guard(site.subdomain), set={"expires_at": expires_at}))

    asked = await graph.ask("query ($s: String!) { subdomainAvailable(subdomain: $s) }", s=subdomain)

    assert asked.data["subdomainAvailable"] is available
    assert asked.calls == calls


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('{ site(by: {subdomain: " "}) { id } }', "a value is empty; it needs at least one character"),
        ('{ site(by: {databaseId: "a#b"}) { id } }', "the value 'a#b' may not contain '#' or control characters"),
    ],
)
async def test_what_cannot_be_a_name_of_a_site_is_said_to_be_wrong(graph, query, message):
    asked = await graph.ask(query)

    assert (asked.error["message"], asked.error["extensions"]) == (message, {"code": "INVALID"})
    assert asked.calls == {}


async def test_the_sites_of_a_user_newest_first(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    first, _, second = await published(town, ada), await published(town, bob), await published(town, ada)

    asked = await graph.ask(SITES, id=id_of(ada))

    assert asked.data["user"]["sites"]["nodes"] == [{"id": id} for id in ids(second, first)]
    assert asked.calls == {"GetItem": 1, "Query": 1}


@pytest.mark.parametrize(
    ("who", "sees"),
    [
        ("owner", ["deleted", "draft", "published"]),
        ("builder", ["draft", "published"]),
        ("admin", ["published"]),
        ("bob", ["published"]),
        ("nobody", ["published"]),
    ],
)
async def test_who_sees_which_sites_of_a_user(graph, town, who, sees):
    ada, bob = await town.person("ada"), await town.person("bob")
    sites = await one_of_each(town, ada)
    viewers = {
        "owner": viewer_of(ada),
        "bob": viewer_of(bob),
        "builder": BUILDER,
        "admin": ADMIN,
        "nobody": ANONYMOUS,
    }

    asked = await graph.ask(SITES, viewers[who], id=id_of(ada))

    assert seen(asked, sites) == sees
    assert asked.calls == {"GetItem": 1, "Query": 1}


@pytest.mark.parametrize(
    ("who", "sees"),
    [("owner", {"published", "draft", "deleted"}), ("builder", {"published", "draft"}), ("nobody", {"published"})],
)
async def test_who_sees_a_site_is_the_same_whichever_way_it_is_found(graph, town, who, sees):
    ada = await town.person("ada")
    sites = await one_of_each(town, ada)
    viewer = {"owner": viewer_of(ada), "builder": BUILDER, "nobody": ANONYMOUS}[who]

    for name, site in sites.items():
        build = await town.build(site)
        asked = await graph.ask(
            EVERY_WAY,
            viewer,
            id=id_of(site),
            siteId=site.site_id,
            subdomain=site.subdomain,
            buildId=id_of(build),
            userId=id_of(ada),
        )
        found = {"id": id_of(site)} if name in sees else None
        inside = {"site": found} if found and who != "nobody" else None
        assert asked.data == {
            "node": found,
            "site": found,
            "byKey": found,
            "bySubdomain": found,
            "build": inside,
            "user": {"sites": {"nodes": [{"id": id_of(sites[n])} for n in reversed(sites) if n in sees]}},
        }


async def test_a_deleted_site_is_nobodys_once_its_time_is_over(graph, town):
    ada = await town.person("ada")
    site = await published(town, ada, deleted_at=minute(9), expires_at=1)

    asked = await graph.ask(SITES, viewer_of(ada), id=id_of(ada))
    by_id = await graph.ask(SITE, viewer_of(ada), id=id_of(site))

    assert asked.data["user"]["sites"]["nodes"] == []
    assert by_id.data["site"] is None


@pytest.mark.parametrize("expired_first", [True, False])
async def test_a_live_site_is_found_beside_an_expired_one_of_its_subdomain(graph, town, expired_first):
    ada = await town.person("ada")
    old, new = ("aa", "zz") if expired_first else ("zz", "aa")
    await published(town, ada, site_id=old, subdomain="mine", deleted_at=minute(9), expires_at=1)
    live = await published(town, ada, site_id=new, subdomain="mine")

    asked = await graph.ask('{ site(by: {subdomain: "mine"}) { id } }')

    assert asked.data["site"] == {"id": id_of(live)}


async def test_sites_come_in_pages_that_make_up_for_what_is_hidden(graph, town):
    ada = await town.person("ada")
    shown = []
    for _ in range(3):
        shown.insert(0, await published(town, ada))
        await town.site(ada)
    query = """query ($id: ID!, $first: Int, $after: String) { user(by: {id: $id}) { sites(first: $first, after:
        $after) {
        nodes { id } pageInfo { hasNextPage endCursor } } } }"""

    first = (await graph.ask(query, id=id_of(ada), first=2)).data["user"]["sites"]
    rest = (await graph.ask(query, id=id_of(ada), first=2, after=first["pageInfo"]["endCursor"])).data["user"]["sites"]

    assert [node["id"] for node in first["nodes"] + rest["nodes"]] == ids(*shown)
    assert (first["pageInfo"]["hasNextPage"], rest["pageInfo"]["hasNextPage"]) == (True, False)


@pytest.mark.parametrize(("who", "shown"), [("owner", True), ("builder", True), ("admin", False), ("nobody", False)])
async def test_who_sees_the_config_of_a_site(graph, town, who, shown):
    ada = await town.person("ada")
    site = await published(town, ada, config={"author": "Ada", "posts": [1, 2.5, None]})
    viewer = {"owner": viewer_of(ada), "builder": BUILDER, "admin": ADMIN, "nobody": ANONYMOUS}[who]
    config = site.config if shown else None

    by_id = await graph.ask(SITE, viewer, id=id_of(site))
    by_subdomain = await graph.ask('{ site(by: {subdomain: "site-2"}) { config } }', viewer)

    assert by_id.data["site"] == {"id": id_of(site), "config": config}
    assert by_id.calls == {"BatchGetItem": 1}
    assert by_subdomain.data["site"] == {"config": config}
    # An index brings no config: it is read where it may be seen, and only there.
    assert by_subdomain.calls == {"Query": 1, "GetItem": 2 if shown else 1}


@pytest.mark.parametrize(
    ("who", "calls"), [("owner", {"BatchGetItem": 1}), ("builder", {"BatchGetItem": 1}), ("bob", {})]
)
async def test_the_configs_of_a_list_are_one_batch_for_those_who_see_them(graph, town, who, calls):
    ada, bob = await town.person("ada"), await town.person("bob")
    sites = [await published(town, ada, config={"number": number}) for number in range(5)]
    viewer = {"owner": viewer_of(ada), "builder": BUILDER, "bob": viewer_of(bob)}[who]

    without = await graph.ask(SITES, viewer, id=id_of(ada))
    asked = await graph.ask(CONFIGS, viewer, id=id_of(ada))

    assert asked.data["user"]["sites"]["nodes"] == [
        {"id": id_of(site), "config": site.config if calls else None} for site in reversed(sites)
    ]
    assert without.calls == {"GetItem": 1, "Query": 1}
    assert asked.calls == {"GetItem": 1, "Query": 1, **calls}


async def test_the_owner_of_a_site_and_the_neighborhood_it_was_made_in(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(bob)
    site = await published(town, ada, neighborhood_id=place.neighborhood_id)
    alone = await published(town, ada)
    query = "query ($id: ID!) { site(by: {id: $id}) { owner { username } neighborhood { name } } }"

    asked = await graph.ask(query, id=id_of(site))
    without = await graph.ask(query, id=id_of(alone))

    assert asked.data["site"] == {"owner": {"username": "ada"}, "neighborhood": {"name": place.name}}
    assert asked.calls == {"BatchGetItem": 1, "GetItem": 1}
    assert without.data["site"] == {"owner": {"username": "ada"}, "neighborhood": None}
    assert without.calls == {"BatchGetItem": 1}


async def test_a_site_does_not_tell_strangers_of_a_private_neighborhood(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada, private=True, settings=NeighborhoodSettings(allow_site_creation=False))
    site = await published(town, ada, neighborhood_id=place.neighborhood_id)
    query = "query ($id: ID!) { site(by: {id: $id}) { title neighborhood { name } } }"

    by_ada = await graph.ask(query, viewer_of(ada), id=id_of(site))
    by_bob = await graph.ask(query, viewer_of(bob), id=id_of(site))

    assert by_ada.data["site"] == {"title": site.title, "neighborhood": {"name": place.name}}
    assert by_bob.data["site"] == {"title": site.title, "neighborhood": None}


async def test_the_page_of_ones_sites_with_configs_and_last_builds(graph, town):
    ada = await town.person("ada")
    sites = [await town.site(ada, config={"number": number}) for number in range(3)]
    builds = [[await town.build(site) for _ in range(3)] for site in sites]

    asked = await graph.ask(
        """{ viewer { sites { nodes { config owner { username }
            builds(first: 2) { nodes { databaseId site { title } } } } } } }""",
        viewer_of(ada),
    )

    assert asked.data["viewer"]["sites"]["nodes"] == [
        {
            "config": site.config,
            "owner": {"username": "ada"},
            "builds": {"nodes": [{"databaseId": build.job_id, "site": {"title": site.title}} for build in own[:0:-1]]},
        }
        for site, own in [*zip(sites, builds, strict=True)][::-1]
    ]
    assert asked.calls == {"GetItem": 1, "Query": 4, "BatchGetItem": 1}
