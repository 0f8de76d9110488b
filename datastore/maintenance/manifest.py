"""The manifest of a backup, as DynamoDB writes it beside an export, with what Heartwood adds."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import orjson

import datastore.maintenance.all_entities  # noqa: F401
from datastore.maintenance.export_format import DamagedBackup
from datastore.maintenance.locations import SUMMARY, Location
from datastore.model.entity import FORMER_NAMES, REGISTRY

FILES = "manifest-files.json"
VERSION = "2020-06-30"


@dataclass(frozen=True)
class DataFile:
    """A file of a backup: its path within the backup, the number of its items, and its MD5 checksum in Base64."""

    path: str
    items: int
    md5: str


@dataclass(frozen=True)
class Manifest:
    """The contents of a backup. `details` is what Heartwood adds: exports of AWS have none."""

    files: tuple[DataFile, ...]
    table_name: str
    began_at: str
    ended_at: str
    as_of: str
    details: dict[str, Any]

    @property
    def items(self) -> int:
        return sum(file.items for file in self.files)

    @property
    def is_whole(self) -> bool:
        return self.details.get("owner") is None

    def write(self, to: Location, name: str) -> None:
        """Writes the manifest. The summary comes last: a backup without it is not finished."""
        files = b"".join(
            orjson.dumps({"itemCount": file.items, "md5Checksum": file.md5, "dataFileS3Key": f"{name}/{file.path}"})
            + b"\n"
            for file in self.files
        )
        summary = {
            "version": VERSION,
            "exportArn": None,
            "startTime": self.began_at,
            "endTime": self.ended_at,
            "tableArn": f"arn:aws:dynamodb:::table/{self.table_name}",
            "exportTime": self.as_of,
            "manifestFilesS3Key": f"{name}/{FILES}",
            "itemCount": self.items,
            "outputFormat": "DYNAMODB_JSON",
            "exportType": "FULL_EXPORT",
            "heartwood": self.details,
        }
        text = orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n"
        to.write(FILES, files)
        to.write(_beside(FILES), _md5(files).encode())
        to.write(_beside(SUMMARY), _md5(text).encode())
        to.write(SUMMARY, text)

    @classmethod
    def read(cls, at: Location) -> "Manifest":
        """Reads the manifest and verifies its checksums. Raises DamagedBackup."""
        if not at.has(SUMMARY):
            raise DamagedBackup(f"{at} has no {SUMMARY}: it is no backup, or one that was not finished")
        summary, files = orjson.loads(_verified(at, SUMMARY)), _verified(at, FILES)
        try:
            found = [orjson.loads(line) for line in files.splitlines() if line.strip()]
            manifest = cls(
                # The keys begin with the place where the backup was written, and it may have been moved since.
                tuple(
                    DataFile(f"data/{each['dataFileS3Key'].rpartition('/')[2]}", each["itemCount"], each["md5Checksum"])
                    for each in found
                ),
                summary["tableArn"].rpartition("/")[2],
                summary["startTime"],
                summary["endTime"],
                summary["exportTime"],
                summary.get("heartwood") or {},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedBackup(f"the manifest of {at} cannot be understood: {error!r}") from error
        if summary.get("outputFormat") != "DYNAMODB_JSON" or manifest.items != summary.get("itemCount"):
            raise DamagedBackup(f"the manifest of {at} contradicts itself: its files do not have its number of items")
        return manifest


def schema_versions() -> dict[str, int]:
    """Returns the version of each entity, as this Heartwood writes it."""
    return {name: entity.schema_version for name, entity in sorted(REGISTRY.items())}


def newer_entities(manifest: Manifest) -> list[str]:
    """Returns what a newer Heartwood has written and this one cannot read, a line for each."""
    own = schema_versions()
    return [
        f"{name} has version {version}, and this Heartwood knows {own.get(FORMER_NAMES.get(name, name), 'none')}"
        for name, version in manifest.details.get("schemaVersions", {}).items()
        if version > own.get(FORMER_NAMES.get(name, name), 0)
    ]


def _beside(name: str) -> str:
    return name.replace(".json", ".md5")


def _md5(content: bytes) -> str:
    return b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def _verified(at: Location, name: str) -> bytes:
    with at.open(name) as file:
        content = file.read()
    with at.open(_beside(name)) as file:
        if file.read().decode().strip() != _md5(content):
            raise DamagedBackup(f"{name} of {at} was changed: its checksum is wrong")
    return content
