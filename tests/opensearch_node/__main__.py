"""Starts a node of OpenSearch from packages of Maven, and runs the tests of search on it. Needs Java 17 and Maven."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

HERE = Path(__file__).parent
BUILD = HERE / "build"
SECONDS_TO_START = 180


def main() -> int:
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            print(f"{tool} is not installed: it is needed to run a node of OpenSearch")
            return 1
    jars = BUILD / "jars"
    if not jars.exists():
        fetch = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*fetch, f"-DoutputDirectory={jars}"], check=True)
    subprocess.run(["javac", "-cp", f"{jars}/*", "-d", str(BUILD), str(HERE / "Node.java")], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, (BUILD / "node.log").open("w") as log:
        java = ["java", "-Xms512m", "-Xmx1g", "-cp", f"{jars}/*:{BUILD}", "Node", folder, str(port)]
        node = subprocess.Popen(java, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            wait_for(node, url := f"http://127.0.0.1:{port}")
            tests = sys.argv[1:] or ["tests/resolvers/search"]
            environment = {**os.environ, "OPENSEARCH_TEST_URL": url}
            return subprocess.run([sys.executable, "-m", "pytest", *tests], env=environment, check=False).returncode
        finally:
            node.terminate()
            node.wait()


def wait_for(node: "subprocess.Popen[bytes]", url: str) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and node.poll() is None:
        try:
            if httpx.get(f"{url}/_cluster/health?wait_for_status=yellow", timeout=10).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit(f"the node of OpenSearch did not start: see {BUILD / 'node.log'}")


if __name__ == "__main__":
    sys.exit(main())
