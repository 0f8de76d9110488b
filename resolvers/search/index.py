"""The search index as requests see it: it answers queries, and tells how complete it is."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from resolvers.search.engine import SearchEngine

LANGUAGES_FOR = 30.0


class SearchIndex:
    """One per process. `resolvers.search.keeping` keeps it up to date, and notes its progress here."""

    def __init__(self, engine: SearchEngine) -> None:
        self.engine = engine
        self.is_writer = False
        self.is_partial = True
        """True while the index is being built for the first time: not everything can be found."""
        self.rebuilds = 0
        self.changes = 0
        """Number of changes that were indexed."""
        self.progress: Mapping[str, int] = {}
        """Records that a running rebuild has looked at, by type."""
        self.behind_since: str | None = None
        """Time of the oldest change that is not in the index."""
        self._languages: tuple[float, Sequence[str]] = (0.0, ())

    @property
    def lag(self) -> float:
        """Seconds since the oldest change that is not in the index, as far as it has come to this process."""
        since = self.behind_since
        return max(0.0, time.time() - datetime.fromisoformat(since).timestamp()) if since else 0.0

    async def languages(self) -> Sequence[str]:
        """Returns the languages of the documents, as they were in the last half minute."""
        until, found = self._languages
        if time.monotonic() > until:
            found = await self.engine.languages()
            self._languages = (time.monotonic() + LANGUAGES_FOR, found)
        return found
