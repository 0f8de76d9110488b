"""Stores results in results.json and, between markers, in a page of docs/."""

import hashlib
import json
import os
import platform
import re
import subprocess
import tomllib
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "results.json"
DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "performance.md"
PEERS = Path(__file__).parent / "peers"
ROOT = Path(__file__).parents[1]
SOURCES = {".py", ".js", ".go", ".rs", ".graphql"}
BUILT = {"node_modules", "build", "target"}
MEASURED_CODE = ("datastore", "loaders", "resolvers", "schema", "server.py", "benchmarks/peers")
PYTHON_PACKAGES = (
    "aiodataloader",
    "boto3",
    "graphql-core",
    "orjson",
    "starlette",
    "strawberry-graphql",
    "uvicorn",
    "uvloop",
)


def keep(part: str, figures: dict[str, Any]) -> None:
    """Replaces one section and keeps the others."""
    stored = _stored()
    stored[part] = {**figures, "measured": measured()}
    FILE.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")


def kept(part: str) -> dict[str, Any]:
    """Returns the figures of one section."""
    return dict(_stored().get(part, {}))


def keep_list(part: str, entries: list[dict[str, Any]]) -> None:
    """Replaces one section that is a list."""
    FILE.write_text(json.dumps({**_stored(), part: entries}, indent=2, sort_keys=True) + "\n")


def kept_list(part: str) -> list[dict[str, Any]]:
    """Returns one section that is a list."""
    return list(_stored().get(part, []))


def _stored() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def put_into_docs(part: str, text: str, file: Path = PAGE) -> None:
    page = file.read_text()
    begin, end = f"<!-- {part}: generated -->", f"<!-- {part}: end -->"
    if begin not in page or end not in page:
        raise SystemExit(f"{file.name} lacks the markers {begin} and {end}")
    before, _, rest = page.partition(begin)
    file.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")


def fingerprint() -> str:
    """Returns a fingerprint of the measured code, to detect changes during a run."""
    digest = hashlib.sha256()
    for name in MEASURED_CODE:
        place = ROOT / name
        files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if _is_source(path))
        for file in files:
            digest.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _is_source(path: Path) -> bool:
    return path.suffix in SOURCES and BUILT.isdisjoint(path.parts)


def must_be(code: str) -> None:
    if fingerprint() != code:
        raise SystemExit("the code changed during the run; run the benchmark again")


def measured() -> dict[str, Any]:
    """Returns the time, the machine and the versions."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "code": fingerprint(),
        "commit": _said_by("git", "describe", "--always", "--dirty"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "node": _said_by("node", "--version"),
        "go": _said_by("go", "env", "GOVERSION"),
        "rust": _said_by("rustc", "--version"),
        "packages": {name: version(name) for name in PYTHON_PACKAGES} | _npm_packages(),
        "go_packages": _go_packages(),
        "crates": _crates(),
    }


def _cpu() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def _said_by(*command: str) -> str | None:
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _npm_packages() -> dict[str, str]:
    wanted = json.loads((PEERS / "package.json").read_text())["dependencies"]
    return dict(wanted)


def _go_packages() -> dict[str, str]:
    """Returns the direct dependencies of the server in Go."""
    return dict(re.findall(r"^\t(\S+) v(\S+)$", (PEERS / "go/go.mod").read_text(), re.MULTILINE))


def _crates() -> dict[str, str]:
    """Returns the direct dependencies of the server in Rust."""
    direct = tomllib.loads((PEERS / "rust/Cargo.toml").read_text())["dependencies"]
    locked = tomllib.loads((PEERS / "rust/Cargo.lock").read_text())["package"]
    # The lock may have later versions that dependencies use.
    return {each["name"]: each["version"] for each in reversed(locked) if each["name"] in direct}
