"""Credentials that are renewed in a thread ahead of their expiry, so that no request waits for it on the event loop."""

import asyncio
import logging
import math
import time

from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials

from datastore.client.errors import Unavailable

log = logging.getLogger("heartwood.credentials")

LOOK_EVERY = 1.0
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


class RenewedCredentials:
    """Credentials of the AWS chain. `get_frozen_credentials` never blocks; `ready` waits until there are valid ones.

    Instance roles, SSO and assumed roles issue credentials that expire. botocore renews them wherever they are used,
    with calls that block. Here a thread does it, 15 minutes ahead as botocore does. Until it succeeds, the old ones are
    used as long as they are valid.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        # botocore would renew them before it shows what it has.
        self._frozen: ReadOnlyCredentials | None = getattr(credentials, "_frozen_credentials", None)
        self._renewal: asyncio.Task[None] | None = None
        self._look_at = 0.0 if isinstance(credentials, RefreshableCredentials) else math.inf
        self._retry_at = 0.0
        self._pause = FIRST_PAUSE
        self._failure: Exception | None = None

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        if not isinstance(self._credentials, RefreshableCredentials):
            return self._credentials.get_frozen_credentials()
        if self._frozen is None:
            raise Unavailable("there are no AWS credentials yet")
        return self._frozen

    @property
    def is_due(self) -> bool:
        """True if it is time to look at their expiry: `ready` must be awaited before they are used."""
        return time.monotonic() >= self._look_at

    async def ready(self, within: float) -> None:
        """Starts a renewal when it is due. Raises Unavailable if there are no valid credentials in time."""
        credentials = self._credentials
        if not isinstance(credentials, RefreshableCredentials):
            return
        now = time.monotonic()
        if credentials.refresh_needed() and self._renewal is None and now >= self._retry_at:
            self._renewal = asyncio.create_task(self._renew(credentials))
        if self._is_valid(credentials):
            self._look_at = now + LOOK_EVERY
            return
        if self._renewal is not None:
            await asyncio.wait([self._renewal], timeout=within)
        if not self._is_valid(credentials):
            raise Unavailable(f"the AWS credentials could not be renewed: {self._failure or 'it takes too long'}")

    def _is_valid(self, credentials: RefreshableCredentials) -> bool:
        return self._frozen is not None and not credentials.refresh_needed(0)

    async def _renew(self, credentials: RefreshableCredentials) -> None:
        try:
            self._frozen = await asyncio.to_thread(credentials.get_frozen_credentials)
            self._failure = None
        except Exception as error:
            log.warning("AWS credentials could not be renewed; the next attempt is in %.0f s: %r", self._pause, error)
            self._failure = error
        finally:
            self._renewal = None
        # Also without an error: while there is time, botocore keeps and logs it, and a service may issue the same ones.
        if credentials.refresh_needed():
            self._retry_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        else:
            self._pause = FIRST_PAUSE

    async def close(self) -> None:
        """Stops waiting for a renewal; its thread ends by itself."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait([self._renewal])
