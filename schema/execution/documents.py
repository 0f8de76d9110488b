"""Cache of documents that are parsed, validated and compiled."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    Visitor,
    parse,
    specified_rules,
    validate,
    visit,
)
from graphql.execution.values import VariableValues
from graphql.validation import MaxIntrospectionDepthRule

from schema.execution.compiler import Compiler, Uncovered, variables_in
from schema.execution.limits import SIZES, Limits, OverLimit, check_operation
from schema.execution.mutation_fields import writes_of
from schema.execution.plans import Plan
from schema.execution.variables import Variables

# A document counts by its characters, a plan by its fields. In total, that is some tens of megabytes.
KEPT = 10_000_000
WEIGHT_OF_A_FIELD = 200
LONGEST_KEPT = KEPT // 20
CHECKED_AT_MOST = 100
CHARACTERS_A_TOKEN = 25
RULES = [*specified_rules, *({MaxIntrospectionDepthRule} - set(specified_rules))]


class Operation:
    """One operation of a document, with its plans."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode) -> None:
        self.document = document
        self.node = node
        self.variables = Variables(schema, node.variable_definitions or ())
        self.name = node.name.value if node.name else None
        self.weight = 0
        self._conditions, self._sizes = _deciding_variables(document)
        self._plans: dict[tuple[Any, ...], Plan | None] = {}
        self._checked: dict[tuple[Any, ...], int] = {}

    @cached_property
    def writes(self) -> int:
        return writes_of(self.document, self.node)

    def check(self, schema: GraphQLSchema, variables: Mapping[str, Any], limits: Limits) -> int:
        """Returns the cost; raises OverLimit if it is too high. The only variables that affect it are sizes."""
        sizes = tuple(_size(variables.get(name, ())) for name in self._sizes)
        cost = self._checked.get(sizes)
        if cost is None:
            cost = check_operation(schema, self.document, self.node, dict(variables), limits)
            if len(self._checked) < CHECKED_AT_MOST:
                self._checked[sizes] = cost
        return cost

    def plan(self, schema: GraphQLSchema, variables: VariableValues) -> Plan | None:
        """Returns the plan for these conditions of @skip and @include, or None if there is none."""
        case = tuple(variables.coerced.get(name) for name in self._conditions)
        if case not in self._plans:
            self._plans[case] = self._compiled(schema, variables)
        return self._plans[case]

    def _compiled(self, schema: GraphQLSchema, variables: VariableValues) -> Plan | None:
        # The plan outlives the request, so it keeps only the variables it depends on.
        known = VariableValues(
            {name: variables.sources[name] for name in self._conditions if name in variables.sources},
            {name: variables.coerced[name] for name in self._conditions if name in variables.coerced},
        )
        compiler = Compiler(schema, self.document, self.node, known)
        try:
            return compiler.plan()
        except (Uncovered, GraphQLError):
            return None
        finally:
            self.weight += 1 + compiler.fields


class Prepared:
    """A parsed and validated document, or its errors."""

    def __init__(self, operations: Sequence[Operation] = (), errors: Sequence[GraphQLError] = ()) -> None:
        self.errors = errors
        self._operations = operations

    @property
    def weight(self) -> int:
        return WEIGHT_OF_A_FIELD * sum(operation.weight for operation in self._operations)

    def operation(self, name: str | None) -> Operation | str:
        """Returns the operation to run, or the reason why there is none."""
        operations = self._operations
        if name is not None:
            operations = [operation for operation in operations if operation.name == name]
            return operations[0] if operations else f"there is no operation named {name[:60]!r} in the query"
        if len(operations) == 1:
            return operations[0]
        return "the query has several operations; say which with `operationName`" if operations else "nothing to run"


class Documents:
    """LRU cache of documents, limited by weight."""

    def __init__(self, schema: GraphQLSchema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._kept: OrderedDict[str, tuple[Prepared, int]] = OrderedDict()
        self._weight = 0

    def prepare(self, query: str) -> Prepared:
        kept = self._kept.get(query)
        if kept is not None:
            self._kept.move_to_end(query)
            return kept[0]
        prepared = self._parse_and_validate(query)
        self.keep(query, prepared)
        return prepared

    def keep(self, query: str, prepared: Prepared) -> None:
        """Adds a document, or updates its weight."""
        weight = len(query) + prepared.weight
        if weight > LONGEST_KEPT:
            self._forget(query)
            return
        self._forget(query)
        self._kept[query] = prepared, weight
        self._weight += weight
        while self._weight > KEPT:
            self._forget(next(iter(self._kept)))

    def _forget(self, query: str) -> None:
        _, weight = self._kept.pop(query, (None, 0))
        self._weight -= weight

    def _parse_and_validate(self, query: str) -> Prepared:
        longest = self._limits.tokens * CHARACTERS_A_TOKEN
        if len(query) > longest:
            raise OverLimit(f"the query has over {longest} characters; ask in several queries")
        try:
            document = parse(query, max_tokens=self._limits.tokens)
            errors = validate(self._schema, document, RULES, max_errors=20)
            if errors:
                return Prepared(errors=errors)
            nodes = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
            return Prepared([Operation(self._schema, document, node) for node in nodes])
        except GraphQLError as error:
            if error.message.startswith("Syntax Error: Document contains more than"):
                raise OverLimit(f"the query has over {self._limits.tokens} tokens; ask in several queries") from None
            return Prepared(errors=[error])
        except RecursionError:
            raise OverLimit("the query is nested too deeply; ask in several queries") from None


def _deciding_variables(document: DocumentNode) -> tuple[list[str], list[str]]:
    """Returns the variables of @skip and @include, and those that set the size of a page or a list."""
    conditions: set[str] = set()
    sizes: set[str] = set()

    class Deciding(Visitor):
        def enter_directive(self, node: DirectiveNode, *_: Any) -> None:
            conditions.update(variables_in(node.arguments or ()))

        def enter_field(self, node: FieldNode, *_: Any) -> None:
            sizes.update(variables_in(argument for argument in node.arguments or () if argument.name.value in SIZES))

    visit(document, Deciding())
    return sorted(conditions), sorted(sizes)


def _size(value: Any) -> Any:
    """Returns what matters to the limits: a number, or the length of a list."""
    if isinstance(value, list):
        return (len(value),)
    return value if isinstance(value, int | float | None | tuple) else str
