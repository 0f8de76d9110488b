"""The pause of a process's writes while operators move or restore the table."""

from collections.abc import Iterable

from datastore.client.errors import WritesPaused
from datastore.client.writes import Write


class WritePause:
    """Refuses writes while `reason` is set, except those of `exempt` entities, which let others come to an end."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.exempt: frozenset[type] = frozenset()

    def check(self, writes: Iterable[Write]) -> None:
        """Raises WritesPaused if these may not be written now."""
        if self.reason is not None and any(write.key.entity not in self.exempt for write in writes):
            raise WritesPaused(self.reason)
