"""Selects the DynamoDB service: an endpoint, AWS, or a local engine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from datastore.changes.outbox import Outbox
from datastore.changes.stream import StreamsClient
from datastore.client.budget import Usage
from datastore.client.local_credentials import LOCAL, FixedCredentials
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import engine, provision
from datastore.local.settings import TableSettings

log = logging.getLogger("heartwood.engine")

LOCAL_REGION = "us-east-1"


@dataclass(frozen=True)
class Place:
    """The service that hosts the table."""

    endpoint: str | None
    region: str
    keeps_data: bool
    has_own_engine: bool = False
    own_engine: engine.Engine | None = None
    changes: Literal["auto", "stream", "outbox"] = "auto"
    profile: str | None = None
    """Name of the AWS profile with the credentials, if they are not the default ones."""

    @property
    def problem(self) -> str | None:
        """Why the service cannot be used now, as far as this process knows without asking it, or None."""
        return self.own_engine.problem if self.own_engine else None

    @property
    def is_local(self) -> bool:
        return provision.is_local(self.endpoint)

    @property
    def needs_backups(self) -> bool:
        return self.endpoint is None

    @property
    def needs_stream(self) -> bool:
        """False on this machine by default, because the local engine's writes slow down with every stream record."""
        return self.changes == "stream" or (self.changes == "auto" and not self.is_local)

    def table(self, transport: Transport, name: str, usage: Usage) -> Table:
        """Returns a client for the table. Without a stream, it records the changes of its writes."""
        return Table(transport, name, usage, None if self.needs_stream else Outbox())

    @property
    def credentials(self) -> FixedCredentials | None:
        """The own engine accepts any credentials, so there is no need to look for the user's."""
        return LOCAL if self.has_own_engine else None

    def connect_to_stream(self) -> StreamsClient:
        """Returns a client of boto3 for the stream of the table."""
        return provision.connect(self.endpoint, self.region, "dynamodbstreams")

    def ensure_table(self, name: str) -> bool:
        """Creates or verifies the table; see `provision.ensure`."""
        client = provision.connect(self.endpoint, self.region, profile=self.profile)
        if self.has_own_engine and not self.needs_stream:
            provision.switch_off_stream(client, name)
        created = provision.ensure(client, name, backups=self.needs_backups, stream=self.needs_stream)
        if self.own_engine and not self.keeps_data and not self.own_engine.child.on_restart:
            self.own_engine.child.on_restart.append(lambda: self._start_over(name))
        return created

    def _start_over(self, name: str) -> None:
        log.error("the engine in memory has lost all data; creating the table %s again", name)
        self.ensure_table(name)

    def __str__(self) -> str:
        return self.endpoint or f"AWS {self.region}"


def is_at_home(settings: TableSettings) -> bool:
    """Returns True if these settings select a table on this machine, without starting anything."""
    if settings.dynamodb_endpoint:
        return provision.is_local(settings.dynamodb_endpoint)
    return not settings.aws_region


@contextmanager
def chosen(settings: TableSettings) -> Iterator[Place]:
    """Yields the service at DYNAMODB_ENDPOINT, AWS if AWS_REGION is set, or else a local engine."""
    if settings.dynamodb_endpoint:
        yield Place(
            settings.dynamodb_endpoint,
            settings.aws_region or LOCAL_REGION,
            keeps_data=True,
            changes=settings.changes,
        )
    elif settings.aws_region:
        yield Place(None, settings.aws_region, keeps_data=True, changes=settings.changes)
    else:
        with engine.running(settings.data_dir) as running:
            yield Place(
                running.endpoint,
                LOCAL_REGION,
                keeps_data=running.keeps_data,
                has_own_engine=True,
                own_engine=running,
                changes=settings.changes,
            )
