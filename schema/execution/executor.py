"""Runs a request: with the operation's plan, or with graphql-core where there is no plan or the plan ends early."""

import logging
from collections import Counter
from collections.abc import Sequence
from inspect import isawaitable
from typing import Any, ClassVar

from graphql import DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema, OperationType, execute
from graphql.execution.values import VariableValues

from datastore.client.errors import DatastoreError
from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from resolvers.core.problems import Refused
from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.execution.compiler import Compiler, Uncovered
from schema.execution.documents import Documents, Operation
from schema.execution.introspection import Allowed, Forbidden, Introspection, check_allowed, meta_fields, split
from schema.execution.leaf_writer import Unfit
from schema.execution.limits import Limits, OverLimit
from schema.execution.parts import part_of
from schema.execution.plans import Incomplete, Run
from schema.http.protocol import Answer, GraphQLRequest

log = logging.getLogger("heartwood.execution")


class Invalid(Exception):
    """The document cannot be executed. `errors` are those of the response."""

    def __init__(self, errors: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.errors = errors


# Why a plan may end early: graphql-core finds the same reason and reports it to the client at its path. Any other
# exception is a bug.
EXPECTED = (Uncovered, Unfit, GraphQLError, DatastoreError, Refused)


class Executor:
    """`compiled=False` leaves everything to graphql-core."""

    plan_failures: ClassVar[Counter[str]] = Counter()
    """Plans of this process that ended for an unexpected reason, by the name of the exception."""

    def __init__(
        self, schema: GraphQLSchema, limits: Limits, *, compiled: bool = True, introspection: Allowed = "on"
    ) -> None:
        self.schema = schema
        self.limits = limits
        self.compiled = compiled
        self._hide_suggestions = introspection != "on"
        self._documents = Documents(schema, limits, hide_suggestions=self._hide_suggestions)
        self._introspection = Introspection(schema)
        self._introspection_allowed = introspection

    async def run(self, request: GraphQLRequest, context: RequestContext, *, may_mutate: bool) -> Answer:
        """Returns the response; raises OverRate if the viewer's allowance does not cover the operation."""
        try:
            operation = self._checked(request, context)
        except OverLimit as error:
            return Answer.refused(str(error), ErrorCode.OVER_LIMIT)
        except Forbidden as error:
            return Answer.refused(str(error), error.code)
        except Invalid as error:
            return Answer({"errors": error.errors}, request_error=True)
        if operation.node.operation is not OperationType.QUERY and not may_mutate:
            return Answer.refused("a GET request can only read; send mutations by POST", ErrorCode.METHOD_NOT_ALLOWED)
        context.allowance.pay(1 + context.cost, operation.writes, refused=REFUSED_COST)
        return await self._run(operation, request, context)

    def _checked(self, request: GraphQLRequest, context: RequestContext) -> Operation:
        """Returns a valid operation within the limits. The cost is known, and refused, before validation begins."""
        prepared = self._documents.prepare(request.query)
        operation = prepared.operation(request.operation_name)
        if isinstance(operation, Operation):
            context.operation = operation.name
            context.cost = operation.cost(self.schema, request.variables, self.limits)
            if operation.introspects:
                check_allowed(self._introspection_allowed, signed_in=context.viewer.user_id is not None)
        self._documents.validate(prepared)
        if prepared.over_limit:
            raise OverLimit(prepared.over_limit)
        if prepared.errors:
            raise Invalid(prepared.errors)
        if isinstance(operation, str):
            raise Invalid([{"message": operation, "extensions": {"code": ErrorCode.INVALID_QUERY}}])
        return operation

    async def _run(self, operation: Operation, request: GraphQLRequest, context: RequestContext) -> Answer:
        variables = operation.variables.coerced(request.variables, hide_suggestions=self._hide_suggestions)
        if isinstance(variables, list):
            return _answer(ExecutionResult(None, variables), {}, context)
        document, done = operation.document, {}
        if self.compiled:
            try:
                data = await self._run_plan(operation, variables, request, context)
                if data is not None:
                    context.compiled = True
                    return Answer({"data": data})
            except Incomplete as incomplete:
                self._note_ending(incomplete.reasons, context)
                if incomplete.rest:
                    nodes = [node for field in incomplete.rest for node in field.nodes]
                    document, done = part_of(document, operation.node, nodes), incomplete.data
            except Exception as error:
                self._note_ending([error], context)
        if operation.introspects:
            result = await self._execute_around_introspection(operation, variables, request, context)
            return _answer(result, done, context)
        return _answer(await self._execute(document, operation, request, context), done, context)

    def _note_ending(self, reasons: Sequence[Exception], context: RequestContext) -> None:
        """Reports unexpected reasons, which would go unnoticed: the client gets graphql-core's response."""
        for reason in reasons:
            if isinstance(reason, EXPECTED):
                log.debug("the plan of operation %s ended early", context.operation, exc_info=reason)
                continue
            context.plan_failure = type(reason).__name__
            self.plan_failures[context.plan_failure] += 1
            log.warning("the plan of operation %s failed; graphql-core takes over", context.operation, exc_info=reason)

    async def _run_plan(
        self, operation: Operation, variables: VariableValues, request: GraphQLRequest, context: RequestContext
    ) -> dict[str, Any] | None:
        weight = operation.weight
        plan = operation.plan(self.schema, variables)
        if operation.weight != weight:
            self._documents.keep(self._documents.prepare(request.query))
        return await plan.run(Run(context, request.variables, variables, self._introspection)) if plan else None

    async def _execute_around_introspection(
        self, operation: Operation, variables: VariableValues, request: GraphQLRequest, context: RequestContext
    ) -> ExecutionResult:
        """Leaves all fields but introspection to graphql-core, which would compute it again for each alias."""
        fields = Compiler(self.schema, operation.document, operation.node, variables).root_fields()
        meta, others = split(fields)
        nodes = [detail.node for details in others.values() for detail in details]
        result = ExecutionResult({}, None)
        if nodes:
            part = part_of(operation.document, operation.node, nodes)
            result = await self._execute(part, operation, request, context)
        if result.data is None:
            return result
        wanted = meta_fields(meta, operation.document, operation.node)
        data = {**result.data, **await self._introspection.results(wanted, request.variables)}
        return ExecutionResult({key: data[key] for key in fields}, result.errors)

    async def _execute(
        self, document: DocumentNode, operation: Operation, request: GraphQLRequest, context: RequestContext
    ) -> ExecutionResult:
        try:
            running = execute(
                self.schema,
                document,
                context_value=context,
                variable_values=request.variables,
                operation_name=operation.name,
                hide_suggestions=self._hide_suggestions,
            )
            return await running if isawaitable(running) else running
        except Exception as error:
            # graphql-core returns errors that concern the client; what it raises is its own failure.
            failure = RuntimeError("graphql-core failed")
            failure.__cause__ = error
            return ExecutionResult(None, [GraphQLError(str(failure), original_error=failure)])


def _answer(result: ExecutionResult, done: dict[str, Any], context: RequestContext) -> Answer:
    """Adds `done`, the fields of a mutation that the plan answered before graphql-core took over."""
    data = None if result.data is None else {**done, **result.data}
    if not result.errors:
        return Answer({"data": data})
    errors = [_masked(error, context) for error in result.errors]
    # An error without a path precedes the execution of fields: an invalid variable, or a failure of graphql-core.
    if data is None and all(error.path is None for error in result.errors):
        internal = any(error["extensions"]["code"] == ErrorCode.INTERNAL for error in errors)
        return Answer({"errors": errors}, request_error=True, status=500 if internal else None)
    return Answer({"errors": errors, "data": data})


def _masked(error: GraphQLError, context: RequestContext) -> dict[str, Any]:
    outcome = context.outcomes.get(str(error.path[0])) if error.path else None
    return masked(error, outcome, keyed=context.idempotency_key is not None)
