"""Fixed credentials for services that accept any, so that botocore is loaded only to look for real ones."""

import os
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from datastore.client.connecting import is_this_machine

VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "BOTO_CONFIG",
)
FILES = ("~/.aws/credentials", "~/.aws/config", "~/.boto", "/etc/boto.cfg")


@dataclass(frozen=True)
class FixedCredentials:
    """Credentials that never expire."""

    access_key: str
    secret_key: str
    token: str | None = None

    is_due: ClassVar[bool] = False

    def get_frozen_credentials(self) -> "FixedCredentials":
        return self

    async def ready(self, within: float) -> None:
        """Returns at once."""

    async def close(self) -> None:
        """There is nothing to close."""


LOCAL = FixedCredentials("local", "local")


def credentials_at(endpoint: str | None) -> FixedCredentials | None:
    """Returns credentials for a service on this machine, or None if botocore has to look for those of the user.

    It does not look for the role of an instance then, which is for AWS and not for a service on this machine.
    """
    host = urlsplit(endpoint).hostname if endpoint else None
    return LOCAL if host and is_this_machine(host) and not _may_be_configured() else None


def _may_be_configured() -> bool:
    # A user without a home directory, as in a container, has none of these files: Path.expanduser raises then.
    return any(os.environ.get(name) for name in VARIABLES) or any(
        os.path.exists(os.path.expanduser(file)) for file in FILES
    )
