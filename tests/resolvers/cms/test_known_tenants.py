"""A mistyped tenant is an error, and a known one costs nothing."""

import asyncio

import pytest

from datastore.client.table import Table
from datastore.cms import Tenant
from resolvers.cms.known_tenants import KnownTenants
from resolvers.core.allowance import RequestLimits
from tests.support.serving import Served, a_table, serving

CONTENTS = "{ contents { nodes { id } } }"


@pytest.fixture(scope="module")
def server(endpoint: str):
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        served.add_tenant("acme")
        yield served


async def add(table: Table, tenant_id: str) -> None:
    await table.batch_write(puts=[Tenant(tenant_id=tenant_id, name=tenant_id)])


async def test_a_tenant_is_read_once(table: Table) -> None:
    await add(table, "acme")
    known = KnownTenants(table)

    found = await asyncio.gather(*(known.exists("acme") for _ in range(20)))
    again = await known.exists("acme")

    assert [*found, again] == [True] * 21
    assert known.reads == 1
    assert "acme" in known


async def test_a_tenant_can_be_used_as_soon_as_it_exists(table: Table) -> None:
    known = KnownTenants(table)
    assert not await known.exists("acme")

    await add(table, "acme")

    assert await known.exists("acme")
    assert known.reads == 2


async def test_unknown_names_are_not_remembered(table: Table) -> None:
    known = KnownTenants(table)

    found = [await known.exists(f"tenant-{number}") for number in range(50)]

    assert not any(found)
    assert known._known == known._under_way == {}


async def test_at_most_so_many_tenants_are_remembered(table: Table) -> None:
    known = KnownTenants(table, most=2)
    for name in ("a", "b", "c"):
        await add(table, name)
        assert await known.exists(name)

    assert list(known._known) == ["b", "c"]


@pytest.mark.parametrize("name", ["", "a#b", "a\x00", "x" * 3_000])
async def test_what_cannot_be_a_tenant_is_not_read(table: Table, name: str) -> None:
    known = KnownTenants(table)

    assert not await known.exists(name)
    assert known.reads == 0


@pytest.mark.parametrize("query", [CONTENTS, "{ __typename }"])
@pytest.mark.parametrize("name", ["acmee", "Acme", "a#b", "x" * 3_000])
def test_a_mistyped_tenant_is_an_error(server: Served, query: str, name: str) -> None:
    answer = server.post(query, {"x-tenant-id": name})

    message = f"there is no tenant {name[:60]!r}; fix the header x-tenant-id, or leave it out"
    assert answer.status_code == 400
    assert answer.json() == {"errors": [{"message": message, "extensions": {"code": "UNKNOWN_TENANT"}}]}


def test_files_need_a_tenant_that_exists_too(server: Served) -> None:
    answer = server.http.get("/schema.graphql", headers={"x-tenant-id": "acmee"})

    assert answer.status_code == 400
    assert answer.text == "there is no tenant 'acmee'; fix the header x-tenant-id, or leave it out"


def test_a_tenant_can_be_used_at_once_after_create_tenant(server: Served) -> None:
    before = server.post(CONTENTS, {"x-tenant-id": "newco"})

    server.add_tenant("newco")
    reads = server.services.known_tenants.reads
    after = [server.post(CONTENTS, {"x-tenant-id": "newco"}).json() for _ in range(3)]

    assert before.status_code == 400
    assert after == [{"data": {"contents": {"nodes": []}}}] * 3
    assert server.services.known_tenants.reads == reads + 1


def test_guessing_tenants_uses_up_the_rate_limit(endpoint: str) -> None:
    limits = {"rate_limits": "on", "rate_limit_cost": 1_000}
    with a_table(endpoint) as table_name, serving(endpoint, table_name, **limits) as server:
        server.services.request_limits = RequestLimits(server.services.settings.rates, clock=lambda: 1_000.0)
        answers = [server.post(CONTENTS, {"x-tenant-id": f"tenant-{number}"}) for number in range(12)]

        assert [answer.status_code for answer in answers] == [400] * 10 + [429] * 2
        assert server.services.known_tenants.reads == 10
