"""An event loop whose time passes only while nothing else is to be done, and a pool without threads."""

import asyncio
import selectors
from concurrent.futures import Executor, Future

STARTED_AT = 1_800_000_000.0


class _Selector(selectors.DefaultSelector):
    """Does not wait for the time that it is given: it lets it pass."""

    passed = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits for nothing"
            self.passed += max(timeout, 0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self):
        return self._virtual.passed

    def clock(self):
        """Returns the Unix time."""
        return STARTED_AT + self.time()


class Pool(Executor):
    """Runs each function after the latency that `latency()` returns, unless it raises."""

    def __init__(self, loop, latency):
        self._loop = loop
        self._latency = latency

    def submit(self, function, /, *arguments):
        future = Future()
        self._loop.call_later(self._latency(), self._run, future, function, arguments)
        return future

    def _run(self, future, function, arguments):
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(*arguments))
            except Exception as error:
                future.set_exception(error)

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass
