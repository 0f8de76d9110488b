"""Compares the schema with the last released one: what breaks clients, what may, and what was added.

graphql-core finds most changes. This module adds what it does not find and clients notice: inputs that are required
because their default was removed, input objects that became `@oneOf`, directives such as `@semanticNonNull` and
`@access`, and the dates of deprecations. A breaking change is allowed if its field, argument or enum value was released
as deprecated and the date in the reason has passed, or if breaking_changes.toml lists it with a reason.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from graphql import (
    BreakingChangeType,
    DangerousChangeType,
    DirectiveNode,
    GraphQLSchema,
    SafeChangeType,
    build_schema,
    find_schema_changes,
    print_ast,
    specified_scalar_types,
)
from graphql.utilities.sort_value_node import sort_value_node

from schema.elements import Element, elements, field_of, reachable_types

RELEASED = Path(__file__).with_name("released.graphql")
ACCEPTED = Path(__file__).with_name("breaking_changes.toml")
DATED = re.compile(r"\S.* Removed after (\d{4}-\d{2}-\d{2})\.", re.DOTALL)
RETYPED = re.compile(r"(?:has )?changed type from (\S+) to (\S+)\.$")
COORDINATE = re.compile(r"@?\b\w+(?:\.\w+(?:\(\w+:\))?|\(\w+:\))")


class Impact(StrEnum):
    BREAKING = "breaking"
    EXPIRED = "removed after its deprecation"
    DANGEROUS = "dangerous"
    SAFE = "safe"


class Change(NamedTuple):
    """A change, in a sentence; `kind` groups changes of one sort."""

    impact: Impact
    kind: str
    coordinate: str
    description: str


class Accepted(NamedTuple):
    """Breaking changes that are intended. `*` in a pattern stands for any part of a word."""

    reason: str
    changes: tuple[str, ...]


class Acceptance(NamedTuple):
    """The content of breaking_changes.toml."""

    since: str
    accepted: tuple[Accepted, ...]


class Comparison(NamedTuple):
    """The changes since a release, and the reasons why they must not be released."""

    since: str
    changes: list[Change]
    accepted: list[tuple[Accepted, list[Change]]]
    unlisted: list[Change]
    problems: list[str]


def compare(released: str, current: str, acceptance: Acceptance, today: date) -> Comparison:
    """Compares two schemas in SDL. Without problems, the current schema can be released."""
    old, new = build_schema(released), build_schema(current)
    changes = sorted(set(_changes(old, new, today)))
    breaking = [change for change in changes if change.impact is Impact.BREAKING]
    problems = [f"{each.coordinate} is deprecated without a date: {_HOW_TO_DEPRECATE}" for each in _undated(new)]
    accepted = []
    listed: set[Change] = set()
    for entry in acceptance.accepted:
        covered = [change for change in breaking if any(_covers(each, change) for each in entry.changes)]
        problems += [
            f'Nothing broke as listed: remove "{each}" from {ACCEPTED.name}.'
            for each in entry.changes
            if not any(_covers(each, change) for change in breaking)
        ]
        accepted.append((entry, covered))
        listed.update(covered)
    unlisted = [change for change in breaking if change not in listed]
    if unlisted:
        problems.append(
            f"Breaking changes that are not listed: {len(unlisted)}. Deprecate instead of removing, or list them with "
            f"a reason in {ACCEPTED.name}."
        )
    return Comparison(acceptance.since, changes, accepted, unlisted, problems)


_HOW_TO_DEPRECATE = "end the reason with “Removed after 2027-06-30.”, the last day on which it works."


def read_acceptance(text: str) -> Acceptance:
    """Reads breaking_changes.toml. Raises ValueError if an entry has no reason or no changes."""
    content = tomllib.loads(text)
    entries = []
    for number, entry in enumerate(content.pop("accepted", []), 1):
        reason, changes = entry.pop("reason", None), entry.pop("changes", None)
        if not (isinstance(reason, str) and reason.strip()) or not _are_texts(changes) or entry:
            raise ValueError(
                f"Entry {number} of {ACCEPTED.name} needs a `reason` and a list of `changes`, and nothing else."
            )
        entries.append(Accepted(reason.strip(), tuple(changes)))
    since = content.pop("since", None)
    if not isinstance(since, str) or content:
        raise ValueError(
            f"{ACCEPTED.name} needs `since`, the released version, and a list of `accepted`, and nothing else."
        )
    return Acceptance(since, tuple(entries))


def suggested_entry(unlisted: Sequence[Change]) -> str:
    """Returns an entry for breaking_changes.toml; one pattern stands for the same change of several types."""
    by_pattern: dict[str, list[str]] = {}
    for change in unlisted:
        by_pattern.setdefault(_widened(change.description), []).append(change.description)
    lines = [pattern if len(found) > 1 else found[0] for pattern, found in by_pattern.items()]
    return "\n".join(["[[accepted]]", 'reason = ""', "changes = [", *(f'    "{line}",' for line in lines), "]"])


def _widened(description: str) -> str:
    """Returns a pattern for the same change of any type; for a type that became nullable, of any field."""
    nullable = re.sub(r"\S+ changed nullability from \S+! to \S+\.", "* changed nullability from *! to *.", description)
    return re.sub(r"\b\w+\.(?=\w)", "*.", nullable)


def removal_date(reason: str | None) -> date | None:
    """Returns the date in the reason of a deprecation, or None if there is none."""
    if not (dated := DATED.fullmatch((reason or "").strip())):
        return None
    try:
        return date.fromisoformat(dated[1])
    except ValueError:
        return None


def _changes(old: GraphQLSchema, new: GraphQLSchema, today: date) -> Iterator[Change]:
    before, after = ({each.coordinate: each for each in elements(schema)} for schema in (old, new))
    expired = {name for name, each in before.items() if (day := removal_date(each.deprecation)) and day < today}
    reachable = reachable_types(old, without=expired)
    for found in find_schema_changes(old, new):
        coordinate = _coordinate(found.description)
        if found.type is SafeChangeType.DESCRIPTION_CHANGED or coordinate in specified_scalar_types:
            continue
        change = Change(_impact(found.type), found.type.name, coordinate, _described(found.description))
        is_part = expired & {change.coordinate, field_of(change.coordinate)}
        is_unused = found.type is BreakingChangeType.TYPE_REMOVED and change.coordinate not in reachable
        if change.impact is Impact.BREAKING and (is_part or is_unused):
            change = change._replace(impact=Impact.EXPIRED)
        yield change
    known = {each.name for each in old.directives} & {each.name for each in new.directives}
    for name in before.keys() & after.keys():
        yield from _changes_of_element(before[name], after[name], known)


def _changes_of_element(old: Element, new: Element, known: set[str]) -> Iterator[Change]:
    """Yields what graphql-core does not find. A directive that is new to the schema is not reported for each field."""
    name = new.coordinate
    if new.is_required and not old.is_required and str(old.type) == str(new.type):
        yield Change(Impact.BREAKING, "INPUT_BECAME_REQUIRED", name, f"{name} has no default and became required.")
    if old.deprecation is None and new.deprecation is not None:
        yield Change(Impact.SAFE, "DEPRECATED", name, f"{name} was deprecated: {new.deprecation}")
    if old.deprecation is not None and new.deprecation is None:
        yield Change(Impact.SAFE, "DEPRECATION_WITHDRAWN", name, f"{name} is no longer deprecated.")
    was, now = removal_date(old.deprecation), removal_date(new.deprecation)
    if was and now and now < was:
        yield Change(Impact.BREAKING, "REMOVED_EARLIER", name, f"{name} is removed after {now} instead of {was}.")
    applied, applies = _directives(old), _directives(new)
    for directive in sorted((applied.keys() | applies.keys()) & known):
        if (before := applied.get(directive)) != (after := applies.get(directive)):
            impact = Impact.BREAKING if directive == "oneOf" and after else Impact.DANGEROUS
            if directive == "semanticNonNull" and after and not before:
                impact = Impact.SAFE
            description = f"{name} changed from {before or f'no @{directive}'} to {after or f'no @{directive}'}."
            yield Change(impact, f"@{directive}", name, description)


def _directives(element: Element) -> dict[str, str]:
    """Returns the text of each directive except `@deprecated`; a repeatable one is one text."""
    texts: dict[str, list[str]] = {}
    for node in element.directives:
        if node.name.value != "deprecated":
            texts.setdefault(node.name.value, []).append(_normal(node))
    return {name: " ".join(sorted(found)) for name, found in texts.items()}


def _normal(node: DirectiveNode) -> str:
    arguments = sorted(f"{each.name.value}: {print_ast(sort_value_node(each.value))}" for each in node.arguments or ())
    return f"@{node.name.value}" + (f"({', '.join(arguments)})" if arguments else "")


def _undated(schema: GraphQLSchema) -> Iterator[Element]:
    for each in elements(schema):
        if each.deprecation is not None and removal_date(each.deprecation) is None:
            yield each


def _impact(kind: BreakingChangeType | DangerousChangeType | SafeChangeType) -> Impact:
    if isinstance(kind, BreakingChangeType):
        return Impact.BREAKING
    return Impact.DANGEROUS if isinstance(kind, DangerousChangeType) else Impact.SAFE


def _described(description: str) -> str:
    """Returns a sentence of graphql-core, in other words if only the nullability of a type changed."""
    types = RETYPED.search(description)
    if types and types[1].replace("!", "") == types[2].replace("!", ""):
        return RETYPED.sub(r"changed nullability from \1 to \2.", description)
    return description


def _coordinate(description: str) -> str:
    """Returns the schema coordinate in a sentence of graphql-core, which has no other way to tell it."""
    if found := COORDINATE.search(description):
        return found[0]
    words = description.removeprefix("Standard scalar ").removeprefix("Directive ").split()
    return words[0]


def _covers(pattern: str, change: Change) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", r"\S*"), change.description) is not None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
