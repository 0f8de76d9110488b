"""Limits on the number of connections and on how long they may wait."""

import resource
from collections.abc import Iterator

import pytest

from schema.http.client_address import networks
from schema.http.connection_limits import MOST_UNSENT, OTHER_FILES, ConnectionLimits, Connections, allowed_connections

LIMITS = ConnectionLimits(most=4, per_address=2, write_within=30)


class Client:
    """A connection in a given state."""

    def __init__(self, address: str, *, is_idle: bool = False, unsent: int = 0, since: float | None = None) -> None:
        self.address = address
        self.is_idle = is_idle
        self.unsent = unsent
        self.stalled_since = since
        self.reason: str | None = None
        self.is_open = True

    def overdue(self, now: float) -> str | None:
        return self.reason

    def end(self) -> None:
        self.is_open = False


def test_an_address_has_a_limit_and_ipv6_counts_by_64() -> None:
    connections = Connections(LIMITS)

    four = [connections.admits(Client("192.0.2.1")) for _ in range(3)]
    six = [connections.admits(Client(f"2001:db8::{n}")) for n in range(3)]

    assert (four, six) == ([True, True, False], [True, True, False])
    assert connections.refused == {"address": 2}


def test_the_server_has_a_limit() -> None:
    connections = Connections(LIMITS)

    admitted = [connections.admits(Client(f"192.0.2.{n}")) for n in range(6)]

    assert admitted == [True] * 4 + [False] * 2
    assert (connections.open, connections.refused) == (4, {"total": 2})


def test_a_trusted_proxy_may_have_all_connections() -> None:
    connections = Connections(LIMITS, networks("192.0.2.0/24,2001:db8::/32"))

    assert [connections.admits(Client("192.0.2.1")) for _ in range(5)] == [True] * 4 + [False]


def test_at_the_limit_the_oldest_idle_connection_goes() -> None:
    connections = Connections(LIMITS)
    busy, idle, other = Client("192.0.2.1"), Client("192.0.2.1", is_idle=True), Client("192.0.2.2", is_idle=True)
    for client in (other, busy, idle):
        connections.admits(client)

    assert connections.admits(Client("192.0.2.1"))

    assert (busy.is_open, idle.is_open, other.is_open) == (True, False, True)
    assert connections.open == 3


def test_a_connection_that_ended_makes_room() -> None:
    connections = Connections(LIMITS)
    first = Client("192.0.2.1")
    connections.admits(first)
    connections.admits(Client("192.0.2.1"))

    connections.forget(first)
    connections.forget(first)

    assert connections.admits(Client("192.0.2.1"))


def test_overdue_connections_end() -> None:
    connections = Connections(LIMITS)
    slow, fine = Client("192.0.2.1"), Client("192.0.2.1")
    slow.reason = "slow_reader"
    connections.admits(slow)
    connections.admits(fine)

    connections.sweep()

    assert (slow.is_open, fine.is_open, list(connections)) == (False, True, [fine])
    assert connections.refused == {"slow_reader": 1}


def test_answers_that_no_one_reads_have_a_common_limit() -> None:
    connections = Connections(LIMITS)
    half = MOST_UNSENT // 2 + 1
    recent, oldest, old = (Client("192.0.2.1", unsent=half, since=since) for since in (3.0, 1.0, 2.0))
    reading = Client("192.0.2.2")
    for number, client in enumerate((recent, oldest, old, reading)):
        client.address = f"192.0.2.{number}"
        connections.admits(client)

    connections.sweep()

    assert [client.is_open for client in (recent, oldest, old, reading)] == [True, False, False, True]
    assert connections.refused == {"unsent": 2}


@pytest.fixture
def files() -> Iterator[tuple[int, int]]:
    """Restores the limit of open files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_of_open_files_is_raised_as_needed(files: tuple[int, int]) -> None:
    soft, hard = files
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 100, hard))

    assert allowed_connections(soft - 50 - OTHER_FILES) == soft - 50 - OTHER_FILES

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft - 50, hard)


def test_too_few_open_files_mean_fewer_connections(files: tuple[int, int], caplog: pytest.LogCaptureFixture) -> None:
    _, hard = files

    assert allowed_connections(hard) == hard - OTHER_FILES

    assert f"the system allows {hard} open files" in caplog.text
