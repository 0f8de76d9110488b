"""In production, requests come over https, which a trusted proxy confirms, or from this machine."""

from collections.abc import Sequence

import orjson
from starlette.types import Scope, Send

from resolvers.core.error_codes import ErrorCode
from schema.http import protocol
from schema.http.client_address import Network, is_trusted, parsed, peer

HSTS = (b"strict-transport-security", b"max-age=31536000")
"""For a year, browsers use https only. Subdomains are left out: published sites may have their own hosts."""
REFUSED = "send this request over https://; plain http is refused, and a token in it may have been read by others"
POLICY_VIOLATION = 1008
FORWARDED = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto"})
"""Headers that proxies add."""


class HttpsOnly:
    def __init__(self, proxies: Sequence[Network]) -> None:
        self._proxies = proxies

    def allows(self, scope: Scope) -> bool:
        """Returns True for a request that came over https, or did not leave this machine."""
        address = parsed(peer(scope))
        if address is None:
            # A socket of this machine.
            return True
        is_proxy = is_trusted(address, self._proxies)
        if not is_proxy and not address.is_loopback:
            return False
        if not is_proxy and not any(name in FORWARDED for name, _ in scope["headers"]):
            return True
        # A proxy on this machine is one, whether it was named or not.
        values = [value for name, value in scope["headers"] if name == b"x-forwarded-proto"]
        # The nearest proxy is the one that is trusted; it appends to what others wrote.
        last = values[-1].rpartition(b",")[2].strip().lower() if values else b""
        return last in (b"https", b"wss")


async def refuse(scope: Scope, send: Send) -> None:
    """Answers a request that came over plain http."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": REFUSED})
        return
    body = orjson.dumps(protocol.Answer.refused(REFUSED, ErrorCode.FORBIDDEN).body)
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        # The rest of the body is not read.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": ErrorCode.FORBIDDEN.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
