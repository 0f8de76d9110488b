"""The image and the systemd unit of deploy/."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schema.http.settings import Settings
from tests.support.serving import ROOT

DOCKERFILE = ROOT / "deploy/Dockerfile"
UNIT = ROOT / "deploy/systemd/heartwood.service"
SETTINGS = {name.upper() for name in Settings.model_fields}


def ran(*command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program that ends by itself; a test must not wait for one that does not."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_hadolint_finds_nothing() -> None:
    done = ran(str(Path(sys.executable).parent / "hadolint"), str(DOCKERFILE))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_copies_what_exists_and_the_context_contains_it() -> None:
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE.read_text(), re.M) for name in line.split()
    ]
    kept = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"}
    assert set(copied) == kept
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_image_has_no_rights_and_is_of_production() -> None:
    text = DOCKERFILE.read_text()
    assert "USER 10001:10001" in text
    assert "ENVIRONMENT=production" in text
    assert {*re.findall(r"^    ([A-Z_]+)=", text, re.M)} - {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"} <= SETTINGS


def test_the_search_index_has_a_folder_that_can_be_written() -> None:
    text = DOCKERFILE.read_text()
    (folder,) = re.findall(r"^    DATA_DIR=(\S+)", text, re.M)
    assert f"--owner 10001 --group 10001 {folder}\n" in text
    # A volume keeps the owner of a folder only if it is declared afterwards.
    assert text.index(f"{folder}\n") < text.index(f"VOLUME {folder}\n")
    assert f"ContainerPath: {folder}" in (ROOT / "deploy/aws/heartwood.yaml").read_text()


def test_the_unit_lets_daily_backups_lower_their_priority() -> None:
    refused = re.findall(r"^SystemCallFilter=~(.*)$", UNIT.read_text(), re.M)
    assert refused == ["@privileged"]


def test_the_unit_sets_settings_that_exist() -> None:
    (line,) = re.findall(r"^Environment=(.*)$", UNIT.read_text(), re.M)
    assert {each.partition("=")[0] for each in line.split()} <= SETTINGS


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / "heartwood.service"
    copy.write_text(
        UNIT.read_text().replace("/opt/heartwood/bin/heartwood serve --no-demo", shutil.which("true") or "")
    )
    done = ran("systemd-analyze", "verify", str(copy))
    assert (done.returncode, done.stderr) == (0, "")


def drill(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return ran(sys.executable, "deploy/recovery_drill.py", *arguments)


def test_a_drill_never_restores_into_the_table_itself() -> None:
    done = drill("--table", "heartwood", "--into", "heartwood", "--to", "x")
    assert done.returncode == 2
    assert "--into: choose another name" in done.stderr


def test_a_drill_tells_which_step_failed() -> None:
    done = drill("--table", "heartwood", "--into", "drill", "--to", "x", "--command", shutil.which("false") or "")
    assert (done.returncode, done.stdout) == (1, "")
    assert "FAILED:" in done.stderr
    assert "backup --to x ended with 1" in done.stderr
