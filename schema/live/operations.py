"""Starts any operation: one with a single result or with deferred parts, a live query, or a subscription."""

from graphql import GraphQLError

from resolvers.core.error_codes import ErrorCode
from schema.execution.executor import NEEDS_STREAM, Executor
from schema.execution.incremental.results import Results
from schema.execution.limits import OverLimit
from schema.http import answer_writer
from schema.http.protocol import Answer, GraphQLRequest
from schema.http.refusals import ended
from schema.live.deferred_parts import DeferredParts, LimitsOfParts
from schema.live.live_directive import live_options
from schema.live.live_queries import LiveQueries
from schema.live.live_query import LiveQuery
from schema.live.streams import Contexts, Once, Stream
from schema.live.subscriptions import Subscriptions


class Operations:
    """Runs operations for transports that can send several results."""

    def __init__(
        self,
        executor: Executor,
        live: LiveQueries,
        subscriptions: Subscriptions,
        max_answer_bytes: int,
        request_timeout: float,
    ) -> None:
        self._executor = executor
        self.live = live
        self.subscriptions = subscriptions
        self._max_answer_bytes = max_answer_bytes
        self._limits_of_parts = LimitsOfParts(max_answer_bytes, request_timeout)

    def close(self) -> None:
        """Ends everything that clients follow."""
        for query in self.live.watching:
            if isinstance(query, LiveQuery):
                query.close()
        for watcher in self.subscriptions.watching:
            watcher.close()

    async def start(
        self, request: GraphQLRequest, contexts: Contexts, *, may_mutate: bool = True, may_be_followed: bool = True
    ) -> Answer | Stream:
        """Returns the results, or the answer to a request that cannot be executed. Raises one of REFUSALS.

        Without `may_be_followed`, the transport is not made for results that have no end: it refuses subscriptions, and
        answers a live query once.
        """
        context = await contexts()
        context.allowance.check()
        operation = self._executor.admit(request, context, may_mutate=may_mutate)
        if isinstance(operation, Answer):
            return operation
        if operation.is_subscription and not may_be_followed:
            return Answer.refused(NEEDS_STREAM, ErrorCode.BAD_REQUEST)
        if operation.is_subscription:
            return await self.subscriptions.start(operation, request, context, contexts)
        variables = operation.variables.coerced(request.variables)
        # A query with invalid variables ends with its errors.
        if not isinstance(variables, list):
            try:
                options = live_options(operation.node, variables)
            except GraphQLError as error:
                return Answer.refused(error.message, ErrorCode.BAD_REQUEST)
            if options and may_be_followed:
                return await self.live.start(operation, request, options, context, contexts)
        try:
            answer = await self._executor.begin(operation, request, context)
            if isinstance(answer, Answer) and answer.request_error:
                return answer
            context.executed = True
            if isinstance(answer, Results):
                return await DeferredParts(answer, context, self._limits_of_parts).begin()
            return Once(await answer_writer.write(answer.body, context.cost, self._max_answer_bytes))
        except OverLimit as error:
            return ended(str(error), ErrorCode.OVER_LIMIT, context)
