"""Local DynamoDB-compatible engine: a child process on a free loopback port, with its data in one directory.

The engine is dynoxide (SQLite) if npm installed it, otherwise moto in memory.
"""

import fcntl
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

log = logging.getLogger("heartwood.engine")

PACKAGES = Path(__file__).parents[2] / "node_modules/@dynoxide"
READY_WITHIN = 20.0
LOCK_WITHIN = 10.0

# The engine stops when the pipe on the shell's standard input closes. The kernel closes it even if this process is
# killed.
GUARD = '"$@" </dev/null & child=$!; cat >/dev/null; kill "$child" 2>/dev/null; wait "$child" 2>/dev/null'


class EngineFailed(Exception):
    pass


@dataclass(frozen=True)
class Engine:
    """A running engine. `keeps_data` is True if its data survives a restart."""

    endpoint: str
    keeps_data: bool


def dynoxide() -> str | None:
    """Returns the path of the engine's binary, from the npm package or the PATH."""
    packaged = sorted(PACKAGES.glob("*/dynoxide"))
    return str(packaged[0].resolve()) if packaged else shutil.which("dynoxide")


def moto_command(port: int) -> list[str]:
    # Serves one request at a time, because moto's transactions are not isolated.
    program = (
        "from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app\n"
        "from werkzeug.serving import make_server\n"
        f"make_server('127.0.0.1', {port}, DomainDispatcherApplication(create_backend_app)).serve_forever()\n"
    )
    return [sys.executable, "-c", program]


@contextmanager
def running(data_dir: Path) -> Iterator[Engine]:
    """Yields an engine on the data in `data_dir`."""
    binary = dynoxide()
    if binary is None:
        if find_spec("moto") is None:
            raise EngineFailed("no local engine: run `npm install` or `pip install heartwood[local]`")
        log.warning("the local engine is not installed (npm install); using moto in memory: data is lost on exit")
        with _child(moto_command) as endpoint:
            yield Engine(endpoint, keeps_data=False)
        return
    data_dir.mkdir(parents=True, exist_ok=True)
    database = data_dir / "heartwood.db"
    with (
        _locked(data_dir / "lock") as lock,
        _child(lambda port: [binary, "--port", str(port), "--db-path", str(database)], lock) as endpoint,
    ):
        yield Engine(endpoint, keeps_data=True)


@contextmanager
def in_memory(*, moto: bool) -> Iterator[Engine]:
    """Yields an empty in-memory engine, for tests and benchmarks."""
    binary = dynoxide()
    if not moto and binary is None:
        raise EngineFailed("the local engine is not installed: run `npm install`")
    with _child(moto_command if moto else lambda port: [str(binary), "--port", str(port)]) as endpoint:
        yield Engine(endpoint, keeps_data=False)


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    """Locks the data directory. The engine inherits the lock, so it is released only when the engine has stopped."""
    with path.open("a+") as file:
        give_up = time.monotonic() + LOCK_WITHIN
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    file.seek(0)
                    raise EngineFailed(
                        f"{path.parent} is in use by another Heartwood (process {file.read().strip() or 'unknown'}); "
                        "stop that one or set DATA_DIR to another directory"
                    ) from None
                time.sleep(0.05)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield file


@contextmanager
def _child(command: Callable[[int], list[str]], lock: IO[str] | None = None) -> Iterator[str]:
    port = _free_port()
    process = subprocess.Popen(  # noqa: S603  no user input
        ["/bin/sh", "-c", GUARD, "heartwood-engine", *command(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[lock.fileno()] if lock else [],
        start_new_session=True,  # Ctrl-C stops the server first, which then stops the engine
    )
    assert process.stdin is not None
    try:
        _wait_until_ready(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stdin.close()
        process.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(port: int) -> None:
    give_up = time.monotonic() + READY_WITHIN
    while time.monotonic() < give_up:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise EngineFailed(f"the local engine did not start within {READY_WITHIN:.0f} s")
