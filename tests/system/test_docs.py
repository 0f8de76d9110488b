"""Generated documents are up to date, and links are valid."""

import re
from pathlib import Path

import pytest

from schema import error_table, table_design
from tests.requirements import page as requirements
from tests.support.requirements import Document

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_table_design_is_current():
    assert (ROOT / "docs/table-design.md").read_text() == table_design.render(), "run `make docs`"


def test_the_error_codes_are_current():
    assert (ROOT / "docs/errors.md").read_text() == error_table.render(), "run `make docs`"


def test_the_requirements_are_current():
    assert (ROOT / "docs/requirements.md").read_text() == requirements.render(), "run `make docs`"


async def asks(ask): ...


async def does_not_ask(graph): ...


@pytest.mark.parametrize(("test", "calls"), [(does_not_ask, {"Query": 1}), (does_not_ask, {}), (asks, None)])
def test_a_requirement_states_calls_if_and_only_if_its_test_asks(test, calls):
    document = Document("Bookmarks")

    with pytest.raises(TypeError, match=test.__name__):
        document.rule("Bookmarks are private", calls=calls)(test)

    assert document.requirements == []


def test_a_requirement_is_declared_once():
    document = Document("Bookmarks")
    document.not_built("Bookmarks are private", "rule", why="there are no bookmarks")

    with pytest.raises(ValueError, match="Bookmarks are private"):
        document.rule("Bookmarks are private", calls={"Query": 1})(asks)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)[^)]*\)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_the_map_shows_every_package(document):
    text = (ROOT / document).read_text()
    packages = [
        path.parent.relative_to(ROOT)
        for layer in ("datastore", "loaders", "resolvers", "schema")
        for path in [*(ROOT / layer).glob("__init__.py"), *(ROOT / layer).glob("*/__init__.py")]
        if not (ROOT / f"schema/{path.parent.name}.py").exists()  # a domain: every layer has it
    ]

    assert [str(path) for path in packages if f"{path.name}/" not in text] == []


def test_every_decision_is_named_by_a_sentence_and_numbered_in_order():
    names = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))

    assert [name[:4] for name in names] == [f"{number:04d}" for number in range(1, len(names) + 1)]
    assert all(re.fullmatch(r"\d{4}(-[a-z0-9]+){3,}\.md", name) for name in names)
