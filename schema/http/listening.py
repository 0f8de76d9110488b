"""Sockets to listen on, one set for each of several server processes."""

import socket
import sys

SHARES_PORTS = sys.platform == "linux"
"""True if the system spreads connections evenly over the sockets of one port."""


class CannotListen(OSError):
    """The address or port is not available."""


def listeners(host: str, port: int, count: int) -> list[list[socket.socket]]:
    """Returns bound sockets for each process. Raises CannotListen.

    On Linux each process has sockets of its own: most connections to a shared one go to the first that wakes up. They
    stay bound while a process is replaced, so that connections wait for the new one.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        addresses = dict.fromkeys((family, address) for family, _, _, _, address in found)
        bound = [_bound(family, address, count) for family, address in addresses]
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return [list(sockets) for sockets in zip(*bound, strict=True)]


def _bound(family: int, address: tuple[object, ...], count: int) -> list[socket.socket]:
    # First without sharing: with it, the port could be that of another server, and both would get connections.
    first = _socket(family, address, shared=False)
    if not SHARES_PORTS:
        return [first, *(first.dup() for _ in range(count - 1))]
    address = first.getsockname()
    first.close()
    return [_socket(family, address, shared=True) for _ in range(count)]


def _socket(family: int, address: tuple[object, ...], *, shared: bool) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made
