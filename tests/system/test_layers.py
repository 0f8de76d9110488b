"""Layer rules that import-linter cannot check."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("datastore", "loaders", "resolvers", "schema")


def imports(path: Path) -> set[str]:
    """Returns the top-level names a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_no_layer_imports_the_server(layer):
    assert [path for path in (ROOT / layer).rglob("*.py") if "server" in imports(path)] == []


def test_the_server_has_no_graphql_of_its_own():
    assert imports(ROOT / "server.py") & {"strawberry", "graphql"} == set()


@pytest.mark.parametrize("layer", ["loaders", "resolvers", "schema"])
def test_key_text_stays_in_the_datastore(layer):
    spelled = [
        (path.name, node.value)
        for path in (ROOT / layer).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\b[A-Z]{3,}#", node.value)
    ]
    assert spelled == []


@pytest.mark.parametrize("layer", ["loaders", "resolvers", "schema"])
def test_ranges_are_named_for_what_they_serve(layer):
    naming_an_index = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / layer).rglob("*.py")
        if re.search(r"gsi[1-5]", path.read_text(), re.IGNORECASE)
    ]
    assert naming_an_index == []


def test_only_maintenance_reads_the_whole_table():
    callers = [
        path.relative_to(ROOT).as_posix()
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*.py")
        if re.search(r"every_item_for_maintenance|\"Scan\"|\.scan\(", path.read_text())
    ]
    assert sorted(callers) == ["datastore/client/table.py", "datastore/client/transport.py"]


def test_files_stay_short():
    long = [
        (path.name, lines)
        for path in [ROOT / "server.py", *(p for layer in LAYERS for p in (ROOT / layer).rglob("*.py"))]
        if (lines := len(path.read_text().splitlines())) > 400
    ]
    assert long == []
