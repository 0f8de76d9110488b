"""The error codes: each is declared once and used, and nothing else is sent as a code."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from resolvers.core.error_codes import ErrorCode
from resolvers.core.problems import ProblemCode

ROOT = Path(__file__).parents[3]
REGISTRY = ROOT / "resolvers/core/error_codes.py"
SOURCES = [
    path for layer in ("datastore", "loaders", "resolvers", "schema") for path in (ROOT / layer).rglob("*.py")
]  # fmt: skip
PROBLEMS = "resolvers/core/problems.py"
LOG_LEVELS = {"WARNING"}


@cache
def nodes_in(path: Path) -> list[ast.AST]:
    kinds = (ast.Constant, ast.Dict, ast.Attribute)
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def nodes(*without: Path) -> Iterator[tuple[str, ast.AST]]:
    for path in SOURCES:
        if path not in without:
            for node in nodes_in(path):
                yield path.relative_to(ROOT).as_posix(), node


def test_codes_are_written_nowhere_else() -> None:
    found = [
        f"{path}:{node.lineno} {node.value}"
        for path, node in nodes(REGISTRY)
        if isinstance(node, ast.Constant) and node.value in {*ErrorCode} - LOG_LEVELS
    ]

    assert found == [], "use ErrorCode"


def test_no_error_has_an_undeclared_code() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "code" and isinstance(value, ast.Constant | ast.JoinedStr)
    ]

    assert found == [], "use ErrorCode"


def test_every_code_is_used() -> None:
    used = {
        node.attr
        for path, node in nodes(REGISTRY)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        # `problems.py` declares which of the codes are problems.
        if node.value.id == "ProblemCode" or (node.value.id == "ErrorCode" and path != PROBLEMS)
    }

    assert {code.name for code in ErrorCode} - used == set()


def test_a_problem_has_the_code_of_an_error() -> None:
    assert {code.name: (code.value, code.description) for code in ProblemCode} == {
        name: ErrorCode[name].choice for name in ProblemCode.__members__
    }


@pytest.mark.parametrize("code", ErrorCode)
def test_a_code_says_what_it_means_and_what_to_do(code: ErrorCode) -> None:
    assert code.value == code.name
    assert code.meaning.endswith(".")
    assert code.action.endswith(".")
    assert code.status == 0 or 400 <= code.status < 600
    assert not code.retryable or code.status in (429, 503)
