"""A plan in words, for the log of slow operations: which fields read, and how. It has no values of arguments."""

from collections.abc import Iterator

from schema.execution.plans import MutationField, MutationPlan, Plan
from schema.execution.positions import Position
from schema.execution.selections import Field, Selection

MOST_LINES = 60


def outline(plan: Plan | None) -> list[str]:
    """Returns one line for each field that reads or writes, indented by its depth."""
    if plan is None:
        return ["graphql-core (no plan covers the operation)"]
    lines = [*_mutations(plan)] if isinstance(plan, MutationPlan) else [*_within(plan.root, 0)]
    left_out = len(lines) - MOST_LINES
    return lines if left_out <= 0 else [*lines[:MOST_LINES], f"… and {left_out} more"]


def _mutations(plan: MutationPlan) -> Iterator[str]:
    for each in plan.fields:
        if isinstance(each, MutationField):
            yield f"{each.key}: command"
            yield from _within(each.position, 1)


def _within(position: Position, depth: int) -> Iterator[str]:
    if isinstance(position, Selection):
        for nested in position.nested:
            yield from _field(nested, depth)
    else:
        for inner in position.inner():
            yield from _within(inner, depth)


def _field(field: Field, depth: int) -> Iterator[str]:
    edge = field.edge
    reads = edge is not None and edge.reads
    if edge is not None and reads:
        yield f"{'  ' * depth}{edge.coordinate}: {edge.__class__.__name__.lower()}"
    yield from _within(field.position, depth + reads)
