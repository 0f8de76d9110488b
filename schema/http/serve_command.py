"""`heartwood serve`: runs the server until it is told to stop."""

import argparse
import asyncio

from datastore.client.budget import Usage
from datastore.local import endpoint
from resolvers import demo
from schema.http import process
from schema.http.logs import set_up_logging
from schema.http.secret import secret_for
from schema.http.services import Services
from schema.http.settings import Settings

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop  # type: ignore[assignment]

HELP = "run the server"
DEMO_WITHIN = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-demo", action="store_true", help="do not load demo data into an empty local table")


def run(arguments: argparse.Namespace) -> int:
    settings = Settings()
    secret = secret_for(settings)
    set_up_logging(settings.log_level, settings.log_format)
    with endpoint.chosen(settings) as where:
        if where.is_local:
            where.ensure_table(settings.table_name)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(settings, secret, where, with_demo=where.is_local and not arguments.no_demo))
    return 0


async def _serve(settings: Settings, secret: str, where: endpoint.Place, *, with_demo: bool) -> None:
    services = Services.at(where, settings, secret)
    if with_demo:
        await demo.load(services.table.using(Usage.lasting(DEMO_WITHIN)), services.passwords)
    await process.serve(services, lambda port: _banner(services, where, port, with_demo=with_demo))


def _banner(services: Services, where: endpoint.Place, port: int, *, with_demo: bool) -> str:
    host = "localhost" if services.settings.host in ("127.0.0.1", "::1", "0.0.0.0") else services.settings.host  # noqa: S104
    lines = [
        f"Heartwood   http://{host}:{port}/graphql  (open it in a browser for GraphiQL)",
        f"Table       {services.settings.table_name} at {where}{'' if where.keeps_data else ', in memory'}",
    ]
    if with_demo and services.tokens.are_ours:
        token = services.tokens.issue(demo.MAYA, tenants=demo.MAYAS_TENANTS)
        lines.append(f'Demo        to sign in as Maya, put this into Headers: {{"Authorization": "Bearer {token}"}}')
    return "\n".join(lines)
