"""The check of a table, as a test runs it: without pauses."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from datastore.maintenance.work_file import WorkFile
from resolvers.maintenance.checking import Checking, Pace
from tests.support.graph import Graph

Run = Callable[..., Awaitable[list[dict[str, Any]]]]


def checking(graph: Graph, path: Path, **pace: Any) -> Checking:
    work = WorkFile(path, "check", Checking.tables())
    return Checking(graph.table, graph.services.tools, work, Pace(**{"pause": 0, **pace}))


@pytest.fixture
def check(graph: Graph, tmp_path: Path) -> Run:
    """Checks the table from the beginning, and repairs it if told to. Returns what was found."""
    number = 0

    async def run(*, repair: bool = False) -> list[dict[str, Any]]:
        nonlocal number
        number += 1
        under_way = checking(graph, tmp_path / f"{number}.sqlite")
        await under_way.run()
        if repair:
            await under_way.repair()
        found = [*under_way.findings()]
        under_way.work.delete()
        return found

    return run
