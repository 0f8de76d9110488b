"""The changelog of the schema: generated until a release, kept afterwards."""

from datetime import date

from schema.evolution import Acceptance, Accepted, compare
from schema.schema_changelog import HEAD, changes, released, render
from tests.schema.test_evolution import TODAY, USERS

DEPRECATED = 'karma: Int @deprecated(reason: "Use `rank`. Removed after 2027-06-30.")'
CURRENT = (
    USERS.replace("name: String!", "fullName: String!, rating: Rating")
    .replace("NOVICE", "NOVICE, GURU")
    .replace("users(", "users(first: Int = 20, ")
    + "type Rating { stars: Int }"
)
RENAMED = Acceptance("1.0.0", (Accepted("`User.name` is now `fullName`.", ("Field *.name was removed.",)),))
EXISTING = "# Old head\n\n## Not released yet\n\nOld text.\n\n## 1.0.0 (2026-12-01)\n\nThe first.\n"
SECTIONS = """\
### Breaking

- `User.name` is now `fullName`. (1 change: `Field *.name was removed.`)

### Deprecated

- User.karma was deprecated: Use `rank`. Removed after 2027-06-30.

### Dangerous: additions and new defaults that a client may not expect

- Enum values: `Rank.GURU`.
- Optional arguments: `Query.users(first:)`.

### Added and relaxed

- Types: `Rating`.
- Fields: `User.fullName`, `User.rating`.
"""
COMPARISON = compare(USERS, CURRENT.replace("karma: Int", DEPRECATED), RENAMED, TODAY)


def test_changes_are_grouped_by_what_they_mean_for_clients() -> None:
    assert changes(COMPARISON) == SECTIONS


def test_unlisted_breaking_changes_and_expired_ones_are_told_apart() -> None:
    comparison = compare(
        USERS.replace("karma: Int", DEPRECATED), "type Query { a: Int }", Acceptance("1.0.0", ()), TODAY
    )

    assert "- User was removed. (not listed)\n" in changes(comparison)
    current = USERS.replace("karma: Int", "")
    comparison = compare(USERS.replace("karma: Int", DEPRECATED), current, Acceptance("1.0.0", ()), TODAY)
    assert changes(comparison) == "### Removed after their deprecation\n\n- Field User.karma was removed.\n"


def test_the_first_part_is_generated_and_releases_are_kept() -> None:
    assert render(EXISTING, COMPARISON) == (
        f"{HEAD}\n## Not released yet\n\n{SECTIONS}\n## 1.0.0 (2026-12-01)\n\nThe first.\n"
    )


def test_a_release_gets_the_changes_and_leaves_an_empty_first_part() -> None:
    text = released(EXISTING, COMPARISON, "1.1.0", date(2027, 7, 2))

    assert text == (
        f"{HEAD}\n## Not released yet\n\nNothing changed since 1.1.0.\n"
        f"\n## 1.1.0 (2027-07-02)\n\n{SECTIONS}\n## 1.0.0 (2026-12-01)\n\nThe first.\n"
    )
    nothing = compare(USERS, USERS, Acceptance("1.1.0", ()), TODAY)
    assert render(text, nothing) == text
