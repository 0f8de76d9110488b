"""Security events: failed sign-ins, refused tokens and the use of roles, in a log of their own.

The log adds the request's ID and the client's address. Events never hold a password, a token or a whole email address.
"""

import logging
from typing import Any

log = logging.getLogger("heartwood.security")


def sign_in_failed(login: str, account: str | None, reason: str) -> None:
    _write(logging.WARNING, "sign_in_failed", login=hint(login), account=account, reason=reason)


def sign_in_limited(account: str | None) -> None:
    _write(logging.WARNING, "sign_in_limited", account=account)


def password_change_failed(account: str) -> None:
    _write(logging.WARNING, "password_change_failed", account=account)


def token_refused(reason: str) -> None:
    _write(logging.WARNING, "token_refused", reason=reason)


def role_used(viewer: str | None, roles: list[str], tenant: str | None, tenant_role: str | None) -> None:
    _write(logging.INFO, "role_used", viewer=viewer, roles=roles, tenant=tenant, tenant_role=tenant_role)


def hint(login: str) -> str:
    """Returns enough of a login to recognize it. Some people type their password there."""
    name, at, domain = login.partition("@")
    return f"{name[:1]}…{at}{domain[:100]}"


def _write(level: int, event: str, **fields: Any) -> None:
    log.log(level, event, extra=fields)
