"""The shape of a document: counted in one pass before any rule of validation runs, because some take quadratic time."""

from collections.abc import Iterable

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

from schema.execution.incremental.directives import NAMES
from schema.execution.limits import Limits, OverLimit
from schema.execution.weights import FILTER_NAMES

# Arguments that set how many records a field returns.
SIZES = ("first", "last", "ids")


class Shape:
    """Raises OverLimit for a document with too many parts, and GraphQLError for fragments that spread themselves."""

    def __init__(self, document: DocumentNode, limits: Limits) -> None:
        self.operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
        fragments = [node for node in document.definitions if isinstance(node, FragmentDefinitionNode)]
        self.fragments = {node.name.value: node for node in fragments}
        self.conditions: set[str] = set()
        """Variables that decide about directives, such as @skip and @include."""
        self.sizes: set[str] = set()
        """Variables that set the size of a page or a list, or name a type to introspect."""
        self.filters: set[str] = set()
        """Variables that may filter a list without an index."""
        self.selections = 0
        self._aliases = 0
        self._directives = 0
        self.deferred = 0
        """Number of @defer and @stream."""
        self._limits = limits
        self._check("operations", len(self.operations), limits.operations)
        self._check("fragments", len(fragments), limits.fragments)
        declared = sum(len(node.variable_definitions or ()) for node in self.operations)
        self._check("variables", declared, limits.variables)
        for operation in self.operations:
            self._take_directives(operation.directives)
            for variable in operation.variable_definitions or ():
                self._take_directives(variable.directives)
            self._walk(operation.selection_set)
        spreads = {}
        for fragment in fragments:
            self._take_directives(fragment.directives)
            spreads[fragment.name.value] = self._walk(fragment.selection_set)
        _refuse_circles(spreads)

    def _walk(self, selection_set: SelectionSetNode) -> list[FragmentSpreadNode]:
        """Counts everything in a definition, and returns its spreads."""
        spreads = []
        waiting = [selection_set]
        while waiting:
            selections = waiting.pop().selections
            self.selections += len(selections)
            self._check("fields and fragments", self.selections, self._limits.selections)
            for node in selections:
                if node.directives:
                    self._take_directives(node.directives)
                if isinstance(node, FieldNode):
                    self._take_field(node)
                if isinstance(node, FragmentSpreadNode):
                    spreads.append(node)
                elif inner := getattr(node, "selection_set", None):
                    waiting.append(inner)
        return spreads

    def _take_field(self, node: FieldNode) -> None:
        if node.alias:
            self._aliases += 1
            self._check("aliases", self._aliases, self._limits.aliases)
        for argument in node.arguments or ():
            if not isinstance(argument.value, VariableNode):
                continue
            if argument.name.value in SIZES or node.name.value == "__type":
                self.sizes.add(argument.value.name.value)
            if argument.name.value in FILTER_NAMES:
                self.filters.add(argument.value.name.value)

    def _take_directives(self, directives: Iterable[DirectiveNode] | None) -> None:
        for directive in directives or ():
            self._directives += 1
            self.deferred += directive.name.value in NAMES
            for argument in directive.arguments or ():
                if argument.name.value == "if" and isinstance(argument.value, VariableNode):
                    self.conditions.add(argument.value.name.value)
        self._check("directives", self._directives, self._limits.directives)
        self._check("@defer and @stream directives", self.deferred, self._limits.deferred)

    @staticmethod
    def _check(what: str, count: int, limit: int) -> None:
        if count > limit:
            raise OverLimit(f"the query has over {limit:,} {what}; ask in several queries")


def _refuse_circles(spreads: dict[str, list[FragmentSpreadNode]]) -> None:
    finished: set[str] = set()
    for root in spreads:
        # Depth first without recursion; `path` is the way from the root.
        path = {root: iter(spreads[root])} if root not in finished else {}
        while path:
            name = next(reversed(path))
            spread = next(path[name], None)
            if spread is None:
                del path[name]
                finished.add(name)
            elif spread.name.value in path:
                raise GraphQLError(f"Cannot spread fragment '{spread.name.value}' within itself.", [spread])
            elif spread.name.value in spreads and spread.name.value not in finished:
                path[spread.name.value] = iter(spreads[spread.name.value])
