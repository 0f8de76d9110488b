"""Servers that share rate limits through the table."""

import pytest

from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.client.table import Table
from datastore.rate_limits import ServerUsage
from resolvers.background import usage_sharing
from resolvers.background.usage_sharing import UsageSharing
from resolvers.core.token_bucket import Buckets, Policy

A_MINUTE, AN_HOUR = Policy("viewer-cost", 60, 60), Policy("createPost", 60, 3600)
BEGINNING = 1_000 * usage_sharing.HOUR


class Clock:
    """Time that passes only when a test changes it."""

    now = 0.0

    def monotonic(self) -> float:
        return 5_000.0 + self.now

    def wall(self) -> float:
        return BEGINNING + self.now


class CountedTable(Table):
    """Counts the calls of all users of the table."""

    def using(self, usage: Usage) -> Table:
        return self


class Server:
    """A server with its buckets and the calls it has made for them."""

    def __init__(self, table, clock):
        self._clock = clock
        self._table = CountedTable(table.transport, table.name, Usage.lasting(60))
        self.buckets = {policy.name: Buckets(policy) for policy in (A_MINUTE, AN_HOUR)}
        self.sharing = UsageSharing(self._table, [*self.buckets.values()], clock.monotonic, clock.wall)

    @property
    def calls(self):
        return dict(self._table.usage.calls)

    def use(self, subject, amount, policy=A_MINUTE):
        self.buckets[policy.name].take(subject, amount, self._clock.monotonic())

    def remaining(self, subject, policy=A_MINUTE):
        buckets = self.buckets[policy.name]
        state = buckets.state(buckets.debt(subject, self._clock.monotonic()))
        return int(state.split(";")[1].removeprefix("r="))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def servers(table, clock):
    return [Server(table, clock) for _ in range(3)]


async def share(*servers, rounds=2):
    for _ in range(rounds):
        for server in servers:
            await server.sharing.flush()


async def test_what_one_server_allows_is_missing_on_the_others(servers):
    a, b, _ = servers
    a.use("ada", 30)
    b.use("ada", 20)
    b.use("bob", 20)

    await share(a, b)
    # A has seen nothing new to tell, so it learns of B with its next use.
    a.use("ada", 1)
    await share(a, b)

    assert (a.remaining("ada"), b.remaining("ada")) == (9, 10)
    assert (a.remaining("bob"), b.remaining("bob")) == (60, 40)


async def test_use_is_taken_once_and_then_by_its_growth(servers):
    a, b, _ = servers
    a.use("ada", 20)
    b.use("ada", 10)
    await share(a, b, rounds=5)
    at_first = b.remaining("ada")
    a.use("ada", 5)
    b.use("ada", 1)
    await share(a, b, rounds=5)

    assert at_first == 60 - 20 - 10
    assert b.remaining("ada") == at_first - 5 - 1


async def test_three_servers_allow_about_one_budget(servers, clock):
    taken = 0
    for _ in range(120):
        clock.now += 1.0
        for server in servers:
            for _ in range(10):
                if server.remaining("ada"):
                    server.use("ada", 1)
                    taken += 1
        if int(clock.now) % 2 == 0:
            await share(*servers, rounds=1)

    # A bucket and its refill are 180 in two minutes. Without sharing, three servers would allow 540.
    assert 180 <= taken <= 180 * 1.25


async def test_hourly_limits_are_shared_from_one_hour_to_the_next(servers, clock):
    a, b, _ = servers
    clock.now = 3_500.0
    a.use("ada", 60, AN_HOUR)
    await share(a)
    clock.now = 3_620.0

    b.use("ada", 10, AN_HOUR)
    await share(b)

    assert b.remaining("ada", AN_HOUR) == 0
    assert b.calls == {"PutItem": 1, "Query": 2}


async def test_an_idle_server_makes_no_calls(servers, clock):
    a, b, idle = servers
    a.use("ada", 30)
    await share(a)
    idle.use("ada", 6)
    await share(idle, b)
    busy = a.calls

    for _ in range(30):
        clock.now += 2.0
        await share(a, b, idle)

    assert busy == a.calls == {"PutItem": 1, "Query": 2}
    assert b.calls == idle.calls == {}


async def test_a_thousand_subjects_take_two_calls(servers):
    a, b, _ = servers
    a.use("before", 7)
    await share(a)
    for number in range(1_000):
        a.use(f"user {number}", 7 + number % 50)

    await share(a, rounds=1)
    b.use("user 49", 10)
    await share(b)

    assert a.calls == {"PutItem": 2, "Query": 3}
    assert b.calls == {"PutItem": 1, "Query": 2}
    assert b.remaining("user 49") == 0


async def test_the_busiest_subjects_are_shared_first(servers, monkeypatch):
    monkeypatch.setattr(usage_sharing, "MOST_SHARED", 2)
    a, b, _ = servers
    for name, amount in (("ada", 50), ("bob", 10), ("cyd", 40)):
        a.use(name, amount)
        b.use(name, 10)
    b.use("ada", 2)
    b.use("cyd", 1)

    await share(a, b)

    assert [b.remaining(name) for name in ("ada", "bob", "cyd")] == [0, 50, 9]


async def test_a_server_that_starts_again_begins_from_zero(servers, clock, table):
    a, b, _ = servers
    a.use("ada", 20)
    b.use("ada", 10)
    await share(a, b)
    a_again = Server(table, clock)
    a_again.use("ada", 10)
    b.use("ada", 1)

    await share(a_again, b)

    assert b.remaining("ada") == 60 - 20 - 10 - 10 - 1


async def test_records_name_nobody_and_expire(servers, clock, table):
    a, _, _ = servers
    a.use("192.0.2.1", 30)
    await share(a)

    page = await table.query(ServerUsage.within(hour=BEGINNING // usage_sharing.HOUR), limit=10)

    (record,) = page.records
    assert "192.0.2.1" not in repr(record)
    assert record.expires_at == BEGINNING + 2 * usage_sharing.HOUR


async def test_a_table_out_of_reach_leaves_the_limits_of_each_server(servers, monkeypatch):
    a, _, _ = servers
    a.use("ada", 50)
    monkeypatch.setattr(usage_sharing, "TIME_FOR_ONE", 0.0)
    a.sharing._table = Table(a._table.transport, "no-such-table", Usage.lasting(60))

    with pytest.raises(DatastoreError):
        await a.sharing.flush()

    assert a.remaining("ada") == 10
    assert a.sharing.count == 1
