"""From a request to its answer: parse and validate once per document, check the limits, execute, mask."""

from collections import OrderedDict
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    execute,
    parse,
    specified_rules,
    validate,
)
from graphql.validation import MaxIntrospectionDepthRule

from schema.context import RequestContext
from schema.errors import masked
from schema.limits import Limits, OverLimit, check_operation
from schema.protocol import Answer, GraphQLRequest

CACHED_CHARACTERS = 1_000_000
CHARACTERS_A_TOKEN = 25
ABORTED = "the query repeats too many fields or fragments to be checked; ask in several queries"
RULES = [*specified_rules, *({MaxIntrospectionDepthRule} - set(specified_rules))]


@dataclass(frozen=True)
class Prepared:
    """A document that was parsed and validated, or what is wrong with it."""

    document: DocumentNode | None
    errors: tuple[GraphQLError, ...] = ()


class Executor:
    def __init__(self, schema: GraphQLSchema, limits: Limits) -> None:
        self.schema = schema
        self.limits = limits
        self._documents: OrderedDict[str, Prepared] = OrderedDict()
        self._characters = 0

    async def run(self, request: GraphQLRequest, context: RequestContext, *, may_mutate: bool) -> Answer:
        try:
            prepared = self._prepare(request.query)
        except OverLimit as error:
            return Answer.refused(str(error), code="OVER_LIMIT")
        if prepared.document is None or prepared.errors:
            return Answer({"errors": [_explained(error) for error in prepared.errors]}, request_error=True)
        operation = _operation(prepared.document, request.operation_name)
        if isinstance(operation, str):
            return Answer(
                {"errors": [{"message": operation, "extensions": {"code": "INVALID_QUERY"}}]}, request_error=True
            )
        context.operation = operation.name.value if operation.name else None
        if operation.operation is not OperationType.QUERY and not may_mutate:
            return Answer.refused("a GET request can only read; send mutations by POST", status=405)
        try:
            check_operation(self.schema, prepared.document, operation, request.variables, self.limits)
        except OverLimit as error:
            return Answer.refused(str(error), code="OVER_LIMIT")
        return await self._execute(prepared.document, request, context)

    async def _execute(self, document: DocumentNode, request: GraphQLRequest, context: RequestContext) -> Answer:
        running = execute(
            self.schema,
            document,
            context_value=context,
            variable_values=request.variables,
            operation_name=request.operation_name,
        )
        result = await running if isawaitable(running) else running
        if not result.errors:
            return Answer({"data": result.data})
        errors = [masked(error) for error in result.errors]
        # An error without a path came before any field was executed: a variable that does not fit its type.
        if result.data is None and all(error.path is None for error in result.errors):
            return Answer({"errors": errors}, request_error=True)
        return Answer({"errors": errors, "data": result.data})

    def _prepare(self, query: str) -> Prepared:
        prepared = self._documents.get(query)
        if prepared is not None:
            self._documents.move_to_end(query)
            return prepared
        prepared = self._parse_and_validate(query)
        if len(query) <= CACHED_CHARACTERS // 50:
            self._documents[query] = prepared
            self._characters += len(query)
            while self._characters > CACHED_CHARACTERS:
                self._characters -= len(self._documents.popitem(last=False)[0])
        return prepared

    def _parse_and_validate(self, query: str) -> Prepared:
        longest = self.limits.tokens * CHARACTERS_A_TOKEN
        if len(query) > longest:
            raise OverLimit(f"the query has over {longest} characters; ask in several queries")
        try:
            document = parse(query, max_tokens=self.limits.tokens)
            return Prepared(document, tuple(validate(self.schema, document, RULES, max_errors=20)))
        except GraphQLError as error:
            if error.message.startswith("Syntax Error: Document contains more than"):
                raise OverLimit(f"the query has over {self.limits.tokens} tokens; ask in several queries") from None
            return Prepared(None, (error,))
        except RecursionError:
            raise OverLimit("the query is nested too deeply; ask in several queries") from None


def _explained(error: GraphQLError) -> dict[str, Any]:
    message = ABORTED if error.message == "Validation aborted." else error.message
    return {**error.formatted, "message": message, "extensions": {"code": "INVALID_QUERY"}}


def _operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode | str:
    """The operation to run, or why there is none."""
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if name is not None:
        operations = [node for node in operations if node.name and node.name.value == name]
        return operations[0] if operations else f"there is no operation named {name[:60]!r} in the query"
    if len(operations) == 1:
        return operations[0]
    return "the query has several operations; say which with `operationName`" if operations else "nothing to run"
