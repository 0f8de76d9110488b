"""Durations of all calls of a process, and failed attempts, by operation."""

from collections import Counter, defaultdict

from datastore.client.durations import Durations


class CallStats:
    """Counts since the process started, of requests and of everything in the background."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, Durations] = defaultdict(Durations)
        """Durations of answered attempts, by operation."""
        self.failures: Counter[tuple[str, str]] = Counter()
        """Failed attempts, by operation and class of the error."""
        self.waits = Durations()
        """Time that calls waited for a free place. Calls that did not wait are not in it."""
