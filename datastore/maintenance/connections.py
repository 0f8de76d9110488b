"""Tables of maintenance commands: the one of the settings, also while a server at home uses it, or any other."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from datastore.client.budget import Usage
from datastore.client.errors import Denied
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import endpoint, engine
from datastore.local.settings import TableSettings
from datastore.maintenance.segments import SEGMENTS

if TYPE_CHECKING:
    from datastore.client.credentials import RenewedCredentials
    from datastore.client.local_credentials import FixedCredentials

# Of commands, which take as long as they take. Each call has its own.
TIME = 7 * 86_400.0
# Longer than that of a request, for whole pages of a busy table.
TIME_FOR_AN_ATTEMPT = 30.0


class Reached(NamedTuple):
    """A service, and the name of a table. `is_alone` is True if no other process can use it now."""

    place: endpoint.Place
    table_name: str
    is_alone: bool

    def __str__(self) -> str:
        return f"{self.table_name} at {self.place}"

    @property
    def segments(self) -> int:
        """Parallel parts of a scan. The local engine answers one call at a time, and each part reads all items."""
        return 1 if self.place.is_local else SEGMENTS

    @asynccontextmanager
    async def table(self) -> AsyncIterator[Table]:
        place = self.place
        transport = Transport(
            region=place.region,
            endpoint=place.endpoint,
            credentials=_credentials(place),
            attempt_timeout=TIME_FOR_AN_ATTEMPT,
        )
        try:
            yield place.table(transport, self.table_name, Usage.lasting(TIME, is_patient=True))
        finally:
            await transport.close()


@contextmanager
def reached(settings: TableSettings) -> Iterator[Reached]:
    """Yields the table of the settings. If a server at home uses it, through the engine of that server."""
    is_at_home = not settings.dynamodb_endpoint and not settings.aws_region
    in_use = engine.endpoint_in_use(settings.data_dir) if is_at_home else None
    if in_use:
        place = endpoint.Place(
            in_use, endpoint.LOCAL_REGION, keeps_data=True, has_own_engine=True, changes=settings.changes
        )
        yield Reached(place, settings.table_name, is_alone=False)
        return
    with endpoint.chosen(settings) as where:
        yield Reached(where, settings.table_name, is_alone=where.has_own_engine)


SPELLINGS = {"endpoint": "dynamodb_endpoint", "region": "aws_region", "table": "table_name", "data-dir": "data_dir"}
EXAMPLE = "region=eu-central-1,profile=prod,table=heartwood or data-dir=.data or endpoint=http://localhost:8001"


@contextmanager
def described(text: str) -> Iterator[Reached]:
    """Yields the table that a text describes, such as `region=eu-central-1,profile=prod,table=heartwood`."""
    given: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not value or name not in {*SPELLINGS, "profile"}:
            raise ValueError(f"{text!r} describes no table; write it like {EXAMPLE}")
        given[name] = value
    places = [name for name in ("endpoint", "region", "data-dir") if name in given]
    if not places or ("data-dir" in places and len(places) > 1) or ("profile" in given and "data-dir" in given):
        raise ValueError(f"{text!r} needs one of endpoint=, region= and data-dir=; write it like {EXAMPLE}")
    chosen = {SPELLINGS[name]: value for name, value in given.items() if name != "profile"}
    # Without those of the environment, which are about another table.
    given_settings: dict[str, Any] = {"table_name": "heartwood", "dynamodb_endpoint": None, "aws_region": None}
    settings = TableSettings(**{**given_settings, "data_dir": Path(".data"), "changes": "auto", **chosen})
    with reached(settings) as found:
        place = endpoint.Place(**{**vars(found.place), "profile": given.get("profile")})
        yield found._replace(place=place)


def _credentials(place: endpoint.Place) -> "FixedCredentials | RenewedCredentials | None":
    if place.profile is None:
        return place.credentials
    from botocore.session import Session

    from datastore.client.credentials import RenewedCredentials

    found = Session(profile=place.profile).get_credentials()
    if found is None:
        raise Denied(f"the AWS profile {place.profile} has no credentials")
    return RenewedCredentials(found)
