"""`heartwood token`: prints a bearer token for an operator or a program."""

import argparse
import re

from datastore.accounts import User
from datastore.client.errors import Denied
from loaders.viewer import TENANT_ROLES
from resolvers.accounts.tokens import ROLES, Tokens
from schema.http.secret import secret_for
from schema.http.settings import Settings

DAY = 24 * 3600
MOST_DAYS = 3650


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", help="a user ID, or a name for a program, such as builder-1")
    parser.add_argument("--role", action="append", default=[], choices=ROLES, help="a role; may be repeated")
    parser.add_argument(
        "--tenant",
        action="append",
        default=[],
        type=_tenant,
        metavar="TENANT=ROLE",
        help="a role on a tenant's staff, such as acme=editor; may be repeated",
    )
    parser.add_argument("--days", type=_days, help="days until it expires; defaults to AUTH_TOKEN_LIFETIME")


def run(arguments: argparse.Namespace) -> int:
    print(token_for(Settings(), arguments.subject, arguments.role, arguments.days, dict(arguments.tenant)))
    return 0


def token_for(
    settings: Settings, subject: str, roles: list[str], days: int | None, tenants: dict[str, str] | None = None
) -> str:
    """Returns a token signed with the server's secret. The server need not be running."""
    if settings.auth_jwks_url:
        raise Denied("tokens come from the identity provider (AUTH_JWKS_URL): give roles there, in the claim `roles`")
    # Validates the subject: the server would accept a token whose subject cannot be a key, and find no user by it.
    User.key(user_id=subject)
    tokens = Tokens(settings.tokens(secret_for(settings)))
    return tokens.issue(subject, frozenset(roles), days * DAY if days else None, tenants or {})


def _tenant(text: str) -> tuple[str, str]:
    tenant_id, _, role = text.partition("=")
    if not tenant_id or role not in TENANT_ROLES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a tenant ID and a role: write it like acme=editor")
    return tenant_id, role


def _days(text: str) -> int:
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to {MOST_DAYS}")
    return int(text)
