"""The secret that signs tokens and cursors."""

import contextlib
import os
import secrets
from pathlib import Path

from datastore.client.errors import Denied
from datastore.local import endpoint
from schema.http.settings import Settings


def secret_for(settings: Settings) -> str:
    """Returns AUTH_SECRET, or for a local table one that is generated once. Servers elsewhere must share theirs."""
    if settings.auth_secret:
        return settings.auth_secret
    if not endpoint.is_at_home(settings):
        raise Denied("set AUTH_SECRET (32 characters or more): it signs tokens and cursors, the same on every server")
    return _kept_secret(settings.data_dir / "secret")


def _kept_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text()
