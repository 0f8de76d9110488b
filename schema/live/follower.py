"""One client of a live query: it takes the newest answer whenever it is ready for one."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from datastore.changes.change import Change
from schema.live.streams import Contexts, Result
from schema.live.viewer_check import ViewerCheck

if TYPE_CHECKING:
    from schema.live.live_queries import LiveQueries
    from schema.live.live_query import LiveQuery


class Follower:
    """A stream of the answers of a live query. A slow reader misses answers, but never the newest one.

    `on_news` is called when there is something to take.
    """

    def __init__(self, queries: "LiveQueries", contexts: Contexts) -> None:
        self._queries = queries
        self.contexts = contexts
        self._query: LiveQuery | None = None
        self._taken = 0
        self.error: Exception | None = None
        self.on_news: Callable[[], None] = _ignore
        self._viewer_check = ViewerCheck(contexts, self.fail)

    def follow(self, query: "LiveQuery") -> None:
        """Follows this query from now on."""
        self._query = query
        self._taken = 0
        query.followers.add(self)
        self.on_news()

    def follows(self, query: "LiveQuery") -> bool:
        """Returns True unless it follows another query, or the client has left."""
        return self._query is query

    def take(self) -> Result | None:
        """Returns the newest answer, None if it was taken before or if the stream has ended."""
        query = self._query
        if query is None or self.error is not None or query.revision == self._taken:
            return None
        result = query.result_after(self._taken)
        self._taken = query.revision
        return result

    async def next(self) -> bytes | None:
        news = asyncio.Event()
        self.on_news = news.set
        while self._query is not None:
            if result := self.take():
                return result.body
            if self.error is not None:
                raise self.error
            news.clear()
            await news.wait()
        return None

    def fail(self, error: Exception) -> None:
        """Ends the stream with an error."""
        self.error = error
        self.on_news()

    @property
    def figures(self) -> dict[str, Any]:
        """Figures for the log line. A shared query has cost this for all who follow it."""
        query = self._query
        return {} if query is None else query.figures

    def touch(self, _: Change) -> None:
        """Checks the viewer again, because the account has changed."""
        self._viewer_check.begin()

    def close(self) -> None:
        query, self._query = self._query, None
        self._viewer_check.close()
        self._queries.watching.unwatch(self)
        self.on_news()
        if query is not None:
            query.leave(self)


def _ignore() -> None:
    """No one waits for news."""
