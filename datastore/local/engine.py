"""Local DynamoDB-compatible engine, with its data in one directory that is private to the user.

The engine is dynoxide (SQLite) if npm installed it, otherwise moto in memory.
"""

import contextlib
import fcntl
import logging
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from datastore.local.child import Child, Command
from datastore.local.child import EngineFailed as EngineFailed

log = logging.getLogger("heartwood.engine")

PACKAGES = Path(__file__).parents[2] / "node_modules/@dynoxide"
LOCK_WITHIN = 10.0
ENDPOINT = "endpoint"
MEGABYTE = 1_000_000
ALMOST_FULL = 100 * MEGABYTE
FULL = 10 * MEGABYTE


@dataclass(frozen=True)
class Engine:
    """A running engine. `keeps_data` is True if its data survives a restart."""

    endpoint: str
    keeps_data: bool
    child: Child = field(compare=False, repr=False)
    data_dir: Path | None = field(default=None, compare=False, repr=False)

    @property
    def problem(self) -> str | None:
        """Why it cannot be used now, or None. /readyz shows it to everyone."""
        if self.child.problem is None and self.data_dir is not None and _free_bytes(self.data_dir) < FULL:
            return "the disk of DATA_DIR is full"
        return self.child.problem


def dynoxide() -> str | None:
    """Returns the path of the engine's binary, from the npm package or the PATH."""
    packaged = sorted(PACKAGES.glob("*/dynoxide"))
    return str(packaged[0].resolve()) if packaged else shutil.which("dynoxide")


def moto_command(host: str, port: int) -> list[str]:
    # Serves one request at a time, because moto's transactions are not isolated.
    program = (
        "from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app\n"
        "from werkzeug.serving import make_server\n"
        f"make_server('{host}', {port}, DomainDispatcherApplication(create_backend_app)).serve_forever()\n"
    )
    return [sys.executable, "-c", program]


def _dynoxide_command(binary: str, *options: str) -> Command:
    return lambda host, port: [binary, "--host", host, "--port", str(port), *options]


@contextmanager
def running(data_dir: Path) -> Iterator[Engine]:
    """Yields an engine on the data in `data_dir`."""
    binary = dynoxide()
    if binary is None:
        if find_spec("moto") is None:
            raise EngineFailed("no local engine: run `npm install` or `pip install heartwood[local]`")
        log.warning("the local engine is not installed (npm install); using moto in memory: data is lost on exit")
        with _child(moto_command) as child:
            yield Engine(child.endpoint, keeps_data=False, child=child)
        return
    make_private(data_dir)
    if (free := _free_bytes(data_dir)) < ALMOST_FULL:
        log.warning("the disk of DATA_DIR (%s) is almost full: %d MB are left", data_dir, free // MEGABYTE)
    database = data_dir / "heartwood.db"
    with (
        _locked(data_dir / "lock") as lock,
        _child(_dynoxide_command(binary, "--db-path", str(database)), lock) as child,
        _published(data_dir / ENDPOINT, child.endpoint),
    ):
        yield Engine(child.endpoint, keeps_data=True, child=child, data_dir=data_dir)


def endpoint_in_use(data_dir: Path) -> str | None:
    """Returns the endpoint of the engine that another process runs on this directory, or None."""
    try:
        with open(data_dir / "lock") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with contextlib.suppress(FileNotFoundError):
            return (data_dir / ENDPOINT).read_text() or None
    except FileNotFoundError:
        pass
    return None


@contextmanager
def _published(path: Path, endpoint: str) -> Iterator[None]:
    """Stores the endpoint for maintenance commands. The directory is private, like the data."""
    with open(path, "w", opener=_private) as file:
        file.write(endpoint)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def in_memory(*, moto: bool) -> Iterator[Engine]:
    """Yields an empty in-memory engine, for tests and benchmarks."""
    binary = dynoxide()
    if not moto and binary is None:
        raise EngineFailed("the local engine is not installed: run `npm install`")
    with _child(moto_command if moto else _dynoxide_command(str(binary))) as child:
        yield Engine(child.endpoint, keeps_data=False, child=child)


@contextmanager
def _child(command: Command, lock: IO[str] | None = None) -> Iterator[Child]:
    child = Child(command, lock)
    try:
        yield child
    finally:
        child.stop()


def make_private(data_dir: Path) -> None:
    """Creates the directory, and takes the rights of others from it and from the engine's files."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = data_dir.stat().st_mode
    # A directory that everyone may write to, such as /tmp, is not ours alone.
    for path, private in ((data_dir, 0o700), *((file, 0o600) for file in data_dir.glob("heartwood.db*"))):
        # The engine of a server that was killed ends a moment later, and deletes its journal.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_uid == os.geteuid() and not (path is data_dir and mode & stat.S_ISVTX):
                path.chmod(private)


def _free_bytes(directory: Path) -> int:
    return shutil.disk_usage(directory).free


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    """Locks the data directory. The engine inherits the lock, so it is released only when the engine has stopped."""
    with open(path, "a+", opener=_private) as file:
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
                        "stop that one, set DATA_DIR to another directory, or DYNAMODB_ENDPOINT to its table"
                    ) from None
                time.sleep(0.05)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield file


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
