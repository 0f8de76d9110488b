"""`heartwood serve`: what a start loads; demo accounts, whose password is public, are for this machine only."""

from dataclasses import replace

import pytest

from datastore.accounts import User
from datastore.client.errors import Denied
from datastore.client.writes import Update
from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION
from resolvers import demo
from resolvers.demo.people import IDS
from schema.http.serve_command import has_demo
from tests.conftest import SECRET
from tests.support.graph import Graph
from tests.support.serving import launched

PUBLIC = ["0.0.0.0", "::", "192.0.2.7", "heartwood.example.org"]
PRIVATE = ["127.0.0.1", "127.8.9.10", "::1", "localhost"]


def listening_on(graph: Graph, host: str) -> None:
    graph.services.settings = graph.services.settings.model_copy(update={"host": host})


async def usernames(graph: Graph) -> list[str]:
    return [user.username for user in (await graph.table.query(User.by_time(), limit=100)).records]


@pytest.mark.parametrize("host", PRIVATE)
async def test_a_server_of_this_machine_has_a_demo(graph, host):
    listening_on(graph, host)

    assert await has_demo(graph.services, wanted=True, public=False) is True
    assert len(await usernames(graph)) == len(IDS)


@pytest.mark.parametrize("host", PUBLIC)
async def test_a_server_that_others_can_reach_has_no_demo_and_says_so(graph, caplog, host):
    listening_on(graph, host)

    assert await has_demo(graph.services, wanted=True, public=False) is False
    assert await usernames(graph) == []
    assert caplog.messages == [
        f"no demo data: other machines can reach HOST={host}; --public-demo loads it all the same"
    ]


async def test_no_demo_needs_no_warning(graph, caplog):
    listening_on(graph, PUBLIC[0])

    assert await has_demo(graph.services, wanted=False, public=False) is False
    assert caplog.messages == []


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_table_with_demo_accounts_is_not_served_to_others(graph, wanted):
    await demo.load(graph.table, graph.services.passwords)
    listening_on(graph, PUBLIC[0])

    with pytest.raises(Denied, match=r"the table has demo accounts \(maya, jonas, .*--public-demo to allow it"):
        await has_demo(graph.services, wanted=wanted, public=False)


async def test_a_demo_account_with_a_password_of_its_own_is_no_danger(graph):
    await demo.load(graph.table, graph.services.passwords)
    secret = await graph.services.passwords.hash("known to its owner only")
    for user_id in IDS.values():
        await graph.table.write(Update(User.key(user_id=user_id), set={"password_hash": secret}))
    listening_on(graph, PUBLIC[0])

    assert await has_demo(graph.services, wanted=True, public=False) is False


async def test_a_public_demo_takes_a_word(graph):
    listening_on(graph, PUBLIC[0])

    assert await has_demo(graph.services, wanted=True, public=True) is True
    assert await has_demo(graph.services, wanted=True, public=True) is True
    assert len(await usernames(graph)) == len(IDS)


@pytest.mark.parametrize(("host", "role"), [(PRIVATE[0], "admin"), (PUBLIC[0], None)])
async def test_only_where_nobody_else_can_log_in_does_the_demo_have_staff(graph, host, role):
    listening_on(graph, host)
    await has_demo(graph.services, wanted=True, public=True)

    tokens = [
        await graph.command(
            "mutation ($input: LogInInput!) { logIn(input: $input) { token } }", login=name, password=demo.PASSWORD
        )
        for name in ("maya", "jonas")
    ]

    maya, jonas = [await graph.services.tokens.viewer(f"Bearer {payload['token']}") for payload in tokens]
    assert replace(maya, tenant_id="repair-cafe").tenant_role == role
    assert jonas.tenants == frozenset()


def test_a_start_loads_only_what_serving_needs(endpoint: str, table_name: str) -> None:
    """Each of these takes as long to load as a tenth of the start or more."""
    provision.ensure(provision.connect(endpoint, LOCAL_REGION), table_name, backups=False, stream=False)
    variables = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table_name, "HOME": "/nonexistent"}
    with launched("--no-demo", AUTH_SECRET=SECRET, PYTHONPROFILEIMPORTTIME="1", **variables) as server:
        assert server.ask("{ users { nodes { username } } }") == {"users": {"nodes": []}}
        assert server.stop() == 0

    loaded = {line.rpartition("|")[2].strip() for line in server.lines if "import time:" in line}
    assert loaded & {"boto3.session", "botocore.session", "rich.console", "schema.build"} == {"schema.build"}
