"""Documents that are written from the code are current, and links lead somewhere."""

import re
from pathlib import Path

import pytest

from datastore import catalogue

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_table_design_is_current():
    assert (ROOT / "docs/table-design.md").read_text() == catalogue.render(), "run `make docs`"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)[^)]*\)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_decision_is_named_by_a_sentence_and_numbered_in_order():
    names = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))

    assert [name[:4] for name in names] == [f"{number:04d}" for number in range(1, len(names) + 1)]
    assert all(re.fullmatch(r"\d{4}(-[a-z0-9]+){3,}\.md", name) for name in names)
