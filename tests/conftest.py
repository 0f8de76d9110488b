"""Fixtures. ENGINE selects dynoxide (the default if installed), moto or dynamodb-local.

DYNAMODB_ENDPOINT selects any other engine.

THOROUGH=1 adds the tests marked slow, and runs more Hypothesis examples.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from typing import Any

import hypothesis
import pytest

from datastore.client import transport
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.local import engine as engines
from datastore.local.endpoint import LOCAL_REGION
from resolvers.accounts.passwords import Passwords
from schema.build import build
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.http import garbage_collection
from schema.http.services import Services
from schema.http.settings import Settings
from tests.support import dynamodb_local
from tests.support.cards import Workshop
from tests.support.cms import Website
from tests.support.fault_proxy import FaultProxy
from tests.support.genealogy import Kindred
from tests.support.graph import Graph
from tests.support.hot import Hot
from tests.support.neighborhoods import Town
from tests.support.social import Society
from tests.support.tables import CREDENTIALS, Tables, the_engine_at

SECRET = "uT7-qPz0_vB3xKd9LsW2mYc6RgHn4JfE1oAi8XtQ"

for name in [name for name in os.environ if name.startswith(("AWS_", "AUTH_", "MAIL_"))]:
    del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"

# On a slow machine, a retry would change the counted calls; tests of timeouts set their own.
transport.ATTEMPT_TIMEOUT = 30.0


THOROUGH = bool(os.environ.get("THOROUGH"))
UNHURRIED: Any = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("usual", max_examples=25, **UNHURRIED)
hypothesis.settings.register_profile("thorough", max_examples=200, **UNHURRIED)
hypothesis.settings.load_profile("thorough" if THOROUGH else "usual")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "endpoint" in getattr(item, "fixturenames", ()):
            item.add_marker("uses_engine")
    if not THOROUGH:
        slow = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores: tests wait for deadlines, and for servers and engines to start and stop."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


def pytest_collection_finish() -> None:
    """Tunes the garbage collector as a server does, so that it does not scan all tests and modules again and again."""
    garbage_collection.settle()


@pytest.fixture(autouse=True)
def no_plan_failures() -> Iterator[None]:
    """Fails a test in which a plan ended for an unexpected reason, even if graphql-core returned a response."""
    Executor.plan_failures.clear()
    yield
    assert Executor.plan_failures == {}, "a plan ended for an unexpected reason; the log has the traceback"


@pytest.fixture(scope="session")
def engine_name() -> str:
    return os.environ.get("ENGINE") or ("dynoxide" if engines.dynoxide() else "moto")


@pytest.fixture(scope="session")
def endpoint(engine_name: str) -> Iterator[str]:
    with ExitStack() as stack:
        if os.environ.get("DYNAMODB_ENDPOINT"):
            yield os.environ["DYNAMODB_ENDPOINT"]
        elif engine_name == "dynamodb-local":
            yield stack.enter_context(dynamodb_local.running())
        else:
            yield stack.enter_context(engines.in_memory(moto=engine_name == "moto")).endpoint


@pytest.fixture(scope="session")
def tables(endpoint: str) -> Iterator[Tables]:
    tables = Tables(endpoint)
    yield tables
    tables.close()


@pytest.fixture
def table_name(tables: Tables) -> Iterator[str]:
    """A separate table for each test, so that tests can run in parallel."""
    with tables.a_table() as name:
        yield name


@pytest.fixture
async def table(endpoint: str, table_name: str) -> AsyncIterator[Table]:
    connection = transport.Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=CREDENTIALS)
    yield Table(connection, table_name, Usage.lasting(120))
    await connection.close()


@pytest.fixture(scope="session")
def usual_settings(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("data")
    # A slow machine and moto, which serves one request at a time, need more than ten seconds.
    return Settings(dynamodb_endpoint=endpoint, auth_secret=SECRET, request_timeout=60, data_dir=folder)


@pytest.fixture
def settings(usual_settings: Settings, table_name: str) -> Settings:
    """A copy: reading the settings from the environment takes 4 ms, and thousands of tests use them."""
    return usual_settings.model_copy(update={"table_name": table_name}, deep=True)


@cache
def shared_executor(limits: Limits, *, compiled: bool) -> Executor:
    """Shared by all tests, like by all requests of a server: a document is compiled once."""
    return Executor(build()._schema, limits, compiled=compiled)


@asynccontextmanager
async def services_at(endpoint: str, settings: Settings) -> AsyncIterator[Services]:
    services = Services.at(the_engine_at(endpoint), settings, SECRET, Passwords(rounds=4))
    services.executor = shared_executor(settings.limits, compiled=settings.compile_queries)
    yield services
    services.stop_following()
    # What runs for followers ends in a turn of the loop.
    await asyncio.sleep(0)
    await services.index_keeper.close()
    await services.table.transport.close()
    services.passwords.close()
    services.mail.close()
    services.webhook_sender.close()


@pytest.fixture
async def graph(endpoint: str, settings: Settings) -> AsyncIterator[Graph]:
    async with services_at(endpoint, settings) as services:
        yield Graph(services)


@pytest.fixture
def society(graph: Graph) -> Society:
    return Society(graph)


@pytest.fixture
def town(graph: Graph) -> Town:
    return Town(graph)


@pytest.fixture
def website(graph: Graph) -> Website:
    return Website(graph)


@pytest.fixture
def workshop(graph: Graph) -> Workshop:
    return Workshop(graph)


@pytest.fixture
def kindred(graph: Graph) -> Kindred:
    return Kindred(graph)


@pytest.fixture
async def proxy(endpoint: str) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(endpoint) as proxy:
        yield proxy


@pytest.fixture
async def faulty(proxy: FaultProxy, table_name: str) -> AsyncIterator[Table]:
    """The table behind the proxy; `table` is the same one without it."""
    connection = transport.Transport(region=LOCAL_REGION, endpoint=proxy.endpoint, credentials=CREDENTIALS)
    yield Table(connection, table_name, Usage.lasting(60))
    await connection.close()


@pytest.fixture
async def faulty_graph(proxy: FaultProxy, settings: Settings) -> AsyncIterator[Graph]:
    """The graph on the same table as `graph`, behind the proxy."""
    behind = settings.model_copy(update={"dynamodb_endpoint": proxy.endpoint})
    async with services_at(proxy.endpoint, behind) as services:
        yield Graph(services)


@pytest.fixture
async def hot(proxy: FaultProxy, settings: Settings) -> AsyncIterator[Hot]:
    """A server with hot data, behind the proxy. `graph` is another server on the same table."""
    async with services_at(proxy.endpoint, settings.model_copy(update={"cache_mb": 10})) as services:
        hot = Hot(Graph(services))
        await hot.begins()
        yield hot
