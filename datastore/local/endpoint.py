"""Which DynamoDB this process talks to: an endpoint, AWS, or an engine of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from botocore.credentials import Credentials

from datastore.local import engine, provision
from datastore.local.settings import TableSettings

LOCAL_REGION = "us-east-1"


@dataclass(frozen=True)
class Place:
    """Where the table is."""

    endpoint: str | None
    region: str
    keeps_data: bool
    has_own_engine: bool = False

    @property
    def is_local(self) -> bool:
        return provision.is_local(self.endpoint)

    @property
    def needs_backups(self) -> bool:
        return self.endpoint is None

    @property
    def needs_stream(self) -> bool:
        """False on this machine: with a stream, the local engine takes longer for each write the more it holds."""
        return not self.is_local

    @property
    def credentials(self) -> Credentials | None:
        """The own engine accepts any credentials, so there is no need to look for the user's."""
        return Credentials("local", "local") if self.has_own_engine else None

    def ensure_table(self, name: str) -> bool:
        """Creates or verifies the table as this place needs it; see `provision.ensure`."""
        client = provision.connect(self.endpoint, self.region)
        if self.has_own_engine:
            provision.switch_off_stream(client, name)
        return provision.ensure(client, name, backups=self.needs_backups, stream=self.needs_stream)

    def __str__(self) -> str:
        return self.endpoint or f"AWS {self.region}"


def is_at_home(settings: TableSettings) -> bool:
    """Whether the table that is chosen will be on this machine; nothing is started to find out."""
    if settings.dynamodb_endpoint:
        return provision.is_local(settings.dynamodb_endpoint)
    return not settings.aws_region


@contextmanager
def chosen(settings: TableSettings) -> Iterator[Place]:
    """DYNAMODB_ENDPOINT, else AWS where AWS_REGION says so, else a local engine for as long as the block lasts."""
    if settings.dynamodb_endpoint:
        yield Place(settings.dynamodb_endpoint, settings.aws_region or LOCAL_REGION, keeps_data=True)
    elif settings.aws_region:
        yield Place(None, settings.aws_region, keeps_data=True)
    else:
        with engine.running(settings.data_dir) as running:
            yield Place(running.endpoint, LOCAL_REGION, keeps_data=running.keeps_data, has_own_engine=True)
