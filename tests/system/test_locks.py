"""The locks contain every declared dependency, with hashes and without machine-specific data."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = {
    "serve": (),
    "otel": ("otel",),
    "moto": ("local",),
    "test": ("local", "otel", "dev"),
    "bench": ("local", "otel", "dev", "bench"),
}
"""The lock of each purpose, and its extras."""
APART = {"clients": ("clients",)}
"""Locks of environments of their own, and their dependency groups."""


def entries(lock: str) -> list[str]:
    """Returns the lock's entries, each with its continuation lines."""
    lines = (line for line in (ROOT / f"locks/{lock}.txt").read_text().splitlines() if not line.startswith("#"))
    return "\n".join(lines).replace("\\\n", "").splitlines()


def pins(lock: str) -> dict[str, set[str]]:
    """Returns the versions of each package; several if they depend on Python's version."""
    found: dict[str, set[str]] = {}
    for entry in entries(lock):
        name, version = re.split("==| ", entry)[:2]
        found.setdefault(name, set()).add(version)
    return found


def declared(lock: str) -> list[Requirement]:
    """Returns the dependencies in pyproject.toml, without the project itself."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    if lock in APART:
        return [Requirement(text) for group in APART[lock] for text in groups[group]]
    texts = [*project["dependencies"], *groups["build"]]
    for extra in EXTRAS[lock]:
        texts += project["optional-dependencies"][extra]
    return [one for text in texts if (one := Requirement(text)).name != project["name"]]


@pytest.mark.parametrize("lock", [*EXTRAS, *APART])
def test_every_declared_dependency_is_locked(lock):
    locked = pins(lock)
    missing = [
        str(one)
        for one in declared(lock)
        if not locked.get(one.name.lower()) or not all(map(one.specifier.contains, locked[one.name.lower()]))
    ]
    assert missing == [], "run `make lock`"


@pytest.mark.parametrize("lock", [*EXTRAS, *APART])
def test_entries_are_a_version_and_its_hashes(lock):
    entry = re.compile(r"[a-z0-9-]+==[\w.]+( ; [^/]+?)? +--hash=sha256:[0-9a-f]{64}( +--hash=sha256:[0-9a-f]{64})*")

    assert [line for line in entries(lock) if not entry.fullmatch(line)] == []


@pytest.mark.parametrize("lock", EXTRAS)
def test_the_server_runs_with_what_the_tests_ran_with(lock):
    tested = pins("test")

    assert [name for name, versions in pins(lock).items() if versions != tested.get(name, versions)] == []
