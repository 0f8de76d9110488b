"""Comparing the schema with the released one: what is breaking, what is accepted, and what may be removed."""

from datetime import date

import pytest

from schema.evolution import (
    Acceptance,
    Accepted,
    Change,
    Impact,
    compare,
    read_acceptance,
    removal_date,
    suggested_entry,
)

TODAY = date(2027, 7, 1)
DIRECTIVES = """
directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION
directive @access(role: String) on FIELD_DEFINITION
"""
USERS = """
type Query { user(id: ID!, full: Boolean! = false): User, users(filter: Filter): [User!] }
type User { id: ID!, name: String!, karma: Int, rank: Rank }
enum Rank { NOVICE, EXPERT }
input Filter { name: String, rank: Rank }
"""


def changed(before: str, after: str, *, old: str = USERS, today: date = TODAY) -> list[Change]:
    """Returns the changes if one text of the schema replaces another."""
    assert before in old
    return compare(DIRECTIVES + old, DIRECTIVES + old.replace(before, after), Acceptance("1.0.0", ()), today).changes


def accepting(*patterns: str, after: str = "karma: Float") -> list[str]:
    """Returns the problems of a change if these patterns are accepted."""
    acceptance = Acceptance("1.0.0", (Accepted("Karma is fractional.", patterns),))
    return compare(USERS, USERS.replace("karma: Int", after), acceptance, TODAY).problems


def test_an_equal_schema_has_no_changes() -> None:
    assert compare(USERS, USERS, Acceptance("1.0.0", ()), TODAY) == ("1.0.0", [], [], [], [])


@pytest.mark.parametrize(
    ("before", "after", "impact", "coordinate", "description"),
    [
        ("karma: Int", "", Impact.BREAKING, "User.karma", "Field User.karma was removed."),
        (
            "name: String!",
            "name: String",
            Impact.BREAKING,
            "User.name",
            "Field User.name changed nullability from String! to String.",
        ),
        (
            "karma: Int",
            "karma: Float",
            Impact.BREAKING,
            "User.karma",
            "Field User.karma changed type from Int to Float.",
        ),
        (", EXPERT", "", Impact.BREAKING, "Rank.EXPERT", "Enum value Rank.EXPERT was removed."),
        ("EXPERT", "EXPERT, GURU", Impact.DANGEROUS, "Rank.GURU", "Enum value Rank.GURU was added."),
        ("karma: Int", "karma: Int, at: Int", Impact.SAFE, "User.at", "Field User.at was added."),
        (
            "user(id: ID!",
            "user(id: ID!, by: ID!",
            Impact.BREAKING,
            "Query.user(by:)",
            "A required argument Query.user(by:) was added.",
        ),
        (
            "input Filter",
            "input Filter @oneOf",
            Impact.BREAKING,
            "Filter",
            "Filter changed from no @oneOf to @oneOf.",
        ),
        (
            "karma: Int",
            'karma: Int @access(role: "admin")',
            Impact.DANGEROUS,
            "User.karma",
            'User.karma changed from no @access to @access(role: "admin").',
        ),
        (
            "karma: Int",
            "karma: Int @semanticNonNull",
            Impact.SAFE,
            "User.karma",
            "User.karma changed from no @semanticNonNull to @semanticNonNull.",
        ),
    ],
)
def test_a_change_has_an_impact_and_a_coordinate(
    before: str, after: str, impact: Impact, coordinate: str, description: str
) -> None:
    (change,) = changed(before, after)

    assert (change.impact, change.coordinate, change.description) == (impact, coordinate, description)


def test_an_argument_that_loses_its_default_becomes_required() -> None:
    found = changed("full: Boolean! = false", "full: Boolean!")

    assert [(each.impact, each.description) for each in found] == [
        (Impact.BREAKING, "Query.user(full:) has no default and became required."),
        (Impact.DANGEROUS, "Query.user(full:) defaultValue was removed."),
    ]


def test_losing_a_semantic_non_null_is_dangerous() -> None:
    old = USERS.replace("karma: Int", "karma: Int @semanticNonNull")
    (change,) = changed("@semanticNonNull", "", old=old)

    assert change.impact is Impact.DANGEROUS


def test_a_new_directive_is_one_change() -> None:
    new = DIRECTIVES + USERS.replace("karma: Int", "karma: Int @access @semanticNonNull")
    found = compare(USERS, new, Acceptance("1.0.0", ()), TODAY).changes

    assert [each.kind for each in found] == ["DIRECTIVE_ADDED", "DIRECTIVE_ADDED"]


def test_descriptions_are_no_changes_of_the_contract() -> None:
    assert changed("karma: Int", '"""Points."""\nkarma: Int') == []


def test_a_breaking_change_needs_a_listed_reason() -> None:
    assert accepting("Field User.karma changed type from Int to Float.") == []
    assert accepting("Field *.karma changed type from * to *.") == []
    assert accepting("Field User.name changed type from Int to Float.") == [
        'Nothing broke as listed: remove "Field User.name changed type from Int to Float." from breaking_changes.toml.',
        "Breaking changes that are not listed: 1. Deprecate instead of removing, or list them with a reason in "
        "breaking_changes.toml.",
    ]


def test_a_star_is_part_of_a_word_and_nothing_else_is_special() -> None:
    assert len(accepting("*")) == 2
    assert len(accepting("Field User.*")) == 2
    assert len(accepting("Field User.karma changed type from Int to Float?")) == 2
    assert accepting("Field User.karma changed type from Int to [Int!]!.", after="karma: [Int!]!") == []


def test_a_listed_change_that_was_taken_back_is_removed_from_the_list() -> None:
    assert accepting("Field User.karma was removed.", after="karma: Int") == [
        'Nothing broke as listed: remove "Field User.karma was removed." from breaking_changes.toml.'
    ]


def test_unlisted_changes_are_suggested_as_an_entry() -> None:
    old = "type Query { a: A, b: B } type A { key: ID, x: Int!, y: Int } type B { key: ID, y: [Int!]! }"
    new = "type Query { a: A, b: B } type A { x: Int } type B { y: [Int!] }"
    comparison = compare(old, new, Acceptance("0.1.0", ()), TODAY)
    entry = suggested_entry(comparison.unlisted)

    assert entry == (
        '[[accepted]]\nreason = ""\nchanges = [\n'
        '    "Field * changed nullability from *! to *.",\n'
        '    "Field *.key was removed.",\n'
        '    "Field A.y was removed.",\n]'
    )
    acceptance = read_acceptance('since = "0.1.0"\n' + entry.replace('""', '"Keys are gone."'))
    assert compare(old, new, acceptance, TODAY).problems == []


DEPRECATED = USERS.replace("karma: Int", 'karma: Int @deprecated(reason: "Use `rank`. Removed after 2027-06-30.")')


@pytest.mark.parametrize(("today", "impact"), [("2027-06-30", Impact.BREAKING), ("2027-07-01", Impact.EXPIRED)])
def test_a_deprecated_field_is_removed_after_its_date(today: str, impact: Impact) -> None:
    current = USERS.replace("karma: Int", "")
    comparison = compare(DEPRECATED, current, Acceptance("1.0.0", ()), date.fromisoformat(today))
    (change,) = comparison.changes

    assert (change.impact, change.description) == (impact, "Field User.karma was removed.")
    assert (comparison.problems == []) == (impact is Impact.EXPIRED)


def test_types_that_only_a_deprecated_field_used_are_removed_with_it() -> None:
    old = """
        type Query { a: Int, old(input: OldInput): Old @deprecated(reason: "Use `a`. Removed after 2027-06-30.") }
        input OldInput { x: String }
        type Old { more: More, a: Int }
        union More = One
        type One { a: Int }
    """
    comparison = compare(old, "type Query { a: Int }", Acceptance("1.0.0", ()), TODAY)

    assert [each.coordinate for each in comparison.changes] == ["Query.old", "More", "Old", "OldInput", "One"]
    assert {each.impact for each in comparison.changes} == {Impact.EXPIRED}
    assert comparison.problems == []


def test_a_type_that_an_interface_reaches_is_not_removed_with_a_field() -> None:
    old = """
        interface Node { a: Int }
        type Kept implements Node { a: Int }
        type Query { node: Node, old: Kept @deprecated(reason: "Use `node`. Removed after 2027-06-30.") }
    """
    new = "interface Node { a: Int } type Query { node: Node }"

    assert [each.description for each in compare(old, new, Acceptance("1.0.0", ()), TODAY).unlisted] == [
        "Kept was removed."
    ]


@pytest.mark.parametrize(
    ("reason", "day"),
    [
        ("Use `rank`. Removed after 2027-06-30.", date(2027, 6, 30)),
        ("Use `rank`.\nRemoved after 2027-06-30.\n", None),
        ("Use `rank`. Removed after 2027-02-30.", None),
        ("Removed after 2027-06-30.", None),
        ("Use `rank`. Removed after 2027-06-30", None),
        ("No longer supported", None),
        (None, None),
    ],
)
def test_a_reason_says_what_to_use_and_ends_with_the_date(reason: str | None, day: date | None) -> None:
    assert removal_date(reason) == day


@pytest.mark.parametrize(
    ("before", "coordinate"),
    [
        ("karma: Int", "User.karma"),
        ("full: Boolean! = false", "Query.user(full:)"),
        ("EXPERT", "Rank.EXPERT"),
        ("name: String,", "Filter.name"),
    ],
)
def test_a_deprecation_without_a_date_is_refused(before: str, coordinate: str) -> None:
    current = USERS.replace(before, f"{before.rstrip(',')} @deprecated,")

    assert compare(USERS, current, Acceptance("1.0.0", ()), TODAY).problems == [
        f"{coordinate} is deprecated without a date: end the reason with “Removed after 2027-06-30.”, the last day on "
        "which it works."
    ]


def test_a_deprecation_is_a_safe_change_until_its_date_comes_closer() -> None:
    (added,) = compare(USERS, DEPRECATED, Acceptance("1.0.0", ()), TODAY).changes
    (withdrawn,) = compare(DEPRECATED, USERS, Acceptance("1.0.0", ()), TODAY).changes
    (earlier,) = compare(DEPRECATED, DEPRECATED.replace("06-30", "03-31"), Acceptance("1.0.0", ()), TODAY).changes
    later = compare(DEPRECATED, DEPRECATED.replace("06-30", "09-30"), Acceptance("1.0.0", ()), TODAY).changes

    assert added.description == "User.karma was deprecated: Use `rank`. Removed after 2027-06-30."
    assert (added.impact, withdrawn.impact, later) == (Impact.SAFE, Impact.SAFE, [])
    assert (earlier.impact, earlier.description) == (
        Impact.BREAKING,
        "User.karma is removed after 2027-03-31 instead of 2027-06-30.",
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "since = 1",
        'since = "1.0.0"\nunknown = 1',
        'since = "1.0.0"\n[[accepted]]\nreason = " "\nchanges = ["Old was removed."]',
        'since = "1.0.0"\n[[accepted]]\nreason = "Unused."\nchanges = []',
        'since = "1.0.0"\n[[accepted]]\nreason = "Unused."\nchanges = "Old was removed."',
        'since = "1.0.0"\n[[accepted]]\nreason = "Unused."\nchanges = ["Old was removed."]\nuntil = 2',
    ],
)
def test_an_entry_without_a_reason_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"breaking_changes\.toml.* nothing else\."):
        read_acceptance(text)
