"""`heartwood serve`: runs the server until it is told to stop."""

import argparse
import asyncio
import logging

import resolvers
from datastore.client.budget import Usage
from datastore.client.errors import Denied
from datastore.local import endpoint, provision
from datastore.maintenance.migrating import check_upgrades
from resolvers import demo
from schema.declare.field_names import check_field_names
from schema.http import garbage_collection, process
from schema.http.connection_limits import allowed_connections
from schema.http.listening import listeners
from schema.http.logs import set_up_logging
from schema.http.secret import secret_for
from schema.http.services import Services
from schema.http.settings import Settings
from schema.http.shared_metrics import Board
from schema.http.supervisor import Post, Supervisor
from schema.http.worker_process import WorkerProcess

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop  # type: ignore[assignment]

log = logging.getLogger("heartwood.server")

CHECK_WITHIN = 30.0
DEMO_WITHIN = 120
ATTEMPT_WITHIN = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-demo", action="store_true", help="do not load demo data into an empty local table")
    parser.add_argument(
        "--public-demo",
        action="store_true",
        help="use the demo data even if HOST is reachable from other machines; anyone can sign in as its people",
    )


def run(arguments: argparse.Namespace) -> int:
    settings = Settings()
    secret = secret_for(settings)
    set_up_logging(settings.log_level, settings.log_format)
    with endpoint.chosen(settings) as where:
        if settings.workers > 1:
            return _run_workers(settings, secret, where, arguments)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(settings, secret, where, arguments))
    return 0


async def _serve(settings: Settings, secret: str, where: endpoint.Place, arguments: argparse.Namespace) -> None:
    with garbage_collection.paused():
        services = Services.at(where, settings, secret)
    try:
        with services.table.transport.patient(ATTEMPT_WITHIN):
            with_demo = await _prepare_table(services, arguments)
    except BaseException:
        # The event loop would wait for its connections.
        await services.close()
        raise
    await process.serve(services, lambda port: _announce(services, port, with_demo=with_demo))


async def _prepare_table(services: Services, arguments: argparse.Namespace) -> bool:
    """Creates a local table and loads its demo data. Returns False without demo data."""
    where, name = services.place, services.settings.table_name
    if services.settings.is_production and arguments.public_demo:
        raise Denied("remove --public-demo: ENVIRONMENT=production has no demo data")
    if where.is_local and not await provision.fits(services.table.transport, name, stream=where.needs_stream):
        await asyncio.to_thread(where.ensure_table, name)
    await check_upgrades(services.table.using(Usage.lasting(CHECK_WITHIN)))
    if not where.is_local:
        if services.settings.is_production:
            await _refuse_demo_accounts(services)
        return False
    return await has_demo(services, wanted=not arguments.no_demo, public=arguments.public_demo)


def _run_workers(settings: Settings, secret: str, where: endpoint.Place, arguments: argparse.Namespace) -> int:
    """Prepares everything once, then serves in several processes."""
    sockets = listeners(settings.host, settings.port, settings.workers)
    settings.max_connections = allowed_connections(settings.max_connections)
    with garbage_collection.paused():
        services = Services.at(where, settings, secret)
        check_field_names(resolvers.__path__)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        with services.table.transport.patient(ATTEMPT_WITHIN):
            with_demo = runner.run(_prepare_table(services, arguments))
        runner.run(services.close())
    garbage_collection.settle()
    board = Board(settings.workers)

    def serve(post: Post) -> int:
        set_up_logging(settings.log_level, settings.log_format, post.number)
        if where.own_engine:
            where.own_engine.child.leave()
        own = Services.at(where, settings, secret)
        own.tokens.staff = services.tokens.staff
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(process.serve(own, lambda _: post.is_ready(), WorkerProcess(post, board)))
        return 0

    port = sockets[0][0].getsockname()[1]
    return Supervisor(sockets, serve, lambda: _announce(services, port, with_demo=with_demo)).run()


async def has_demo(services: Services, *, wanted: bool, public: bool) -> bool:
    """Loads demo data into an empty local table, unless strangers could sign in with its public password.

    Returns False without demo data. `public` allows it for a server that other machines can reach.
    """
    if services.settings.is_production:
        await _refuse_demo_accounts(services)
        return False
    table = services.table.using(Usage.lasting(DEMO_WITHIN))
    host = services.settings.host
    if not services.settings.is_public or public:
        if wanted:
            await demo.load(table, services.passwords)
            # Their password is public: where strangers can sign in with it, it opens no website.
            services.tokens.staff = {} if services.settings.is_public else demo.STAFF
        return wanted
    known = await demo.accounts_with_known_password(table, services.passwords) if services.tokens.are_ours else []
    if known:
        raise Denied(
            f"the table has demo accounts ({', '.join(known)}) whose password is public, and HOST={host} lets other "
            "machines sign in with it; set HOST=127.0.0.1, or choose an empty DATA_DIR or TABLE_NAME, "
            "or start with --public-demo to allow it"
        )
    if wanted:
        log.warning("no demo data: other machines can reach HOST=%s; --public-demo loads it all the same", host)
    return False


async def _refuse_demo_accounts(services: Services) -> None:
    """Raises Denied if anyone could sign in to production with the password of the demo."""
    table = services.table.using(Usage.lasting(DEMO_WITHIN))
    known = await demo.accounts_with_known_password(table, services.passwords) if services.tokens.are_ours else []
    if known:
        raise Denied(
            f"{services.settings.table_name} has demo accounts ({', '.join(known)}) whose password is public; "
            "with ENVIRONMENT=production, set TABLE_NAME to an empty table or delete them"
        )


def _announce(services: Services, port: int, *, with_demo: bool) -> None:
    where = services.place
    host = "localhost" if services.settings.host in ("127.0.0.1", "::1", "0.0.0.0") else services.settings.host  # noqa: S104
    lines = [
        f"Heartwood   http://{host}:{port}/graphql  (open it in a browser for GraphiQL)",
        f"Table       {services.settings.table_name} at {where}{'' if where.keeps_data else ', in memory'}",
    ]
    if with_demo and services.tokens.are_ours:
        token = services.tokens.issue(demo.MAYA, tenants=demo.STAFF[demo.MAYA])
        lines.append(f'Demo        to sign in as Maya, put this into Headers: {{"Authorization": "Bearer {token}"}}')
    print("\n".join(lines), flush=True)
