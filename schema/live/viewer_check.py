"""Checks the viewer of a running operation again when the account has changed."""

import asyncio
from collections.abc import Callable

from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import KeysUnavailable
from schema.http.refusals import REFUSALS
from schema.live.streams import Contexts


class ViewerCheck:
    """One check at a time. `fail` is called if the viewer may not go on; an outage is no reason to end."""

    def __init__(self, contexts: Contexts, fail: Callable[[Exception], None]) -> None:
        self._contexts = contexts
        self._fail = fail
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self._running is None:
            self._running = asyncio.ensure_future(self._check())

    async def _check(self) -> None:
        try:
            await self._contexts()
        except REFUSALS as error:
            if not isinstance(error, (DatastoreError, KeysUnavailable)):
                self._fail(error)
        finally:
            self._running = None

    def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
