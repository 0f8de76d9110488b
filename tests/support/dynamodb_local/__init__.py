"""Amazon's DynamoDB Local, as an engine of the tests: `make test-dynamodb-local` downloads it with Maven."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parents[3] / ".dynamodb-local"
MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
WITHIN = 60.0


def problem() -> str | None:
    """Returns why it cannot run, or None."""
    if shutil.which("java") is None:
        return "java is not installed"
    return None if any(FOLDER.glob("DynamoDBLocal-*.jar")) else "run `make test-dynamodb-local`, which downloads it"


@contextmanager
def running() -> Iterator[str]:
    """Yields the endpoint of an instance in memory, which ends with the tests."""
    if reason := problem():
        raise SystemExit(f"ENGINE=dynamodb-local: {reason}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        "java",
        "-Xmx512m",
        f"-Djava.library.path={FOLDER}",
        "-cp",
        f"{FOLDER}/*",
        MAIN,
        "-inMemory",
        "-disableTelemetry",
    ]
    process = subprocess.Popen(
        [*command, "-port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=FOLDER
    )
    try:
        _wait_for(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(WITHIN)


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    give_up = time.monotonic() + WITHIN
    while time.monotonic() < give_up and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("DynamoDB Local did not start")
