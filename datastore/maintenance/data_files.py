"""The data files of a backup that is being written: they can go on after a crash, and lose items that changed since."""

import asyncio
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Raw

from datastore.maintenance.export_format import CheckedFile, compressed, items_in
from datastore.maintenance.manifest import DataFile
from datastore.maintenance.raw_items import Place, head_of

# Compressed. A restore goes on at the file where it was interrupted.
LARGEST = 4_000_000
ITEMS_AT_ONCE = 1_000
ONLY_READ = -1


@dataclass
class Written:
    """The complete part of a file."""

    name: str
    size: int = 0
    items: int = 0


class DataFiles:
    """Files of several writers, who number their own: `0003-0000.json.gz` is the first of writer 3.

    `as_json` says which parts of them are complete; after a crash, `from_json` cuts off the rest.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, list[Written]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def items(self) -> int:
        return sum(file.items for files in self._files.values() for file in files)

    async def append(self, writer: int, items: list[Raw] | list[bytes]) -> "Written":
        """Appends items to the file of a writer, off the event loop. Returns how it will be: `commit` makes it so."""
        files = self._files.setdefault(writer, [])
        last = files[-1] if files and files[-1].size < LARGEST else None
        before = last or Written(f"{writer:04d}-{len(files):04d}.json.gz")
        size = await asyncio.to_thread(self._write, before, items)
        return Written(before.name, size, before.items + len(items))

    def commit(self, writer: int, written: Written) -> None:
        """Counts what was appended as complete."""
        files = self._files[writer]
        if files and files[-1].name == written.name:
            files[-1] = written
        else:
            files.append(written)

    def _write(self, before: Written, items: Iterable[Raw | bytes]) -> int:
        content = compressed(items)
        with (self._folder / before.name).open("r+b" if before.size else "wb") as file:
            file.seek(before.size)
            file.write(content)
            file.truncate()
            # The progress may say that it is there, also after a power failure.
            file.flush()
            os.fsync(file.fileno())
        return before.size + len(content)

    def as_json(self) -> dict[str, Any]:
        return {
            str(writer): [[file.name, file.size, file.items] for file in files] for writer, files in self._files.items()
        }

    @classmethod
    def from_json(cls, folder: Path, stored: dict[str, Any]) -> "DataFiles":
        files = cls(folder)
        files._files = {int(writer): [Written(*each) for each in some] for writer, some in stored.items()}
        complete = {file.name: file.size for some in files._files.values() for file in some}
        for path in folder.iterdir():
            if path.name not in complete:
                path.unlink()
            else:
                os.truncate(path, complete[path.name])
        return files

    def finish(self, last_writer: dict[Place, int], first_of_rounds: int, to: Path) -> list[DataFile]:
        """Writes the files without items that a later writer has written again. Returns them with their checksums.

        Writers below `first_of_rounds` have read the table once; those from there on wrote what changed since. The
        files themselves stay as they are: after a crash, this begins again.
        """
        to.mkdir(exist_ok=True)
        done = []
        for writer, files in sorted(self._files.items()):
            number = writer if writer >= first_of_rounds else ONLY_READ
            for written in files:
                path = to / written.name
                path.unlink(missing_ok=True)
                items = self._without_older(self._folder / written.name, path, written.items, last_writer, number)
                if items:
                    with path.open("rb") as file:
                        done.append(DataFile(f"data/{written.name}", items, CheckedFile(file).md5))
        return done

    def _without_older(self, source: Path, target: Path, items: int, last_writer: dict[Place, int], number: int) -> int:
        """Writes a file without items that another writer has written later. Returns the number of its items."""

        def is_current(item: bytes) -> bool:
            return last_writer.get(head_of(item).place, number) == number

        with source.open("rb") as file:
            if not last_writer or all(map(is_current, items_in(file, source.name))):
                try:
                    os.link(source, target)
                except OSError:  # a file system without links
                    shutil.copyfile(source, target)
                return items
        count, kept = 0, []
        with source.open("rb") as file, target.open("wb") as output:
            for item in filter(is_current, items_in(file, source.name)):
                kept.append(item)
                count += 1
                if len(kept) == ITEMS_AT_ONCE:
                    output.write(compressed(kept))
                    kept = []
            output.write(compressed(kept) if kept else b"")
        return count
