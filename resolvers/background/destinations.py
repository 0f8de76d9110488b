"""Destinations of webhooks: URLs and addresses outside of the server's own network.

A webhook makes the server connect to an address that a user has chosen. Inside the network of the server, that could
be a database, an administration page or the metadata service of a cloud provider, which trust who reaches them.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

MAX_URL = 1_000
HTTPS_PORT = 443

# Names that resolvers within a network may answer.
_INSIDE = ("localhost", "internal", "local", "localdomain", "lan", "home", "corp", "intranet", "home.arpa")

_printable = re.compile(r"[!-~]+").fullmatch
_host = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\]", re.IGNORECASE).fullmatch
# A number at the end: resolvers take 127.1 and 0x7f.0.0.1 for addresses.
_no_name = re.compile(r".*\.\..*|(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE).fullmatch

# For protocols, such as the metadata service of a cloud provider. Python takes parts of it for global.
_PROTOCOLS = IPv4Network("192.0.0.0/24")

# Allocated for global unicast; all other IPv6 addresses are special or not in use.
_GLOBAL = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")


class BadDestination(ValueError):
    """The URL or its address is not one to send to; the message says why, and what to do."""


@dataclass(frozen=True)
class Destination:
    """The parts of a checked URL. `authority` is for the Host header."""

    secure: bool
    host: str
    port: int
    target: str

    @classmethod
    def of(cls, url: str, *, allow_private: bool = False) -> "Destination":
        """Parses a URL. `allow_private` permits http, any port and this network: for receivers on the same machine."""
        if not url.isascii():
            raise BadDestination("a URL is ASCII; write the host as xn--…, and percent-encode the path")
        if len(url) > MAX_URL or not _printable(url) or "\\" in url or "#" in url:
            raise BadDestination(f"a URL has at most {MAX_URL:,} characters, without spaces, backslashes and `#`")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise BadDestination("this is not a URL; write it like https://example.org/hooks") from None
        if "@" in parts.netloc:
            raise BadDestination("a URL must not contain a user name or password; verify the signature instead")
        if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
            raise BadDestination("a URL begins with https://")
        is_host = _host(f"[{host}]" if ":" in host else host) and (_literal(host) or not _no_name(host))
        if not is_host:
            raise BadDestination("the URL has no valid host name; write it like https://example.org/hooks")
        secure = parts.scheme == "https"
        found = cls(
            secure,
            host,
            port or (HTTPS_PORT if secure else 80),
            (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        )
        if not allow_private:
            found._check_public()
        return found

    def _check_public(self) -> None:
        if self.port != HTTPS_PORT:
            raise BadDestination(f"the port must be {HTTPS_PORT}, not {self.port}; leave it out")
        name = self.host.lower()
        address = _literal(name)
        if address is not None:
            check_address(address)
        elif "." not in name or any(name == inside or name.endswith(f".{inside}") for inside in _INSIDE):
            raise BadDestination(f"{name} is a name inside of a network; use a public host name")

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = HTTPS_PORT if self.secure else 80
        return host if self.port == usual else f"{host}:{self.port}"


def check_address(address: str) -> None:
    """Raises BadDestination unless an address is public."""
    if not _is_public(ip_address(address.partition("%")[0])):
        raise BadDestination(f"the address {address} is not public; use a host that the whole internet can reach")


def _literal(host: str) -> str | None:
    try:
        return str(ip_address(host))
    except ValueError:
        return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and address not in _PROTOCOLS
    if address.ipv4_mapped is not None:
        return _is_public(address.ipv4_mapped)
    if address in _NAT64:
        return _is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    # 6to4 carries an IPv4 address too, but it is no longer in use.
    return address in _GLOBAL and address not in _6TO4 and address.is_global
