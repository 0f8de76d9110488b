"""`heartwood backups` with the backups that AWS makes, on moto."""

import boto3
import pytest

from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION
from tests.support.command_line import heartwood


@pytest.fixture(scope="module")
def moto():
    with engine.in_memory(moto=True) as running:
        client = provision.connect(running.endpoint, LOCAL_REGION)
        provision.ensure(client, "heartwood", backups=True, stream=True)
        client.put_item(TableName="heartwood", Item={"PK": {"S": "a"}, "SK": {"S": "b"}})
        yield running


@pytest.fixture
def run(moto):
    keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": LOCAL_REGION}
    return lambda *arguments: heartwood("backups", *arguments, DYNAMODB_ENDPOINT=moto.endpoint, **keys)


def items_of(moto, name):
    return provision.connect(moto.endpoint, LOCAL_REGION).scan(TableName=name)["Items"]


def test_an_on_demand_backup_is_made_listed_restored_and_deleted(run, moto):
    made = run("create", "before-release")
    assert made.stderr == ""
    name, status, arn = made.stdout.strip().split("  ")
    assert (name, status) == ("before-release", "AVAILABLE")
    assert [line.split("  ")[1:3] + line.split("  ")[4:] for line in run("list-aws").stdout.splitlines()] == [
        ["before-release", "AVAILABLE", arn]
    ]
    restored = run("restore-aws", arn, "--into", "restored")
    assert restored.stdout.splitlines()[0].startswith("AWS is restoring into the new table restored")
    assert items_of(moto, "restored") == items_of(moto, "heartwood")
    assert run("delete-aws", arn).stdout == "before-release  deleted\n"
    assert run("list-aws").stdout == ""


def test_the_table_is_restored_to_a_time(run, moto):
    assert run("status").stdout.splitlines()[0] == "point-in-time recovery of heartwood: ENABLED"
    done = run("restore-to", "latest", "--into", "yesterday")
    assert done.stdout.splitlines()[2] == "then start the servers with TABLE_NAME=yesterday"
    assert items_of(moto, "yesterday") == items_of(moto, "heartwood")
    wrong = run("restore-to", "noon", "--into", "noon")
    assert (wrong.returncode, wrong.stderr.strip()) == (
        2,
        "'noon' is not a time with an offset; write it like 2026-01-31T12:00:00Z",
    )


def test_the_table_is_exported_to_s3(run, moto):
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": LOCAL_REGION}
    boto3.client("s3", endpoint_url=moto.endpoint, **keys).create_bucket(Bucket="exports")
    done = run("export", "--to", "s3://exports/daily")
    assert done.stderr == ""
    assert "s3://exports/daily/AWSDynamoDB/" in done.stdout
    (line,) = run("exports").stdout.splitlines()
    assert line.startswith("COMPLETED  s3://exports/daily/AWSDynamoDB/")
    wrong = run("export", "--to", "exports")
    assert (wrong.returncode, wrong.stderr) == (2, "exports is not s3://bucket/prefix\n")


def test_an_engine_without_backups_says_so(endpoint, engine_name, table_name):
    if engine_name == "moto":
        pytest.skip("moto has backups")
    done = heartwood("backups", "list-aws", DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=table_name)
    assert (done.returncode, done.stderr) == (2, "this service has no backups of its own; use `heartwood backup`\n")
