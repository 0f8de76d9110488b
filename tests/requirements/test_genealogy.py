"""Family trees: people, their parents and spouses, and the visibility of all of it."""

from uuid import uuid4

import boto3
import pytest

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.genealogy import Gender, MarriageStatus, ParentageKind, TreeRole
from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.maintenance.aws_backups import AwsBackups
from datastore.maintenance.backup import Backup, BackupOptions
from datastore.maintenance.locations import Bucket, Folder
from datastore.maintenance.manifest import Manifest
from datastore.maintenance.move import Move, MoveOptions
from datastore.maintenance.restore import Restore
from loaders.viewer import Viewer
from resolvers.accounts.passwords import Passwords
from resolvers.accounts.tokens import Tokens, TokenSettings
from resolvers.core.allowance import OverRate, Rates, RequestLimits
from schema.http.client_address import networks
from schema.http.https_only import HttpsOnly
from tests.requirements.items import all_items, stored_items
from tests.support.cms import codes, command
from tests.support.graph import id_of, listed, viewer_of
from tests.support.requirements import Document
from tests.support.tables import CREDENTIALS
from tests.system.test_deploy_aws import resources

genealogy = Document("Family trees")


async def three_people(kindred):
    """The owner of a private tree, the tree, and a couple with a child."""
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    father, mother = [await kindred.person(tree, name) for name in ("Karl", "Ida")]
    child = await kindred.person(tree, "Anna", father, mother)
    return owner, tree, father, mother, child


@genealogy.access_pattern("User by ID", calls={"GetItem": 1})
async def test_user_by_id(kindred, ask):
    ada = await kindred.user("ada", display_name="Ada")

    asked = await ask("query ($id: ID!) { user(by: {id: $id}) { displayName } }", id=id_of(ada))

    assert asked.data == {"user": {"displayName": "Ada"}}


@genealogy.access_pattern("User by email, without a scan", calls={"Query": 1})
async def test_user_by_email(kindred, ask):
    ada = await kindred.user("ada")

    asked = await ask('{ user(by: {email: "ada@example.org"}) { id } }', viewer_of(ada))

    assert asked.data == {"user": {"id": id_of(ada)}}


@genealogy.access_pattern("Trees of a user, newest first", calls={"GetItem": 1, "Query": 1, "BatchGetItem": 1})
async def test_trees_of_a_user(kindred, ask):
    owner = await kindred.user("owner")
    first, second = await kindred.tree(owner), await kindred.tree(owner)

    asked = await ask("{ viewer { trees { nodes { id } } } }", viewer_of(owner))

    assert asked.data == {"viewer": {"trees": listed(second, first)}}


@genealogy.access_pattern("Tree by its own ID, without knowing the owner", calls={"Query": 1, "BatchGetItem": 1})
async def test_tree_by_id(kindred, ask):
    owner, tree, *_ = await three_people(kindred)

    asked = await ask("query ($id: String!) { tree(by: {databaseId: $id}) { id } }", viewer_of(owner), id=tree.tree_id)

    assert asked.data == {"tree": {"id": id_of(tree)}}


@genealogy.access_pattern("Root person of a tree", calls={"GetItem": 2, "BatchGetItem": 1})
async def test_root_person(graph, kindred, ask):
    owner, tree, _, _, child = await three_people(kindred)
    await graph.table.put(tree.changed(root_person_id=child.person_id))

    asked = await ask(
        "query ($id: ID!) { tree(by: {id: $id}) { rootPerson { id } } }", viewer_of(owner), id=id_of(tree)
    )

    assert asked.data == {"tree": {"rootPerson": {"id": id_of(child)}}}


@genealogy.access_pattern("Trees shared with a user", calls={"GetItem": 3, "Query": 1})
async def test_trees_shared_with_a_user(kindred, ask):
    _, tree, *_ = await three_people(kindred)
    friend = await kindred.user("friend")
    await kindred.share(tree, friend)

    asked = await ask("{ viewer { treesSharedWithMe { nodes { id } } } }", viewer_of(friend))

    assert asked.data == {"viewer": {"treesSharedWithMe": listed(tree)}}


@genealogy.access_pattern("Persons of a tree", calls={"GetItem": 1, "BatchGetItem": 1, "Query": 1})
async def test_persons_of_a_tree(kindred, ask):
    owner, tree, *people = await three_people(kindred)

    asked = await ask(
        "query ($id: ID!) { tree(by: {id: $id}) { persons { nodes { id } } } }", viewer_of(owner), id=id_of(tree)
    )

    assert asked.data == {"tree": {"persons": listed(*people)}}


@genealogy.access_pattern("Person by its own ID, without knowing the tree", calls={"Query": 1, "BatchGetItem": 1})
async def test_person_by_id(kindred, ask):
    owner, tree, *_ = await three_people(kindred)
    names = {"last_name": "Holm", "birth_name": "Berg", "suffix": "Jr.", "gender": Gender.FEMALE}
    person = await kindred.person(tree, "Ida", **names, birth_date="1950-05-15", birth_place="Boston, MA, USA")

    asked = await ask(
        """query ($id: String!) { person(by: {databaseId: $id}) {
            firstName lastName birthName suffix gender birthDate birthPlace } }""",
        viewer_of(owner),
        id=person.person_id,
    )

    assert asked.data["person"] == {
        "firstName": "Ida",
        "lastName": "Holm",
        "birthName": "Berg",
        "suffix": "Jr.",
        "gender": "FEMALE",
        "birthDate": "1950-05-15",
        "birthPlace": "Boston, MA, USA",
    }


@genealogy.access_pattern("Person with its tree and the owner", calls={"GetItem": 1, "BatchGetItem": 1})
async def test_person_with_tree_and_owner(kindred, ask):
    owner, tree, father, *_ = await three_people(kindred)

    asked = await ask(
        "query ($id: ID!) { person(by: {id: $id}) { firstName tree { name owner { username } } } }",
        viewer_of(owner),
        id=id_of(father),
    )

    found = {"firstName": "Karl", "tree": {"name": tree.name, "owner": {"username": "owner"}}}
    assert asked.data == {"person": found}


@genealogy.access_pattern("Children of a person", calls={"GetItem": 2, "BatchGetItem": 1, "Query": 1})
async def test_children(kindred, ask):
    owner, _, father, _, child = await three_people(kindred)

    asked = await ask(
        "query ($id: ID!) { person(by: {id: $id}) { children { nodes { id } } } }", viewer_of(owner), id=id_of(father)
    )

    assert asked.data == {"person": {"children": listed(child)}}


@genealogy.access_pattern(
    "Parents of a person, with the kind of parentage", calls={"GetItem": 1, "BatchGetItem": 2, "Query": 1}
)
async def test_parents(kindred, ask):
    owner, tree, *_, child = await three_people(kindred)
    adopted = {"adoption_date": "1911-11-05", "notes": "By the court."}
    aunt = await kindred.person(tree, "Aunt")
    await kindred.parent(tree, aunt, child, ParentageKind.ADOPTIVE, **adopted)

    asked = await ask(
        """query ($id: ID!) { person(by: {id: $id}) { parents { edges {
            kind adoptionDate notes node { firstName } } } } }""",
        viewer_of(owner),
        id=id_of(child),
    )

    born = {"kind": "BIOLOGICAL", "adoptionDate": None, "notes": None}
    assert asked.data["person"]["parents"]["edges"] == [
        {**born, "node": {"firstName": "Karl"}},
        {**born, "node": {"firstName": "Ida"}},
        {"kind": "ADOPTIVE", "adoptionDate": "1911-11-05", "notes": "By the court.", "node": {"firstName": "Aunt"}},
    ]


@genealogy.access_pattern("Parent-child links of a tree", calls={"GetItem": 1, "BatchGetItem": 2, "Query": 1})
async def test_links_of_a_tree(kindred, ask):
    owner, tree, *_ = await three_people(kindred)

    asked = await ask(
        """query ($id: ID!) { tree(by: {id: $id}) { parentages { nodes {
            kind parent { firstName } child { firstName } } } } }""",
        viewer_of(owner),
        id=id_of(tree),
    )

    links = [
        {"kind": "BIOLOGICAL", "parent": {"firstName": name}, "child": {"firstName": "Anna"}}
        for name in ("Karl", "Ida")
    ]
    assert asked.data == {"tree": {"parentages": {"nodes": links}}}


@genealogy.access_pattern("Spouses of a person, from either side", calls={"GetItem": 1, "BatchGetItem": 2, "Query": 2})
async def test_spouses(kindred, ask):
    owner, tree, father, mother, _ = await three_people(kindred)
    first = {"status": MarriageStatus.DIVORCED, "marriage_date": "1870", "divorce_date": "1880"}
    await kindred.married(tree, father, mother, **first)
    await kindred.married(tree, await kindred.person(tree, "Otto"), mother, marriage_date="1885", marriage_place="Lund")

    asked = await ask(
        """query ($id: ID!) { person(by: {id: $id}) { spouses { edges {
            status marriageDate marriagePlace divorceDate node { firstName } } } } }""",
        viewer_of(owner),
        id=id_of(mother),
    )

    assert asked.data["person"]["spouses"]["edges"] == [
        {
            "status": "DIVORCED",
            "marriageDate": "1870",
            "marriagePlace": None,
            "divorceDate": "1880",
            "node": {"firstName": "Karl"},
        },
        {
            "status": "MARRIED",
            "marriageDate": "1885",
            "marriagePlace": "Lund",
            "divorceDate": None,
            "node": {"firstName": "Otto"},
        },
    ]


@genealogy.access_pattern("Marriages of a tree", calls={"GetItem": 1, "BatchGetItem": 2, "Query": 1})
async def test_marriages_of_a_tree(kindred, ask):
    owner, tree, father, mother, _ = await three_people(kindred)
    await kindred.married(tree, father, mother)

    asked = await ask(
        "query ($id: ID!) { tree(by: {id: $id}) { marriages { nodes { person1 { firstName } person2 { firstName } } "
        "} } }",
        viewer_of(owner),
        id=id_of(tree),
    )

    couple = {"person1": {"firstName": "Karl"}, "person2": {"firstName": "Ida"}}
    assert asked.data == {"tree": {"marriages": {"nodes": [couple]}}}


@genealogy.access_pattern(
    "People and links of a whole tree, to find relatives", calls={"GetItem": 1, "BatchGetItem": 1, "Query": 1}
)
async def test_whole_tree(kindred, ask):
    owner, tree, father, mother, child = await three_people(kindred)
    brother = await kindred.person(tree, "Otto", father, mother)

    asked = await ask(
        "query ($id: ID!) { person(by: {id: $id}) { siblings { id } } }", viewer_of(owner), id=id_of(child)
    )

    assert asked.data == {"person": {"siblings": [{"id": id_of(brother)}]}}


@genealogy.operation("Create a tree", calls={"TransactWriteItems": 1})
async def test_create_a_tree(kindred, ask):
    owner = await kindred.user("owner")

    asked = await ask(command("createTree", "tree { name isPublic }"), viewer_of(owner), input={"name": "The Holms"})

    assert asked.data == {"createTree": {"tree": {"name": "The Holms", "isPublic": False}, "problems": []}}


@genealogy.operation("Share a tree with a user", calls={"BatchGetItem": 1, "GetItem": 1, "TransactWriteItems": 1})
async def test_share_a_tree(graph, kindred, ask):
    owner, tree, *_ = await three_people(kindred)
    friend = await kindred.user("friend")

    asked = await ask(
        command("shareTree", "tree { name }"),
        viewer_of(owner),
        input={"treeId": id_of(tree), "userId": id_of(friend), "role": "READER"},
    )

    assert asked.data["shareTree"]["problems"] == []
    seen = await graph.ask("query ($id: ID!) { tree(by: {id: $id}) { viewerRole } }", viewer_of(friend), id=id_of(tree))
    assert seen.data == {"tree": {"viewerRole": "READER"}}


@genealogy.operation("Add a person", calls={"BatchGetItem": 1, "TransactWriteItems": 1})
async def test_add_a_person(kindred, ask):
    owner, tree, *_ = await three_people(kindred)

    asked = await ask(
        command("addPerson", "person { firstName }"),
        viewer_of(owner),
        input={"treeId": id_of(tree), "firstName": "Otto", "birthDate": "1950-05-15"},
    )

    assert asked.data == {"addPerson": {"person": {"firstName": "Otto"}, "problems": []}}


@genealogy.operation("Link a parent and a child", calls={"BatchGetItem": 2, "TransactWriteItems": 1})
async def test_link_a_parent(kindred, ask):
    owner, tree, *_, child = await three_people(kindred)
    aunt = await kindred.person(tree, "Aunt")

    asked = await ask(
        command("linkParent", "parentage { kind }"),
        viewer_of(owner),
        input={"parentId": id_of(aunt), "childId": id_of(child), "kind": "FOSTER"},
    )

    assert asked.data == {"linkParent": {"parentage": {"kind": "FOSTER"}, "problems": []}}


@genealogy.operation("Link spouses", calls={"BatchGetItem": 2, "TransactWriteItems": 1})
async def test_link_spouses(kindred, ask):
    owner, _, father, mother, _ = await three_people(kindred)

    asked = await ask(
        command("linkSpouses", "marriage { status marriageDate }"),
        viewer_of(owner),
        input={"person1Id": id_of(father), "person2Id": id_of(mother), "marriageDate": "1975-06-20"},
    )

    married = {"marriage": {"status": "MARRIED", "marriageDate": "1975-06-20"}, "problems": []}
    assert asked.data == {"linkSpouses": married}


@genealogy.rule("The person count is stored on the tree", calls={"GetItem": 1, "BatchGetItem": 1})
async def test_person_count(graph, kindred, ask):
    owner, tree, father, *_ = await three_people(kindred)
    add, delete = command("addPerson", ""), command("deletePerson", "deletedPersonId")
    for _ in range(2):
        await graph.command(add, viewer_of(owner), treeId=id_of(tree), firstName="Otto")
    await graph.command(delete, viewer_of(owner), personId=id_of(father))

    asked = await ask("query ($id: ID!) { tree(by: {id: $id}) { personCount } }", viewer_of(owner), id=id_of(tree))

    assert asked.data == {"tree": {"personCount": 4}}


@genealogy.rule(
    "A private tree is visible to its owner and to those it is shared with", calls={"GetItem": 1, "BatchGetItem": 1}
)
async def test_private_tree(kindred, ask):
    _, tree, *_ = await three_people(kindred)
    stranger = await kindred.user("stranger")

    asked = await ask("query ($id: ID!) { tree(by: {id: $id}) { name } }", viewer_of(stranger), id=id_of(tree))

    assert asked.data == {"tree": None}


@genealogy.rule("A public tree is visible to everyone", calls={"GetItem": 2})
async def test_public_tree(kindred, ask):
    tree = await kindred.tree(await kindred.user("owner"), public=True)

    asked = await ask("query ($id: ID!) { tree(by: {id: $id}) { name } }", id=id_of(tree))

    assert asked.data == {"tree": {"name": tree.name}}


@genealogy.rule("Only the owner and editors change a tree", calls={"BatchGetItem": 1})
async def test_readers_change_nothing(kindred, ask):
    _, tree, *_ = await three_people(kindred)
    reader = await kindred.user("reader")
    await kindred.share(tree, reader, TreeRole.READER)

    asked = await ask(
        command("addPerson", "person { id }"), viewer_of(reader), input={"treeId": id_of(tree), "firstName": "Otto"}
    )

    assert codes(asked.data["addPerson"]) == [("FORBIDDEN", "treeId")]


@genealogy.rule("Two people are linked once", calls={"BatchGetItem": 2, "TransactWriteItems": 1})
async def test_one_link_for_two_people(kindred, ask):
    owner, _, father, _, child = await three_people(kindred)

    asked = await ask(
        command("linkParent", "parentage { kind }"),
        viewer_of(owner),
        input={"parentId": id_of(father), "childId": id_of(child)},
    )

    assert codes(asked.data["linkParent"]) == [("TAKEN", "parentId")]


@genealogy.rule("An email address belongs to one account", calls={"TransactWriteItems": 1})
async def test_email_is_unique(kindred, ask):
    await kindred.user("ada")

    asked = await ask(SIGN_UP, input={"username": "another", "email": "ada@example.org", "password": "correct horse"})

    assert codes(asked.data["signUp"]) == [("TAKEN", "email")]


SIGN_UP = command("signUp", "user { username }")


@genealogy.rule("Passwords are stored as bcrypt hashes of cost 10")
async def test_passwords_are_hashed():
    passwords = Passwords()

    assert (await passwords.hash("correct horse")).startswith("$2b$10$")
    passwords.close()


@genealogy.rule("In production, an identity provider signs users in", calls={"TransactWriteItems": 1})
async def test_identity_provider(graph, ask):
    graph.services.tokens = Tokens(TokenSettings(secret="x" * 32, jwks_url="https://id.example.org/keys"))

    asked = await ask(SIGN_UP, Viewer("subject-1"), input={"username": "ada", "email": "ada@example.org"})

    assert asked.data == {"signUp": {"user": {"username": "ada"}, "problems": []}}
    (item,) = await stored_items(graph, "User")
    assert item["externalSubject"] == {"S": "subject-1"}
    assert "passwordHash" not in item


@genealogy.rule("Sign-in attempts are rate-limited", calls={"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1})
async def test_sign_in_is_rate_limited(graph, ask):
    log_in, wrong = command("logIn", "token"), {"login": "ada", "password": "wrong horse"}
    for _ in range(10):
        await graph.command(log_in, **wrong)

    asked = await ask(log_in, input=wrong)

    assert codes(asked.data["logIn"]) == [("RATE_LIMITED",)]


@genealogy.rule("Rate limits on all requests", calls={})
async def test_requests_are_rate_limited(graph, ask):
    graph.services.request_limits = RequestLimits(Rates(cost=10, writes=10, client_factor=2, tenant_factor=2))
    await ask("{ viewer { username } }")

    with pytest.raises(OverRate, match="'anonymous-cost' of 10 in 60 seconds"):
        await ask("{ users(first: 9) { nodes { username } } }")


@genealogy.rule("Inputs are validated before anything is read", calls={})
async def test_inputs_are_validated(kindred, ask):
    owner = await kindred.user("owner")

    asked = await ask(command("createTree", "tree { name }"), viewer_of(owner), input={"name": ""})

    assert codes(asked.data["createTree"]) == [("INVALID", "name")]


@genealogy.rule("Lists of persons leave biographies out", calls={"GetItem": 1, "BatchGetItem": 1, "Query": 1})
async def test_lists_are_projected(kindred, sent, ask):
    owner, tree, *people = await three_people(kindred)
    sent.clear()

    asked = await ask(
        "query ($id: ID!) { tree(by: {id: $id}) { persons { nodes { firstName } } } }", viewer_of(owner), id=id_of(tree)
    )

    assert len(asked.data["tree"]["persons"]["nodes"]) == len(people)
    (query,) = [request for request in sent if "KeyConditionExpression" in request]
    names = query["ExpressionAttributeNames"].values()
    assert "firstName" in names
    assert "biography" not in names


@genealogy.rule(
    "Many items are written together: an import of 20 people",
    calls={"BatchGetItem": 1, "GetItem": 2, "Query": 2, "TransactWriteItems": 3},
)
async def test_writes_in_batches(kindred, ask):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    people = [f"0 @I{number}@ INDI\n1 NAME Person {number}" for number in range(20)]
    content = "\n".join(["0 HEAD", "1 GEDC", "2 VERS 5.5.1", *people, "0 TRLR"])

    asked = await ask(
        command("importGedcom", "report { personCount }"),
        viewer_of(owner),
        input={"treeId": id_of(tree), "content": content},
    )

    assert asked.data == {"importGedcom": {"report": {"personCount": 20}, "problems": []}}


@genealogy.rule("Point-in-time recovery (35 days) is on in AWS")
def test_point_in_time_recovery():
    assert Place(None, "eu-central-1", keeps_data=True).needs_backups


@genealogy.rule("The table is billed on demand")
def test_on_demand_billing():
    assert provision.definition("heartwood", stream=True)["BillingMode"] == "PAY_PER_REQUEST"


@genealogy.rule("Every index projects all attributes")
def test_indexes_project_everything():
    indexes = provision.definition("heartwood", stream=True)["GlobalSecondaryIndexes"]

    assert {index["IndexName"]: index["Projection"]["ProjectionType"] for index in indexes} == dict.fromkeys(
        ("GSI1", "GSI2", "GSI3", "GSI4", "GSI5"), "ALL"
    )


@genealogy.rule("Setup creates the table once, and verifies it from then on")
def test_setup(endpoint):
    place, name = Place(endpoint, LOCAL_REGION, keeps_data=False), f"heartwood-{uuid4().hex[:12]}"

    assert [place.ensure_table(name), place.ensure_table(name)] == [True, False]
    provision.wipe(provision.connect(endpoint, LOCAL_REGION), name)


genealogy.not_built("Persons of a user across trees", "access pattern", why="the index exists; no field reads it")


@genealogy.operation("Export to object storage for archival")
async def test_export_to_object_storage(kindred, graph, tmp_path, monkeypatch):
    """moto stands for S3."""
    await three_people(kindred)
    keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": LOCAL_REGION}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)

    with engine.in_memory(moto=True) as s3:
        client = boto3.client("s3", endpoint_url=s3.endpoint)
        client.create_bucket(Bucket="archive")
        backup = Backup(graph.table, Bucket("archive", "", client), tmp_path / "work", BackupOptions(is_alone=True))
        manifest = await backup.run()
        assert Manifest.read(Bucket("archive", backup.name, client)).items == manifest.items > 5


@genealogy.operation("Backup and restore of a local table")
async def test_backup_and_restore_of_a_local_table(kindred, graph, tables, tmp_path):
    await three_people(kindred)
    backup = Backup(graph.table, Folder(tmp_path), tmp_path / "work", BackupOptions(segments=1, is_alone=True))
    manifest = await backup.run()

    with tables.a_table() as name:
        restored = Table(graph.table.transport, name, Usage.lasting(60))
        outcome = await Restore(restored, Folder(tmp_path / backup.name)).into_empty()
        assert outcome.written == manifest.items
        assert await all_items(restored) == await all_items(graph.table)


@genealogy.operation("Migration of data from a local table to AWS")
async def test_migration_from_a_local_table_to_aws(kindred, graph, table_name):
    """moto stands for AWS."""
    await three_people(kindred)

    with engine.in_memory(moto=True) as aws:
        Place(aws.endpoint, LOCAL_REGION, keeps_data=True).ensure_table(table_name)
        transport = Transport(region=LOCAL_REGION, endpoint=aws.endpoint, credentials=CREDENTIALS)
        there = Table(transport, table_name, Usage.lasting(60))
        moved = await Move(graph.table, there, "aws", MoveOptions(segments=1, switch=True, is_alone=True)).run()
        assert (moved.is_switched, moved.repaired) == (True, 0)
        assert await all_items(there) == await all_items(graph.table)
        await transport.close()


@genealogy.operation("Backups on demand and backup policies")
def test_backups_on_demand_and_backup_policies(table_name):
    """moto stands for AWS. The policy is a plan of AWS Backup in deploy/aws/heartwood.yaml."""
    with engine.in_memory(moto=True) as aws:
        client = provision.connect(aws.endpoint, LOCAL_REGION)
        provision.ensure(client, table_name, backups=True, stream=True)
        backups = AwsBackups(client, table_name)
        (made,) = backups.create("before-release")
        (listed_again,) = backups.list()
        assert (made.split("  ")[0], listed_again.split("  ")[1]) == ("before-release", "before-release")
    plan = resources()["BackupPlan"]["Properties"]["BackupPlan"]["BackupPlanRule"]
    kept = {rule["RuleName"]: rule["Lifecycle"]["DeleteAfterDays"] for rule in plan}
    assert kept == {"daily": 35, "monthly": 365}


@genealogy.operation("Alarms on cost and errors")
def test_alarms_on_cost_and_errors():
    found = resources()
    alarms = {name: each["Properties"] for name, each in found.items() if each["Type"] == "AWS::CloudWatch::Alarm"}
    assert alarms["ServerErrors"]["MetricName"] == "HTTPCode_Target_5XX_Count"
    assert alarms["QueryErrors"]["MetricName"] == "SystemErrors"
    assert all(alarm["AlarmActions"] == [{"Ref": "Alarms"}] for alarm in alarms.values())
    notified = found["Cost"]["Properties"]["NotificationsWithSubscribers"]
    assert [each["Notification"]["Threshold"] for each in notified] == [80, 100]


@genealogy.rule("Encryption with a customer-managed key")
def test_encryption_with_a_customer_managed_key():
    found = resources()
    encryption = found["Table"]["Properties"]["SSESpecification"]
    assert encryption == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"GetAtt": "Key.Arn"}}
    assert found["Key"]["Properties"]["EnableKeyRotation"] is True


@genealogy.rule("HTTPS only")
def test_https_only():
    """In production, requests that a trusted proxy did not receive over https are refused."""
    https_only = HttpsOnly(networks("10.0.0.0/8"))
    scope = {"type": "http", "client": ("10.0.0.1", 1)}
    allowed = [
        https_only.allows({**scope, "headers": [(b"x-forwarded-proto", proto)]}) for proto in (b"https", b"http")
    ]
    assert allowed == [True, False]
    assert https_only.allows({**scope, "headers": []}) is False
