"""The end of a token in the middle of a stream."""

import asyncio
import time
from collections.abc import Callable

from loaders.viewer import Viewer
from resolvers.accounts.tokens import EXPIRED, LEEWAY, BadToken
from resolvers.core.error_codes import ErrorCode

# The clock of the machine may be set in the meantime.
LONGEST_WAIT = 3_600.0


class TokenExpiry:
    """Calls `expired`, with what to tell the client, when the viewer's token expires."""

    def __init__(self, viewer: Viewer, expired: Callable[[BadToken], None]) -> None:
        self._at = None if viewer.token is None else viewer.token.expires_at
        self._expired = expired
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def _wait(self) -> None:
        if self._at is None:
            return
        left = self._at + LEEWAY - time.time()
        if left > 0:
            self._timer = asyncio.get_running_loop().call_later(min(left, LONGEST_WAIT), self._wait)
        else:
            self._expired(BadToken(EXPIRED, ErrorCode.TOKEN_EXPIRED))

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
