"""docs/schema-changelog.md: the changes of the schema, by release. The part that is not released yet is generated."""

import textwrap
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from schema.evolution import Change, Comparison, Impact

PATH = Path(__file__).parents[1] / "docs/schema-changelog.md"
HEAD = """# Changelog of the schema

The changes that developers of clients must know, newest first. `make docs` generates the first part;
[Evolution of the schema](schema-evolution.md) explains the rules.
"""
UNRELEASED = "## Not released yet"
LISTS = {
    "TYPE_ADDED": "Types",
    "FIELD_ADDED": "Fields",
    "DIRECTIVE_ADDED": "Directives",
    "VALUE_ADDED_TO_ENUM": "Enum values",
    "TYPE_ADDED_TO_UNION": "Members of unions",
    "OPTIONAL_ARG_ADDED": "Optional arguments",
    "OPTIONAL_INPUT_FIELD_ADDED": "Optional input fields",
}
"""Kinds of changes for which the names say everything."""


def changes(comparison: Comparison) -> str:
    """Returns the changes since the last release in Markdown."""
    sections = {
        "Breaking": _breaking(comparison),
        "Removed after their deprecation": _of_impact(comparison.changes, Impact.EXPIRED),
        "Deprecated": [each.description for each in comparison.changes if each.kind == "DEPRECATED"],
        "Dangerous: additions and new defaults that a client may not expect": _of_impact(
            comparison.changes, Impact.DANGEROUS
        ),
        "Added and relaxed": _of_impact(comparison.changes, Impact.SAFE),
    }
    parts = {title: _bullets(lines) for title, lines in sections.items()}
    return (
        "\n".join(f"### {title}\n\n{part}" for title, part in parts.items() if part)
        or f"Nothing changed since {comparison.since}.\n"
    )


def render(existing: str, comparison: Comparison) -> str:
    """Returns the changelog with the changes that are not released yet."""
    return f"{HEAD}\n{UNRELEASED}\n\n{changes(comparison)}{_releases(existing)}"


def released(existing: str, comparison: Comparison, version: str, today: date) -> str:
    """Returns the changelog after the release of a version."""
    heading = f"## {version} ({today})"
    nothing = f"Nothing changed since {version}.\n"
    return f"{HEAD}\n{UNRELEASED}\n\n{nothing}\n{heading}\n\n{changes(comparison)}{_releases(existing)}"


def _releases(existing: str) -> str:
    """Returns the parts of the releases: all that follows the first part."""
    _, _, rest = existing.partition(f"{UNRELEASED}\n")
    found = rest.find("\n## ")
    return rest[found:] if found >= 0 else ""


def _breaking(comparison: Comparison) -> Iterator[str]:
    for entry, covered in comparison.accepted:
        count = f"{len(covered)} changes" if len(covered) > 1 else "1 change"
        yield f"{entry.reason} ({count}: {'; '.join(f'`{each}`' for each in entry.changes)})"
    yield from (f"{each.description} (not listed)" for each in comparison.unlisted)


def _of_impact(found: Iterable[Change], impact: Impact) -> Iterator[str]:
    chosen = [each for each in found if each.impact is impact and each.kind != "DEPRECATED"]
    for kind, title in LISTS.items():
        if names := [f"`{each.coordinate}`" for each in chosen if each.kind == kind]:
            yield f"{title}: {', '.join(names)}."
    yield from (each.description for each in chosen if each.kind not in LISTS)


def _bullets(lines: Iterable[str]) -> str:
    wrapper = textwrap.TextWrapper(
        120, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return "".join(f"{wrapper.fill(line)}\n" for line in lines)
