"""Neighborhoods: people, who is in which neighborhood, their sites and the builds of these."""

from datetime import UTC, datetime, timedelta

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.writes import Update
from datastore.local.endpoint import Place
from datastore.maintenance.backup import Backup, BackupOptions
from datastore.maintenance.backup_settings import BackupSettings
from datastore.maintenance.locations import Folder
from datastore.maintenance.migrating import STATE, begin
from datastore.maintenance.records import MigrationStatus
from datastore.maintenance.restore import Restore
from datastore.maintenance.schedule import DailyBackup
from datastore.maintenance.stored_backups import finished
from datastore.neighborhoods import BuildStatus, MembershipRole, NeighborhoodSettings, SiteStatus
from loaders.viewer import Viewer
from resolvers.background.jobs import queued
from resolvers.maintenance.jobs import migrate_items
from tests.requirements.items import all_items, days_kept, stored_items
from tests.support.cards import do_all_jobs
from tests.support.cms import codes, command
from tests.support.graph import id_of, listed, viewer_of
from tests.support.requirements import Document

neighborhoods = Document("Neighborhoods")

BUILDER = Viewer("builder-1", frozenset({"builder"}))


@neighborhoods.access_pattern("User profile by ID, with Bluesky handle and DID", calls={"GetItem": 1})
async def test_user_profile(town, ask):
    ada = await town.person("ada", bluesky_handle="ada.bsky.social", bluesky_did="did:plc:abc123")

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { username blueskyHandle blueskyDid } }", id=id_of(ada))

    assert asked.data == {
        "user": {"username": "ada", "blueskyHandle": "ada.bsky.social", "blueskyDid": "did:plc:abc123"}
    }


@neighborhoods.access_pattern("All users, newest first", calls={"Query": 1})
async def test_all_users(town, ask):
    people = [await town.person(name) for name in ("ada", "bob", "eve")]

    asked = await ask("{ users { nodes { id } } }")

    assert asked.data == {"users": listed(*reversed(people))}


@neighborhoods.access_pattern("Users created within a period", calls={"Query": 1})
async def test_users_created_within_a_period(town, ask):
    people = [await town.person(name) for name in ("ada", "bob", "eve", "joe")]

    asked = await ask(
        "query ($from: DateTime, $to: DateTime) { users(createdAfter: $from, createdBefore: $to) { nodes { id } } }",
        **{"from": people[1].created_at, "to": people[3].created_at},
    )

    assert asked.data == {"users": listed(people[2], people[1])}


@neighborhoods.access_pattern("Neighborhood by ID", calls={"GetItem": 1})
async def test_neighborhood_by_id(town, ask):
    place = await town.neighborhood(await town.person("ada"), description="By the river.")

    asked = await ask("query ($id: ID!) { neighborhood(by: {id: $id}) { name description } }", id=id_of(place))

    assert asked.data == {"neighborhood": {"name": place.name, "description": "By the river."}}


@neighborhoods.access_pattern("All neighborhoods, newest first", calls={"Query": 1})
async def test_all_neighborhoods(town, ask):
    ada = await town.person("ada")
    places = [await town.neighborhood(ada) for _ in range(3)]

    asked = await ask("{ neighborhoods { nodes { id } } }")

    assert asked.data == {"neighborhoods": listed(*reversed(places))}


@neighborhoods.access_pattern("Neighborhoods created within a period", calls={"Query": 1})
async def test_neighborhoods_created_within_a_period(town, ask):
    ada = await town.person("ada")
    places = [await town.neighborhood(ada) for _ in range(3)]

    asked = await ask(
        "query ($from: DateTime) { neighborhoods(createdAfter: $from) { nodes { id } } }",
        **{"from": places[1].created_at},
    )

    assert asked.data == {"neighborhoods": listed(places[2], places[1])}


@neighborhoods.access_pattern("Neighborhood by slug", calls={"Query": 1})
async def test_neighborhood_by_slug(town, ask):
    place = await town.neighborhood(await town.person("ada"), slug="old-town")

    asked = await ask('{ neighborhood(by: {slug: "old-town"}) { id } }')

    assert asked.data == {"neighborhood": {"id": id_of(place)}}


@neighborhoods.access_pattern("Check if the slug of a name is available", calls={"GetItem": 1})
async def test_slug_available(town, ask):
    await town.neighborhood(await town.person("ada"), slug="old-town")

    asked = await ask('{ slugAvailable(slug: "Old Town") }')

    assert asked.data == {"slugAvailable": False}


@neighborhoods.access_pattern("Members of a neighborhood", calls={"GetItem": 1, "Query": 1})
async def test_members_of_a_neighborhood(town, ask):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    await town.member(bob, place)

    asked = await ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { members { nodes { role status } } } }", id=id_of(place)
    )

    roles = [{"role": role, "status": "ACTIVE"} for role in ("OWNER", "MEMBER")]
    assert asked.data == {"neighborhood": {"members": {"nodes": roles}}}


@neighborhoods.access_pattern("One member of a neighborhood", calls={"GetItem": 2})
async def test_one_member(town, ask):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    membership = await town.member(bob, place, MembershipRole.MODERATOR)

    asked = await ask(
        "query ($id: ID!, $user: ID!) { neighborhood(by: {id: $id}) { member(userId: $user) { role joinedAt } } }",
        id=id_of(place),
        user=id_of(bob),
    )

    assert asked.data == {"neighborhood": {"member": {"role": "MODERATOR", "joinedAt": membership.joined_at}}}


@neighborhoods.access_pattern(
    "Neighborhoods of a user, latest joined first", calls={"GetItem": 1, "Query": 1, "BatchGetItem": 1}
)
async def test_neighborhoods_of_a_user(town, ask):
    ada, bob = await town.person("ada"), await town.person("bob")
    first, second = await town.neighborhood(ada), await town.neighborhood(ada)
    for place in (second, first):
        await town.member(bob, place)

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { neighborhoods { nodes { id } } } }", id=id_of(bob))

    assert asked.data == {"user": {"neighborhoods": listed(first, second)}}


@neighborhoods.access_pattern("Sites of a user, newest first", calls={"GetItem": 1, "Query": 1})
async def test_sites_of_a_user(town, ask):
    ada, bob = await town.person("ada"), await town.person("bob")
    first, _, second = [await town.site(owner) for owner in (ada, bob, ada)]

    asked = await ask("{ viewer { sites { nodes { id } } } }", viewer_of(ada))

    assert asked.data == {"viewer": {"sites": listed(second, first)}}


@neighborhoods.access_pattern("Site by ID, together with its owner, who decides who sees it", calls={"BatchGetItem": 1})
async def test_site_by_id(town, ask):
    ada = await town.person("ada")
    site = await town.site(ada, config={"accent_color": "#007bff", "posts": [{"title": "One"}]})

    asked = await ask("query ($id: ID!) { site(by: {id: $id}) { template config } }", viewer_of(ada), id=id_of(site))

    assert asked.data == {"site": {"template": "blog", "config": site.config}}


@neighborhoods.access_pattern("Latest 10 builds of a site", calls={"BatchGetItem": 1, "Query": 1})
async def test_latest_builds_of_a_site(town, ask):
    ada = await town.person("ada")
    site = await town.site(ada)
    builds = [await town.build(site) for _ in range(11)]

    asked = await ask(
        "query ($id: ID!) { site(by: {id: $id}) { builds(first: 10) { nodes { id } } } }",
        viewer_of(ada),
        id=id_of(site),
    )

    assert asked.data == {"site": {"builds": listed(*builds[:0:-1])}}


@neighborhoods.access_pattern("Builds that wait, for the builder", calls={"Query": 1, "BatchGetItem": 1})
async def test_builds_that_wait(town, ask):
    site = await town.site(await town.person("ada"))
    await town.build(site, status=BuildStatus.FAILED)
    queued = await town.build(site)

    asked = await ask("{ builds(status: QUEUED) { nodes { id site { subdomain } } } }", BUILDER)

    assert asked.data == {"builds": {"nodes": [{"id": id_of(queued), "site": {"subdomain": site.subdomain}}]}}


CREATE = command("createNeighborhood", "neighborhood { slug memberCount }")
JOIN = command("joinNeighborhood", "membership { role status neighborhood { memberCount } }")
CREATE_SITE = command("createSite", "site { subdomain status }")
SITE = {"title": "My blog", "template": "blog", "subdomain": "ada"}


@neighborhoods.operation("Create a neighborhood", calls={"TransactWriteItems": 1})
async def test_create_a_neighborhood(town, ask):
    ada = await town.person("ada")

    asked = await ask(CREATE, viewer_of(ada), input={"name": "Old Town"})

    founded = {"neighborhood": {"slug": "old-town", "memberCount": 1}, "problems": []}
    assert asked.data == {"createNeighborhood": founded}


@neighborhoods.operation(
    "Join a public neighborhood as an active member", calls={"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1}
)
async def test_join_a_neighborhood(town, ask):
    place = await town.neighborhood(await town.person("ada"))
    bob = await town.person("bob")

    asked = await ask(JOIN, viewer_of(bob), input={"neighborhoodId": id_of(place)})

    joined = {"role": "MEMBER", "status": "ACTIVE", "neighborhood": {"memberCount": 2}}
    assert asked.data == {"joinNeighborhood": {"membership": joined, "problems": []}}


@neighborhoods.operation("Create a site", calls={"TransactWriteItems": 1})
async def test_create_a_site(town, ask):
    ada = await town.person("ada")

    asked = await ask(CREATE_SITE, viewer_of(ada), input=SITE)

    assert asked.data == {"createSite": {"site": {"subdomain": "ada", "status": "DRAFT"}, "problems": []}}


@neighborhoods.operation("Start a build of a site", calls={"BatchGetItem": 1, "TransactWriteItems": 1})
async def test_start_a_build(town, ask):
    ada = await town.person("ada")
    site = await town.site(ada)

    asked = await ask(
        command("startBuild", "build { status startedAt }"), viewer_of(ada), input={"siteId": id_of(site)}
    )

    assert asked.data == {"startBuild": {"build": {"status": "QUEUED", "startedAt": None}, "problems": []}}


@neighborhoods.operation(
    "Report a build: when it ended, its error and its log", calls={"GetItem": 2, "TransactWriteItems": 1}
)
async def test_report_a_build(graph, town, ask):
    build = await town.build(await town.site(await town.person("ada")))
    query = command("reportBuild", "build { status error logUrl }")
    await graph.command(query, BUILDER, buildId=id_of(build), status="RUNNING")
    outcome = {"status": "FAILED", "error": "No such template.", "logUrl": "https://x.org/log"}

    asked = await ask(query, BUILDER, input={"buildId": id_of(build), **outcome})

    assert asked.data == {"reportBuild": {"build": outcome, "problems": []}}


@neighborhoods.operation("Publish a site that was built", calls={"BatchGetItem": 1, "TransactWriteItems": 1})
async def test_publish_a_site(town, ask):
    ada = await town.person("ada")
    site = await town.site(ada, subdomain="ada", built_at="2026-01-01T00:00:00.000Z")

    asked = await ask(
        command("publishSite", "site { status publicUrl }"), viewer_of(ada), input={"siteId": id_of(site)}
    )

    published = {"status": "PUBLISHED", "publicUrl": "https://ada.example.org"}
    assert asked.data == {"publishSite": {"site": published, "problems": []}}


@neighborhoods.rule("A slug belongs to one neighborhood", calls={"TransactWriteItems": 1})
async def test_slug_is_unique(town, ask):
    ada = await town.person("ada")
    await town.neighborhood(ada, slug="old-town")

    asked = await ask(CREATE, viewer_of(ada), input={"name": "Old Town"})

    assert codes(asked.data["createNeighborhood"]) == [("TAKEN", "slug")]


@neighborhoods.rule("A subdomain belongs to one site", calls={"TransactWriteItems": 1})
async def test_subdomain_is_unique(town, ask):
    ada = await town.person("ada")
    await town.site(ada, subdomain="ada")

    asked = await ask(CREATE_SITE, viewer_of(ada), input=SITE)

    assert codes(asked.data["createSite"]) == [("TAKEN", "subdomain")]


@neighborhoods.rule("The member count is stored on the neighborhood", calls={"GetItem": 1})
async def test_member_count(graph, town, ask):
    place = await town.neighborhood(await town.person("ada"))
    for name in ("bob", "eve"):
        await graph.command(JOIN, viewer_of(await town.person(name)), neighborhoodId=id_of(place))

    asked = await ask("query ($id: ID!) { neighborhood(by: {id: $id}) { memberCount } }", id=id_of(place))

    assert asked.data == {"neighborhood": {"memberCount": 3}}


@neighborhoods.rule("A private neighborhood is visible to its members only", calls={"GetItem": 2})
async def test_private_neighborhood(town, ask):
    place = await town.neighborhood(await town.person("ada"), private=True)
    stranger = await town.person("stranger")

    asked = await ask("query ($id: ID!) { neighborhood(by: {id: $id}) { name } }", viewer_of(stranger), id=id_of(place))

    assert asked.data == {"neighborhood": None}


@neighborhoods.rule("A neighborhood can forbid sites", calls={"BatchGetItem": 1})
async def test_neighborhood_without_sites(town, ask):
    ada = await town.person("ada")
    place = await town.neighborhood(ada, settings=NeighborhoodSettings(allow_site_creation=False))

    asked = await ask(CREATE_SITE, viewer_of(ada), input={**SITE, "neighborhoodId": id_of(place)})

    assert codes(asked.data["createSite"]) == [("FORBIDDEN", "neighborhoodId")]


@neighborhoods.rule("A neighborhood can require a verified email address", calls={"BatchGetItem": 1})
async def test_neighborhood_with_verified_addresses(town, ask):
    settings = NeighborhoodSettings(require_email_verification=True)
    place = await town.neighborhood(await town.person("ada"), settings=settings)
    bob = await town.person("bob")

    asked = await ask(JOIN, viewer_of(bob), input={"neighborhoodId": id_of(place)})

    assert codes(asked.data["joinNeighborhood"]) == [("FORBIDDEN", "neighborhoodId")]


@neighborhoods.rule(
    "The config of a site has a version; a change names the version it is based on",
    calls={"BatchGetItem": 1},
)
async def test_version_of_a_site(graph, town, ask):
    ada = await town.person("ada")
    site = await town.site(ada)
    change = command("updateSite", "site { version }")
    given = {"siteId": id_of(site), "expectedVersion": 1, "config": {"author": "Ada"}}
    assert (await graph.command(change, viewer_of(ada), **given))["site"] == {"version": 2}

    asked = await ask(change, viewer_of(ada), input=given)

    assert codes(asked.data["updateSite"]) == [("CONFLICT", "expectedVersion")]


@neighborhoods.rule("Items of an older schema version are read as the current one", calls={"GetItem": 1})
async def test_older_schema_versions_are_read(graph, town, ask):
    ada = await town.person("ada")
    (item,) = await stored_items(graph, "User")
    old = {**item, "schemaVersion": {"N": "1"}, "avatarUrl": {"S": "https://x.org/ada.jpg"}}
    await graph.table.transport.call("PutItem", {"TableName": graph.table.name, "Item": old}, Usage.lasting(60))

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { profileImages { avatar { url } } } }", id=id_of(ada))

    assert asked.data == {"user": {"profileImages": {"avatar": {"url": "https://x.org/ada.jpg"}}}}


@neighborhoods.rule("Point-in-time recovery (35 days) is on in AWS")
def test_point_in_time_recovery():
    assert Place(None, "eu-central-1", keeps_data=True).needs_backups


@neighborhoods.retention("Profiles of open accounts are kept for ever", calls={"TransactWriteItems": 1})
async def test_profiles_do_not_expire(graph, ask):
    given = {"username": "ada", "email": "ada@example.org", "password": "correct horse"}

    asked = await ask(command("signUp", "user { username }"), input=given)

    assert asked.data == {"signUp": {"user": {"username": "ada"}, "problems": []}}
    assert ["expiresAt" in item for item in await stored_items(graph, "User")] == [False]


@neighborhoods.retention(
    "Deleted accounts can be restored for 30 days, then they are purged",
    calls={"GetItem": 1, "TransactWriteItems": 1},
)
async def test_deleted_accounts_are_kept_for_30_days(graph, town, ask):
    ada = await town.person("ada")

    asked = await ask("mutation { deleteAccount { problems { code } } }", viewer_of(ada))

    assert asked.data == {"deleteAccount": {"problems": []}}
    (item,) = await stored_items(graph, "User")
    assert days_kept(item, since="deletedAt") == 30
    await graph.table.update(Update(ada.own_key, set={"expires_at": 1}))
    await do_all_jobs(graph)
    assert await graph.items() == []


@neighborhoods.retention(
    "Builds and their logs are kept for 90 days", calls={"BatchGetItem": 1, "TransactWriteItems": 1}
)
async def test_builds_are_kept_for_90_days(graph, town, ask):
    ada = await town.person("ada")
    site = await town.site(ada)

    asked = await ask(command("startBuild", "build { status }"), viewer_of(ada), input={"siteId": id_of(site)})

    assert asked.data == {"startBuild": {"build": {"status": "QUEUED"}, "problems": []}}
    assert [days_kept(item) for item in await stored_items(graph, "Build")] == [90]


@neighborhoods.retention(
    "The history of memberships is kept for ever, even of members who left",
    calls={"GetItem": 2, "Query": 1},
)
async def test_membership_history_is_kept(graph, town, ask):
    ada, bob = await town.person("ada"), await town.person("bob")
    place = await town.neighborhood(ada)
    for name in ("joinNeighborhood", "leaveNeighborhood"):
        await graph.command(command(name, ""), viewer_of(bob), neighborhoodId=id_of(place))

    asked = await ask(
        "query ($id: ID!) { neighborhood(by: {id: $id}) { history { nodes { change } } } }",
        viewer_of(ada),
        id=id_of(place),
    )

    changes = [{"change": change} for change in ("LEFT", "JOINED", "FOUNDED")]
    assert asked.data == {"neighborhood": {"history": {"nodes": changes}}}
    assert ["expiresAt" in item for item in await stored_items(graph, "MembershipEvent")] == [False] * 3


@neighborhoods.retention(
    "Deleted sites can be restored for 7 days, then they are purged", calls={"BatchGetItem": 1, "TransactWriteItems": 1}
)
async def test_deleted_sites_are_kept_for_7_days(graph, town, ask):
    ada = await town.person("ada")
    site = await town.site(ada, status=SiteStatus.PUBLISHED)

    asked = await ask(command("deleteSite", "site { databaseId }"), viewer_of(ada), input={"siteId": id_of(site)})

    assert asked.data == {"deleteSite": {"site": {"databaseId": site.site_id}, "problems": []}}
    assert [days_kept(item, since="deletedAt") for item in await stored_items(graph, "Site")] == [7]


@neighborhoods.operation("Daily export of all data")
async def test_daily_export(graph, town, endpoint, table_name, tmp_path):
    await town.person("ada")
    settings = BackupSettings(
        backup_to=str(tmp_path), backup_at="03:00", table_name=table_name, dynamodb_endpoint=endpoint, data_dir=tmp_path
    )
    server = DailyBackup(graph.table, graph.services.place, settings)

    night = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
    assert [await server.look(night + timedelta(hours=hours)) for hours in (0, 12, 24)] == [True, False, True]
    assert [backup.manifest.items > 0 for backup in finished(Folder(tmp_path))] == [True, True]


@neighborhoods.operation("Restore of all data within 24 hours")
async def test_restore_of_all_data(graph, town, tables, tmp_path):
    """deploy/recovery_drill.py measures how long it takes for a table of any size."""
    ada = await town.person("ada")
    await town.site(ada)
    await town.member(ada, await town.neighborhood(await town.person("bob")))
    backup = Backup(graph.table, Folder(tmp_path), tmp_path / "work", BackupOptions(is_alone=True))
    manifest = await backup.run()

    with tables.a_table() as name:
        restored = Table(graph.table.transport, name, Usage.lasting(60))
        outcome = await Restore(restored, Folder(tmp_path / backup.name)).into_empty()
        assert outcome.written == manifest.items > 5
        assert await all_items(restored) == await all_items(graph.table)


@neighborhoods.operation("Migration of older schema versions in the background")
async def test_migration_in_the_background(graph, town):
    await town.person("ada")
    (item,) = await stored_items(graph, "User")
    old = {**item, "schemaVersion": {"N": "1"}, "avatarUrl": {"S": "https://x.org/ada.jpg"}}
    await graph.table.transport.call("PutItem", {"TableName": graph.table.name, "Item": old}, Usage.lasting(60))
    await begin(graph.table, rate=None)
    await graph.table.write(queued(migrate_items))

    await do_all_jobs(graph)

    (migrated,) = await stored_items(graph, "User")
    assert migrated["schemaVersion"] == {"N": "2"}
    assert migrated["profileImages"]["M"]["avatar"]["M"]["url"] == {"S": "https://x.org/ada.jpg"}
    assert "avatarUrl" not in migrated
    assert (await graph.table.get(STATE)).status is MigrationStatus.DONE


neighborhoods.not_built(
    "Build and hosting of sites", "operation", why="builds are queued and reported; the builder is a separate program"
)
neighborhoods.not_built("Export of a site, kept for 7 days", "retention", why="sites can be deleted, not exported")
