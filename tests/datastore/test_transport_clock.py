"""Correction of the clock from the Date of an error response, over real sockets."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from datastore.client.budget import Usage
from datastore.client.errors import BadSignature
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION
from tests.datastore.test_http import serving
from tests.support.tables import CREDENTIALS
from tests.system.faults import user_named

ADA = user_named("ada")
FOUND = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def a_table(
    clocks: Iterator[datetime],
    name: str = "InvalidSignatureException",
    path: str = "/",
    tolerance: timedelta = timedelta(minutes=5),
) -> AsyncIterator[tuple[Table, list[bytes]]]:
    """A table whose server refuses requests that were signed too long before or after its time."""
    known: Counter[str] = Counter()

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        now = next(clocks)
        stamps = Counter(re.findall(r"X-Amz-Date: (\S+)", b"".join(connections).decode()))
        stamp = next(iter(stamps - known))
        known.update([stamp])
        signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs(now - signed_at) < tolerance:
            writer.write(FOUND)
            return
        body = b'{"__type": "com.amazon.coral.service#%s", "message": "Signature expired"}' % name.encode()
        head = f"HTTP/1.1 400 -\r\nDate: {format_datetime(now, usegmt=True)}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)

    async with serving(script) as (url, connections):
        transport = Transport(region=LOCAL_REGION, endpoint=url.rstrip("/") + path, credentials=CREDENTIALS)
        yield Table(transport, "any", Usage.lasting(60)), connections
        await transport.close()


def always(offset: timedelta) -> Iterator[datetime]:
    while True:
        yield datetime.now(UTC) + offset


@pytest.mark.parametrize("name", ["InvalidSignatureException", "RequestTimeTooSkewed"])
@pytest.mark.parametrize("offset", [timedelta(hours=3), -timedelta(minutes=6)])
async def test_a_wrong_clock_is_corrected_from_the_response(
    name: str, offset: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_table(always(offset), name) as (table, _):
        assert [await table.get(ADA.own_key) for _ in range(3)] == [None] * 3

    assert table.usage.calls == {"GetItem": 4}
    assert caplog.text.count("the clock of this machine is") == 1


async def test_calls_at_the_same_time_are_all_repeated() -> None:
    async with a_table(always(timedelta(hours=3))) as (table, _):
        assert await asyncio.gather(*(table.get(ADA.own_key) for _ in range(5))) == [None] * 5

    assert table.usage.calls == {"GetItem": 10}


async def test_a_call_corrects_the_clock_only_once() -> None:
    jumping = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, 2, 3, 4))

    async with a_table(jumping) as (table, _):
        with pytest.raises(BadSignature):
            await table.get(ADA.own_key)

    assert table.usage.calls == {"GetItem": 2}


async def test_a_wrong_signature_at_the_right_time_is_not_retried(caplog: pytest.LogCaptureFixture) -> None:
    async with a_table(always(timedelta(seconds=30)), tolerance=timedelta()) as (table, _):
        with pytest.raises(BadSignature):
            await table.get(ADA.own_key)

    assert table.usage.calls == {"GetItem": 1}
    assert "clock" not in caplog.text


async def test_a_path_in_the_endpoint_is_sent() -> None:
    async with a_table(always(timedelta()), path="/some/path") as (table, connections):
        assert await table.get(ADA.own_key) is None

    assert connections[0].startswith(b"POST /some/path HTTP/1.1\r\n")
