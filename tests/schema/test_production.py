"""The production profile: what it refuses, and what it closes."""

from argparse import Namespace

import pytest
from pydantic import ValidationError

from datastore.client.errors import Denied
from resolvers import demo
from schema.http.serve_command import _prepare_table, has_demo
from schema.http.settings import Settings, explained
from tests.conftest import SECRET
from tests.support.command_line import heartwood
from tests.support.graph import Graph

SAFE = {
    "environment": "production",
    "auth_secret": SECRET,
    "aws_region": "eu-central-1",
    "host": "0.0.0.0",
    "trusted_proxies": "10.0.0.0/16",
}
PROVIDER = {"auth_issuer": "https://login.example.org/", "auth_audience": "heartwood"}
UNSAFE = [
    ("AUTH_SECRET", {"auth_secret": None}, "openssl rand"),
    ("AUTH_SECRET", {"auth_secret": "a" * 40}, "openssl rand"),
    ("AUTH_JWKS_URL", {"auth_jwks_url": "http://localhost:9000/keys", **PROVIDER}, "with https://"),
    ("CORS_ORIGINS", {"cors_origins": "http://localhost:3000"}, "with https://"),
    ("CORS_ORIGINS", {"cors_origins": "*"}, "each origin in full"),
    ("TRUSTED_PROXIES", {"trusted_proxies": ""}, "10.0.0.0/16"),
    ("RATE_LIMITS", {"rate_limits": "off"}, "write on"),
    ("WEBHOOKS_ALLOW_PRIVATE", {"webhooks_allow_private": "on"}, "write off"),
    ("LOG_LEVEL", {"log_level": "DEBUG"}, "write INFO"),
]


@pytest.mark.parametrize(("name", "change", "advice"), UNSAFE)
def test_an_unsafe_setting_is_named_with_what_to_do(name, change, advice):
    with pytest.raises(ValidationError) as refused:
        Settings(**{**SAFE, **change})
    (line,) = explained(refused.value).splitlines()
    assert line.startswith(f"{name}: ")
    assert advice in line


def test_all_unsafe_settings_are_named_at_once():
    done = heartwood("serve", ENVIRONMENT="production", HOST="0.0.0.0", CORS_ORIGINS="http://localhost:1")
    assert (done.returncode, done.stdout) == (2, "")
    names = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert names == ["AUTH_SECRET", "CORS_ORIGINS", "TRUSTED_PROXIES"]


def test_graphiql_and_introspection_are_open_only_if_asked_for(monkeypatch):
    assert (Settings(**SAFE).graphiql, Settings(**SAFE).introspection) == (False, "off")
    monkeypatch.setenv("GRAPHIQL", "true")
    monkeypatch.setenv("INTROSPECTION", "signed-in")
    assert (Settings(**SAFE).graphiql, Settings(**SAFE).introspection) == (True, "signed-in")
    assert Settings().introspection == "signed-in"
    monkeypatch.delenv("INTROSPECTION")
    assert Settings().introspection == "on"


def test_a_proxy_on_the_same_machine_is_enough():
    assert Settings(**{**SAFE, "host": "127.0.0.1", "trusted_proxies": ""}).is_production


def test_pages_of_localhost_and_missing_limits_are_for_development():
    local = Settings(environment="production", auth_secret=SECRET)
    assert (local.allows_local_origins, local.limits_rates(local_table=True)) == (False, True)
    assert not local.allows_private_webhooks(local_table=True)


def in_production(graph: Graph) -> None:
    graph.services.settings = graph.services.settings.model_copy(update={"environment": "production"})


async def test_no_demo_data_is_loaded(graph: Graph) -> None:
    in_production(graph)
    assert await has_demo(graph.services, wanted=True, public=False) is False
    assert await demo.accounts_with_known_password(graph.table, graph.services.passwords) == []


async def test_a_table_with_demo_accounts_is_not_served(graph: Graph) -> None:
    await demo.load(graph.table, graph.services.passwords)
    in_production(graph)
    with pytest.raises(Denied, match=r"has demo accounts \(.*maya.*\) whose password is public"):
        await has_demo(graph.services, wanted=False, public=True)


async def test_a_public_demo_is_refused(graph: Graph) -> None:
    in_production(graph)
    with pytest.raises(Denied, match="remove --public-demo: ENVIRONMENT=production has no demo data"):
        await _prepare_table(graph.services, Namespace(public_demo=True, no_demo=False))
