"""Fixtures of the CMS tests."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from datastore.client.writes import Put
from datastore.cms import (
    Consent,
    PageComment,
)
from datastore.model.times import Time
from loaders.request import Loaders


@pytest.fixture
def clock(monkeypatch) -> Callable[..., None]:
    """Sets the creation times of the next comments and consents."""

    def says(*times: Time) -> None:
        left = iter(times)
        make = Loaders.write

        async def write(load: Loaders, *writes: Any, entry: Put | None = None) -> None:
            if isinstance(writes[0], Put) and isinstance(writes[0].record, PageComment | Consent):
                writes = (Put(replace(writes[0].record, created_at=next(left)), when=writes[0].when),)
            await make(load, *writes, entry=entry)

        monkeypatch.setattr(Loaders, "write", write)

    return says
