"""`heartwood new entity`: writes the files of docs/adding-an-entity.md, and they work as they are."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import heartwood
from tests.support.serving import ROOT

BAD_NAME = "is not a name for an entity: write it like Bookmark or ReadingList, with at most 30 characters"

ABOUT_THE_WHOLE = [
    "tests/system/test_layers.py",
    "tests/system/test_docs.py::test_the_table_design_is_current",
    "tests/system/test_docs.py::test_the_map_shows_every_package",
    "tests/system/test_command_line.py::test_the_schema_is_printed_as_it_is_stored",
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project."""
    for name in ("datastore", "loaders", "resolvers", "schema", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, tmp_path)
    if (ROOT / ".mypy_cache").exists():  # From `make check`: only the new files need checking.
        shutil.copytree(ROOT / ".mypy_cache", tmp_path / ".mypy_cache")
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    return tmp_path


@pytest.mark.parametrize("name", ["Bookmark", pytest.param("ReadingList", marks=pytest.mark.slow)])
def test_a_new_entity_works_as_it_is_written(copy: Path, name: str) -> None:
    def run(*arguments: str) -> str:
        command, environment = [sys.executable, *arguments], {**os.environ, "PYTHONPATH": str(copy)}
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    written = run("server.py", "new", "entity", name).split()
    sources = [path for path in written if path.endswith(".py")]
    (tests,) = {str(Path(path).parent) for path in sources if path.startswith("tests/")}

    assert " passed in " in run("-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", tests, *ABOUT_THE_WHOLE)
    assert run("-m", "ruff", "check", "--no-cache", "-q", *sources) == ""
    assert run("-m", "ruff", "format", "--no-cache", "-q", "--check", *sources) == ""
    if name != "Bookmark":
        # The same code under another name; checking all types takes half a minute.
        assert "Success" in run("-m", "mypy", "-p", "resolvers", "-p", "schema")
    else:
        guide = (ROOT / "docs/adding-an-entity.md").read_text()
        explained = dict(re.findall(r"```python\n# (\S+\.py)\n(.*?)```", guide, re.DOTALL))
        assert {path: (copy / path).read_text() for path in explained} == explained


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bookmark", f"'bookmark' {BAD_NAME}"),
        ("reading-list", f"'reading-list' {BAD_NAME}"),
        ("../Bookmark", f"'../Bookmark' {BAD_NAME}"),
        ("Ünique", f"'Ünique' {BAD_NAME}"),
        ("", f"'' {BAD_NAME}"),
        ("A" * 31, f"'{'A' * 31}' {BAD_NAME}"),
        ("Post", "the schema already has Post or User.posts: choose another name"),
        ("Query", "the schema already has Query or User.queries: choose another name"),
        ("Membership", "the schema already has Membership or User.memberships: choose another name"),
        ("Account", "tests/resolvers/accounts/__init__.py already exist: choose another name"),
    ],
)
def test_a_bad_or_taken_name_is_refused_and_nothing_is_written(name: str, reason: str) -> None:
    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (ROOT / "schema").iterdir() if path.name != "__pycache__"}

    before = files()

    refused = heartwood("new", "entity", name)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert reason in refused.stderr
    assert files() == before


def test_a_kind_and_a_name_are_required() -> None:
    assert heartwood("new").returncode == heartwood("new", "entity").returncode == 2
