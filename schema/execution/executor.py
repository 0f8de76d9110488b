"""From a request to its answer: the document's plan, or graphql-core where there is none or it ends early."""

import logging
from inspect import isawaitable
from typing import Any

from graphql import DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema, OperationType, execute

from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.execution.compiler import part_of
from schema.execution.documents import Documents, Operation, Prepared
from schema.execution.limits import Limits, OverLimit
from schema.execution.plans import Interrupted, Run
from schema.http.protocol import Answer, GraphQLRequest

log = logging.getLogger("heartwood.execution")

ABORTED = "the query repeats too many fields or fragments to be checked; ask in several queries"


class Executor:
    """`compiled=False` leaves everything to graphql-core."""

    def __init__(self, schema: GraphQLSchema, limits: Limits, *, compiled: bool = True) -> None:
        self.schema = schema
        self.limits = limits
        self.compiled = compiled
        self._documents = Documents(schema, limits)

    async def run(self, request: GraphQLRequest, context: RequestContext, *, may_mutate: bool) -> Answer:
        try:
            prepared = self._documents.prepare(request.query)
        except OverLimit as error:
            return Answer.refused(str(error), code="OVER_LIMIT")
        if prepared.errors:
            return Answer({"errors": [_explained(error) for error in prepared.errors]}, request_error=True)
        operation = prepared.operation(request.operation_name)
        if isinstance(operation, str):
            return Answer(
                {"errors": [{"message": operation, "extensions": {"code": "INVALID_QUERY"}}]}, request_error=True
            )
        context.operation = operation.name
        if operation.node.operation is not OperationType.QUERY and not may_mutate:
            return Answer.refused("a GET request can only read; send mutations by POST", status=405)
        try:
            operation.check(self.schema, request.variables, self.limits)
        except OverLimit as error:
            return Answer.refused(str(error), code="OVER_LIMIT")
        return await self._run(operation, prepared, request, context)

    async def _run(
        self, operation: Operation, prepared: Prepared, request: GraphQLRequest, context: RequestContext
    ) -> Answer:
        document, done = operation.document, {}
        if self.compiled:
            try:
                data = await self._run_plan(operation, prepared, request, context)
                if data is not None:
                    context.compiled = True
                    return Answer({"data": data})
            except Interrupted as interrupted:
                nodes = [node for field in interrupted.rest for node in field.nodes]
                document, done = part_of(document, operation.node, nodes), interrupted.data
                log.debug("a mutation's plan ended early", exc_info=interrupted.__cause__)
            except Exception:
                # Whatever it is, graphql-core comes upon it too, and says where.
                log.debug("a plan ended early", exc_info=True)
        return _answer(await self._execute(document, operation, request, context), done)

    async def _run_plan(
        self, operation: Operation, prepared: Prepared, request: GraphQLRequest, context: RequestContext
    ) -> dict[str, Any] | None:
        variables = operation.variables.coerced(request.variables)
        if isinstance(variables, list):
            return None
        weight = prepared.weight
        plan = operation.plan(self.schema, variables)
        if prepared.weight != weight:
            self._documents.keep(request.query, prepared)
        return await plan.run(Run(context, request.variables, variables)) if plan else None

    async def _execute(
        self, document: DocumentNode, operation: Operation, request: GraphQLRequest, context: RequestContext
    ) -> ExecutionResult:
        running = execute(
            self.schema,
            document,
            context_value=context,
            variable_values=request.variables,
            operation_name=operation.name,
        )
        return await running if isawaitable(running) else running


def _answer(result: ExecutionResult, done: dict[str, Any]) -> Answer:
    """`done` are the fields of a mutation that were answered before graphql-core took over."""
    data = None if result.data is None else {**done, **result.data}
    if not result.errors:
        return Answer({"data": data})
    errors = [masked(error) for error in result.errors]
    # An error without a path came before any field was executed: a variable that does not fit its type.
    if data is None and all(error.path is None for error in result.errors):
        return Answer({"errors": errors}, request_error=True)
    return Answer({"errors": errors, "data": data})


def _explained(error: GraphQLError) -> dict[str, Any]:
    message = ABORTED if error.message == "Validation aborted." else error.message
    return {**error.formatted, "message": message, "extensions": {"code": "INVALID_QUERY"}}
