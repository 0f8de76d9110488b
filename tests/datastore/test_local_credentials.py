"""Credentials for a service on this machine."""

import os
from pathlib import Path

import pytest

from datastore.client.local_credentials import LOCAL, credentials_at


def test_a_user_without_a_home_directory_has_configured_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(RuntimeError):
        Path.home()

    assert credentials_at("http://127.0.0.1:8000") is LOCAL
