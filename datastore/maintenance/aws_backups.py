"""Backups that AWS makes: on-demand backups, point-in-time recovery, and exports to S3."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from datastore.local.provision import DynamoDBClient

NOT_THERE = ("UnknownOperationException", "NotImplemented", "501")


class NotInAws(Exception):
    """The service has no backups of its own."""


class AwsBackups:
    """The backups of one table. Each method returns lines for the operator."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._name = table_name

    def create(self, name: str) -> Iterator[str]:
        details = self._call("create_backup", TableName=self._name, BackupName=name)["BackupDetails"]
        yield f"{details['BackupName']}  {details['BackupStatus']}  {details['BackupArn']}"

    def list(self) -> Iterator[str]:
        start: dict[str, str] = {}
        while True:
            answer = self._call("list_backups", TableName=self._name, **start)
            for each in answer["BackupSummaries"]:
                size = f"{each.get('BackupSizeBytes', 0):,} bytes"
                yield (
                    f"{each['BackupCreationDateTime']:%Y-%m-%d %H:%M}  {each['BackupName']}  {each['BackupStatus']}  "
                    f"{size}  {each['BackupArn']}"
                )
            if "LastEvaluatedBackupArn" not in answer:
                return
            start = {"ExclusiveStartBackupArn": answer["LastEvaluatedBackupArn"]}

    def delete(self, arn: str) -> Iterator[str]:
        details = self._call("delete_backup", BackupArn=arn)["BackupDescription"]["BackupDetails"]
        yield f"{details['BackupName']}  deleted"

    def restore(self, arn: str, into: str) -> Iterator[str]:
        """Restores an on-demand backup into a new table."""
        self._call("restore_table_from_backup", TargetTableName=into, BackupArn=arn)
        yield from _next_steps(into)

    def status(self) -> Iterator[str]:
        """Returns whether point-in-time recovery is on, and the times to which the table can be restored."""
        status = self._call("describe_continuous_backups", TableName=self._name)["ContinuousBackupsDescription"]
        recovery = status.get("PointInTimeRecoveryDescription", {})
        yield f"point-in-time recovery of {self._name}: {recovery.get('PointInTimeRecoveryStatus', 'DISABLED')}"
        if "EarliestRestorableDateTime" in recovery:
            yield f"can be restored to any time from {recovery['EarliestRestorableDateTime']}"
            yield f"                            until {recovery['LatestRestorableDateTime']}"
        elif recovery.get("PointInTimeRecoveryStatus") != "ENABLED":
            yield "switch it on with `heartwood table create`"

    def restore_to(self, moment: datetime | None, into: str) -> Iterator[str]:
        """Restores the table as of a time, or the latest possible one, into a new table."""
        when: dict[str, Any] = {"RestoreDateTime": moment} if moment else {"UseLatestRestorableTime": True}
        self._call("restore_table_to_point_in_time", SourceTableName=self._name, TargetTableName=into, **when)
        yield from _next_steps(into)

    def export(self, bucket: str, prefix: str) -> Iterator[str]:
        """Exports the table to S3, from its point-in-time recovery: without using its read units."""
        arn = self._call("describe_table", TableName=self._name)["Table"]["TableArn"]
        place = {"S3Bucket": bucket, **({"S3Prefix": prefix} if prefix else {})}
        answer = self._call("export_table_to_point_in_time", TableArn=arn, ExportFormat="DYNAMODB_JSON", **place)
        yield from _exported(answer["ExportDescription"])

    def exports(self) -> Iterator[str]:
        arn = self._call("describe_table", TableName=self._name)["Table"]["TableArn"]
        for each in self._call("list_exports", TableArn=arn)["ExportSummaries"]:
            yield from _exported(self._call("describe_export", ExportArn=each["ExportArn"])["ExportDescription"])

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] in NOT_THERE:
                raise NotInAws("this service has no backups of its own; use `heartwood backup`") from error
            raise
        return answer


def _next_steps(into: str) -> Iterator[str]:
    yield f"AWS is restoring into the new table {into}; this takes from minutes to hours"
    yield f"`TABLE_NAME={into} heartwood table create` adds what AWS does not restore: TTL, stream, recovery"
    yield f"then start the servers with TABLE_NAME={into}"


def _exported(export: dict[str, Any]) -> Iterator[str]:
    number = f"  {export['ItemCount']:,} items" if export.get("ItemCount") else ""
    why = f"  {export['FailureMessage']}" if export.get("FailureMessage") else ""
    yield f"{export['ExportStatus']}  s3://{export['S3Bucket']}/{_folder(export)}{number}{why}  {export['ExportArn']}"


def _folder(export: dict[str, Any]) -> str:
    """Returns the folder of an export, which `heartwood restore` takes."""
    manifest = export.get("ExportManifest")
    if manifest:
        return str(manifest).rpartition("/")[0]
    prefix = f"{export['S3Prefix']}/" if export.get("S3Prefix") else ""
    return f"{prefix}AWSDynamoDB/{export['ExportArn'].rpartition('/')[2]}"
