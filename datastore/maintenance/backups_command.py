"""`heartwood backups`: lists, verifies and deletes backups, and uses those that AWS makes."""

import argparse
import asyncio
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from datastore.local import provision
from datastore.maintenance.aws_backups import AwsBackups, NotInAws
from datastore.maintenance.backup_settings import BackupSettings
from datastore.maintenance.connections import reached
from datastore.maintenance.export_format import DamagedBackup
from datastore.maintenance.locations import S3, location
from datastore.maintenance.progress import shown
from datastore.maintenance.restore import Restore
from datastore.maintenance.stored_backups import finished, prune
from datastore.model.times import parse_time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    place = {"metavar": "PLACE", "help": "a folder, or s3://bucket/prefix; defaults to BACKUP_TO"}
    actions.add_parser("list", help="list backups, the latest last").add_argument("--in", dest="place", **place)  # type: ignore[arg-type]
    verify = actions.add_parser("verify", help="read a backup and compare checksums and numbers of items")
    verify.add_argument("source", metavar="BACKUP", help="the folder or s3:// address of a backup")
    old = actions.add_parser("prune", help="delete backups that are older than BACKUP_KEEP_DAYS")
    old.add_argument("--in", dest="place", **place)  # type: ignore[arg-type]
    aws = "in AWS: "
    actions.add_parser("status", help=f"{aws}show if point-in-time recovery is on, and how far it goes back")
    actions.add_parser("create", help=f"{aws}make an on-demand backup").add_argument("name", metavar="NAME")
    actions.add_parser("list-aws", help=f"{aws}list on-demand backups")
    actions.add_parser("delete-aws", help=f"{aws}delete an on-demand backup").add_argument("arn", metavar="ARN")
    restore = actions.add_parser("restore-aws", help=f"{aws}restore an on-demand backup into a new table")
    restore.add_argument("arn", metavar="ARN")
    to_time = actions.add_parser("restore-to", help=f"{aws}restore the table as of a time into a new table")
    to_time.add_argument("time", metavar="TIME", help="a time such as 2026-01-31T12:00:00Z, or `latest`")
    for each in (restore, to_time):
        each.add_argument("--into", required=True, metavar="TABLE", help="name of the new table")
    export = actions.add_parser("export", help=f"{aws}export the table to S3 without using its read units")
    export.add_argument("--to", required=True, metavar="S3", help="s3://bucket/prefix")
    actions.add_parser("exports", help=f"{aws}list exports to S3, as `heartwood restore` takes them")


def run(arguments: argparse.Namespace) -> int:
    settings = BackupSettings()
    try:
        match arguments.action:
            case "list":
                return _list(arguments.place or _place(settings))
            case "verify":
                return asyncio.run(_verify(arguments.source))
            case "prune":
                return _prune(arguments.place or _place(settings), settings)
            case _:
                return _in_aws(settings, arguments)
    except (ValueError, NotInAws) as error:
        print(error, file=sys.stderr)
        return 2
    except DamagedBackup as error:
        print(error, file=sys.stderr)
        return 1


def _place(settings: BackupSettings) -> str:
    return settings.backup_to or str(settings.data_dir / "backups")


def _list(text: str) -> int:
    at = location(text)
    found = finished(at)
    for name, manifest in found:
        if manifest is None:
            print(f"damaged  {at.within(name)}")
            continue
        owner = manifest.details.get("owner")
        whose = f"{owner['kind']} {owner['id']}" if owner else "whole table"
        print(f"{manifest.as_of}  {manifest.items:,} items  {whose}  {at.within(name)}")
    if not found:
        print(f"there are no backups in {at}", file=sys.stderr)
    return 0 if found else 1


async def _verify(source: str) -> int:
    with shown() as progress:
        restore = Restore(None, location(source), progress=progress)  # type: ignore[arg-type]
        digest = await asyncio.to_thread(restore.verify)
    print(f"{digest.items:,} items as of {restore.manifest.as_of}: all checksums are right; digest {digest.text}")
    return 0


def _prune(text: str, settings: BackupSettings) -> int:
    keep = timedelta(days=settings.backup_keep_days)
    deleted = prune(location(text), settings.table_name, keep, datetime.now(UTC))
    _print(f"{name}  deleted" for name in deleted)
    if not deleted:
        print(f"no backup of {settings.table_name} is older than {settings.backup_keep_days} days")
    return 0


def _in_aws(settings: BackupSettings, arguments: argparse.Namespace) -> int:
    with reached(settings) as where:
        backups = AwsBackups(provision.connect(where.place.endpoint, where.place.region), where.table_name)
        match arguments.action:
            case "status":
                _print(backups.status())
            case "create":
                _print(backups.create(arguments.name))
            case "list-aws":
                _print(backups.list())
            case "delete-aws":
                _print(backups.delete(arguments.arn))
            case "restore-aws":
                _print(backups.restore(arguments.arn, arguments.into))
            case "restore-to":
                latest = arguments.time == "latest"
                moment = None if latest else datetime.fromisoformat(parse_time(arguments.time))
                _print(backups.restore_to(moment, arguments.into))
            case "export":
                parts = urlsplit(arguments.to)
                if not arguments.to.startswith(S3) or not parts.netloc:
                    raise ValueError(f"{arguments.to} is not s3://bucket/prefix")
                _print(backups.export(parts.netloc, parts.path.strip("/")))
            case _:
                _print(backups.exports())
    return 0


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
