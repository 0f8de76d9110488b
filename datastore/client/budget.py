"""Time budget and usage of a request."""

import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Usage:
    """Deadline of a request, and the calls and capacity units it has used."""

    deadline: float
    calls: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    read_units: float = 0.0
    write_units: float = 0.0

    @classmethod
    def lasting(cls, seconds: float) -> "Usage":
        return cls(deadline=time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()
