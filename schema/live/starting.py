"""The start of an operation on behalf of a transport: admission, the time limit, and what both may raise."""

import asyncio
from collections.abc import Callable

from starlette.datastructures import State

from loaders.viewer import ANONYMOUS, Viewer
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.execution.limits import OverLimit
from schema.http.protocol import Answer, GraphQLRequest
from schema.http.refusals import ended, out_of_time
from schema.http.services import Services
from schema.live.open_streams import Counted
from schema.live.streams import Contexts, Stream


class Starting:
    """Starts one operation. `context` is that of its first run."""

    def __init__(self, state: State, contexts: Contexts) -> None:
        self._state = state
        self._contexts = contexts
        self.context: RequestContext | None = None
        self._is_known = True
        self._counted: Counted | None = None

    async def start(
        self,
        request: Callable[[], GraphQLRequest],
        counted: Counted,
        *,
        may_mutate: bool = True,
        may_be_followed: bool = True,
    ) -> Answer | Stream:
        """Returns the results, or the answer to a request without any. Raises one of REFUSALS, or Overloaded."""
        self._counted = counted
        services: Services = self._state.services
        seconds = services.settings.request_timeout
        try:
            async with asyncio.timeout(seconds) as timeout, self._state.admission:
                return await services.operations.start(
                    request(), self._next_context, may_mutate=may_mutate, may_be_followed=may_be_followed
                )
        except OverLimit as error:
            return ended(str(error), ErrorCode.OVER_LIMIT, self.context)
        except TimeoutError:
            if not timeout.expired():
                raise
            return out_of_time(seconds, self.context)

    async def _next_context(self) -> RequestContext:
        context = await self._contexts()
        if self._counted is not None:
            counted, self._counted = self._counted, None
            if context.viewer.user_id is not None:
                counted.claim(f"viewer {context.viewer.user_id}")
        if self._is_known:
            self.context = self.context or context
        return context

    def forget(self) -> Viewer:
        """Returns the viewer, and forgets the context: a stream would keep it, and what was read with it, for hours."""
        viewer = self.context.viewer if self.context else ANONYMOUS
        self.context = None
        self._is_known = False
        return viewer
