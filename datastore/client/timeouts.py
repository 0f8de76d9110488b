"""Timeouts of attempts, from the latencies of each operation: a lost answer is noticed soon, a slow one is awaited."""

# Shares of the latest latency in the moving averages, as in TCP's retransmission timer.
OF_MEAN = 1 / 8
OF_DEVIATION = 1 / 4


class Timeouts:
    """The timeout of each operation, between `shortest` and `longest` seconds."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._latencies: dict[str, _Latency] = {}

    def of(self, operation: str) -> float:
        latency = self._latencies.get(operation)
        return self._longest if latency is None else min(max(latency.timeout, self._shortest), self._longest)

    def observe(self, operation: str, seconds: float) -> None:
        latency = self._latencies.get(operation)
        if latency is None:
            self._latencies[operation] = _Latency(seconds)
        else:
            latency.observe(seconds)

    def expired(self, operation: str) -> None:
        """Doubles the timeout after an attempt that exceeded it. The next latency that is observed resets it."""
        if operation in self._latencies:
            self._latencies[operation].timeout = min(2 * self.of(operation), self._longest)


class _Latency:
    """Moving averages of a latency and of its deviation."""

    __slots__ = ("_deviation", "_mean", "timeout")

    def __init__(self, seconds: float) -> None:
        self._mean = seconds
        self._deviation = seconds / 2
        self._set()

    def observe(self, seconds: float) -> None:
        difference = seconds - self._mean
        self._mean += OF_MEAN * difference
        self._deviation += OF_DEVIATION * (abs(difference) - self._deviation)
        self._set()

    def _set(self) -> None:
        # Generous, because one operation reads one item or a hundred.
        self.timeout = 3 * self._mean + 8 * self._deviation
