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
        if re.search(r"\bevery_item\b|MaintenanceScan|\"Scan\"|\.scan\(", path.read_text())
    ]
    allowed = {"datastore/client/transport.py", "datastore/model/responses.py"}
    assert {caller for caller in callers if not caller.startswith("datastore/maintenance/")} == allowed


# docs/requirements.md lists each document with its one file of tests.
MAY_BE_LONG = {
    *(f"tests/requirements/test_{name}.py" for name in ("cards", "cms", "genealogy", "neighborhoods", "social")),
}


def test_files_stay_short():
    files = [ROOT / "server.py", *(path for folder in (*LAYERS, "tests") for path in (ROOT / folder).rglob("*.py"))]
    long = {path.relative_to(ROOT).as_posix() for path in files if len(path.read_text().splitlines()) > 400}
    assert long - MAY_BE_LONG == set()


# Tests of several modules together.
SEVERAL = {
    "tests/resolvers/genealogy/gedcom/test_round_trip.py": "the reader and the writer",
    "tests/schema/test_equivalence.py": "the compiler and graphql-core",
}
OF_A_WHOLE_DOMAIN = {"races", "faults"}


def is_named_for(test: str, module: str) -> bool:
    return test == module or test.startswith(f"{module}_") or test.endswith(f"_{module}")


@pytest.mark.parametrize("layer", LAYERS)
def test_tests_are_named_for_a_module(layer):
    """The name begins or ends with that of a module or package: test_limits_cost, test_site_edges."""
    unnamed = set()
    for test in (ROOT / "tests" / layer).rglob("test_*.py"):
        folder = ROOT / test.parent.relative_to(ROOT / "tests")
        modules = {path.stem for path in (folder, *folder.rglob("*")) if path.is_dir() or path.suffix == ".py"}
        name = test.stem.removeprefix("test_")
        if not any(is_named_for(name, module) for module in modules | OF_A_WHOLE_DOMAIN):
            unnamed.add(test.relative_to(ROOT).as_posix())
    assert unnamed == {path for path in SEVERAL if path.startswith(f"tests/{layer}/")}
