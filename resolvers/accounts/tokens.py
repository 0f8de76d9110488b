"""Bearer tokens: identify the viewer of a request."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import jwt

from datastore.accounts import User
from datastore.client.errors import InvalidKey
from loaders.threads import Busy, Lane
from loaders.viewer import ANONYMOUS, TENANT_ROLES, TokenAge, Viewer
from resolvers.core.error_codes import ErrorCode

KEYS_WITHIN = 5.0
KEYS_WAITING = 100
UNAVAILABLE = "the identity provider's keys cannot be read now; try again"
EXPIRED = "the token has expired; log in again"
# The server does not say which check failed: that would help only those who forge tokens. The log says it.
NOT_OURS = "the token is not valid; send the one that `logIn` or `signUp` returned, unchanged"
NOT_OF_THE_PROVIDER = "the token is not valid; send one that the identity provider issued for this server, unchanged"
JWKS_ALGORITHMS = ["RS256", "ES256"]
LEEWAY = 30
# Short, because an identity provider may withdraw a key.
VERIFIED_FOR = 60.0
MOST_VERIFIED = 10_000
ROLES = ("admin", "builder")


class BadToken(Exception):
    """The token is invalid or has ended. The message says what to do; the cause is for the log only."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.TOKEN_INVALID) -> None:
        super().__init__(message)
        self.code = code


class KeysUnavailable(Exception):
    """The identity provider does not respond, so tokens cannot be verified. `retry_after` is in seconds."""

    retry_after = 5


@dataclass(frozen=True)
class TokenSettings:
    """HS256 with our own secret, or the keys of an identity provider."""

    secret: str
    lifetime: int = 12 * 3600
    jwks_url: str | None = None
    issuer: str | None = None
    audience: str | None = None


class Tokens:
    def __init__(self, settings: TokenSettings) -> None:
        self._settings = settings
        self._keys = jwt.PyJWKClient(settings.jwks_url, timeout=KEYS_WITHIN) if settings.jwks_url else None
        # While the provider does not respond, requests wait in line, and no thread of anything else waits with them.
        self._lane = Lane("checks of tokens", threads=2, waiting=KEYS_WAITING)
        # Tenant roles that an account's own tokens have, by user ID: those of the demo's people, on a local server.
        self.staff: Mapping[str, Mapping[str, str]] = {}
        # The viewers of tokens verified a moment ago, by digest, and until when; the oldest come first.
        self._verified: dict[bytes, tuple[Viewer, float]] = {}

    @property
    def are_ours(self) -> bool:
        """True if this server issues tokens, and no identity provider does."""
        return self._keys is None

    def issue(
        self,
        user_id: str,
        roles: frozenset[str] = frozenset(),
        lifetime: int | None = None,
        tenants: Mapping[str, str] = MappingProxyType({}),
        *,
        epoch: int | None = None,
    ) -> str:
        """Returns a token. `epoch` is the account's; None for tokens that are compared by their time of issue."""
        now = int(time.time())
        claims: dict[str, Any] = {"sub": user_id, "iat": now, "exp": now + (lifetime or self._settings.lifetime)}
        if epoch is not None:
            claims["epoch"] = epoch
        if roles:
            claims["roles"] = sorted(roles)
        if tenants := {**self.staff.get(user_id, {}), **tenants}:
            claims["tenants"] = tenants
        if self._settings.issuer:
            claims["iss"] = self._settings.issuer
        if self._settings.audience:
            claims["aud"] = self._settings.audience
        return jwt.encode(claims, self._settings.secret, algorithm="HS256")

    async def viewer(self, authorization: str | None) -> Viewer:
        """Returns the anonymous viewer without a header; raises BadToken for an invalid one."""
        if authorization is None:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise BadToken("write the header as `Authorization: Bearer <token>`")
        digest = sha256(token.encode(errors="replace")).digest()
        viewer, until = self._verified.get(digest, (ANONYMOUS, 0.0))
        if time.time() < until:
            return viewer
        try:
            claims = await self._claims(token.strip())
            # We never put addresses into our own tokens.
            viewer = _viewer(claims, None if self.are_ours else _verified_email(claims))
            viewer = replace(viewer, token=_age(claims, has_epoch=self.are_ours))
        except jwt.ExpiredSignatureError as error:
            raise BadToken(EXPIRED, ErrorCode.TOKEN_EXPIRED) from error
        except (jwt.PyJWTError, InvalidKey) as error:
            raise BadToken(NOT_OURS if self.are_ours else NOT_OF_THE_PROVIDER) from error
        self._keep(digest, viewer, min(claims["exp"] + LEEWAY, time.time() + VERIFIED_FOR))
        return viewer

    def _keep(self, digest: bytes, viewer: Viewer, until: float) -> None:
        self._verified.pop(digest, None)
        self._verified[digest] = viewer, until
        if len(self._verified) > MOST_VERIFIED:
            del self._verified[next(iter(self._verified))]

    async def _claims(self, token: str) -> dict[str, Any]:
        if self._keys is None:
            return self._decode(token, self._settings.secret, ["HS256"])
        # PyJWT caches the keys; fetching a new one from the provider blocks.
        try:
            key = await self._lane.run(partial(_provided_key, self._keys, token), seconds=2 * KEYS_WITHIN)
        except Busy as error:
            raise KeysUnavailable(UNAVAILABLE) from error
        return self._decode(token, key.key, [name for name in JWKS_ALGORITHMS if name == key.algorithm_name])

    def _decode(self, token: str, key: Any, algorithms: list[str]) -> dict[str, Any]:
        return jwt.decode(
            token,
            key,
            algorithms=algorithms,
            issuer=self._settings.issuer,
            audience=self._settings.audience,
            leeway=LEEWAY,
            options={"require": ["sub", "exp"]},
        )


def _provided_key(keys: jwt.PyJWKClient, token: str) -> jwt.PyJWK:
    try:
        keys.get_signing_keys()
    except (jwt.PyJWTError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise KeysUnavailable(UNAVAILABLE) from error
    return keys.get_signing_key_from_jwt(token)


def _verified_email(claims: dict[str, Any]) -> str | None:
    """Cognito writes "true", others true."""
    email, verified = claims.get("email"), claims.get("email_verified")
    is_verified = verified is True or verified == "true"
    return email.lower() if is_verified and isinstance(email, str) else None


def _viewer(claims: dict[str, Any], verified_email: str | None) -> Viewer:
    roles = claims.get("roles", [])
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise jwt.InvalidTokenError("the claim `roles` is not a list of names")
    # Raises InvalidKey for a subject that cannot be the key of an account.
    User.key(user_id=claims["sub"])
    return Viewer(
        claims["sub"],
        frozenset(roles),
        verified_email,
        tenants=_tenants(claims.get("tenants")),
    )


def _age(claims: dict[str, Any], *, has_epoch: bool) -> TokenAge:
    """An identity provider knows nothing of epochs. A token that does not say when it was issued counts as old."""
    epoch = claims.get("epoch") if has_epoch else None
    if epoch is not None and type(epoch) is not int:
        raise jwt.InvalidTokenError("the claim `epoch` is not a number")
    return TokenAge(epoch, int(claims.get("iat", 0)), int(claims["exp"]))


def _tenants(claim: Any) -> frozenset[tuple[str, str]]:
    """Such as {"acme": "editor"}."""
    tenants = {} if claim is None else claim
    if not isinstance(tenants, dict) or not all(role in TENANT_ROLES for role in tenants.values()):
        roles = ", ".join(TENANT_ROLES)
        raise jwt.InvalidTokenError(f"the claim `tenants` is not an object of tenants' ids and roles ({roles})")
    return frozenset(tenants.items())
