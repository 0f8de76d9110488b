"""Runs a request: with the operation's plan, or with graphql-core if there is no plan or it does not cover a field."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Any, ClassVar

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    OperationType,
    experimental_execute_incrementally,
)
from graphql.execution.values import VariableValues

from datastore.client.errors import DatastoreError
from datastore.model.decoding import NotRead
from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from resolvers.core.problems import Refused
from schema.declare.context import RequestContext
from schema.execution.compiler import Compiler, Uncovered
from schema.execution.documents import Documents, Operation
from schema.execution.field_errors import Reported, reported
from schema.execution.incremental.results import Results, begin
from schema.execution.incremental.run import IncrementalRun
from schema.execution.introspection import Allowed, Forbidden, Introspection, check_allowed, meta_fields, split
from schema.execution.leaf_writer import Unfit
from schema.execution.limits import Limits, OverLimit
from schema.execution.parts import part_of
from schema.execution.plans import Plan, QueryPlan, Result
from schema.execution.run import Incomplete, Run
from schema.http.protocol import Answer, GraphQLRequest

log = logging.getLogger("heartwood.execution")


class Invalid(Exception):
    """The document cannot be executed. `errors` are those of the response."""

    def __init__(self, errors: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.errors = errors


NEEDS_STREAM = "a subscription has many results: send it with the header `accept: text/event-stream`, or over WebSocket"
NOT_DEFERRED = "the plan of operation %s failed; nothing is deferred"

# Errors of fields, and reasons to leave an operation to graphql-core. Any other exception is a bug.
EXPECTED = (Uncovered, Unfit, GraphQLError, DatastoreError, Refused)


class Executor:
    """`compiled=False` leaves everything to graphql-core."""

    plan_failures: ClassVar[Counter[str]] = Counter()
    """Unexpected exceptions in plans of this process, by name."""

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

    @property
    def document_lookups(self) -> dict[str, int]:
        """Numbers of documents that were known, and that were parsed."""
        return {"hit": self._documents.hits, "miss": self._documents.misses}

    async def run(self, request: GraphQLRequest, context: RequestContext, *, may_mutate: bool) -> Answer:
        """Returns the response; raises OverRate if the viewer's allowance does not cover the operation."""
        operation = self.admit(request, context, may_mutate=may_mutate)
        if isinstance(operation, Answer):
            return operation
        if operation.is_subscription:
            return Answer.refused(NEEDS_STREAM, ErrorCode.BAD_REQUEST)
        return await self.execute(operation, request, context)

    def admit(self, request: GraphQLRequest, context: RequestContext, *, may_mutate: bool) -> Operation | Answer:
        """Returns a valid operation that is paid for, or the response to one that cannot be executed."""
        try:
            operation = self._checked(request, context)
        except OverLimit as error:
            return Answer.refused(str(error), ErrorCode.OVER_LIMIT)
        except Forbidden as error:
            return Answer.refused(str(error), error.code)
        except Invalid as error:
            return Answer({"errors": error.errors}, request_error=True)
        if operation.node.operation is OperationType.MUTATION and not may_mutate:
            return Answer.refused("a GET request can only read; send mutations by POST", ErrorCode.METHOD_NOT_ALLOWED)
        context.allowance.pay(1 + context.cost, operation.writes, refused=REFUSED_COST)
        return operation

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

    async def execute(self, operation: Operation, request: GraphQLRequest, context: RequestContext) -> Answer:
        """Returns the response of an operation that was admitted."""
        variables = operation.variables.coerced(request.variables, hide_suggestions=self._hide_suggestions)
        if isinstance(variables, list):
            return _answer(ExecutionResult(None, variables), {}, context)
        document, done, errors = operation.document, {}, []
        plan = context.plan = self._plan(operation, variables, request, context)
        if isinstance(plan, QueryPlan):
            context.load.scheduler.wanted = plan.wanted
        if self.compiled and plan:
            run = Run(context, request.variables, variables, self._introspection)
            try:
                result = await self._run_plan(plan, run)
                context.compiled = True
                return _response(*result)
            except Incomplete as incomplete:
                self._note(incomplete.reasons, context, "the plan of operation %s failed; graphql-core takes over")
                if incomplete.rest:
                    document = part_of(document, operation.node, incomplete.rest)
                    done, errors = incomplete.data, [*incomplete.errors]
            except Exception as error:
                self._note([error], context, "the plan of operation %s failed; graphql-core takes over")
            finally:
                self._note(run.noted.values(), context, "a field of operation %s failed")

        async def rest() -> ExecutionResult:
            if operation.introspects:
                return await self._execute_around_introspection(operation, variables, request, context)
            return await self._execute(document, operation, request, context)

        executed = await rest()
        if isinstance(plan, QueryPlan) and _lacked_a_field(error.original_error for error in executed.errors or ()):
            self._read_all_fields(plan, context)
            executed = await rest()
        return _answer(executed, done, context, errors)

    async def begin(self, operation: Operation, request: GraphQLRequest, context: RequestContext) -> Answer | Results:
        """Returns the first of the results of an operation that was admitted, or its only one.

        An operation that its plan does not cover has only one, for which @defer and @stream mean nothing.
        """
        variables = operation.variables.coerced(request.variables, hide_suggestions=self._hide_suggestions)
        if self.compiled and not isinstance(variables, list):
            plan = self._compiled(operation, operation.incremental_plan, variables, request, context)
            results = await self._begin(plan, variables, request, context) if plan else None
            if results is not None:
                context.compiled = True
                return results if results.only is None else Answer(results.only)
        return await self.execute(operation, request, context)

    async def _begin(
        self, plan: Plan, variables: VariableValues, request: GraphQLRequest, context: RequestContext
    ) -> Results | None:
        """Returns None if the plan fails. A command that it has carried out is not carried out again."""
        if isinstance(plan, QueryPlan):
            context.load.scheduler.wanted = plan.wanted

        def new_run() -> IncrementalRun:
            return IncrementalRun(context, request.variables, variables, self._introspection)

        def note(errors: Iterable[Exception]) -> None:
            errors = [*errors]
            self._note(errors, context, "a deferred part of operation %s failed")
            if isinstance(plan, QueryPlan) and _lacked_a_field(errors):
                # It is too late for this request.
                plan.wanted.widen()

        try:
            run, results = await begin(plan, new_run, self.limits.parts, note)
        except Incomplete as incomplete:
            self._note(incomplete.reasons, context, NOT_DEFERRED)
        except OverLimit:
            raise
        except Exception as error:
            self._note([error], context, NOT_DEFERRED)
        else:
            self._note(run.noted.values(), context, "a field of operation %s failed")
            if not _lacked_a_field(run.noted.values()):
                return results
        if isinstance(plan, QueryPlan):
            self._read_all_fields(plan, context)
        return None

    def _note(self, errors: Iterable[Exception], context: RequestContext, message: str) -> None:
        """Reports unexpected exceptions as bugs."""
        for error in errors:
            if isinstance(error, EXPECTED):
                log.debug(message, context.operation, exc_info=error)
                continue
            context.plan_failure = type(error).__name__
            self.plan_failures[context.plan_failure] += 1
            log.warning(message, context.operation, exc_info=error)

    def _plan(
        self, operation: Operation, variables: VariableValues, request: GraphQLRequest, context: RequestContext
    ) -> Plan | None:
        return self._compiled(operation, operation.plan, variables, request, context)

    def _compiled(
        self,
        operation: Operation,
        plan_for: Callable[[GraphQLSchema, VariableValues], Plan | None],
        variables: VariableValues,
        request: GraphQLRequest,
        context: RequestContext,
    ) -> Plan | None:
        weight = operation.weight
        try:
            plan = plan_for(self.schema, variables)
        except Exception as error:
            self._note([error], context, "the operation %s cannot be compiled; graphql-core takes over")
            return None
        if operation.weight != weight:
            self._documents.keep(self._documents.prepare(request.query))
        return plan

    async def _run_plan(self, plan: Plan, run: Run) -> Result:
        try:
            result = await plan.run(run)
        except Incomplete as incomplete:
            if not _lacked_a_field(incomplete.reasons):
                raise
        else:
            if not _lacked_a_field(run.noted.values()):
                return result
        return await self._run_whole(plan, run)

    async def _run_whole(self, plan: Plan, run: Run) -> Result:
        """Runs a plan again that did not know a field it uses. It reads all fields, from here on."""
        assert isinstance(plan, QueryPlan)
        self._note(run.noted.values(), run.context, "the plan of operation %s did not read a field that it needs")
        self._read_all_fields(plan, run.context)
        again = Run(run.context, run.given, run.variables, run.introspection)
        try:
            return await plan.run(again)
        finally:
            run.noted = again.noted

    def _read_all_fields(self, plan: QueryPlan, context: RequestContext) -> None:
        plan.wanted.widen()
        context.load.begin_again()

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
            # Nothing is deferred: `document` does not have the directives, but the schema, which `execute` refuses.
            running = experimental_execute_incrementally(
                self.schema,
                document,
                context_value=context,
                variable_values=request.variables,
                operation_name=operation.name,
                hide_suggestions=self._hide_suggestions,
            )
            executed = await running if isawaitable(running) else running
            assert isinstance(executed, ExecutionResult)
            return executed
        except Exception as error:
            # graphql-core returns errors that concern the client; what it raises is its own failure.
            failure = RuntimeError("graphql-core failed")
            failure.__cause__ = error
            return ExecutionResult(None, [GraphQLError(str(failure), original_error=failure)])


def _lacked_a_field(errors: Iterable[Exception | None]) -> bool:
    return any(isinstance(error, NotRead) for error in errors)


def _answer(
    result: ExecutionResult, done: dict[str, Any], context: RequestContext, errors: Sequence[Reported] = ()
) -> Answer:
    """Adds `done` and `errors`, of the fields of a mutation that the plan answered before graphql-core took over."""
    data = None if result.data is None else {**done, **result.data}
    found = [reported(error, context) for error in result.errors or ()]
    # An error without a path precedes the execution of fields: an invalid variable, or a failure of graphql-core.
    if data is None and all(error.path is None for error in result.errors or ()):
        internal = any(error["extensions"]["code"] == ErrorCode.INTERNAL for error in found)
        return Answer({"errors": found}, request_error=True, status=500 if internal else None)
    return _response(data, [*errors, *found])


def _response(data: dict[str, Any] | None, errors: Sequence[Reported]) -> Answer:
    return Answer({"errors": errors, "data": data} if errors else {"data": data})
