"""Opens connections to one host: directly to the first of its addresses that answers, or through an HTTP proxy."""

import asyncio
import base64
import socket
import ssl
from collections import deque
from collections.abc import Callable
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

P = TypeVar("P", bound=asyncio.Protocol)
Address = tuple[int, int, int, Any]

# Seconds until the next address is tried beside those that have not answered yet (RFC 8305, "happy eyeballs").
STAGGER = 0.25
MOST_OF_A_PROXY = 16_384


class NotConnected(OSError):
    """No connection could be opened; the message says why."""


def proxy_for(url: str) -> str | None:
    """Returns the proxy of HTTPS_PROXY or HTTP_PROXY for a URL, or None for hosts in NO_PROXY and for this machine."""
    parts = urlsplit(url)
    if is_this_machine(parts.hostname or ""):
        return None
    # Loaded only where a proxy is possible.
    from botocore.utils import get_environ_proxies

    proxy: str | None = get_environ_proxies(url).get(parts.scheme)
    if proxy is None:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


class Connector:
    """Connects to the host of a URL. `target` and `headers` are what requests to it, or to its proxy, have to send."""

    def __init__(self, url: str, tls: ssl.SSLContext | None, proxy: str | None = None) -> None:
        parts = urlsplit(url)
        self._tls = tls
        self._host, self._port = _place(parts)
        self._proxy = urlsplit(proxy) if proxy else None
        self.target = parts.path or "/"
        self.headers = ""
        if self._proxy is not None:
            if self._proxy.scheme not in ("http", "https"):
                raise ValueError(f"a proxy must be http:// or https://, not {self._proxy.scheme}://")
            if tls is None:
                self.target = f"http://{parts.netloc}{self.target}"
                self.headers = _authorization(self._proxy)

    @property
    def name(self) -> str:
        through = f" through the proxy {self._proxy.hostname}" if self._proxy else ""
        return f"{self._host}:{self._port}{through}"

    async def open(self, create: Callable[[], P]) -> P:
        """Returns the protocol of a new connection. Raises OSError."""
        loop = asyncio.get_running_loop()
        if self._proxy is None:
            return await self._direct(loop, create, self._host, self._port, self._tls)
        host, port = _place(self._proxy)
        tls_of_proxy = ssl.create_default_context() if self._proxy.scheme == "https" else None
        if self._tls is None:
            return await self._direct(loop, create, host, port, tls_of_proxy)
        tunnel = await self._direct(loop, lambda: _Tunnel(loop), host, port, tls_of_proxy)
        try:
            await tunnel.to(self._host, self._port, _authorization(self._proxy))
            protocol = create()
            encrypted = await loop.start_tls(tunnel.transport, protocol, self._tls, server_hostname=self._host)
            if encrypted is None:
                raise NotConnected("the proxy closed the connection")
        except BaseException:
            tunnel.transport.abort()
            raise
        protocol.connection_made(encrypted)
        return protocol

    async def _direct(
        self,
        loop: asyncio.AbstractEventLoop,
        create: Callable[[], P],
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
    ) -> P:
        # Both event loops resolve names in a thread. uvloop has no happy eyeballs of its own.
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        connected = await first_of(loop, [(family, kind, proto, address) for family, kind, proto, _, address in found])
        try:
            _, protocol = await loop.create_connection(
                create, sock=connected, ssl=tls, server_hostname=host if tls else None
            )
        except BaseException:
            connected.close()
            raise
        return protocol


class _Tunnel(asyncio.Protocol):
    """Asks a proxy for a connection to another host, and waits for its answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._answered: asyncio.Future[None] = loop.create_future()
        self._head = b""

    async def to(self, host: str, port: int, authorization: str) -> None:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.transport.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization}\r\n".encode("latin-1"))
        await self._answered
        status = self._head.partition(b"\r\n")[0].decode("latin-1")
        if status.split(" ")[1:2] != ["200"]:
            raise NotConnected(f"the proxy refused to connect: {status[:200]}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._head += data
        if self._answered.done():
            return
        if b"\r\n\r\n" in self._head:
            self._answered.set_result(None)
        elif len(self._head) > MOST_OF_A_PROXY:
            self._answered.set_exception(NotConnected("the proxy does not answer in HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answered.done():
            self._answered.set_exception(NotConnected(f"the proxy closed the connection: {error or 'no answer'}"))


async def first_of(loop: asyncio.AbstractEventLoop, addresses: list[Address]) -> socket.socket:
    """Connects to the first address that answers. The next one is tried if one fails or does not answer soon."""
    waiting = deque(_alternating(addresses))
    trying: set[asyncio.Task[socket.socket]] = set()
    failures: list[BaseException] = []
    try:
        while waiting or trying:
            if waiting:
                trying.add(loop.create_task(_connected(loop, waiting.popleft())))
            done, trying = await asyncio.wait(
                trying, timeout=STAGGER if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            answered = [task.result() for task in done if task.exception() is None]
            for surplus in answered[1:]:
                surplus.close()
            if answered:
                return answered[0]
            failures += [error for task in done if (error := task.exception())]
    finally:
        for task in trying:
            # If the request was canceled, the connection may be open all the same.
            if not task.cancel() and task.exception() is None:
                task.result().close()
    raise failures[0] if failures else NotConnected("the name has no address")


async def _connected(loop: asyncio.AbstractEventLoop, to: Address) -> socket.socket:
    family, kind, proto, address = to
    connecting = socket.socket(family, kind, proto)
    try:
        connecting.setblocking(False)
        await loop.sock_connect(connecting, address)
    except BaseException:
        connecting.close()
        raise
    return connecting


def _alternating(addresses: list[Address]) -> list[Address]:
    """Alternates between IPv6 and IPv4, beginning with the one that the resolver prefers."""
    preferred = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    return [address for address in chain.from_iterable(zip_longest(preferred, others)) if address is not None]


def _place(parts: SplitResult) -> tuple[str, int]:
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _authorization(proxy: SplitResult) -> str:
    if not proxy.username:
        return ""
    both = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(both.encode()).decode()}\r\n"


def is_this_machine(host: str) -> bool:
    """Returns True for localhost, ::1 and all of 127.0.0.0/8."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
