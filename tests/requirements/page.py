"""Writes docs/requirements.md from the declarations beside it."""

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from tests.support.requirements import Document, Requirement

INTRODUCTION = """# Requirements

Written by `make docs` from tests/requirements; a test keeps it current.

One line for each access pattern, rule, operation and retention period that Heartwood was asked for. Calls are the
DynamoDB calls of the request; the test compares them with the declaration that this page is written from. "none" means
that the request is refused before anything is read, "–" that the requirement is not about a request."""


def documents() -> Iterator[tuple[Path, Document]]:
    """Each module with its document. Raises if a test has no requirement."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.requirements.{path.stem}")
        (document,) = [value for value in vars(module).values() if isinstance(value, Document)]
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and not hasattr(test, "requirement"):
                raise TypeError(f"{path.name}: {name} declares no requirement")
        yield path, document


def render() -> str:
    sections = [section(path, document) for path, document in documents()]
    return "\n\n".join([INTRODUCTION, *sections]) + "\n"


def section(path: Path, document: Document) -> str:
    total = len(document.requirements)
    built = sum(requirement.test is not None for requirement in document.requirements)
    return "\n".join(
        [
            f"## {document.title}",
            "",
            f"{built} of {total} are built, each with a test in [{path.name}](../tests/requirements/{path.name}).",
            "",
            "| requirement | kind | calls | test |",
            "| --- | --- | --- | --- |",
            *map(row, document.requirements),
        ]
    )


def row(requirement: Requirement) -> str:
    calls, test = requirement.calls, requirement.test
    counted = "–" if calls is None else ", ".join(f"{count} {name}" for name, count in calls.items()) or "none"
    proof = f"`{test}`" if test else f"**not built yet**: {requirement.why}"
    return f"| {requirement.text} | {requirement.kind} | {counted} | {proof} |"


if __name__ == "__main__":
    print(render(), end="")
