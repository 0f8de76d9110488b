"""Several server processes on one port. Their parent serves nothing itself: it starts them and replaces dead ones.

Processes are forked when everything is loaded, so they start at once and share that memory.
"""

import contextlib
import logging
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from socket import socket
from types import FrameType

log = logging.getLogger("heartwood.workers")

ENDING = (signal.SIGTERM, signal.SIGINT)
RESTARTS = 5
STEADY_AFTER = 60.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
# More than a worker takes: requests have 10 seconds, then buffers are written for up to 7.
STOP_WITHIN = 30.0
READY = b"+"
NEVER = math.inf


class WorkersFailed(OSError):
    """The workers could not be started."""


@dataclass(frozen=True)
class Post:
    """The number and the file descriptors that a worker process gets from its parent."""

    number: int
    sockets: Sequence[socket]
    parent: int
    """A pipe that closes when the parent ends."""
    report: int
    """A pipe to the parent."""

    def is_ready(self) -> None:
        """Tells the parent that this worker serves."""
        os.write(self.report, READY)


@dataclass
class _Worker:
    """A worker, as its parent sees it. Its process may be replaced by another."""

    number: int
    sockets: Sequence[socket]
    pid: int | None = None
    reports: int = -1
    started_at: float = 0.0
    is_ready: bool = False
    failures: int = 0
    start_at: float = 0.0

    @property
    def is_running(self) -> bool:
        return self.pid is not None

    def died(self) -> float:
        """Counts a failure and returns the seconds to wait before the next start."""
        was_steady = self.is_ready and time.monotonic() - self.started_at > STEADY_AFTER
        self.failures = 1 if was_steady else self.failures + 1
        self.pid = None
        return 0.0 if self.failures == 1 else min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE)


class Supervisor:
    """Runs `serve` in one process for each set of sockets. `announce` is called once all of them serve."""

    def __init__(
        self, sockets: Sequence[Sequence[socket]], serve: Callable[[Post], int], announce: Callable[[], None]
    ) -> None:
        self._serve = serve
        self._announce = announce
        self._workers = [_Worker(number, each) for number, each in enumerate(sockets, 1)]
        self._is_announced = False
        self._problem: str | None = None
        self._signals = 0
        self._forwarded = 0
        self._is_told = False
        self._kill_at = NEVER
        self._alive, self._own_life = os.pipe()
        self._wakes, self._wakeup = os.pipe()
        for end in (self._wakes, self._wakeup):
            os.set_blocking(end, False)

    def run(self) -> int:
        """Supervises until SIGTERM or SIGINT; a second signal ends requests in progress. Returns the exit status."""
        with self._handled_signals():
            while not self._is_stopping or any(worker.is_running for worker in self._workers):
                self._start_due()
                self._wait()
                self._reap()
                self._stop_if_asked()
        if self._problem:
            raise WorkersFailed(self._problem)
        return 0

    @property
    def _is_stopping(self) -> bool:
        return self._signals > 0 or self._problem is not None

    def _start_due(self) -> None:
        for worker in self._workers:
            if not worker.is_running and not self._is_stopping and time.monotonic() >= worker.start_at:
                self._start(worker)

    def _start(self, worker: _Worker) -> None:
        reports, report = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reports)
            self._become(worker, report)
        os.close(report)
        worker.pid, worker.reports = pid, reports
        worker.started_at, worker.is_ready = time.monotonic(), False

    def _become(self, worker: _Worker, report: int) -> None:
        """Is the worker process; never returns. Skips what the parent does at its end, such as to stop the engine."""
        status = 1
        try:
            # Ctrl-C is for the parent, which then stops its workers.
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in (*ENDING, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for end in (self._own_life, self._wakes, self._wakeup):
                os.close(end)
            for other in self._workers:
                if other is not worker:
                    self._leave(other)
            status = self._serve(Post(worker.number, worker.sockets, self._alive, report))
        except BaseException:
            log.critical("worker %d failed", worker.number, exc_info=True)
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    @staticmethod
    def _leave(other: _Worker) -> None:
        for each in other.sockets:
            each.close()
        if other.is_running:
            os.close(other.reports)

    def _wait(self) -> None:
        """Waits for a signal, the death or the first report of a worker, or the time to start or to kill one."""
        starting = [worker for worker in self._workers if worker.is_running and not worker.is_ready]
        starts = [worker.start_at for worker in self._workers if not worker.is_running and not self._is_stopping]
        until = min([self._kill_at, *starts])
        seconds = None if until == NEVER else max(0.0, until - time.monotonic())
        read, _, _ = select.select([self._wakes, *(worker.reports for worker in starting)], [], [], seconds)
        if self._wakes in read:
            os.read(self._wakes, 4096)
        for worker in starting:
            if worker.reports in read:
                # Nothing is read from a worker that died.
                worker.is_ready = os.read(worker.reports, 1) == READY
        if not self._is_announced and all(worker.is_ready for worker in self._workers):
            self._is_announced = True
            self._announce()

    def _reap(self) -> None:
        for worker in self._workers:
            if worker.pid is None:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                os.close(worker.reports)
                pause = worker.died()
                self._note_death(worker, pid, os.waitstatus_to_exitcode(status), pause)

    def _note_death(self, worker: _Worker, pid: int, code: int, pause: float) -> None:
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        if self._is_stopping:
            # One that has not installed its handlers yet ends by the signal itself.
            if code not in (0, -signal.SIGTERM) and self._problem is None:
                self._problem = f"worker {worker.number} ended {how} instead of stopping cleanly"
        elif not worker.is_ready and (not self._is_announced or worker.failures > RESTARTS):
            self._problem = f"worker {worker.number} could not start: it ended {how}; see its messages above"
        else:
            worker.start_at = time.monotonic() + pause
            log.error("worker %d (process %d) ended %s; starting another in %.1f s", worker.number, pid, how, pause)

    def _stop_if_asked(self) -> None:
        """Forwards the first signal as SIGTERM, and the next as SIGINT, which ends requests in progress."""
        if not self._is_stopping:
            return
        if not self._is_told:
            self._is_told = True
            self._kill_at = time.monotonic() + STOP_WITHIN
            for worker in self._workers:
                for each in worker.sockets:
                    each.close()
            # Before it kills: the next signal may come at any time.
            self._forwarded = min(1, self._signals)
            self._kill(signal.SIGTERM)
        if self._forwarded < self._signals:
            self._forwarded = self._signals
            self._kill(signal.SIGINT)
        if time.monotonic() >= self._kill_at:
            self._kill_at = NEVER
            self._kill(signal.SIGKILL)

    def _kill(self, number: signal.Signals) -> None:
        for worker in self._workers:
            if worker.pid is not None:
                os.kill(worker.pid, number)

    @contextlib.contextmanager
    def _handled_signals(self) -> Iterator[None]:
        def ending(number: int, frame: FrameType | None) -> None:
            self._signals += 1

        before = {number: signal.signal(number, ending) for number in ENDING}
        # A handler is needed for the wake-up.
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        wakeup = signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            for end in (self._alive, self._own_life, self._wakes, self._wakeup):
                os.close(end)
