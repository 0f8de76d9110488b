"""deploy/aws/heartwood.yaml: valid, creatable, and with the table that `heartwood table create` makes."""

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from moto import mock_aws

from datastore.local import provision
from schema.http.settings import Settings
from tests.support.serving import ROOT

TEMPLATE = ROOT / "deploy/aws/heartwood.yaml"
REGION = "eu-central-1"


class Loader(yaml.SafeLoader):
    """Reads the short forms of CloudFormation's functions, such as !Ref, as dicts."""


def _function(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {suffix: loader.construct_mapping(node, deep=True)}


Loader.add_multi_constructor("!", _function)


def resources() -> dict[str, Any]:
    return yaml.load(TEMPLATE.read_text(), Loader)["Resources"]


def test_the_table_is_the_one_that_provisioning_makes() -> None:
    table = resources()["Table"]["Properties"]
    wanted = provision.definition("heartwood", stream=True)
    assert table["AttributeDefinitions"] == wanted["AttributeDefinitions"]
    assert table["KeySchema"] == wanted["KeySchema"]
    indexes = [
        {name: value for name, value in index.items() if name != "ProvisionedThroughput"}
        for index in table["GlobalSecondaryIndexes"]
    ]
    assert indexes == wanted["GlobalSecondaryIndexes"]
    assert table["BillingMode"] == {"If": ["IsProvisioned", "PROVISIONED", wanted["BillingMode"]]}
    assert {"StreamEnabled": True, **table["StreamSpecification"]} == wanted["StreamSpecification"]
    assert table["TimeToLiveSpecification"] == {"AttributeName": provision.TTL_ATTRIBUTE, "Enabled": True}
    recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35}
    assert table["PointInTimeRecoverySpecification"] == recovery


def test_what_holds_data_outlives_the_stack() -> None:
    kept = {name for name, each in resources().items() if each.get("DeletionPolicy") == "Retain"}
    assert kept == {"Table", "Key", "BackupVault", "Exports", "Logs"}


def test_the_server_may_do_what_the_manual_says_and_no_more() -> None:
    (policy,) = resources()["TaskRole"]["Properties"]["Policies"]
    statements = policy["PolicyDocument"]["Statement"]
    allowed = {action for each in statements for action in each["Action"] if action.startswith("dynamodb:")}
    manual = (ROOT / "docs/operating.md").read_text().partition("1. Give the server")[2].partition("`Scan`")[0]
    assert allowed == {f"dynamodb:{name}" for name in re.findall(r"`(?:dynamodb:)?([A-Z]\w+)`", manual)}
    assert "dynamodb:Scan" not in allowed
    assert all(each["Resource"] != "*" for each in statements)


def test_the_settings_of_a_task_exist_and_are_of_production() -> None:
    (container,) = resources()["Task"]["Properties"]["ContainerDefinitions"]
    plain = [each["If"][1] if "If" in each else each for each in container["Environment"]]
    names = {each["Name"] for each in (*plain, *container["Secrets"])}
    assert names <= {name.upper() for name in Settings.model_fields}
    assert {"Name": "ENVIRONMENT", "Value": "production"} in plain
    assert container["ReadonlyRootFilesystem"] is True


def test_there_are_alarms_for_throttles_errors_latency_and_capacity_of_every_index() -> None:
    alarms = [each["Properties"] for each in resources().values() if each["Type"] == "AWS::CloudWatch::Alarm"]
    watched = {alarm["MetricName"] for alarm in alarms}
    assert watched >= {
        *("ReadThrottleEvents", "WriteThrottleEvents", "SystemErrors", "SuccessfulRequestLatency"),
        *("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"),
        *("HTTPCode_Target_5XX_Count", "TargetResponseTime", "UnHealthyHostCount"),
    }
    indexes = {each["Value"] for alarm in alarms for each in alarm["Dimensions"] if each["Name"].startswith("Global")}
    assert indexes == {f"GSI{number}" for number in range(1, 6)}
    assert all(alarm["AlarmActions"] == [{"Ref": "Alarms"}] for alarm in alarms)


def test_the_least_capacity_is_what_the_requirements_list() -> None:
    least = yaml.load(TEMPLATE.read_text(), Loader)["Mappings"]["Least"]
    listed = {"Table": 100, "GSI1": 100, "GSI2": 10, "GSI3": 50}
    assert {name: least[name]["Read"] for name in listed} == listed
    assert least["Table"]["Write"] == 50


def test_the_template_can_be_sent_without_a_bucket() -> None:
    assert TEMPLATE.stat().st_size <= 51_200


@pytest.mark.slow
def test_cfn_lint_finds_nothing() -> None:
    program = str(Path(sys.executable).parent / "cfn-lint")
    done = subprocess.run([program, str(TEMPLATE)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("billing", ["on-demand", "provisioned"])
def test_moto_creates_the_stack(billing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """moto knows half of the kinds of resources, and applies neither TTL nor recovery of a table."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = _created(billing)
    assert provision._structural_differences("heartwood", table, stream=True) == []
    mode = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    assert mode == ("PAY_PER_REQUEST" if billing == "on-demand" else "PROVISIONED")


def _created(billing: str) -> dict[str, Any]:
    ec2, stacks = boto3.client("ec2"), boto3.client("cloudformation")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=f"{REGION}{'ab'[n % 2]}")
        for n in range(4)
    ]
    names = [each["Subnet"]["SubnetId"] for each in subnets]
    certificate = boto3.client("acm").request_certificate(DomainName="api.example.org")["CertificateArn"]
    given = {
        "VpcId": vpc,
        "PublicSubnets": ",".join(names[:2]),
        "PrivateSubnets": ",".join(names[2:]),
        "CertificateArn": certificate,
        "DomainName": "api.example.org",
        "Image": "heartwood:1",
        "AuthSecretArn": f"arn:aws:secretsmanager:{REGION}:123456789012:secret:x",
        "AlarmEmail": "ops@example.org",
        "Billing": billing,
    }
    stacks.create_stack(
        StackName="heartwood",
        TemplateBody=TEMPLATE.read_text(),
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    (stack,) = stacks.describe_stacks(StackName="heartwood")["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    return dict(boto3.client("dynamodb").describe_table(TableName="heartwood")["Table"])
