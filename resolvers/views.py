"""How often cards are looked at: counted in memory, and added to the cards every few seconds.

A server that is killed loses the views of its last five seconds, or of the time the table was out of reach, as far as
that is not over the 10,000 cards it keeps in mind.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from uuid import uuid4

from datastore.cards import Card
from datastore.errors import Conflict, Retryable
from datastore.table import Table
from datastore.usage import Usage
from datastore.writes import Update, exists
from resolvers.jobs import for_each
from resolvers.waiting import Waiting

log = logging.getLogger("heartwood.views")

TIME_FOR_ONE = 10.0
MOST_WAITING = 10_000
BATCH = 1_000


class Views(Waiting):
    """One per server."""

    what = "cards' views"
    pause = 5.0

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._seen: Counter[str] = Counter()
        # Sent, and not known to have arrived: sent again under the same token, they are not counted twice.
        self._sent: dict[str, tuple[int, str]] = {}

    @property
    def count(self) -> int:
        return len(self._seen) + len(self._sent)

    def left(self) -> Iterable[tuple[str, int]]:
        yield from self._seen.items()
        yield from ((card_id, views) for card_id, (views, _) in self._sent.items())

    def note(self, card_id: str) -> bool:
        """At once; it is counted later. False if there is no room for it."""
        if card_id not in self._seen and self.count >= MOST_WAITING:
            log.error("too many cards' views wait; lost: one of %s", card_id)
            return False
        self._seen[card_id] += 1
        if len(self._seen) >= BATCH:
            self.is_full()
        return True

    async def flush(self) -> None:
        for card_id in [card_id for card_id in self._seen if card_id not in self._sent]:
            self._sent[card_id] = self._seen.pop(card_id), str(uuid4())
        failed: list[Retryable] = []
        await for_each([*self._sent], self._add, failed)
        if failed:
            raise failed[0]

    async def _add(self, card_id: str, failed: list[Retryable]) -> None:
        views, token = self._sent[card_id]
        counted = Update(Card.key(card_id=card_id), add={"view_count": views}, when=exists("listed_at"))
        try:
            await self._table.using(Usage.lasting(TIME_FOR_ONE)).transact(counted, token=token)
        except Conflict:
            pass  # there is no such card for everybody to look at
        except Retryable as error:
            failed.append(error)
            return
        del self._sent[card_id]
