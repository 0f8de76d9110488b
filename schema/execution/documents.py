"""Documents that are parsed, validated and compiled, and the caches of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    parse,
    specified_rules,
    validate,
)
from graphql.execution.values import VariableValues
from graphql.validation import MaxIntrospectionDepthRule
from graphql.validation.rules import overlapping_fields_can_be_merged

from resolvers.core.error_codes import ErrorCode
from schema.declare.wording import in_our_words
from schema.execution.compiler import Compiler, Uncovered
from schema.execution.cost import Cost
from schema.execution.incremental.compiler import IncrementalCompiler
from schema.execution.incremental.directives import without_directives
from schema.execution.limits import Limits, OverLimit
from schema.execution.mutation_fields import writes_of
from schema.execution.plans import Plan
from schema.execution.shape import Shape
from schema.execution.variables import Variables
from schema.execution.weighted_cache import WeightedCache

# Bytes, roughly. A node of a document is a field or a fragment with its names, arguments and places in the text.
KEPT = 30_000_000
KEPT_REFUSED = 5_000_000
WEIGHT_OF_A_DOCUMENT = 2_000
WEIGHT_OF_A_SELECTION = 2_000
WEIGHT_OF_A_FIELD = 1_000
WEIGHT_OF_AN_ERROR = 1_000
PRICED_AT_MOST = 100
# No type has a longer name.
LONGEST_NAME = 100
CHARACTERS_A_TOKEN = 25
CHARACTERS_OF_A_MESSAGE = 500
MAX_ERRORS = 10
RULES = [*specified_rules, *({MaxIntrospectionDepthRule} - set(specified_rules))]
ABORTED = "the query repeats too many fields or fragments to be checked; ask in several queries"

# The comparisons of fields that have the same name take quadratic time. graphql-core's own limit lets them take 1 s.
overlapping_fields_can_be_merged.MAX_COMPLEXITY_BUDGET = 20_000


class Operation:
    """One operation of a document, with its plans."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        node: OperationDefinitionNode,
        shape: Shape,
        incremental: tuple[DocumentNode, OperationDefinitionNode] | None = None,
    ) -> None:
        """`incremental` is the same with its @defer and @stream, if there are any."""
        self.document = document
        self.node = node
        self._incremental = incremental
        self.variables = Variables(schema, node.variable_definitions or ())
        self.name = node.name.value if node.name else None
        self.weight = 0
        self.introspects = False
        """True if it selects `__schema` or `__type`. Known with its cost."""
        self._fragments = shape.fragments
        self._conditions = sorted(shape.conditions)
        self._sizes = sorted(shape.sizes)
        self._filters = sorted(shape.filters)
        self._plans: dict[tuple[Any, ...], Plan | None] = {}
        self._incremental_plans: dict[tuple[Any, ...], Plan | None] = {}
        self._costs: dict[tuple[Any, ...], int | OverLimit] = {}

    @property
    def is_subscription(self) -> bool:
        return self.node.operation is OperationType.SUBSCRIPTION

    @cached_property
    def writes(self) -> int:
        return writes_of(self.document, self.node)

    def cost(self, schema: GraphQLSchema, variables: Mapping[str, Any], limits: Limits) -> int:
        """Returns the cost, or raises OverLimit. It depends on sizes, names of types, and whether a filter is given."""
        sizes = tuple(_size(variables.get(name, ())) for name in self._sizes)
        # A variable that is left out may have a default; null has none.
        sizes += tuple(None if variables.get(name, ()) is None else name in variables for name in self._filters)
        cost = self._costs.get(sizes)
        if cost is None:
            cost = self._priced(schema, variables, limits)
            if len(self._costs) < PRICED_AT_MOST:
                self._costs[sizes] = cost
        if isinstance(cost, OverLimit):
            raise cost
        return cost

    def _priced(self, schema: GraphQLSchema, variables: Mapping[str, Any], limits: Limits) -> int | OverLimit:
        try:
            node = self._incremental[1] if self._incremental else self.node
            cost = Cost(schema, node, self._fragments, variables)
            self.introspects = cost.introspects
            cost.check(limits)
            return cost.total
        except OverLimit as error:
            return OverLimit(str(error))
        except RecursionError:
            return OverLimit("the query is nested too deeply; ask in several queries")

    def plan(self, schema: GraphQLSchema, variables: VariableValues) -> Plan | None:
        """Returns the plan for these conditions of @skip and @include, or None if there is none."""
        case = self._case(variables)
        if case not in self._plans:
            self._plans[case] = self._compiled(partial(Compiler, schema, self.document, self.node), variables)
        return self._plans[case]

    def incremental_plan(self, schema: GraphQLSchema, variables: VariableValues) -> Plan | None:
        """Returns the plan with deferred parts; None if there are none, or if the whole answer has to come at once."""
        if self._incremental is None or self.introspects:
            return None
        plans, case = self._incremental_plans, self._case(variables)
        if case not in plans:
            plans[case] = self._compiled(partial(IncrementalCompiler, schema, *self._incremental), variables)
        return plans[case]

    def _case(self, variables: VariableValues) -> tuple[Any, ...]:
        return tuple(variables.coerced.get(name) for name in self._conditions)

    def _compiled(self, compiler_for: Callable[..., Compiler], variables: VariableValues) -> Plan | None:
        # The plan outlives the request, so it keeps only the variables it depends on.
        known = VariableValues(
            {name: variables.sources[name] for name in self._conditions if name in variables.sources},
            {name: variables.coerced[name] for name in self._conditions if name in variables.coerced},
        )
        compiler = compiler_for(known)
        try:
            return compiler.plan()
        except (Uncovered, GraphQLError):
            return None
        finally:
            self.weight += WEIGHT_OF_A_FIELD * (1 + compiler.fields)


class Prepared:
    """A parsed document, or the reason why it is refused: it exceeds a limit, or it is invalid."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.document: DocumentNode | None = None
        self.operations: Sequence[Operation] = ()
        self.over_limit: str | None = None
        self.errors: Sequence[dict[str, Any]] = ()
        self.validated = False
        self._selections = 0

    def parse(self, schema: GraphQLSchema, limits: Limits) -> None:
        try:
            document = parse(self.query, max_tokens=limits.tokens)
            shape = Shape(document, limits)
        except GraphQLError as error:
            if error.message.startswith("Syntax Error: Document contains more than"):
                self.over_limit = f"the query has over {limits.tokens:,} tokens; ask in several queries"
            self._fail([error])
        except OverLimit as error:
            self.over_limit = str(error)
        except RecursionError:
            self.over_limit = "the query is nested too deeply; ask in several queries"
        else:
            self.document = document
            # A document with @defer or @stream is kept without them, too.
            self._selections = shape.selections * (2 if shape.deferred else 1)
            self.operations = _operations(schema, document, shape)

    def validate(self, schema: GraphQLSchema, *, hide_suggestions: bool) -> None:
        assert self.document is not None
        try:
            errors = validate(schema, self.document, RULES, max_errors=MAX_ERRORS, hide_suggestions=hide_suggestions)
        except RecursionError:
            self.over_limit = "the query is nested too deeply; ask in several queries"
        else:
            self._fail(errors)
        self.validated = not self.errors and self.over_limit is None

    def _fail(self, errors: Sequence[GraphQLError]) -> None:
        """Keeps errors as they are sent: without the nodes they refer to."""
        self.errors = [_explained(error) for error in errors]

    @property
    def weight(self) -> int:
        weight = WEIGHT_OF_A_DOCUMENT + 2 * len(self.query) + WEIGHT_OF_AN_ERROR * len(self.errors)
        if self.document is not None:
            weight += WEIGHT_OF_A_SELECTION * self._selections
        return weight + sum(operation.weight for operation in self.operations)

    def operation(self, name: str | None) -> Operation | str:
        """Returns the operation to run, or the reason why there is none."""
        operations = self.operations
        if name is not None:
            operations = [operation for operation in operations if operation.name == name]
            return operations[0] if operations else f"there is no operation named {name[:60]!r} in the query"
        if len(operations) == 1:
            return operations[0]
        return "the query has several operations; say which with `operationName`" if operations else "nothing to run"


class Documents:
    """Keeps documents that are valid, and others in a small cache of their own: they cannot crowd out valid ones."""

    def __init__(self, schema: GraphQLSchema, limits: Limits, *, hide_suggestions: bool = False) -> None:
        """Suggestions ("Did you mean …") tell parts of the schema."""
        self._hide_suggestions = hide_suggestions
        self._schema = schema
        self._limits = limits
        self._valid: WeightedCache[Prepared] = WeightedCache(KEPT)
        self._others: WeightedCache[Prepared] = WeightedCache(KEPT_REFUSED)
        self.hits = self.misses = 0

    def prepare(self, query: str) -> Prepared:
        """Returns the document, parsed but perhaps not validated."""
        kept = self._valid.find(query) or self._others.find(query)
        if kept is not None:
            self.hits += 1
            return kept
        self.misses += 1
        longest = self._limits.tokens * CHARACTERS_A_TOKEN
        if len(query) > longest:
            raise OverLimit(f"the query has over {longest:,} characters; ask in several queries")
        prepared = Prepared(query)
        prepared.parse(self._schema, self._limits)
        self.keep(prepared)
        return prepared

    def validate(self, prepared: Prepared) -> None:
        """Validates the document once. If it is invalid, `errors` says why."""
        if prepared.validated or prepared.errors or prepared.over_limit:
            return
        prepared.validate(self._schema, hide_suggestions=self._hide_suggestions)
        self.keep(prepared)

    def keep(self, prepared: Prepared) -> None:
        """Adds a document, or updates its weight."""
        if prepared.validated:
            self._others.forget(prepared.query)
            self._valid.keep(prepared.query, prepared, prepared.weight)
            return
        if prepared.errors or prepared.over_limit:
            prepared.document, prepared.operations = None, ()
        self._others.keep(prepared.query, prepared, prepared.weight)


def _operations(schema: GraphQLSchema, document: DocumentNode, shape: Shape) -> list[Operation]:
    if not shape.deferred:
        return [Operation(schema, document, node, shape) for node in shape.operations]
    whole = without_directives(document)
    nodes = [node for node in whole.definitions if isinstance(node, OperationDefinitionNode)]
    return [
        Operation(schema, whole, node, shape, (document, original))
        for node, original in zip(nodes, shape.operations, strict=True)
    ]


def _explained(error: GraphQLError) -> dict[str, Any]:
    message = ABORTED if error.message == "Validation aborted." else in_our_words(error.message)
    if len(message) > CHARACTERS_OF_A_MESSAGE:
        message = message[:CHARACTERS_OF_A_MESSAGE] + "…"
    return {**error.formatted, "message": message, "extensions": {"code": ErrorCode.INVALID_QUERY}}


def _size(value: Any) -> Any:
    """Returns what matters to the cost: a number, the length of a list, or the beginning of a name."""
    if isinstance(value, list):
        return (len(value),)
    if isinstance(value, str):
        return value[:LONGEST_NAME]
    return value if isinstance(value, int | float | None | tuple) else str
