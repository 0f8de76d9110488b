"""View counter: views are buffered in memory and added to the cards every few seconds.

A server that is killed loses the views of its last five seconds, or of the time the table was unavailable. It buffers
views of at most 10,000 cards.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from itertools import islice
from uuid import uuid4
from weakref import WeakKeyDictionary

from datastore.analytics import CardViews
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem, DatastoreError, Rejected, TooLarge
from datastore.client.table import Table
from datastore.client.writes import Put, Update, absent, exists
from datastore.model.times import seconds_from_now
from resolvers.background.jobs import AT_ONCE
from resolvers.background.write_behind import Waiting
from resolvers.cards.counts import counts_key

log = logging.getLogger("heartwood.views")

TIME_FOR_ONE = 10.0
MOST_WAITING = 10_000
BATCH = 1_000
# Longer than the change log, which tells analytics the number of views.
BATCHES_KEPT = timedelta(days=2)

# Rate limit: views per person or address and window, window in seconds, and number of people tracked.
WINDOW = 60
MOST_IN_WINDOW = 60
MOST_VIEWERS = 100_000


class Views(Waiting):
    """One per server."""

    what = "cards' views"
    pause = 5.0

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._window = 0
        self._by_whom: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        # Sent without an acknowledgment. Retried as the same batch, they are not counted twice.
        self._sent: dict[str, tuple[int, str]] = {}
        # The cards whose views a request has recorded.
        self._counted: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()

    @property
    def count(self) -> int:
        return len(self._seen) + len(self._sent)

    def left(self) -> Iterable[tuple[str, int]]:
        yield from self._seen.items()
        yield from ((card_id, views) for card_id, (views, _) in self._sent.items())

    def note(self, card_id: str) -> bool:
        """Counts a view in memory. Returns False if the buffer is full."""
        if card_id not in self._seen and self.count >= MOST_WAITING:
            log.error("the view buffer is full; lost a view of card %s", card_id)
            return False
        self._seen[card_id] += 1
        if len(self._seen) >= BATCH:
            self.is_full()
        return True

    def note_once(self, card_id: str, request: object) -> bool:
        """Counts a view once per request. Returns False if the buffer is full."""
        counted = self._counted.setdefault(request, set())
        if card_id not in counted and not self.note(card_id):
            return False
        counted.add(card_id)
        return True

    def admits(self, who: str) -> bool:
        """Returns True if another view by this viewer counts on this server."""
        window = int(time.time()) // WINDOW
        if window != self._window:
            self._window, self._by_whom = window, Counter()
        if who not in self._by_whom and len(self._by_whom) >= MOST_VIEWERS:
            return False
        self._by_whom[who] += 1
        return self._by_whom[who] <= MOST_IN_WINDOW

    async def flush(self) -> None:
        for card_id in [card_id for card_id in self._seen if card_id not in self._sent]:
            self._sent[card_id] = self._seen.pop(card_id), str(uuid4())
        failed: list[DatastoreError] = []
        waiting = iter([*self._sent])
        while some := [*islice(waiting, AT_ONCE)]:
            errors = [error for error in await asyncio.gather(*map(self._add, some)) if error]
            failed += errors
            # A single card may be contended. If several fail in a row, the database is down and the rest must wait.
            if len(errors) == len(some):
                break
        if failed:
            raise failed[0]

    async def _add(self, card_id: str) -> DatastoreError | None:
        """Adds the buffered views to a card, or returns the error and requeues them."""
        views, batch_id = self._sent[card_id]
        counted = Update(counts_key(card_id), add={"view_count": views}, when=exists("listed_at"))
        batch = CardViews(card_id=card_id, batch_id=batch_id, views=views, expires_at=seconds_from_now(BATCHES_KEPT))
        try:
            await self._table.using(Usage.lasting(TIME_FOR_ONE)).transact(counted, Put(batch, when=absent()))
        except Conflict:
            pass  # the card is not public, or the views were added and the acknowledgment was lost
        except (CorruptItem, Rejected, TooLarge) as error:
            # The error concerns this card only: log it and go on with the others.
            log.error("views cannot be counted; lost: %d of %s: %s", views, card_id, error)
        except DatastoreError as error:
            self._sent[card_id] = self._sent.pop(card_id)
            return error
        del self._sent[card_id]
        return None
