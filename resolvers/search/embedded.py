"""The embedded engine: a tantivy index in a folder of this machine. One process writes, all of them read.

search/heartwood-1a2b3c4d/writer.lock   held by the process that writes
                          current       the name of the generation that answers
                          v1-01J…/      a generation, of version 1 of the mapping
"""

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from datastore.client.errors import Unavailable
from loaders.threads import Lane
from resolvers.search.documents import Audience, Document
from resolvers.search.embedded_index import VERSION, Writing, new_index, positions_in
from resolvers.search.embedded_query import Searching
from resolvers.search.engine import (
    NOT_THERE,
    Answer,
    Counts,
    Generation,
    Hit,
    Positions,
    SearchRequest,
    SearchUnavailable,
)

T = TypeVar("T")

log = logging.getLogger("heartwood.search")

QUERY_SECONDS = 2.0
WRITE_SECONDS = 120.0
# Files in the folder: the name of the current generation, and the wish of an operator.
CURRENT, REBUILD = "current", "rebuild"


class EmbeddedGeneration:
    """A tantivy index that this process writes to or reads from."""

    def __init__(self, name: str, folder: Path | None, lane: Lane) -> None:
        self.name = name
        self.folder = folder
        self.index = new_index(folder)
        self._lane = lane
        self._writing: Writing | None = None

    async def positions(self) -> Positions | None:
        return await self._run(lambda: positions_in(self.index))

    async def update(self, documents: Sequence[Document], removed: Sequence[str], *, version: int) -> None:  # noqa: ARG002
        """Only one process writes, so the last version is the newest."""
        await self._run(lambda: self._writer().update(documents, removed))

    async def depends(self, keys: Sequence[str]) -> Mapping[str, str]:
        return await self._run(lambda: self._writer().depends(keys))

    async def commit(self, positions: Positions | None) -> None:
        await self._run(lambda: self._writer().commit(positions))

    async def reset(self) -> None:
        await self._run(self._drop_writer)

    def _drop_writer(self) -> None:
        self._writing = None

    async def close(self) -> None:
        if self._writing is not None:
            await self._run(self._writing.close)
            self._writing = None

    def _writer(self) -> Writing:
        if self._writing is None:
            self._writing = Writing(self.index)
        return self._writing

    async def _run(self, function: Callable[[], T]) -> T:
        return await self._lane.run(function, seconds=WRITE_SECONDS)


class EmbeddedEngine:
    """Keeps its generations in a folder; without one, in memory, for tests."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._current: EmbeddedGeneration | None = None
        self._lock: int | None = None
        self._count = 0
        self._reading = Lane("searches", threads=2, waiting=64)
        # One thread, so that writes are in order.
        self._writing = Lane("updates of the search index", threads=1, waiting=16)

    @property
    def current(self) -> Generation | None:
        return self._current

    async def open(self) -> None:
        await self._writing.run(self._open, seconds=WRITE_SECONDS)

    def _open(self) -> None:
        if self._folder is None:
            return
        name = self._name_of_current()
        if self._current is not None and self._current.name == name:
            try:
                self._current.index.reload()
            except (OSError, ValueError):
                log.exception("the search index %s is gone", name)
                self._current = None
        elif name and name.startswith(f"v{VERSION}-") and (self._folder / name / "meta.json").exists():
            try:
                self._current = EmbeddedGeneration(name, self._folder / name, self._writing)
            except (OSError, ValueError):
                # It is derived data, so a new one takes its place.
                log.exception("the search index %s is damaged", name)

    def _name_of_current(self) -> str | None:
        assert self._folder is not None
        try:
            return (self._folder / CURRENT).read_text().strip()
        except FileNotFoundError:
            return None

    async def close(self) -> None:
        if self._current is not None:
            await self._current.close()
            self._current = None
        self.unlock()
        self._reading.close()
        self._writing.close()

    async def lock(self) -> bool:
        """Returns True if this process is the writer. The system releases the lock when the process ends."""
        if self._folder is None or self._lock is not None:
            return True
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._folder / "writer.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def wants_rebuild(self) -> bool:
        if self._folder is None:
            return False
        try:
            (self._folder / REBUILD).unlink()
        except FileNotFoundError:
            return False
        return True

    async def begin(self) -> Generation:
        return await self._writing.run(self._begin, seconds=WRITE_SECONDS)

    def _begin(self) -> EmbeddedGeneration:
        self._count += 1
        name = f"v{VERSION}-{time.time_ns():020d}-{self._count}"
        if self._folder is None:
            return EmbeddedGeneration(name, None, self._writing)
        self._remove_all_but(self._name_of_current())
        folder = self._folder / name
        folder.mkdir(parents=True, mode=0o700)
        return EmbeddedGeneration(name, folder, self._writing)

    async def switch(self, to: Generation) -> None:
        assert isinstance(to, EmbeddedGeneration)
        before, self._current = self._current, to
        if before is not None and before is not to:
            await before.close()
        if self._folder is not None:
            await self._writing.run(lambda: self._store_current(to.name), seconds=WRITE_SECONDS)

    def _store_current(self, name: str) -> None:
        assert self._folder is not None
        new = self._folder / f"{CURRENT}.new"
        with new.open("w") as file:
            file.write(name)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._folder / CURRENT)
        self._remove_all_but(name)

    def _remove_all_but(self, name: str | None) -> None:
        """Removes other generations. Readers of one keep its open files until they notice."""
        assert self._folder is not None
        for each in self._folder.glob("v*-*"):
            if each.name != name:
                shutil.rmtree(each, ignore_errors=True)

    async def query(self, request: SearchRequest) -> Answer:
        return await self._ask(lambda searching: searching.query(request))

    async def count(self, request: SearchRequest, *, facets: bool) -> Counts:
        return await self._ask(lambda searching: searching.count(request, facets=facets))

    async def count_tags(
        self, tags: Sequence[str], audiences: frozenset[Audience], type: str, without_owners: frozenset[str]
    ) -> Mapping[str, int]:
        return await self._ask(lambda searching: searching.count_tags(tags, audiences, type, without_owners))

    async def suggest(self, request: SearchRequest) -> Sequence[Hit]:
        return await self._ask(lambda searching: searching.suggest(request))

    async def languages(self) -> Sequence[str]:
        return await self._ask(lambda searching: searching.languages())

    async def _ask(self, function: Callable[[Searching], T]) -> T:
        generation = self._current
        if generation is None:
            raise SearchUnavailable(NOT_THERE)
        return await self._reading.run(lambda: _attempt(function, generation.index), seconds=QUERY_SECONDS)


def _attempt(function: Callable[[Searching], T], index: Any) -> T:
    try:
        return function(Searching(index))
    except Unavailable:
        raise
    except (OSError, ValueError) as error:
        # tantivy raises both for files that are gone or damaged.
        raise SearchUnavailable("The search index cannot be read. Try again in a moment.") from error
