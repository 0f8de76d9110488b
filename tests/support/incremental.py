"""Reads the results of operations with @defer and @stream like a client, and merges them."""

from collections.abc import Iterable
from typing import Any

import orjson
from graphql import (
    ArgumentNode,
    DirectiveNode,
    FieldNode,
    FragmentSpreadNode,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    NameNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    get_nullable_type,
    is_list_type,
    parse,
    print_ast,
    visit,
)
from hypothesis import strategies as st

from loaders.viewer import ANONYMOUS, Viewer
from schema.declare.context import RequestContext
from schema.http.protocol import Answer, GraphQLRequest
from schema.live.streams import Stream
from tests.support.graph import Graph

Result = dict[str, Any]


class Incremental:
    """A client that reads the results of one operation, and counts the calls of each."""

    def __init__(self, stream: Stream, context: RequestContext) -> None:
        self.stream = stream
        self.context = context
        self.calls: list[dict[str, int]] = [dict(context.load.table.usage.calls)]

    async def next(self) -> Result | None:
        before = dict(self.context.load.table.usage.calls)
        result = await self.stream.next()
        if result is None:
            return None
        calls = {
            name: count - before.get(name, 0)
            for name, count in self.context.load.table.usage.calls.items()
            if count > before.get(name, 0)
        }
        if calls:
            self.calls.append(calls)
        found: Result = orjson.loads(result)
        return found

    async def all(self) -> list[Result]:
        results = []
        while (result := await self.next()) is not None:
            results.append(result)
        return results


async def begin(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> Incremental:
    context = graph.context(viewer)

    async def contexts() -> RequestContext:
        return context

    started = await graph.services.operations.start(GraphQLRequest(query, variables), contexts)
    assert not isinstance(started, Answer), started.body
    return Incremental(started, context)


async def results_of(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> list[Result]:
    reading = await begin(graph, query, viewer, **variables)
    return await reading.all()


async def refused(graph: Graph, query: str, **variables: Any) -> Result:
    """Returns the error of an operation that is not executed."""
    context = graph.context()

    async def contexts() -> RequestContext:
        return context

    answer = await graph.services.operations.start(GraphQLRequest(query, variables), contexts)
    assert isinstance(answer, Answer)
    (error,) = answer.body["errors"]
    return dict(error)


class Merged:
    """The answer after merging all results. `failed` are the parts that ended with an error."""

    def __init__(self, results: Iterable[Result]) -> None:
        # As they are sent: objects that several places of an answer share are apart.
        first, *others = (orjson.loads(orjson.dumps(each)) for each in results)
        self.data: Any = first["data"]
        self.errors: list[Result] = list(first.get("errors", ()))
        self.failed: list[tuple[Any, ...]] = []
        self._pending: dict[str, Result] = {}
        self._has_next = first.get("hasNext", False)
        self._announce(first)
        for result in others:
            assert self._has_next, "a result after the last one"
            self._has_next = result["hasNext"]
            self._announce(result)
            for entry in result.get("incremental", ()):
                self._take(entry)
            for entry in result.get("completed", ()):
                part = self._pending.pop(entry["id"])
                if "errors" in entry:
                    self.failed.append((tuple(part["path"]), part.get("label")))
                    self.errors += entry["errors"]
        assert not self._has_next
        assert not self._pending, "parts that were never completed"

    def _announce(self, result: Result) -> None:
        for part in result.get("pending", ()):
            assert part["id"] not in self._pending
            self._pending[part["id"]] = part

    def _take(self, entry: Result) -> None:
        place: Any = self.data
        for step in (*self._pending[entry["id"]]["path"], *entry.get("subPath", ())):
            place = place[step]
        self.errors += entry.get("errors", ())
        if "items" in entry:
            place += entry["items"]
        else:
            _merge(place, entry["data"])


def _merge(place: Result, data: Result) -> None:
    for key, value in data.items():
        assert key not in place, f"{key} was delivered twice"
        place[key] = value


@st.composite
def deferring(draw: Any, schema: GraphQLSchema, text: str) -> str:
    """Adds @defer and @stream to some places of a document."""
    document = parse(text)
    info = TypeInfo(schema)
    chance = draw(st.sampled_from([20, 60]))
    streamed: dict[str, int | None] = {}

    def roll() -> bool:
        return bool(draw(st.integers(0, 99)) >= 100 - chance)

    class Adding(Visitor):
        def leave_inline_fragment(self, node: InlineFragmentNode, *_: Any) -> Any:
            return _with(node, _directive("defer")) if roll() and not is_root() else None

        def leave_fragment_spread(self, node: FragmentSpreadNode, *_: Any) -> Any:
            return _with(node, _directive("defer")) if roll() and not is_root() else None

        def leave_selection_set(self, node: SelectionSetNode, *_: Any) -> Any:
            if is_root() or not roll():
                return None
            at = draw(st.integers(0, len(node.selections) - 1))
            inner = SelectionSetNode(selections=node.selections[at:])
            later = InlineFragmentNode(directives=(_directive("defer"),), selection_set=inner)
            return SelectionSetNode(selections=(*node.selections[:at], later))

        def leave_field(self, node: FieldNode, *_: Any) -> Any:
            definition = info.get_field_def()
            if definition is None or not is_list_type(get_nullable_type(definition.type)):
                return None
            key = f"{node.alias.value if node.alias else ''}:{node.name.value}"
            if key not in streamed:
                streamed[key] = draw(st.integers(0, 3)) if roll() else None
            count = streamed[key]
            return None if count is None else _with(node, _directive("stream", initialCount=count))

    def is_root() -> bool:
        return info.get_parent_type() in (schema.mutation_type, schema.subscription_type)

    return print_ast(visit(document, TypeInfoVisitor(info, Adding())))


def _directive(name: str, **arguments: int) -> DirectiveNode:
    given = [
        ArgumentNode(name=NameNode(value=key), value=IntValueNode(value=str(value))) for key, value in arguments.items()
    ]
    return DirectiveNode(name=NameNode(value=name), arguments=tuple(given))


def _with(node: Any, directive: DirectiveNode) -> Any:
    values = {key: getattr(node, key) for key in node.keys}
    return type(node)(**{**values, "directives": (*(node.directives or ()), directive)})


def is_query(text: str) -> bool:
    return all(
        node.operation is OperationType.QUERY
        for node in parse(text).definitions
        if isinstance(node, OperationDefinitionNode)
    )
