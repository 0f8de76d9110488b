"""DynamoDB's export format: gzip files of JSON Lines, `{"Item": {…}}`, which DynamoDB imports and jq reads."""

import gzip
import hashlib
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import IO, Any

import orjson
from msgspec import Raw

LEVEL = 5
BEGINNING, END = b'{"Item":', b"}\n"
READ_AT_ONCE = 256 * 1024


class DamagedBackup(Exception):
    """A backup that cannot be restored; the message says which part of it."""


def compressed(items: Iterable[Raw | bytes]) -> bytes:
    """Returns a part of a file. Parts can be joined: each is a member of the gzip file."""
    text = b"".join(part for item in items for part in (BEGINNING, _on_one_line(memoryview(item)), END))
    return gzip.compress(text, LEVEL, mtime=0)


def _on_one_line(item: memoryview) -> bytes:
    text = bytes(item)
    return text if b"\n" not in text else orjson.dumps(orjson.loads(text))


def items_in(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yields the items of a file, as text. Raises DamagedBackup if it cannot be read to its end."""
    number = 0
    try:
        with gzip.GzipFile(fileobj=file) as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007
                if line.startswith(BEGINNING) and line.endswith(END):
                    yield line[len(BEGINNING) : -len(END)]
                elif line.strip():
                    yield orjson.dumps(orjson.loads(line)["Item"])
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError, KeyError, TypeError) as error:
        raise DamagedBackup(f"{name} is damaged after line {number}: {error}") from error


class CheckedFile:
    """Reads a file, and knows the MD5 checksum of what was read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._md5 = hashlib.md5(usedforsecurity=False)

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._file.read(size)
        self._md5.update(data)
        return data

    @property
    def md5(self) -> str:
        """The checksum of the whole file, in Base64 as DynamoDB writes it."""
        while self.read(READ_AT_ONCE):
            pass
        return b64encode(self._md5.digest()).decode()
