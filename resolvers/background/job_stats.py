"""Counts of the background jobs of a process."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class JobStats:
    """Counts since the process started, by kind of job."""

    lag: float = 0.0
    """Seconds since the oldest due job should have begun, 0 if none waits."""
    running: int = 0
    done: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    """Attempts that failed. They are repeated, up to a limit."""
    dead: Counter[str] = field(default_factory=Counter)
    """Jobs that were given up."""
