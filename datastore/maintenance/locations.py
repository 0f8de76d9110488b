"""The folder or the S3 bucket that holds backups, one folder for each."""

import shutil
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Protocol, cast
from urllib.parse import urlsplit

S3 = "s3://"
SUMMARY = "manifest-summary.json"
DELETED_AT_ONCE = 1_000


class Location(Protocol):
    """A place for backups. Paths in it are relative, with slashes."""

    def within(self, name: str) -> "Location":
        """Returns the location of a folder in this one."""

    def folders(self) -> list[str]:
        """Returns the names of the folders in it, in order."""

    def has(self, path: str) -> bool: ...
    def open(self, path: str) -> IO[bytes]: ...
    def write(self, path: str, content: bytes) -> None: ...
    def take(self, file: Path, path: str) -> None:
        """Stores a file, which may be moved there."""

    def delete(self) -> None:
        """Deletes everything in it."""


def location(text: str) -> "Location":
    """Returns the location that an operator names: a folder, or s3://bucket/prefix."""
    if not check_location(text).startswith(S3):
        return Folder(Path(text).expanduser())
    parts = urlsplit(text)
    return Bucket(parts.netloc, parts.path.strip("/"))


def check_location(text: str) -> str:
    """Raises ValueError for anything but a folder or s3://bucket/prefix."""
    if not text or ("://" in text and not text.startswith(S3)):
        raise ValueError(f"{text!r} is neither a folder nor s3://bucket/prefix")
    if text.startswith(S3) and not urlsplit(text).netloc:
        raise ValueError(f"{text} names no bucket; write it as s3://bucket/prefix")
    return text


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def within(self, name: str) -> "Folder":
        return Folder(self.path / name)

    def folders(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return sorted(each.name for each in self.path.iterdir() if each.is_dir())

    def has(self, path: str) -> bool:
        return (self.path / path).is_file()

    def open(self, path: str) -> IO[bytes]:
        return (self.path / path).open("rb")

    def write(self, path: str, content: bytes) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def take(self, file: Path, path: str) -> None:
        target = self.path / path
        if target.absolute() != file.absolute():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)

    def delete(self) -> None:
        shutil.rmtree(self.path)


class Bucket:
    """A prefix of a bucket. AWS_ENDPOINT_URL_S3 selects another service than S3."""

    def __init__(self, bucket: str, prefix: str, client: Any = None) -> None:
        # Loaded only for this: it takes longer than everything else.
        import boto3

        self.bucket = bucket
        self.prefix = prefix
        self._client = client or boto3.client("s3")

    def __str__(self) -> str:
        return f"{S3}{self.bucket}/{self.prefix}".rstrip("/")

    def within(self, name: str) -> "Bucket":
        return Bucket(self.bucket, f"{self.prefix}/{name}".strip("/"), self._client)

    def folders(self) -> list[str]:
        prefix = f"{self.prefix}/" if self.prefix else ""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix, Delimiter="/")
        found = [each["Prefix"] for page in pages for each in page.get("CommonPrefixes", ())]
        return sorted(each.removeprefix(prefix).rstrip("/") for each in found)

    def has(self, path: str) -> bool:
        answer = self._client.list_objects_v2(Bucket=self.bucket, Prefix=self._key(path), MaxKeys=1)
        return any(each["Key"] == self._key(path) for each in answer.get("Contents", ()))

    def open(self, path: str) -> IO[bytes]:
        body = self._client.get_object(Bucket=self.bucket, Key=self._key(path))["Body"]
        return cast(IO[bytes], closing(body) if not hasattr(body, "__enter__") else body)

    def write(self, path: str, content: bytes) -> None:
        self._client.put_object(Bucket=self.bucket, Key=self._key(path), Body=content)

    def take(self, file: Path, path: str) -> None:
        self._client.upload_file(str(file), self.bucket, self._key(path))
        file.unlink()

    def delete(self) -> None:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self._key(""))
        for page in pages:
            self._delete_some(each["Key"] for each in page.get("Contents", ()))

    def _delete_some(self, keys: Iterable[str]) -> None:
        objects = [{"Key": key} for key in keys]
        for start in range(0, len(objects), DELETED_AT_ONCE):
            some = objects[start : start + DELETED_AT_ONCE]
            self._client.delete_objects(Bucket=self.bucket, Delete={"Objects": some, "Quiet": True})

    def _key(self, path: str) -> str:
        return f"{self.prefix}/{path}".lstrip("/")
