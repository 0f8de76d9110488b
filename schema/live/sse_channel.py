"""The event stream of a client that has all its operations on one, and the reservations of such streams."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any

import orjson

from loaders.viewer import Viewer
from resolvers.accounts.tokens import BadToken
from schema.http.refusals import REFUSALS, Refusal, refusal
from schema.live.event_stream import COMMENT, END, KEEP_ALIVE, NEXT
from schema.live.open_streams import OpenStreams
from schema.live.streams import Stream
from schema.live.token_expiry import TokenExpiry

RESERVED_FOR = 30.0
"""Seconds until a client has to connect."""
COMPLETE = b"event: complete\ndata: "


class Channel:
    """One event stream. Each operation waits until the client has got its last result."""

    def __init__(self, owner: str | None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.owner = owner
        """The user who has reserved it; None for an anonymous client."""
        self.is_open = False
        # None for one that starts.
        self._operations: dict[str, asyncio.Task[None] | None] = {}
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)
        self.held = ExitStack()

    def claim(self, id: str) -> bool:
        """Takes an ID for an operation that is about to start. Returns False if one that runs has it."""
        if id in self._operations:
            return False
        self._operations[id] = None
        return True

    def start(self, id: str, stream: Stream, viewer: Viewer, held: ExitStack) -> None:
        """Sends the results of an operation, unless the client has ended it. `held` is closed at the end."""
        held.callback(stream.close)
        if self._operations.get(id, held) is not None:
            held.close()
            return
        task = self._operations[id] = asyncio.ensure_future(self._send(id, stream, viewer))
        task.add_done_callback(lambda done: self._forget(id, done))
        task.add_done_callback(lambda _: held.close())

    def _forget(self, id: str, task: "asyncio.Task[None]") -> None:
        # The client may have used the ID again.
        if self._operations.get(id) is task:
            del self._operations[id]

    def stop(self, id: str) -> None:
        """Ends an operation for a client that does not want more, or one that has no results."""
        if task := self._operations.pop(id, None):
            task.cancel()

    async def _send(self, id: str, stream: Stream, viewer: Viewer) -> None:
        name = orjson.dumps(id)
        refused: Refusal | None = None
        sending = asyncio.current_task()

        def expire(error: BadToken) -> None:
            nonlocal refused
            refused = error
            assert sending is not None
            sending.cancel()

        expiry = TokenExpiry(viewer, expire)
        try:
            while (result := await stream.next()) is not None:
                await self._outbox.put(_next(name, result))
        except REFUSALS as error:
            refused = error
        except asyncio.CancelledError:
            if refused is None:
                raise
        finally:
            expiry.cancel()
        if refused is not None:
            await self._outbox.put(_next(name, orjson.dumps(refusal(refused).body)))
        await self._outbox.put(b'%b{"id":%b}%b' % (COMPLETE, name, END))

    async def events(self, streams: OpenStreams, fields: dict[str, Any]) -> AsyncIterator[bytes]:
        """Yields the events until the client leaves or the server stops."""
        stopping: asyncio.Future[Any] = asyncio.ensure_future(streams.stopping.wait())
        coming: asyncio.Future[Any] | None = None
        fields["results"] = 0
        try:
            # Some browsers wait for a first byte.
            yield COMMENT
            while not streams.stopping.is_set():
                coming = coming or asyncio.ensure_future(self._outbox.get())
                await asyncio.wait([coming, stopping], timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    yield COMMENT
                    continue
                event, coming = coming.result(), None
                fields["results"] += event.startswith(NEXT)
                yield event
        finally:
            for task in (stopping, coming):
                if task is not None:
                    task.cancel()
            self.close()

    def close(self) -> None:
        for id in [*self._operations]:
            self.stop(id)
        self.held.close()


def _next(name: bytes, result: bytes) -> bytes:
    return b'%b{"id":%b,"payload":%b}%b' % (NEXT, name, result, END)


class Channels:
    """The channels of a process. One counts as a stream of its client, from its reservation on."""

    def __init__(self, streams: OpenStreams) -> None:
        self._streams = streams
        self._channels: dict[str, Channel] = {}

    def reserve(self, owner: str | None, client: str) -> Channel:
        """Returns a new channel. Raises BadRequest at a limit."""
        channel = Channel(owner)
        channel.held.enter_context(self._streams.one_of(client, "sse"))
        self._channels[channel.token] = channel
        expiry = asyncio.get_running_loop().call_later(RESERVED_FOR, self._expire, channel)
        channel.held.callback(expiry.cancel)
        channel.held.callback(self._channels.pop, channel.token, None)
        return channel

    def _expire(self, channel: Channel) -> None:
        if not channel.is_open:
            channel.close()

    def get(self, token: str) -> Channel | None:
        return self._channels.get(token)
