"""Changing, publishing, deleting and restoring a site: what becomes of it, and who may."""

import pytest

from datastore.accounts import Unique
from datastore.client.writes import Update
from datastore.model.times import epoch_seconds, now
from datastore.neighborhoods import Site, SiteStatus
from loaders.viewer import ANONYMOUS
from resolvers.neighborhoods.edges import subdomain_guard
from tests.resolvers.neighborhoods.test_site_commands import (
    CREATE,
    NAME,
    NEW,
    NO_ACCOUNT,
    NO_OBJECT,
    SHAPE,
    UNAUTHENTICATED,
    in_table,
    who_has,
)
from tests.resolvers.neighborhoods.test_site_edges import BUILDER, EVERY_WAY, NEVER, published
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of
from tests.support.social import minute

FIELDS = "site { id title template status subdomain config version builtAt publicUrl deletedAt }"
UPDATE = mutation("updateSite", FIELDS)
PUBLISH = mutation("publishSite", FIELDS)
UNPUBLISH = mutation("unpublishSite", FIELDS)
DELETE = mutation("deleteSite", FIELDS)
RESTORE = mutation("restoreSite", FIELDS)
COMMANDS = {"update": UPDATE, "publish": PUBLISH, "unpublish": UNPUBLISH, "delete": DELETE, "restore": RESTORE}

NO_SITE = problem("NOT_FOUND", "there is no such site", "input", "siteId")
NOT_YOURS = problem("FORBIDDEN", "only its owner may do this", "input", "siteId")
IS_DELETED = problem("NOT_FOUND", "this site is deleted; use restoreSite first", "input", "siteId")
TAKEN = problem("TAKEN", "this subdomain is taken", "input", "subdomain")
A_WEEK = 7 * 24 * 3600

NOT_NULL = "this cannot be null; leave it out to keep it as it is"


async def stored(graph: Graph, site: Site) -> Site:
    found = await graph.table.get(site.own_key, consistent=True)
    assert found is not None
    return found


async def guard_of(graph: Graph, site: Site) -> Unique:
    found = await graph.table.get(subdomain_guard(site.subdomain), consistent=True)
    assert found is not None
    return found


def shown(site: Site, **changes) -> dict:
    """Returns the site of a payload."""
    return {
        "id": id_of(site),
        "title": site.title,
        "template": site.template,
        "status": site.status.name,
        "subdomain": site.subdomain,
        "config": site.config,
        "version": site.version,
        "builtAt": site.built_at,
        "publicUrl": site.public_url,
        "deletedAt": site.deleted_at,
        **changes,
    }


def input_for(command: str, site: Site) -> dict:
    return {"siteId": id_of(site), **({"expectedVersion": site.version} if command == "update" else {})}


async def test_changing_a_site(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)
    changes = {"title": "Other", "template": "shop", "config": {"n": [1]}}

    asked = await graph.ask(UPDATE, viewer_of(ada), input={"siteId": id_of(site), "expectedVersion": 1, **changes})

    assert asked.data["updateSite"] == {"site": shown(site, **changes, version=2), "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    after = await stored(graph, site)
    assert (after.title, after.template, after.config, after.version) == ("Other", "shop", {"n": [1]}, 2)
    assert after.created_at == site.created_at < after.updated_at


@pytest.mark.parametrize("changes", [{"title": "Other"}, {"template": "shop"}, {"config": {}}, {"subdomain": "other"}])
async def test_what_is_left_out_stays_as_it_is(graph, town, changes):
    ada = await town.person("ada")
    site = await published(town, ada, config={"text": "x" * 5_000})

    payload = await graph.command(UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, **changes)
    asked = await graph.ask(
        "query ($id: ID!) { site(by: {id: $id}) { title template subdomain config } }", viewer_of(ada), id=id_of(site)
    )

    assert payload["problems"] == []
    before = {name: getattr(site, name) for name in ("title", "template", "subdomain", "config")}
    assert asked.data["site"] == {**before, **changes}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", "", "this needs at least one character"),
        ("title", None, NOT_NULL),
        ("template", "a b", NAME),
        ("template", None, NOT_NULL),
        ("subdomain", "ab", SHAPE),
        ("subdomain", None, NOT_NULL),
        ("subdomain", "www", "www is reserved; choose another one"),
        ("config", [], NO_OBJECT),
        ("config", None, NOT_NULL),
    ],
)
async def test_a_change_that_is_refused(graph, town, field, value, message):
    ada = await town.person("ada")
    site = await town.site(ada)

    asked = await graph.ask(
        UPDATE, viewer_of(ada), input={"siteId": id_of(site), "expectedVersion": 1, "title": "Other", field: value}
    )

    assert asked.data["updateSite"] == {"site": None, "problems": [problem("INVALID", message, "input", field)]}
    assert asked.calls == {}


@pytest.mark.parametrize("version", [1, 3, 0, -1])
async def test_a_change_of_another_version_changes_nothing(graph, town, version):
    ada = await town.person("ada")
    site = await town.site(ada, version=2)

    payload = await graph.command(
        UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=version, title="Other", subdomain="other"
    )

    message = "the current version is 2; read it again"
    assert payload == {"site": None, "problems": [problem("CONFLICT", message, "input", "expectedVersion")]}
    assert await stored(graph, site) == site
    assert await who_has(graph, "other") is None


async def test_a_site_that_moves_frees_its_old_subdomain_and_takes_the_new_one(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    site = await published(town, ada, subdomain="old")

    asked = await graph.ask(
        UPDATE, viewer_of(ada), input={"siteId": id_of(site), "expectedVersion": 1, "subdomain": "NEW"}
    )
    found = await graph.ask(
        '{ old: site(by: {subdomain: "old"}) { id } new: site(by: {subdomain: "new"}) { id publicUrl } }'
    )
    by_bob = await graph.command(CREATE, viewer_of(bob), **{**NEW, "subdomain": "old"})

    moved = shown(site, subdomain="new", publicUrl="https://new.example.org", version=2)
    assert asked.data["updateSite"] == {"site": moved, "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert found.data == {"old": None, "new": {"id": id_of(site), "publicUrl": "https://new.example.org"}}
    assert await who_has(graph, "new") == site.site_id
    assert by_bob["problems"] == []
    assert await who_has(graph, "old") == by_bob["site"]["databaseId"]


async def test_a_draft_that_moves_has_no_address_yet(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)

    payload = await graph.command(UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, subdomain="other")

    assert payload["site"] == shown(site, subdomain="other", version=2)


async def test_naming_the_subdomain_one_has_keeps_it(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)

    payload = await graph.command(
        UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, subdomain=site.subdomain, title="Other"
    )

    assert payload == {"site": shown(site, title="Other", version=2), "problems": []}
    assert await who_has(graph, site.subdomain) == site.site_id


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_moving_to_a_subdomain_that_is_taken_changes_nothing(graph, town, is_deleted):
    ada, bob = await town.person("ada"), await town.person("bob")
    site, other = await town.site(ada), await town.site(bob)
    if is_deleted:
        await graph.command(DELETE, viewer_of(bob), siteId=id_of(other))

    payload = await graph.command(
        UPDATE, viewer_of(ada), siteId=id_of(site), expectedVersion=1, subdomain=other.subdomain, title="Other"
    )

    assert payload == {"site": None, "problems": [TAKEN]}
    assert await stored(graph, site) == site
    assert await who_has(graph, site.subdomain) == site.site_id
    assert await who_has(graph, other.subdomain) == other.site_id


@pytest.mark.parametrize("command", COMMANDS)
async def test_only_its_owner_does_anything_to_a_site(graph, town, command):
    ada, bob = await town.person("ada"), await town.person("bob")
    draft, site = await town.site(ada), await published(town, ada)
    gone = await published(town, ada, deleted_at=minute(9), expires_at=NEVER)
    given = {each.site_id: input_for(command, each) for each in (draft, site, gone)}

    def problems_of(viewer, each):
        return graph.command(COMMANDS[command], viewer, **given[each.site_id])

    assert (await problems_of(viewer_of(bob), site))["problems"] == [NOT_YOURS]
    assert (await problems_of(viewer_of(bob), draft))["problems"] == [NO_SITE]
    assert (await problems_of(viewer_of(bob), gone))["problems"] == [NO_SITE]
    assert (await problems_of(BUILDER, draft))["problems"] == [NOT_YOURS]
    assert (await problems_of(BUILDER, gone))["problems"] == [NO_SITE]
    assert (await problems_of(ANONYMOUS, site))["problems"] == [UNAUTHENTICATED]
    assert [await stored(graph, each) for each in (draft, site, gone)] == [draft, site, gone]


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_missing_site_is_refused_like_one_that_is_not_seen(graph, town, command):
    ada, bob = await town.person("ada"), await town.person("bob")
    site, draft = await town.site(bob), await town.site(bob)
    await graph.table.delete(site.own_key)

    asked = [
        await graph.ask(COMMANDS[command], viewer_of(ada), input=input_for(command, each)) for each in (site, draft)
    ]

    assert [list(each.data.values()) for each in asked] == [[{"site": None, "problems": [NO_SITE]}]] * 2
    assert [each.calls for each in asked] == [{"BatchGetItem": 1}] * 2


@pytest.mark.parametrize("command", COMMANDS)
async def test_somebody_whose_account_is_deleted_does_nothing_to_their_site(graph, town, command):
    ada = await town.person("ada", deleted_at=now(), expires_at=NEVER)
    fields = {
        "publish": {"built_at": minute(0)},
        "unpublish": {"status": SiteStatus.PUBLISHED},
        "restore": {"deleted_at": minute(9), "expires_at": NEVER},
    }
    site = await town.site(ada, **fields.get(command, {}))

    payload = await graph.command(COMMANDS[command], viewer_of(ada), **input_for(command, site))

    assert payload == {"site": None, "problems": [NO_ACCOUNT]}
    assert await stored(graph, site) == site


async def test_publishing_takes_a_build(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada)

    payload = await graph.command(PUBLISH, viewer_of(ada), siteId=id_of(site))

    message = "there is nothing to publish yet; build it with startBuild"
    assert payload == {"site": None, "problems": [problem("INVALID", message, "input", "siteId")]}
    assert await stored(graph, site) == site


async def test_publishing_and_unpublishing_again_changes_nothing(graph, town):
    ada = await town.person("ada")
    site = await town.site(ada, built_at=minute(0), subdomain="ada")

    asked = [await graph.ask(PUBLISH, viewer_of(ada), input={"siteId": id_of(site)}) for _ in range(2)]
    by_others = await graph.ask('{ site(by: {subdomain: "ada"}) { publicUrl } }')
    back = [await graph.ask(UNPUBLISH, viewer_of(ada), input={"siteId": id_of(site)}) for _ in range(2)]

    on = shown(site, status="PUBLISHED", publicUrl="https://ada.example.org", version=2)
    off = shown(site, status="DRAFT", publicUrl=None, version=3)
    assert [each.data["publishSite"] for each in asked] == [{"site": on, "problems": []}] * 2
    assert [each.calls for each in asked] == [{"BatchGetItem": 1, "TransactWriteItems": 1}, {"BatchGetItem": 1}]
    assert by_others.data["site"] == {"publicUrl": "https://ada.example.org"}
    assert [each.data["unpublishSite"] for each in back] == [{"site": off, "problems": []}] * 2
    assert [each.calls for each in back] == [{"BatchGetItem": 1, "TransactWriteItems": 1}, {"BatchGetItem": 1}]
    assert (await graph.ask('{ site(by: {subdomain: "ada"}) { id } }')).data["site"] is None


async def test_deleting_hides_a_site_from_everybody_else_at_once(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    site = await published(town, ada)
    build = await town.build(site)
    ways = {"id": id_of(site), "siteId": site.site_id, "subdomain": site.subdomain}

    asked = await graph.ask(DELETE, viewer_of(ada), input={"siteId": id_of(site)})
    answers = [
        (await graph.ask(EVERY_WAY, viewer, **ways, buildId=id_of(build), userId=id_of(ada))).data
        for viewer in (viewer_of(bob), BUILDER, ANONYMOUS)
    ]
    by_ada = await graph.ask(EVERY_WAY, viewer_of(ada), **ways, buildId=id_of(build), userId=id_of(ada))

    deleted_at = asked.data["deleteSite"]["site"]["deletedAt"]
    assert asked.data["deleteSite"] == {"site": shown(site, version=2, deletedAt=deleted_at), "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    hidden = dict.fromkeys(("node", "site", "byKey", "bySubdomain", "build"))
    assert answers == [{**hidden, "user": {"sites": {"nodes": []}}}] * 3
    found = {"id": id_of(site)}
    assert by_ada.data == {
        **dict.fromkeys(hidden, found),
        "build": {"site": found},
        "user": {"sites": {"nodes": [found]}},
    }


async def test_a_deleted_site_and_its_subdomain_are_kept_for_a_week(graph, town):
    ada, bob = await town.person("ada"), await town.person("bob")
    site = await published(town, ada)

    await graph.command(DELETE, viewer_of(ada), siteId=id_of(site))
    after = await stored(graph, site)
    guard = await guard_of(graph, site)
    at_once = await graph.command(CREATE, viewer_of(bob), **{**NEW, "subdomain": site.subdomain})

    assert 0 <= after.expires_at - epoch_seconds(after.deleted_at) - A_WEEK <= 60
    assert guard.expires_at == after.expires_at
    assert at_once["problems"] == [TAKEN]

    for key in (site.own_key, guard.own_key):
        await graph.table.update(Update(key, set={"expires_at": 1}))
    later = await graph.command(CREATE, viewer_of(bob), **{**NEW, "subdomain": site.subdomain})
    restored = await graph.command(RESTORE, viewer_of(ada), siteId=id_of(site))

    assert later["problems"] == []
    new = await guard_of(graph, site)
    assert (new.owner_id, new.expires_at) == (later["site"]["databaseId"], None)
    assert restored == {"site": None, "problems": [NO_SITE]}


@pytest.mark.parametrize("status", SiteStatus)
async def test_restoring_brings_a_site_back_as_it_was(graph, town, status):
    ada = await town.person("ada")
    site = await town.site(ada) if status is SiteStatus.DRAFT else await published(town, ada)
    viewer, given = viewer_of(ada), {"siteId": id_of(site)}

    await graph.command(DELETE, viewer, **given)
    again = await graph.ask(DELETE, viewer, input=given)
    deleted = await stored(graph, site)
    asked = [await graph.ask(RESTORE, viewer, input=given) for _ in range(2)]
    by_others = await graph.ask("query ($id: ID!) { site(by: {id: $id}) { publicUrl } }", id=id_of(site))

    assert again.data["deleteSite"] == {"site": shown(deleted), "problems": []}
    assert again.calls == {"BatchGetItem": 1}
    assert [each.data["restoreSite"] for each in asked] == [{"site": shown(site, version=3), "problems": []}] * 2
    assert [each.calls for each in asked] == [{"BatchGetItem": 1, "TransactWriteItems": 1}, {"BatchGetItem": 1}]
    assert by_others.data["site"] == (None if status is SiteStatus.DRAFT else {"publicUrl": site.public_url})
    assert (await guard_of(graph, site)).expires_at is None
    (item,) = await in_table(graph, "Site")
    assert not {"deletedAt", "expiresAt"} & item.keys()


@pytest.mark.parametrize("command", ["update", "publish", "unpublish"])
async def test_a_deleted_site_has_to_be_restored_first(graph, town, command):
    ada = await town.person("ada")
    site = await published(town, ada, deleted_at=minute(9), expires_at=NEVER)

    payload = await graph.command(COMMANDS[command], viewer_of(ada), **input_for(command, site))

    assert payload == {"site": None, "problems": [IS_DELETED]}
    assert await stored(graph, site) == site


@pytest.mark.parametrize("command", COMMANDS)
async def test_nothing_is_done_to_a_site_whose_week_is_over(graph, town, command):
    ada = await town.person("ada")
    site = await published(town, ada, deleted_at=minute(9), expires_at=1)

    payload = await graph.command(COMMANDS[command], viewer_of(ada), **input_for(command, site))

    assert payload == {"site": None, "problems": [NO_SITE]}
    assert await stored(graph, site) == site
