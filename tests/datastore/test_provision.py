"""The table: created once, compared exactly, and deleted only on request."""

from copy import deepcopy
from uuid import uuid4

import pytest

from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.local.provision import (
    TableDiffers,
    definition,
    describe,
    differences,
    ensure,
    is_local,
    switch_off_stream,
    wipe,
)

pytestmark = pytest.mark.engine_contract
INDEX_NAMES = ["GSI1", "GSI2", "GSI3", "GSI4", "GSI5"]
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture(scope="module")
def client(endpoint):
    return provision.connect(endpoint, LOCAL_REGION)


@pytest.fixture
def name(client):
    """A table name; a table that a test creates under it is deleted."""
    name = f"provision-{uuid4().hex[:12]}"
    yield name
    if describe(client, name) is not None:
        client.delete_table(TableName=name)


def test_the_definition_is_the_contract():
    table = definition("heartwood", stream=True)
    assert table["TableName"] == "heartwood"
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["StreamSpecification"] == STREAM
    assert "StreamSpecification" not in definition("heartwood", stream=False)
    assert table["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ]
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == INDEX_NAMES
    for index in table["GlobalSecondaryIndexes"]:
        assert index["KeySchema"] == [
            {"AttributeName": f"{index['IndexName']}PK", "KeyType": "HASH"},
            {"AttributeName": f"{index['IndexName']}SK", "KeyType": "RANGE"},
        ]
        assert index["Projection"] == {"ProjectionType": "ALL"}
    assert {entry["AttributeName"]: entry["AttributeType"] for entry in table["AttributeDefinitions"]} == {
        f"{prefix}{part}": "S" for prefix in ("", *INDEX_NAMES) for part in ("PK", "SK")
    }
    assert provision.TTL_ATTRIBUTE == "expiresAt"


def test_a_table_is_created_once(client, name):
    assert differences(client, name, backups=False, stream=False) == [f"there is no table {name}"]
    assert ensure(client, name, backups=False, stream=False) is True
    assert ensure(client, name, backups=False, stream=False) is False
    assert differences(client, name, backups=False, stream=False) == []


def test_a_table_that_was_created_is_what_the_contract_says(client, name):
    ensure(client, name, backups=False, stream=False)
    table = describe(client, name)
    assert table["TableStatus"] == "ACTIVE"
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert "StreamSpecification" not in table
    assert sorted(index["IndexName"] for index in table["GlobalSecondaryIndexes"]) == INDEX_NAMES
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiresAt"}


def test_the_stream_is_there_where_it_is_asked_for(client, name):
    assert ensure(client, name, backups=False, stream=True) is True
    assert describe(client, name)["StreamSpecification"] == STREAM
    assert differences(client, name, backups=False, stream=True) == []


def test_a_table_with_a_stream_serves_where_none_is_needed(client, name):
    client.create_table(**definition(name, stream=True))
    assert ensure(client, name, backups=False, stream=False) is False
    assert differences(client, name, backups=False, stream=False) == []
    assert describe(client, name)["StreamSpecification"] == STREAM


def test_the_stream_of_an_older_table_is_switched_off(client, name):
    client.create_table(**definition(name, stream=True))
    switch_off_stream(client, name)
    assert "StreamSpecification" not in describe(client, name)
    switch_off_stream(client, name)
    assert "StreamSpecification" not in describe(client, name)


@pytest.mark.parametrize(
    ("place", "backups", "stream"),
    [
        (Place(None, LOCAL_REGION, keeps_data=True), True, True),
        (Place("https://dynamodb.example.org", LOCAL_REGION, keeps_data=True), False, True),
        (Place("http://127.0.0.1:8000", LOCAL_REGION, keeps_data=True), False, False),
    ],
    ids=["AWS", "another machine", "this machine"],
)
def test_a_place_says_what_its_table_needs(place, backups, stream):
    assert (place.needs_backups, place.needs_stream) == (backups, stream)


def test_data_survives_a_second_ensure(client, name):
    ensure(client, name, backups=False, stream=False)
    item = {"PK": {"S": "A"}, "SK": {"S": "B"}}
    client.put_item(TableName=name, Item=item)
    ensure(client, name, backups=False, stream=False)
    assert client.get_item(TableName=name, Key=item)["Item"] == item


def test_a_table_without_ttl_gets_it(client, name):
    client.create_table(**definition(name, stream=False))
    assert differences(client, name, backups=False, stream=False) == ["TTL attribute is None, needs to be expiresAt"]
    assert ensure(client, name, backups=False, stream=False) is False
    assert differences(client, name, backups=False, stream=False) == []


def test_ttl_on_another_attribute_is_a_difference(client, name):
    client.create_table(**definition(name, stream=False))
    client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "goneAt"})
    with pytest.raises(TableDiffers) as differs:
        ensure(client, name, backups=False, stream=False)
    assert differs.value.differences == ["TTL attribute is goneAt, needs to be expiresAt"]


def with_numeric_sort_key(table):
    table["AttributeDefinitions"][1]["AttributeType"] = "N"


def with_other_keys(table):
    table["KeySchema"] = [{"AttributeName": "PK", "KeyType": "HASH"}]
    table["AttributeDefinitions"] = [entry for entry in table["AttributeDefinitions"] if entry["AttributeName"] != "SK"]


def without_third_index(table):
    table["GlobalSecondaryIndexes"] = [
        index for index in table["GlobalSecondaryIndexes"] if index["IndexName"] != "GSI3"
    ]
    table["AttributeDefinitions"] = [
        entry for entry in table["AttributeDefinitions"] if not entry["AttributeName"].startswith("GSI3")
    ]


def without_any_index(table):
    del table["GlobalSecondaryIndexes"]
    table["AttributeDefinitions"] = table["AttributeDefinitions"][:2]


def with_keys_only_in_an_index(table):
    table["GlobalSecondaryIndexes"][1]["Projection"] = {"ProjectionType": "KEYS_ONLY"}


def with_an_index_of_other_keys(table):
    table["GlobalSecondaryIndexes"][4]["KeySchema"][1]["AttributeName"] = "SK"
    table["AttributeDefinitions"].pop()


def without_stream(table):
    del table["StreamSpecification"]


def with_poorer_stream(table):
    table["StreamSpecification"]["StreamViewType"] = "KEYS_ONLY"


def with_provisioned_billing(table):
    throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    table["BillingMode"] = "PROVISIONED"
    table["ProvisionedThroughput"] = throughput
    for index in table["GlobalSecondaryIndexes"]:
        index["ProvisionedThroughput"] = throughput


UNFIT = {
    with_numeric_sort_key: ["type of SK is N, needs to be S"],
    with_other_keys: [
        "key schema is [{'AttributeName': 'PK', 'KeyType': 'HASH'}], needs to be "
        "[{'AttributeName': 'PK', 'KeyType': 'HASH'}, {'AttributeName': 'SK', 'KeyType': 'RANGE'}]",
        "type of SK is None, needs to be S",
    ],
    without_third_index: [
        "type of GSI3PK is None, needs to be S",
        "type of GSI3SK is None, needs to be S",
        "index GSI3 is missing",
    ],
    without_any_index: [
        *(f"type of {index}{part} is None, needs to be S" for index in INDEX_NAMES for part in ("PK", "SK")),
        *(f"index {index} is missing" for index in INDEX_NAMES),
    ],
    with_keys_only_in_an_index: ["projection of GSI2 is KEYS_ONLY, needs to be ALL"],
    with_an_index_of_other_keys: [
        "type of GSI5SK is None, needs to be S",
        "key schema of GSI5 is "
        "[{'AttributeName': 'GSI5PK', 'KeyType': 'HASH'}, {'AttributeName': 'SK', 'KeyType': 'RANGE'}], needs to be "
        "[{'AttributeName': 'GSI5PK', 'KeyType': 'HASH'}, {'AttributeName': 'GSI5SK', 'KeyType': 'RANGE'}]",
    ],
    without_stream: [f"stream is None, needs to be {STREAM}"],
    with_poorer_stream: [f"stream is {{'StreamEnabled': True, 'StreamViewType': 'KEYS_ONLY'}}, needs to be {STREAM}"],
}


def test_provisioned_capacity_fits(client, name):
    table = deepcopy(definition(name, stream=True))
    with_provisioned_billing(table)
    client.create_table(**table)
    assert ensure(client, name, backups=False, stream=True) is False


@pytest.mark.parametrize(("spoil", "expected"), UNFIT.items(), ids=[spoil.__name__ for spoil in UNFIT])
def test_a_table_that_does_not_fit_is_told_exactly(client, name, spoil, expected):
    unfit = deepcopy(definition(name, stream=True))
    spoil(unfit)
    client.create_table(**unfit)
    with pytest.raises(TableDiffers) as differs:
        ensure(client, name, backups=False, stream=True)
    assert differs.value.differences == expected
    assert str(differs.value) == "\n".join([f"table {name} does not fit:", *(f"  - {line}" for line in expected)])


def test_a_table_that_does_not_fit_is_left_as_it_is(client, name):
    """The table may belong to another program, and TTL deletes items."""
    unfit = definition(name, stream=False)
    without_any_index(unfit)
    client.create_table(**unfit)
    with pytest.raises(TableDiffers):
        ensure(client, name, backups=False, stream=False)
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl["TimeToLiveStatus"] == "DISABLED"


def test_backups_are_switched_on_where_asked(client, name, engine_name):
    if engine_name != "moto":
        pytest.skip("only moto has point-in-time recovery")
    ensure(client, name, backups=False, stream=False)
    assert differences(client, name, backups=True, stream=False) == [
        "point-in-time recovery is DISABLED, needs to be ENABLED"
    ]
    assert ensure(client, name, backups=True, stream=False) is False
    assert differences(client, name, backups=True, stream=False) == []


def test_a_wiped_table_is_gone(client, name):
    ensure(client, name, backups=False, stream=False)
    wipe(client, name)
    assert describe(client, name) is None


@pytest.mark.parametrize(
    ("endpoint", "local"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://127.83.4.250:41234", True),
        ("http://126.255.255.255:8000", False),
        ("http://128.0.0.1:8000", False),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("https://LOCALHOST", True),
        (None, False),
        ("https://dynamodb.example.org", False),
        ("http://localhost.example.org:8000", False),
        ("http://127.0.0.1.example.org", False),
        ("http://localhost@example.org", False),
        ("http://10.0.0.1:8000", False),
    ],
)
def test_only_a_loopback_address_is_local(endpoint, local):
    assert is_local(endpoint) is local


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:8000", "http://dynamodb-local:8000"], ids=["loopback", "compose"]
)
def test_an_endpoint_needs_no_aws_credentials(endpoint):
    """The data path uses dummy credentials for any DYNAMODB_ENDPOINT if there are none; so must this."""
    credentials = provision.connect(endpoint, LOCAL_REGION)._request_signer._credentials
    assert credentials is not None
