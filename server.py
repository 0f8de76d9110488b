"""Heartwood's server: the process, how it starts and ends, and its command line."""

import argparse
import asyncio
import contextlib
import os
import re
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError, Denied
from datastore.local import endpoint, provision
from datastore.local.engine import EngineFailed
from resolvers import demo
from resolvers.accounts.tokens import ROLES, TENANT_ROLES, Tokens
from schema.http import garbage_collection
from schema.http.app import create_app
from schema.http.logs import set_up_logging
from schema.http.services import Services
from schema.http.settings import Settings, explained

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop  # type: ignore[assignment]

GRACE = 10
DEMO_WITHIN = 120
HEADERS_WITHIN = 10.0
DAY = 24 * 3600
MOST_DAYS = 3650


def secret_for(settings: Settings) -> str:
    """AUTH_SECRET, or one made on the first start at home. Elsewhere it is asked for: all servers share it."""
    if settings.auth_secret:
        return settings.auth_secret
    if not endpoint.is_at_home(settings):
        raise Denied("set AUTH_SECRET (32 characters or more): it signs tokens and cursors, the same on every server")
    return _kept_secret(settings.data_dir / "secret")


def _kept_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text()


class Impatient(HttpToolsProtocol):
    """Ends connections that are opened, or begin a request, and then keep silent."""

    silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self.silence = self.loop.call_later(HEADERS_WITHIN, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.silence is not None:
            self.silence.cancel()


class Server(uvicorn.Server):
    """Says where it is once it is there."""

    banner: Callable[[int], str]

    def capture_signals(self) -> Any:
        """`_serve` does that: uvicorn would end the process by the signal it caught, as if it had not been handled."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(self.banner(self.servers[0].sockets[0].getsockname()[1]), flush=True)


async def _serve(settings: Settings, where: endpoint.Place, *, with_demo: bool) -> None:
    services = Services.at(where, settings, secret_for(settings))
    with_demo = with_demo and where.is_local
    if with_demo:
        await demo.load(services.table.using(Usage.lasting(DEMO_WITHIN)), services.passwords)
    config = uvicorn.Config(
        create_app(services),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        http=Impatient,
        server_header=False,
    )
    garbage_collection.settle()
    server = Server(config)
    server.banner = lambda port: _banner(services, where, port, with_demo=with_demo)
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, server.handle_exit, ending, None)
    await server.serve()
    if not server.started:
        raise EngineFailed(f"nothing listens at {settings.host}:{settings.port}")


def _banner(services: Services, where: endpoint.Place, port: int, *, with_demo: bool) -> str:
    host = "localhost" if services.settings.host in ("127.0.0.1", "::1", "0.0.0.0") else services.settings.host  # noqa: S104
    lines = [
        f"Heartwood   http://{host}:{port}/graphql  (open it in a browser for GraphiQL)",
        f"Table       {services.settings.table_name} at {where}{'' if where.keeps_data else ', in memory'}",
    ]
    if with_demo and services.tokens.are_ours:
        token = services.tokens.issue(demo.MAYA, tenants=demo.MAYAS_TENANTS)
        lines.append(f'Demo        to be Maya, put this into Headers: {{"Authorization": "Bearer {token}"}}')
    return "\n".join(lines)


def _run(settings: Settings, *, with_demo: bool) -> None:
    set_up_logging(settings.log_level, settings.log_format)
    with endpoint.chosen(settings) as where:
        if where.is_local:
            where.ensure_table(settings.table_name)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(settings, where, with_demo=with_demo))


def token_for(
    settings: Settings, subject: str, roles: list[str], days: int | None, tenants: dict[str, str] | None = None
) -> str:
    """For operators: signed with the secret that the server has, whether it runs or not."""
    if settings.auth_jwks_url:
        raise Denied("tokens come from the identity provider (AUTH_JWKS_URL): give roles there, in the claim `roles`")
    # As long as a key may be, or the server would take the token and find nobody by it.
    User.key(user_id=subject)
    tokens = Tokens(settings.tokens(secret_for(settings)))
    return tokens.issue(subject, frozenset(roles), days * DAY if days else None, tenants or {})


def _tenant(text: str) -> tuple[str, str]:
    tenant_id, _, role = text.partition("=")
    if not tenant_id or role not in TENANT_ROLES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a tenant's id and a role: write it like acme=editor")
    return tenant_id, role


def _days(text: str) -> int:
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to {MOST_DAYS}")
    return int(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heartwood", description="One GraphQL API over one DynamoDB table. Without a command, the server."
    )
    parser.add_argument("--no-demo", action="store_true", help="do not load demo data into an empty local table")
    commands = parser.add_subparsers(dest="command", metavar="command")
    token = commands.add_parser("token", help="print a bearer token, where this server issues them")
    token.add_argument("subject", help="a user id, or a name for a program such as builder-1")
    token.add_argument("--role", action="append", default=[], choices=ROLES, help="may be given several times")
    token.add_argument(
        "--tenant", action="append", default=[], type=_tenant, help="a tenant and the role on its staff: acme=editor"
    )
    token.add_argument("--days", type=_days, help="how long it is valid; AUTH_TOKEN_LIFETIME unless told")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    try:
        settings = Settings()
        if arguments.command == "token":
            tenants = dict(arguments.tenant)
            print(token_for(settings, arguments.subject, arguments.role, arguments.days, tenants))
        else:
            _run(settings, with_demo=not arguments.no_demo)
    except ValidationError as error:
        print(explained(error), file=sys.stderr)
        return 2
    except (EngineFailed, provision.TableDiffers, DatastoreError, BotoCoreError, ClientError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
