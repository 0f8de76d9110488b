"""Fixtures of the tests of webhooks."""

from collections.abc import AsyncIterator

import pytest

from tests.support.receiver import Receiver, a_receiver


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver
