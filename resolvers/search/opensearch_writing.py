"""A generation in OpenSearch: an index with the documents, and a state document with the positions of its last commit.

Each writer has a term, which it takes by a conditional write of the state. The version of an update is the term and a
number, so updates that a former writer still sends lose against the updates and removals of the present one.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from resolvers.search.documents import Document
from resolvers.search.engine import Positions, SearchUnavailable
from resolvers.search.opensearch_client import (
    ATTEMPTS,
    BUSY,
    OVERLOADED,
    OpenSearchClient,
    expect,
    pause_after,
)
from resolvers.search.opensearch_index import ids, put, remove, source

log = logging.getLogger("heartwood.search")

WRITE_SECONDS = 60.0
# A bulk request is sent when it has so many bytes, or so many documents.
BULK_BYTES, BULK_DOCUMENTS = 4_000_000, 1_000
NUMBERS = 2**40
"""Updates of one writer."""
STATE = "state"
LOST = "Another server writes the search index now."


class OpenSearchGeneration:
    """An index. Only the process for which `may_write` is true writes to it."""

    def __init__(self, name: str, client: OpenSearchClient, may_write: Callable[[], bool]) -> None:
        self.name = name
        self._client = client
        self._may_write = may_write
        self._claim: _Claim | None = None
        self._waiting: dict[str, list[bytes]] = {}
        """Lines of updates that are not sent yet, by key: the last one of a key replaces those before."""
        self._bytes = 0
        self._depends: dict[str, str | None] = {}
        self.rejected = 0
        """Documents that the service does not accept."""

    async def positions(self) -> Positions | None:
        found = await self._state()
        positions = found["_source"]["state"]["positions"] if found else None
        return None if positions is None else {int(partition): number for partition, number in positions.items()}

    async def update(self, documents: Sequence[Document], removed: Sequence[str], *, version: int) -> None:  # noqa: ARG002
        """Updates of one writer are in order, and those of former ones have lower terms."""
        # The analysis of long texts takes tenths of a second.
        sources = await asyncio.to_thread(lambda: [orjson.dumps(source(document)) for document in documents])
        claim = await self._claimed()
        for key in removed:
            self._add(key, [remove(key, claim.next_version())], None)
        for document, encoded in zip(documents, sources, strict=True):
            self._add(document.key, [put(document.key, claim.next_version()), encoded], document.depends)
            if self._bytes >= BULK_BYTES or len(self._waiting) >= BULK_DOCUMENTS:
                await self._flush()

    def _add(self, key: str, lines: list[bytes], depends: str | None) -> None:
        self._bytes += sum(map(len, lines))
        self._waiting[key] = lines
        self._depends[key] = depends

    async def depends(self, keys: Sequence[str]) -> Mapping[str, str]:
        found = {key: depends for key in keys if (depends := self._depends.get(key)) is not None}
        unknown = [key for key in keys if key not in self._depends]
        if unknown:
            path = f"/{self.name}/_mget"
            reply = await self._client.insist("POST", path, {"ids": ids(unknown)}, seconds=WRITE_SECONDS)
            for each in expect(reply, 200)["docs"]:
                if each.get("found"):
                    found[each["_source"]["key"]] = each["_source"]["shown"]["depends"]
        return found

    async def commit(self, positions: Positions | None) -> None:
        """Sends updates, makes them visible, and only then stores the positions: at worst, changes are repeated."""
        await self._claimed()
        await self._flush()
        expect(await self._client.insist("POST", f"/{self.name}/_refresh", seconds=WRITE_SECONDS), 200)
        await self._store(positions)
        self._depends.clear()

    async def reset(self) -> None:
        self.forget()

    async def _flush(self) -> None:
        """Sends what is waiting. If that fails, the writer starts again from the last commit."""
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        try:
            for attempt in range(ATTEMPTS):
                if not waiting:
                    return
                if attempt:
                    await asyncio.sleep(pause_after(attempt))
                self._check()
                waiting = await self._send(waiting)
            raise SearchUnavailable(OVERLOADED)
        except BaseException:
            # What was not sent must not be taken for known.
            self.forget()
            raise

    async def _send(self, waiting: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        """Sends updates, and returns those that the service had no time for."""
        body = b"".join(line + b"\n" for each in waiting.values() for line in each)
        reply = await self._client.insist("POST", f"/{self.name}/_bulk", body, seconds=WRITE_SECONDS)
        if reply.status == 413 and len(waiting) > 1:
            keys = [*waiting]
            halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
            left = [await self._send({key: waiting[key] for key in half}) for half in halves]
            return left[0] | left[1]
        if reply.status == 413:
            self._reject(next(iter(waiting)), "it is larger than the service accepts")
            return {}
        again = {}
        for key, item in zip(waiting, expect(reply, 200)["items"], strict=True):
            (result,) = item.values()
            status = result["status"]
            if status in BUSY:
                again[key] = waiting[key]
            elif status == 400:
                # One damaged document must not keep all others out of the index.
                self._reject(key, str(result.get("error")))
            elif status not in (200, 201, 404, 409) or (status == 404 and "error" in result):
                log.error("OpenSearch answers %d to an update: %s", status, result.get("error"))
                raise SearchUnavailable(OVERLOADED)
        return again

    def _reject(self, key: str, reason: str) -> None:
        self.rejected += 1
        log.error("the document %r is not in the search index: %s", key, reason)

    def _check(self) -> None:
        if not self._may_write():
            self.forget()
            raise SearchUnavailable(LOST)

    def forget(self) -> None:
        """Drops what is not sent. The next update takes a new term."""
        self._claim, self._waiting, self._bytes = None, {}, 0
        self._depends.clear()

    async def _claimed(self) -> "_Claim":
        """Takes the next term the first time."""
        self._check()
        if self._claim is None:
            found = await self._state()
            state: dict[str, Any] = found["_source"]["state"] if found else {"term": 0, "positions": None}
            self._claim = _Claim(state["term"] + 1, found)
            try:
                await self._store(state["positions"])
            except BaseException:
                self._claim = None
                raise
        return self._claim

    async def _store(self, positions: Mapping[Any, int] | None) -> None:
        """Stores the state, if no other writer has stored it meanwhile."""
        self._check()
        claim = self._claim
        assert claim is not None
        kept = None if positions is None else {str(partition): number for partition, number in positions.items()}
        path = f"/{self.name}/_doc/{STATE}?{claim.condition}"
        body = {"state": {"term": claim.term, "positions": kept}}
        try:
            reply = await self._client.ask("PUT", path, body, seconds=WRITE_SECONDS)
        except SearchUnavailable:
            # It may have been stored, so the condition of the next write is not known.
            self.forget()
            raise
        if reply.status == 409:
            self.forget()
            raise SearchUnavailable(LOST)
        claim.stored = expect(reply, 200, 201)

    async def _state(self) -> Any:
        reply = await self._client.insist("GET", f"/{self.name}/_doc/{STATE}", seconds=WRITE_SECONDS)
        found = expect(reply, 200, 404)
        return found if found.get("found") else None


class _Claim:
    """The term of this writer, and the state as it was stored last."""

    def __init__(self, term: int, stored: Any) -> None:
        self.term = term
        self.stored = stored
        self._number = 0

    def next_version(self) -> int:
        self._number += 1
        return self.term * NUMBERS + self._number

    @property
    def condition(self) -> str:
        if self.stored is None:
            return "op_type=create"
        return f"if_seq_no={self.stored['_seq_no']}&if_primary_term={self.stored['_primary_term']}"
