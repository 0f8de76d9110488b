"""The engine at scale: an index in OpenSearch that all servers share. One of them writes, chosen by a lease.

heartwood-search-1a2b3c4d-v1               an alias: the index that answers
heartwood-search-1a2b3c4d-v1-01788…-1      a generation, of version 1 of the mapping
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from datastore.changes.leases import RENEWED_EVERY, Held, LeaseLost, Leases
from resolvers.search.documents import Audience
from resolvers.search.embedded_index import VERSION
from resolvers.search.engine import Answer, Counts, Generation, Hit, SearchRequest, SearchUnavailable
from resolvers.search.opensearch_asking import Asking
from resolvers.search.opensearch_client import OpenSearchClient, expect
from resolvers.search.opensearch_index import template
from resolvers.search.opensearch_query import among
from resolvers.search.opensearch_writing import LOST, WRITE_SECONDS, OpenSearchGeneration

REBUILD = "rebuild"
# The alias rarely moves, and the wish of an operator can wait.
LOOK_EVERY = 5.0


class OpenSearchEngine:
    """Keeps its generations in OpenSearch. Without leases, this process is the writer, for commands and tests."""

    def __init__(self, client: OpenSearchClient, name: str, leases: Leases | None) -> None:
        self._client = client
        self.alias = f"{name}-v{VERSION}"
        self._leases = leases
        self._held: Held | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._current: OpenSearchGeneration | None = None
        self._asking = Asking(client, self.alias)
        self._take_at = self._open_at = self._wish_at = 0.0
        self._count = 0

    @property
    def current(self) -> Generation | None:
        return self._current

    async def lock(self) -> bool:
        """Returns True if this process has the lease. Another one gets it if this process dies or is cut off."""
        if self._may_write():
            return True
        if self._leases is None or time.monotonic() < self._take_at:
            return False
        self._take_at = time.monotonic() + RENEWED_EVERY
        self._held = await self._leases.take(f"search {self.alias}")
        if self._held is None:
            return False
        self._keeping = asyncio.create_task(self._keep(self._held))
        self._open_at = 0.0
        return True

    async def _keep(self, held: Held) -> None:
        with contextlib.suppress(LeaseLost):
            await held.keep()

    def _may_write(self) -> bool:
        return self._leases is None or (self._keeping is not None and not self._keeping.done())

    async def open(self) -> None:
        if time.monotonic() < self._open_at:
            return
        names = [name for name, is_current in (await self._generations()).items() if is_current]
        if not names:
            self._current = None
        elif self._current is None or self._current.name != max(names):
            self._current = self._generation(max(names))
        self._open_at = time.monotonic() + LOOK_EVERY if names else 0.0

    def _generation(self, name: str) -> OpenSearchGeneration:
        return OpenSearchGeneration(name, self._client, self._may_write)

    async def _generations(self) -> dict[str, bool]:
        """Returns the names of all generations of this version, and whether they have the alias."""
        reply = await self._client.insist("GET", f"/{self.alias}-*/_alias", seconds=LOOK_EVERY)
        found: dict[str, Any] = expect(reply, 200, 404) if reply.status != 404 else {}
        ours = re.compile(rf"{re.escape(self.alias)}-\d{{20}}-\d+")
        return {name: self.alias in each["aliases"] for name, each in found.items() if ours.fullmatch(name)}

    async def close(self) -> None:
        self._current = None
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        if self._held is not None:
            await self._held.release()
            self._held = None
        await self._client.close()

    async def ask_for_rebuild(self) -> bool:
        """Lets the server that writes build the index again. Returns False if there is none yet."""
        await self.open()
        if self._current is None:
            return False
        path = f"/{self._current.name}/_doc/{REBUILD}"
        expect(await self._client.insist("PUT", path, {"state": {}}, seconds=WRITE_SECONDS), 200, 201)
        return True

    async def shown(self) -> str | None:
        """Returns the current generation with its size, for operators. None if there is none."""
        await self.open()
        if self._current is None:
            return None
        name, positions = self._current.name, await self._current.positions()
        found = expect(await self._client.insist("GET", f"/{name}/_stats/docs,store", seconds=LOOK_EVERY), 200)
        total = found["_all"]["primaries"]
        state = "complete" if positions is not None else "being built"
        return f"{name}: {total['docs']['count']:,} documents, {total['store']['size_in_bytes'] / 1e6:,.1f} MB, {state}"

    async def wants_rebuild(self) -> bool:
        if not self._may_write():
            raise SearchUnavailable(LOST)
        if self._current is None or time.monotonic() < self._wish_at:
            return False
        self._wish_at = time.monotonic() + LOOK_EVERY
        path = f"/{self._current.name}/_doc/{REBUILD}"
        if expect(await self._client.insist("GET", path, seconds=LOOK_EVERY), 200, 404).get("found") is not True:
            return False
        expect(await self._client.insist("DELETE", path, seconds=LOOK_EVERY), 200, 404)
        return True

    async def begin(self) -> Generation:
        if not self._may_write():
            raise SearchUnavailable(LOST)
        await self._delete(name for name, is_current in (await self._generations()).items() if not is_current)
        path = f"/_index_template/{self.alias}"
        expect(await self._client.insist("PUT", path, template(self.alias), seconds=WRITE_SECONDS), 200)
        self._count += 1
        name = f"{self.alias}-{time.time_ns():020d}-{self._count}"
        expect(await self._client.ask("PUT", f"/{name}", {}, seconds=WRITE_SECONDS), 200)
        return self._generation(name)

    async def switch(self, to: Generation) -> None:
        """Moves the alias in one step, so that no query finds both generations or none."""
        assert isinstance(to, OpenSearchGeneration)
        if not self._may_write():
            raise SearchUnavailable(LOST)
        others = {name: is_current for name, is_current in (await self._generations()).items() if name != to.name}
        actions = [
            {"remove": {"index": name, "alias": self.alias}} for name, is_current in others.items() if is_current
        ]
        actions.append({"add": {"index": to.name, "alias": self.alias}})
        reply = await self._client.insist("POST", "/_aliases", {"actions": actions}, seconds=WRITE_SECONDS)
        expect(reply, 200)
        self._current = to
        await self._delete(others)

    async def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            expect(await self._client.insist("DELETE", f"/{name}", seconds=WRITE_SECONDS), 200, 404)

    async def query(self, request: SearchRequest) -> Answer:
        return await self._asking.query(request)

    async def count(self, request: SearchRequest, *, facets: bool) -> Counts:
        return await self._asking.count(request, facets=facets)

    async def count_tags(
        self, tags: Sequence[str], audiences: frozenset[Audience], type: str, without_owners: frozenset[str]
    ) -> Mapping[str, int]:
        needed = [among("audience", audiences), among("type", [type])]
        if without_owners:
            needed.append({"bool": {"must_not": [among("owner", without_owners)]}})
        return await self._asking.count_tags(tags, needed)

    async def suggest(self, request: SearchRequest) -> Sequence[Hit]:
        return await self._asking.suggest(request)

    async def languages(self) -> Sequence[str]:
        return await self._asking.languages()
