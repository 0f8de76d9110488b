"""The command line as a whole; each command has tests of its own beside the code it runs."""

import re
import subprocess
import sys
import tomllib

import pytest

from server import COMMANDS
from tests.support.command_line import Done, heartwood
from tests.support.serving import ROOT, environment


def test_without_a_command_it_prints_help() -> None:
    done = heartwood()

    assert (done.returncode, done.stdout) == (2, "")
    assert re.findall("^    ([a-z]+) ", done.stderr, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    done = heartwood(name, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: heartwood {name} [-h]")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name: str) -> None:
    assert f"heartwood {name}" in (ROOT / "README.md").read_text()


def test_an_unknown_command_is_refused() -> None:
    done = heartwood("scan")

    assert (done.returncode, done.stdout) == (2, "")
    assert "invalid choice: 'scan'" in done.stderr


def test_the_schema_is_printed_as_it_is_stored() -> None:
    assert heartwood("schema") == Done(0, (ROOT / "schema/schema.graphql").read_text(), "")


def test_the_table_design_is_printed_as_it_is_stored() -> None:
    assert heartwood("schema", "--table-design") == Done(0, (ROOT / "docs/table-design.md").read_text(), "")


def test_it_is_installed_as_a_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    done = subprocess.run(
        [sys.executable, "server.py", "table", "--help"], cwd=ROOT, env=environment(), capture_output=True, text=True
    )

    assert project["scripts"] == {"heartwood": "server:main"}
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: heartwood table [-h]")
