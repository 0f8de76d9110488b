"""A local engine as a child process: at a random loopback address, restarted when it dies.

The engine checks no signatures and answers every web page, so its address must not be guessed: it is a random one of
127.0.0.0/8, where the system has them all, with a random port.
"""

import logging
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

log = logging.getLogger("heartwood.engine")

READY_WITHIN = 20.0
ADDRESSES_TRIED = 5
RESTARTS = 5
STEADY_AFTER = 60.0
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0

# Prints the engine's process ID. The engine stops when the pipe on standard input closes, which the kernel does even if
# this process is killed, and the shell stops when the engine does.
GUARD = (
    'exec 3<&0; "$@" </dev/null >/dev/null 2>&1 3<&- & child=$!; echo "$child"; '
    '{ cat <&3 >/dev/null; kill "$child" 2>/dev/null; } & exec 3<&-; wait "$child"'
)

Command = Callable[[str, int], list[str]]


class EngineFailed(Exception):
    pass


class Child:
    """The engine's process. `problem` says why it does not answer, or is None."""

    def __init__(self, command: Command, lock: IO[str] | None = None) -> None:
        self._command = command
        self._lock = lock
        self._is_stopping = threading.Event()
        self.problem: str | None = None
        self.on_restart: list[Callable[[], object]] = []
        self._process, self.pid = self._start_anywhere()
        threading.Thread(target=self._supervise, name="engine", daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    def stop(self) -> None:
        self._is_stopping.set()
        _end(self._process)

    def leave(self) -> None:
        """Closes the pipes in a forked process, so that the engine depends on its parent alone."""
        _close_pipes(self._process)

    def _start_anywhere(self) -> tuple["subprocess.Popen[str]", int]:
        """Starts the engine at a free address. Another program may take the address first, so it tries several."""
        for _ in range(ADDRESSES_TRIED):
            self.host, self.port = free_address()
            try:
                return self._start()
            except EngineFailed as error:
                failed = error
        raise failed

    def _start(self) -> tuple["subprocess.Popen[str]", int]:
        process = subprocess.Popen(  # noqa: S603  no user input
            ["/bin/sh", "-c", GUARD, "heartwood-engine", *self._command(self.host, self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            umask=0o077,
            pass_fds=[self._lock.fileno()] if self._lock else [],
            start_new_session=True,  # Ctrl-C stops the server first, which then stops the engine
        )
        assert process.stdout is not None
        try:
            pid = int(process.stdout.readline())
            self._wait_until_ready(process, pid)
        except (EngineFailed, ValueError) as error:
            _end(process)
            raise EngineFailed(str(error) or "the local engine did not start") from None
        return process, pid

    def _wait_until_ready(self, process: "subprocess.Popen[str]", pid: int) -> None:
        give_up = time.monotonic() + READY_WITHIN
        while time.monotonic() < give_up and not self._is_stopping.is_set():
            if process.poll() is not None:
                raise EngineFailed(f"the local engine ended at once, with status {process.returncode}")
            try:
                with socket.create_connection((self.host, self.port), timeout=1):
                    if listens(pid, self.port):
                        return
            except OSError:
                pass
            time.sleep(0.02)
        raise EngineFailed(f"the local engine did not start within {READY_WITHIN:.0f} s")

    def _supervise(self) -> None:
        """Restarts the engine at the same address when it dies, and gives up if it keeps dying."""
        failures = 0
        while True:
            started = time.monotonic()
            status = self._process.wait()
            if self._is_stopping.is_set():
                return
            _end(self._process)
            failures = 1 if time.monotonic() - started > STEADY_AFTER else failures + 1
            self.problem = "the local engine is being restarted"
            log.error("the local engine died with status %s; restarting it", status)
            while not self._restarted(failures):
                failures += 1
                if failures > RESTARTS or self._is_stopping.is_set():
                    self.problem = (
                        f"the local engine died and could not be restarted {RESTARTS} times; restart the server"
                    )
                    log.critical("%s", self.problem)
                    return
            self.problem = None

    def _restarted(self, failures: int) -> bool:
        if failures > 1 and self._is_stopping.wait(min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE)):
            return False
        try:
            self._process, self.pid = self._start()
            for each in self.on_restart:
                each()
        except Exception as error:
            log.error("the local engine was not restarted: %s", error)
            return False
        return True


def _end(process: "subprocess.Popen[str]") -> None:
    _close_pipes(process)
    process.wait(10)


def _close_pipes(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def free_address() -> tuple[str, int]:
    """Returns a random loopback address and port. macOS and others have 127.0.0.1 only."""
    numbers = random.SystemRandom()
    host = f"127.{numbers.randint(1, 254)}.{numbers.randint(1, 254)}.{numbers.randint(1, 254)}"
    for candidate in (host, "127.0.0.1"):
        for _ in range(20):
            port = numbers.randint(20_000, 60_000)
            with socket.socket() as probe:
                try:
                    probe.bind((candidate, port))
                except OSError:
                    continue
                return candidate, port
    raise EngineFailed("there is no free loopback port")


def listens(pid: int, port: int) -> bool:
    """Returns True if this process listens on the port, and not a program that was faster.

    True on systems other than Linux, which do not tell.
    """
    tables = [path for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if path.exists()]
    if not tables:
        return True
    rows = [line.split() for path in tables for line in path.read_text().splitlines()[1:]]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}
    try:
        own = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return False
    return not listening.isdisjoint(own)
