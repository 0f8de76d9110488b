"""`heartwood schema`: the changes since the last release, their changelog, and a release."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from schema import schema_changelog, schema_command
from schema.build import sdl
from schema.evolution import ACCEPTED, RELEASED
from tests.support.command_line import Done, heartwood

MORE = "\nextend type Query {\n  removed: Int\n}\n"
LISTED = '\n[[accepted]]\nreason = "Nothing used it."\nchanges = ["Field Query.removed was removed."]\n'
UNLISTED = """\
Breaking changes that are not listed: 1. Deprecate instead of removing, or list them with a reason in \
breaking_changes.toml.

[[accepted]]
reason = ""
changes = [
    "Field Query.removed was removed.",
]
"""
CHANGES = "Changes of the schema since 1.0.0:\n\n### Breaking\n\n- "


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a release that has one field more than the schema."""
    for module, name, path in (
        (schema_command, "RELEASED", "released.graphql"),
        (schema_command, "ACCEPTED", "breaking_changes.toml"),
        (schema_changelog, "PATH", "schema-changelog.md"),
    ):
        monkeypatch.setattr(module, name, tmp_path / path)
    (tmp_path / "released.graphql").write_text(sdl() + MORE)
    (tmp_path / "breaking_changes.toml").write_text('since = "1.0.0"\n')
    (tmp_path / "schema-changelog.md").write_text("## Not released yet\n\n## 1.0.0 (2026-12-01)\n\nThe first.\n")
    return tmp_path


def test_the_schema_has_only_changes_that_may_be_released() -> None:
    done = heartwood("schema", "--changes")

    assert (done.returncode, done.stderr) == (0, "")


def test_the_changelog_is_current() -> None:
    assert heartwood("schema", "--changelog") == Done(0, schema_changelog.PATH.read_text(), ""), "run `make docs`"


def test_a_release_begins_with_an_empty_list() -> None:
    assert ACCEPTED.read_text().startswith(schema_command.NONE_ACCEPTED.partition("since")[0])
    assert RELEASED.exists()


def test_unlisted_changes_are_refused_in_a_form_to_paste(files: Path) -> None:
    assert heartwood("schema", "--changes") == Done(
        1, f"{CHANGES}Field Query.removed was removed. (not listed)\n", UNLISTED
    )


def test_listed_changes_are_printed_with_their_reason(files: Path) -> None:
    (files / "breaking_changes.toml").write_text('since = "1.0.0"\n' + LISTED)

    assert heartwood("schema", "--changes") == Done(
        0, f"{CHANGES}Nothing used it. (1 change: `Field Query.removed was removed.`)\n", ""
    )


def test_a_list_that_cannot_be_read_is_refused(files: Path) -> None:
    (files / "breaking_changes.toml").write_text(
        'since = "1.0.0"\n[[accepted]]\nchanges = ["Field Query.removed was removed."]\n'
    )

    assert heartwood("schema", "--changes") == Done(
        1, "", "Entry 1 of breaking_changes.toml needs a `reason` and a list of `changes`, and nothing else.\n"
    )


def test_a_release_stores_the_schema_and_empties_the_list(files: Path) -> None:
    (files / "breaking_changes.toml").write_text('since = "1.0.0"\n' + LISTED)
    today = datetime.now(UTC).date()

    assert heartwood("schema", "--release", "1.1.0").returncode == 0
    assert (files / "released.graphql").read_text() == sdl()
    assert (files / "breaking_changes.toml").read_text() == schema_command.NONE_ACCEPTED.format(version="1.1.0")
    changelog = (files / "schema-changelog.md").read_text()
    assert f"## 1.1.0 ({today})\n\n### Breaking\n\n- Nothing used it." in changelog
    assert heartwood("schema", "--changes").stdout.endswith("\nNothing changed since 1.1.0.\n")
    assert heartwood("schema", "--changelog").stdout == changelog


def test_a_schema_that_breaks_clients_is_not_released(files: Path) -> None:
    assert heartwood("schema", "--release", "1.1.0") == Done(1, "", UNLISTED)
    assert (files / "released.graphql").read_text() == sdl() + MORE


def test_a_release_needs_a_version(files: Path) -> None:
    (files / "breaking_changes.toml").write_text('since = "1.0.0"\n' + LISTED)

    assert heartwood("schema", "--release", "next") == Done(2, "", "next is not a version: write it like 1.2.0.\n")
