"""Creates the table, or reports how an existing one differs from the required definition."""

import logging
from typing import Any, Literal
from urllib.parse import urlsplit

from datastore.client.budget import Usage
from datastore.client.connecting import is_this_machine
from datastore.client.errors import DatastoreError
from datastore.client.local_credentials import LOCAL, credentials_at
from datastore.client.transport import Transport
from datastore.model.patterns import INDEXES

DynamoDBClient = Any  # boto3 creates client classes at run time

log = logging.getLogger("heartwood.provision")

TIME_TO_LOOK = 2.0
TTL_ATTRIBUTE = "expiresAt"
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


class TableDiffers(Exception):
    """The existing table differs from the required definition; one line per difference."""

    def __init__(self, name: str, differences: list[str]) -> None:
        super().__init__(f"table {name} does not fit:\n" + "\n".join(f"  - {line}" for line in differences))
        self.differences = differences


def is_local(endpoint: str | None) -> bool:
    """Returns True for this machine: localhost, ::1 and all of 127.0.0.0/8."""
    host = urlsplit(endpoint).hostname if endpoint else None
    return host is not None and is_this_machine(host)


def connect(
    endpoint: str | None,
    region: str,
    service: Literal["dynamodb", "dynamodbstreams"] = "dynamodb",
    *,
    profile: str | None = None,
) -> DynamoDBClient:
    """Returns a client of boto3 for the table or, as `dynamodbstreams`, for its stream."""
    # Loaded only to change the table or to look for credentials: it takes longer than to start without it.
    import boto3
    from botocore.config import Config

    local: dict[str, Any] = {}
    session = boto3.Session(profile_name=profile)
    if profile is None and (credentials_at(endpoint) or (endpoint and session.get_credentials() is None)):
        local = {"aws_access_key_id": LOCAL.access_key, "aws_secret_access_key": LOCAL.secret_key}
    # The local engine's IDs of shards are shorter than boto3 allows.
    validated = service == "dynamodb"
    config = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard"}, parameter_validation=validated)
    return session.client(service, endpoint_url=endpoint, region_name=region, config=config, **local)


def _key_schema(prefix: str = "") -> list[dict[str, str]]:
    return [
        {"AttributeName": f"{prefix}PK", "KeyType": "HASH"},
        {"AttributeName": f"{prefix}SK", "KeyType": "RANGE"},
    ]


def definition(name: str, *, stream: bool) -> dict[str, Any]:
    prefixes = ["", *INDEXES]
    table: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": f"{prefix}{part}", "AttributeType": "S"} for prefix in prefixes for part in ("PK", "SK")
        ],
        "KeySchema": _key_schema(),
        "GlobalSecondaryIndexes": [
            {"IndexName": index, "KeySchema": _key_schema(index), "Projection": {"ProjectionType": "ALL"}}
            for index in prefixes[1:]
        ],
    }
    return table | ({"StreamSpecification": STREAM} if stream else {})


def ensure(client: DynamoDBClient, name: str, *, backups: bool, stream: bool) -> bool:
    """Creates the table if it does not exist and returns True. Raises TableDiffers if an existing one differs."""
    created = False
    if describe(client, name) is None:
        try:
            client.create_table(**definition(name, stream=stream))
            created = True
        except client.exceptions.ResourceInUseException:
            log.info("another process is creating the table %s", name)
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
    _refuse(name, _structural_differences(name, describe(client, name), stream=stream))
    _switch_on_ttl(client, name)
    if backups:
        _switch_on_backups(client, name)
    _refuse(name, differences(client, name, backups=backups, stream=stream))
    return created


def _refuse(name: str, found: list[str]) -> None:
    if found:
        raise TableDiffers(name, found)


def describe(client: DynamoDBClient, name: str) -> dict[str, Any] | None:
    try:
        return dict(client.describe_table(TableName=name)["Table"])
    except client.exceptions.ResourceNotFoundException:
        return None


def differences(client: DynamoDBClient, name: str, *, backups: bool, stream: bool) -> list[str]:
    """Returns one line for each difference from the required definition."""
    table = describe(client, name)
    found = _structural_differences(name, table, stream=stream)
    if table is None:
        return found
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    found += _compare("TTL attribute", TTL_ATTRIBUTE, ttl.get("AttributeName"))
    if backups:
        status = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        recovery = status.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
        found += _compare("point-in-time recovery", "ENABLED", recovery)
    return found


async def fits(transport: Transport, name: str, *, stream: bool) -> bool:
    """Returns True if a local table needs no change. Asks with the server's own connection, which needs no boto3."""
    usage = Usage.lasting(TIME_TO_LOOK)
    try:
        table = (await transport.call("DescribeTable", {"TableName": name}, usage))["Table"]
        ttl = (await transport.call("DescribeTimeToLive", {"TableName": name}, usage))["TimeToLiveDescription"]
    except DatastoreError:
        return False
    return (
        not _structural_differences(name, table, stream=stream)
        and stream == bool(table.get("StreamSpecification", {}).get("StreamEnabled"))
        and _has_ttl(ttl)
        and ttl.get("AttributeName") == TTL_ATTRIBUTE
    )


def _structural_differences(name: str, table: dict[str, Any] | None, *, stream: bool) -> list[str]:
    """Returns differences that cannot be fixed in an existing table."""
    if table is None:
        return [f"there is no table {name}"]
    wanted = definition(name, stream=stream)
    found = [
        *_compare("key schema", wanted["KeySchema"], table["KeySchema"]),
        *_compare_attributes(wanted["AttributeDefinitions"], table["AttributeDefinitions"]),
        *_compare_indexes(wanted["GlobalSecondaryIndexes"], table.get("GlobalSecondaryIndexes", [])),
    ]
    if stream:
        found += _compare("stream", STREAM, table.get("StreamSpecification"))
    # Capacity may be provisioned: that changes what the table costs, not what it does.
    return found


def _compare(what: str, wanted: Any, actual: Any) -> list[str]:
    return [] if actual == wanted else [f"{what} is {actual}, needs to be {wanted}"]


def _compare_attributes(wanted: list[Any], actual: list[Any]) -> list[str]:
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in actual}
    return [
        line
        for entry in wanted
        for line in _compare(
            f"type of {entry['AttributeName']}", entry["AttributeType"], types.get(entry["AttributeName"])
        )
    ]


def _compare_indexes(wanted: list[Any], actual: list[Any]) -> list[str]:
    by_name = {index["IndexName"]: index for index in actual}
    found = []
    for index in wanted:
        there = by_name.get(index["IndexName"])
        if there is None:
            found.append(f"index {index['IndexName']} is missing")
            continue
        found += _compare(f"key schema of {index['IndexName']}", index["KeySchema"], there["KeySchema"])
        projection = there["Projection"].get("ProjectionType")
        found += _compare(f"projection of {index['IndexName']}", "ALL", projection)
    return found


def _switch_on_ttl(client: DynamoDBClient, name: str) -> None:
    status = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if _has_ttl(status):
        return
    client.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
    )


def _has_ttl(status: dict[str, Any]) -> bool:
    return status.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")


def _switch_on_backups(client: DynamoDBClient, name: str) -> None:
    """Enables point-in-time recovery, which a new table may not accept yet."""
    from botocore.exceptions import ClientError

    try:
        client.update_continuous_backups(
            TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ContinuousBackupsUnavailableException":
            raise
        log.warning("point-in-time recovery is not available yet; run `heartwood table create` again")


def switch_off_stream(client: DynamoDBClient, name: str) -> None:
    """Disables the stream of a local table that an earlier version created with one."""
    table = describe(client, name)
    if table is not None and table.get("StreamSpecification", {}).get("StreamEnabled"):
        client.update_table(TableName=name, StreamSpecification={"StreamEnabled": False})


def wipe(client: DynamoDBClient, name: str) -> None:
    """Deletes the table and everything in it."""
    client.delete_table(TableName=name)
    client.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
