"""Renewal of credentials that expire, with an issuer that blocks and fails."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from botocore.credentials import Credentials, DeferredRefreshableCredentials, RefreshableCredentials

from datastore.client import credentials as module
from datastore.client.budget import Usage
from datastore.client.credentials import RenewedCredentials
from datastore.client.errors import Unavailable
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION
from tests.support.fault_proxy import FaultProxy
from tests.system.faults import user_named

HOUR = timedelta(hours=1)
SOON = timedelta(minutes=5)


class Issuer:
    """Issues credentials in the thread that asks, when it may, and notes these threads."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.failure: Exception | None = None

    def __call__(self) -> dict[str, str]:
        self.threads.append(threading.current_thread().name)
        self.may_answer.wait()
        if self.failure:
            raise self.failure
        number = len(self.threads)
        expiry = datetime.now(UTC) + HOUR
        return {
            "access_key": f"KEY{number}",
            "secret_key": "secret",
            "token": "token",
            "expiry_time": expiry.isoformat(),
        }

    def issued(self, lasting: timedelta) -> RefreshableCredentials:
        expiry = datetime.now(UTC) + lasting
        return RefreshableCredentials("KEY0", "secret", "token", expiry, refresh_using=self, method="test")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.may_answer.set()


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(module, "LOOK_EVERY", 0.0)


async def key_of(credentials: RenewedCredentials, within: float = 60.0) -> str:
    await credentials.ready(within)
    return credentials.get_frozen_credentials().access_key


async def renewed_key_of(credentials: RenewedCredentials) -> str:
    """The key that is used once the renewal that began has ended."""
    await credentials.ready(60.0)
    if credentials._renewal is not None:
        await asyncio.wait([credentials._renewal])
    return credentials.get_frozen_credentials().access_key


async def test_credentials_that_never_expire_are_never_looked_at() -> None:
    credentials = RenewedCredentials(Credentials("key", "secret"))

    assert not credentials.is_due
    assert await key_of(credentials) == "key"


async def test_credentials_that_last_are_not_renewed(issuer: Issuer) -> None:
    credentials = RenewedCredentials(issuer.issued(HOUR))

    assert credentials.is_due
    assert await key_of(credentials) == "KEY0"
    assert not credentials.is_due
    assert issuer.threads == []


async def test_they_are_renewed_in_a_thread_while_the_old_ones_are_used(issuer: Issuer) -> None:
    issuer.may_answer.clear()
    credentials = RenewedCredentials(issuer.issued(SOON))

    assert [await key_of(credentials) for _ in range(3)] == ["KEY0"] * 3
    issuer.may_answer.set()

    assert await renewed_key_of(credentials) == "KEY1"
    assert len(issuer.threads) == 1
    assert issuer.threads[0] != threading.main_thread().name


@pytest.mark.usefixtures("without_pauses")
async def test_a_renewal_that_fails_is_tried_again_while_the_old_ones_are_used(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.failure = OSError("no route to the issuer")
    credentials = RenewedCredentials(issuer.issued(SOON))

    assert [await renewed_key_of(credentials) for _ in range(3)] == ["KEY0"] * 3
    issuer.failure = None

    assert await renewed_key_of(credentials) == "KEY4"
    assert caplog.text.count("AWS credentials could not be renewed") == 3


async def test_expired_ones_are_waited_for(issuer: Issuer) -> None:
    credentials = RenewedCredentials(issuer.issued(-HOUR))

    assert await asyncio.gather(*(key_of(credentials) for _ in range(10))) == ["KEY1"] * 10
    assert len(issuer.threads) == 1


async def test_those_that_are_issued_at_first_use_are_waited_for(issuer: Issuer) -> None:
    credentials = RenewedCredentials(DeferredRefreshableCredentials(issuer, "test"))

    assert await key_of(credentials) == "KEY1"


async def test_expired_ones_that_are_not_renewed_in_time_are_unavailable(issuer: Issuer) -> None:
    issuer.may_answer.clear()
    credentials = RenewedCredentials(issuer.issued(-HOUR))

    with pytest.raises(Unavailable, match="it takes too long"):
        await key_of(credentials, within=0.01)
    issuer.may_answer.set()

    assert await key_of(credentials) == "KEY1"


async def test_after_a_failure_the_issuer_is_left_alone_for_a_while(issuer: Issuer) -> None:
    issuer.failure = OSError("no route to the issuer")
    credentials = RenewedCredentials(issuer.issued(-HOUR))

    for _ in range(10):
        with pytest.raises(Unavailable, match="could not be renewed: no route to the issuer"):
            await key_of(credentials)

    assert len(issuer.threads) == 1


async def test_closing_does_not_wait_for_a_renewal(issuer: Issuer) -> None:
    issuer.may_answer.clear()
    credentials = RenewedCredentials(issuer.issued(SOON))
    await credentials.ready(1.0)

    await credentials.close()

    assert not issuer.may_answer.is_set()


async def test_a_call_without_valid_credentials_is_unavailable_and_not_sent(proxy: FaultProxy, issuer: Issuer) -> None:
    issuer.failure = OSError("no route to the issuer")
    transport = Transport(
        region=LOCAL_REGION, endpoint=proxy.endpoint, credentials=RenewedCredentials(issuer.issued(-HOUR))
    )
    table = Table(transport, "any", Usage.lasting(60))

    with pytest.raises(Unavailable) as failed:
        await table.put(user_named("ada"))
    await transport.close()

    assert not failed.value.may_have_applied
    assert proxy.seen == {}


async def test_a_call_goes_on_while_credentials_are_renewed(proxy: FaultProxy, issuer: Issuer, table_name: str) -> None:
    issuer.may_answer.clear()
    transport = Transport(
        region=LOCAL_REGION, endpoint=proxy.endpoint, credentials=RenewedCredentials(issuer.issued(SOON))
    )
    table = Table(transport, table_name, Usage.lasting(60))

    assert await table.get(user_named("ada").own_key) is None
    assert len(issuer.threads) == 1
    await transport.close()
