"""The address of the client: the peer of the socket, or what a trusted proxy says about it."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.requests import HTTPConnection
from starlette.types import Scope

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MOST_HOPS = 20
"""Entries of X-Forwarded-For that are read, from the right. Chains of real proxies are shorter."""


def client_address(request: HTTPConnection) -> str:
    """Returns the client's address, which `Front` has found. X-Forwarded-For counts only from TRUSTED_PROXIES."""
    found: str = request.state.client_address
    return found


def address_in(scope: Scope, trusted: Sequence[Network]) -> str:
    """Returns the address of the client of an ASGI scope, or "" if the socket has no address.

    Each proxy appends the peer it saw, so only the part of the list that trusted proxies wrote is believed: from the
    right, up to the first address that is not a trusted proxy. An entry that is not an address ends the list too.
    """
    host = peer(scope)
    address = parsed(host)
    if address is None or not is_trusted(address, trusted):
        return host if address is None else str(address)
    for entry in _forwarded_for(scope):
        hop = parsed(_without_port(entry))
        if hop is None:
            break
        address = hop
        if not is_trusted(hop, trusted):
            break
    return str(address)


def peer(scope: Scope) -> str:
    """Returns the other end of the socket, as the socket says it."""
    return scope["client"][0] if scope.get("client") else ""


def is_trusted(address: Address, trusted: Iterable[Network]) -> bool:
    return any(address in network for network in trusted)


@lru_cache(maxsize=10_000)
def subject(address: str) -> str:
    """Returns what rate limits count: an IPv4 address, or the /64 network of an IPv6 address.

    One subscriber has at least a /64 and can use any address in it.
    """
    known = parsed(address)
    if isinstance(known, IPv6Address):
        return str(IPv6Network((int(known), 64), strict=False))
    return str(known or address)


def parsed(text: str) -> Address | None:
    """Returns the address, an IPv4-mapped IPv6 address as IPv4; None if the text is not an address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def networks(value: str | Iterable[object]) -> list[Network]:
    """Returns the networks named in a setting; raises ValueError for anything else, and for all addresses at once."""
    names = value.split(",") if isinstance(value, str) else map(str, value)
    found = [ip_network(name.strip()) for name in names if name.strip()]
    if any(network.prefixlen == 0 for network in found):
        raise ValueError("name your own proxies; trusting every address lets any client choose its address")
    return found


def _forwarded_for(scope: Scope) -> list[str]:
    """Returns the last entries of X-Forwarded-For, the nearest proxy's first. Repeated headers are one list."""
    values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    entries = b",".join(values).decode("latin-1").rsplit(",", MOST_HOPS)
    return [entry.strip() for entry in reversed(entries[-MOST_HOPS:]) if entry.strip()]


def _without_port(entry: str) -> str:
    """Some proxies append the port: 192.0.2.1:4711 or [2001:db8::1]:4711."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
