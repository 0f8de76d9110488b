"""Every example of the documentation runs on a fresh demo and has the answer that the page shows."""

import json
import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import graphql
import pytest
from structlog.testing import capture_logs

from schema.build import build
from schema.http import graphiql
from tests.conftest import SECRET
from tests.support.command_line import heartwood
from tests.support.documents import Block, Reader, blocks_of, filled, refusals
from tests.support.serving import ROOT, a_table, serving, until

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
# Python is the code of the tutorial, which tests/schema/test_new_command.py runs; test_docs_webhooks.py runs that of
# receivers, in Python and JavaScript; text is output, or a list of files.
NOT_TYPED_IN = ("python", "javascript", "mermaid", "text", "toml")

NOT_RUN = {
    ("docs/adding-an-entity.md", "{ viewer { bookmarks(first: 10) { nodes { title url } } } }"): (
        "the reader has yet to add bookmarks"
    ),
    ("docs/adding-an-entity.md", ".venv/bin/heartwood new entity Bookmark"): (
        "tests/schema/test_new_command.py runs it in a copy of the project"
    ),
    ("docs/using-the-api.md", "subscription ($postId: ID!, $after: String) {"): (
        "it does not end; tests/schema/test_subscriptions_sse.py subscribes"
    ),
    (
        "docs/using-the-api.md",
        "curl -N localhost:8000/graphql -H 'accept: text/event-stream' -H 'content-type: application/json' \\",
    ): "it does not end; tests/schema/test_sse.py follows such a query",
    (
        "docs/using-the-api.md",
        "curl -N localhost:8000/graphql -H 'accept: multipart/mixed' -H 'content-type: application/json' \\",
    ): "its answer is no JSON; tests/schema/test_multipart.py reads one",
    (
        "docs/using-the-api.md",
        '{ "errors": [ { "message": "the rate limit \'viewer-cost\' of 120,000 in 60 seconds is used up; '
        'try again in 12 seconds",',
    ): "a local server has no rate limits",
}

RUN = [block for block in BLOCKS if block.language not in NOT_TYPED_IN and block.name not in NOT_RUN]


@pytest.fixture
def reader(endpoint: str, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> Iterator[Reader]:
    caplog.set_level(logging.INFO, logger="heartwood.mail")
    # Without capture_logs, the requests' log goes to standard output, between the output of commands.
    with (
        capture_logs(),
        a_table(endpoint) as table_name,
        serving(endpoint, table_name, with_demo=True) as server,
    ):
        until(lambda: not server.services.search_index.is_partial)
        settings = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table_name, "AUTH_SECRET": SECRET}
        yield Reader(server, tmp_path, settings, lambda: caplog.text)


@pytest.mark.parametrize("page", dict.fromkeys(block.page for block in RUN))
def test_the_examples_of_a_page_work_in_their_order(page: str, reader: Reader) -> None:
    for block in RUN:
        if block.page == page:
            reader.run(block)


def test_the_tabs_of_graphiql_work(reader: Reader) -> None:
    for tab in graphiql.examples():
        if "\nsubscription " in tab["query"]:
            # It does not end; tests/schema/test_graphiql.py runs it.
            continue
        headers, variables = (json.loads(tab[name] or "{}") for name in ("headers", "variables"))
        if "Maya's header" in tab["query"]:
            headers["authorization"] = f"Bearer {reader.token_of('maya')}"

        answer = reader.server.post(tab["query"], headers=headers, variables=variables).json()

        assert list(refusals(answer)) == [], tab["query"]
        assert None not in answer["data"].values(), tab["query"]


def test_every_block_is_run_or_listed_with_a_reason() -> None:
    assert {block.language for block in RUN} == {"graphql", "bash"}
    assert NOT_RUN.keys() <= {block.name for block in BLOCKS}
    assert [block.name for block in BLOCKS if block.language == "text" and is_typed_in(block)] == []


def test_the_table_of_lookups_is_current() -> None:
    rows = re.findall(r"^\| (`[^|]+) \| ([^|;]+)[^|]*\|$", (ROOT / "docs/using-the-api.md").read_text(), re.MULTILINE)
    shown = {
        name: re.findall(r"`(\w+)`", values)
        for names, values in rows
        for name in re.findall(r"`(\w+)`", names)
        if values.startswith("`id`")
    }
    fields = build()._schema.query_type.fields  # type: ignore[union-attr]
    lookups = {
        name: graphql.get_named_type(field.args["by"].type) for name, field in fields.items() if "by" in field.args
    }

    assert shown == {name: list(by.fields) for name, by in lookups.items()}


def is_typed_in(block: Block) -> bool:
    return re.search(r"^(curl|heartwood|make|mutation|query) |^\{ *\w", block.text, re.MULTILINE) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_within_a_sentence_exist(page: Path) -> None:
    for command in re.findall(r"`(?:\.venv/bin/)?heartwood ([^`]+)`", page.read_text()):
        assert heartwood(*shlex.split(command), "--help").returncode == 0, command


@pytest.mark.parametrize(
    ("expected", "matches"),
    [
        ({"a": 1, "b": [1, 2]}, True),
        ({"a": "…", "b": [1, "…"]}, True),
        ({"a": 1, "…": "…"}, True),
        ({"a": 2, "…": "…"}, False),
        ({"a": 1}, False),
        ({"a": 1, "b": [1]}, False),
        ({"a": 1, "b": [1, 2, 3, "…"]}, False),
    ],
)
def test_an_ellipsis_leaves_a_part_of_the_answer_open(expected: object, matches: bool) -> None:
    answer = {"a": 1, "b": [1, 2]}

    assert (filled(expected, answer) == answer) is matches
