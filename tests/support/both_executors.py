"""Runs operations on both executors and compares their responses."""

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from datastore.model.codec import Item
from loaders.viewer import ANONYMOUS, Viewer
from schema.build import build
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.http.protocol import GraphQLRequest
from schema.http.settings import Settings
from tests.conftest import SECRET, services_at
from tests.support.graph import Graph
from tests.support.mixed.society import MixedSociety, mixed_society, values_for
from tests.support.operations import Operation, Values
from tests.support.serving import a_table

SCHEMA = build()._schema
CURSORS = """{ feed { edges { cursor } } users { edges { cursor } }
    user(by: {username: "ada"}) { likedPosts { edges { cursor } } followers { edges { cursor } } } }"""


@dataclass(frozen=True)
class Answered:
    body: dict[str, Any]
    calls: Counter[str]
    compiled: bool

    @property
    def reads(self) -> Counter[str]:
        """Returns the calls, with GetItem counted as BatchGetItem."""
        return Counter({"Query": self.calls["Query"], "items": self.calls["GetItem"] + self.calls["BatchGetItem"]})

    @property
    def executed(self) -> bool:
        """Returns False if the operation was refused as a whole."""
        return "data" in self.body

    @property
    def outcome(self) -> str:
        return "with errors" if "errors" in self.body else "whole"

    @property
    def text(self) -> str:
        """Returns the deterministic part of the response: everything but the errors, in order."""
        return json.dumps({**self.body, "errors": None}, indent=1)

    @property
    def errors(self) -> dict[str, Any]:
        """Returns the errors by path, without the random IDs of internal errors."""
        known = {}
        for place, error in enumerate(self.body.get("errors", [])):
            extensions = {name: value for name, value in error["extensions"].items() if name != "id"}
            known[json.dumps(error.get("path", place))] = {**error, "extensions": extensions}
        return known

    @property
    def nulls(self) -> set[tuple[Any, ...]]:
        """Returns the nulls that errors caused, and True for those at the error's own path."""
        paths = [error.get("path", []) for error in self.body.get("errors", [])]
        return {
            (*place, len(place) == len(path)) for path in paths for place in [_null_on(path, self.body.get("data"))]
        }


def _null_on(path: list[Any], data: Any) -> list[Any]:
    for depth, step in enumerate(path):
        if data is None:
            return path[:depth]
        data = data[step]
    return path


def assert_alike(compiled: Answered, reference: Answered) -> None:
    """Asserts that two responses are equal, except for errors that another error at the same null hides.

    The order of reads decides which of several errors at the same null is reported; message and path do not change.
    """
    assert compiled.text == reference.text
    assert compiled.nulls == reference.nulls
    common = compiled.errors.keys() & reference.errors.keys()
    assert {path: compiled.errors[path] for path in common} == {path: reference.errors[path] for path in common}


class Side:
    """One executor with its table."""

    def __init__(self, graph: Graph, *, compiled: bool) -> None:
        self.graph = graph
        self.executor = Executor(SCHEMA, Limits(), compiled=compiled)
        self.prepare: Callable[[], None] | None = None
        self._items: dict[tuple[str, str], Item] | None = None  # until a mutation may have changed them

    async def answers(self, operation: Operation, viewer: Viewer) -> list[Answered]:
        """Returns one response per set of variables."""
        self._items = None
        if self.prepare:
            self.prepare()
        every = (operation.variables, *operation.others)
        return [await self._answer(operation, variables, viewer) for variables in every]

    async def answers_at_once(self, asked: Iterable[tuple[Operation, Viewer]]) -> list[list[Answered]]:
        """Returns the same for several operations, all of which run at the same time."""
        every = [(operation, viewer, (operation.variables, *operation.others)) for operation, viewer in asked]
        found = iter(
            await asyncio.gather(
                *(self._answer(operation, each, viewer) for operation, viewer, given in every for each in given)
            )
        )
        return [[next(found) for _ in given] for *_, given in every]

    async def _answer(self, operation: Operation, variables: dict[str, Any], viewer: Viewer) -> Answered:
        context = self.graph.context(viewer)
        request = GraphQLRequest(operation.text, variables, operation.operation_name)
        try:
            answer = await self.executor.run(request, context, may_mutate=True)
        except asyncio.CancelledError:
            # Hypothesis would treat this as an interrupt; here only the executor itself cancels.
            raise AssertionError("the executor cancelled itself") from None
        return Answered(answer.body, context.load.table.usage.calls, context.compiled)

    async def items(self) -> dict[tuple[str, str], Item]:
        if self._items is None:
            found = await self.graph.items()
            self._items = keyed(found)
        return self._items

    async def bring_back(self, items: list[Item]) -> None:
        """Replaces all items of the table."""
        wanted, present = keyed(items), await self.items()
        changes = [{"PutRequest": {"Item": item}} for key, item in wanted.items() if present.get(key) != item]
        for pk, sk in present.keys() - wanted.keys():
            changes.append({"DeleteRequest": {"Key": {"PK": {"S": pk}, "SK": {"S": sk}}}})
        for start in range(0, len(changes), 25):
            await self.graph.table._write_batch(changes[start : start + 25])
        self._items = wanted


def keyed(items: Iterable[Item]) -> dict[tuple[str, str], Item]:
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}


@dataclass
class World:
    """Both executors, and the test data."""

    runner: asyncio.Runner
    society: MixedSociety
    reference: Side
    compiled: Side

    def both(self, operation: Operation, viewer: Viewer) -> tuple[list[Answered], list[Answered]]:
        reference, compiled = (
            self.runner.run(side.answers(operation, viewer)) for side in (self.reference, self.compiled)
        )
        return reference, compiled

    @property
    def values(self) -> Values:
        (answered,) = self.runner.run(self.reference.answers(Operation(CURSORS, {}, None), ANONYMOUS))
        data = answered.body["data"]
        ada = data["user"]
        lists = {"Query.feed": data["feed"], "Query.users": data["users"]}
        lists |= {"User.likedPosts": ada["likedPosts"], "User.followers": ada["followers"]}
        cursors = {name: [edge["cursor"] for edge in page["edges"]] for name, page in lists.items()}
        return values_for(
            self.society, {f"{name}.{way}": cursors[name] for name in lists for way in ("after", "before")}
        )


@contextmanager
def a_world(endpoint: str, tables: int) -> Iterator[World]:
    """Yields both executors, with a shared table or one each."""
    society = mixed_society()
    logging.disable()  # every read of a damaged item is logged
    with ExitStack() as stack, asyncio.Runner() as runner:
        names = [stack.enter_context(a_table(endpoint)) for _ in range(tables)]
        services = AsyncExitStack()
        graphs = [runner.run(_graph(services, endpoint, name)) for name in names]
        world = World(runner, society, Side(graphs[0], compiled=False), Side(graphs[-1], compiled=True))
        for graph in graphs:
            runner.run(Side(graph, compiled=False).bring_back(society.items()))
            runner.run(graph.services.index_keeper.settle())
        try:
            yield world
        finally:
            runner.run(services.aclose())
            logging.disable(logging.NOTSET)


async def _graph(services: AsyncExitStack, endpoint: str, table_name: str) -> Graph:
    chosen = Settings(
        dynamodb_endpoint=endpoint,
        table_name=table_name,
        auth_secret=SECRET,
        request_timeout=60,
        feed_shards=2,
        data_dir=services.enter_context(TemporaryDirectory()),
    )
    graph = Graph(await services.enter_async_context(services_at(endpoint, chosen)))
    graph.services.tokens.issue = lambda user_id, **_: f"a token for {user_id}"  # type: ignore[method-assign]
    return graph


def check(world: World, operation: Operation, viewer: Viewer) -> Counter[str]:
    """Asserts that the responses are equal; returns how many had no errors and how many did."""
    seen = Counter[str]()
    every = (operation.variables, *operation.others)
    for variables, reference, compiled in zip(every, *world.both(operation, viewer), strict=True):
        assert_alike(compiled, reference)
        seen[compiled.outcome] += 1
        if compiled.executed:
            assert compiled.compiled or not has_plan(operation, variables), "graphql-core had to help"
            # A plan counts a level of lists when all of them are there. graphql-core counts each list on its own: the
            # count of an empty one can join the batch that reads the nodes of the others.
            luck = Counter(items=1) if "totalCount" in operation.text else Counter[str]()
            assert compiled.reads <= reference.reads + luck, (variables, compiled.reads, reference.reads)
    return seen


def has_plan(operation: Operation, variables: dict[str, Any]) -> bool:
    """Returns True if the operation can be compiled: the condition of a directive must not be null."""
    conditions = re.findall(r"@\w+\(if: \$(\w+)\)", operation.text)
    return all(variables.get(name, True) is not None for name in conditions)
