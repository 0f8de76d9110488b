"""What one request may spend and has spent."""

import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Usage:
    """Time left until the deadline; calls and capacity units used so far."""

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
