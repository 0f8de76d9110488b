"""Periods of retention, as the code has them, for docs/retention.md and its test."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from datastore.accounts import KnownAddress, SignInFailures, Unique, User
from datastore.analytics import CardViews, Tally
from datastore.cards import Card
from datastore.changes import log
from datastore.changes.records import ChangeBatch
from datastore.idempotency import Idempotency
from datastore.maintenance.records import SetAside
from datastore.model.entity import Entity
from datastore.neighborhoods import Build, Site
from datastore.notifications import Notification, NotificationGroup, NotificationSource
from datastore.rate_limits import ServerUsage
from datastore.security import SecurityEvent
from datastore.webhooks import WebhookDelivery
from resolvers.accounts import lifecycle, password_attempts
from resolvers.analytics import processors
from resolvers.cards import card_commands, view_counter
from resolvers.core import security_events
from resolvers.maintenance import looking
from resolvers.neighborhoods import build_commands, site_commands
from resolvers.notifications import groups
from resolvers.webhooks import deliveries
from schema.declare import idempotency

NOTIFIED = timedelta(days=groups.KEPT_DAYS)
ALL = "tests/schema/test_retention.py::test_everything_that_expires_has_its_period"
OF_NEIGHBORHOODS = "tests/requirements/test_neighborhoods.py::test_"


class Period(NamedTuple):
    """A period for which records of some entities are kept, and the test that shows it."""

    what: str
    entities: tuple[type[Entity], ...]
    period: timedelta
    since: str
    test: str


PERIODS = (
    Period(
        "deleted accounts",
        (User,),
        lifecycle.GRACE,
        "deletion",
        f"{OF_NEIGHBORHOODS}deleted_accounts_are_kept_for_30_days",
    ),
    Period(
        "deleted sites",
        (Site,),
        site_commands.GRACE,
        "deletion",
        f"{OF_NEIGHBORHOODS}deleted_sites_are_kept_for_7_days",
    ),
    Period("builds", (Build,), build_commands.KEPT, "creation", f"{OF_NEIGHBORHOODS}builds_are_kept_for_90_days"),
    Period(
        "drafts of cards",
        (Card,),
        card_commands.DRAFTS_KEPT,
        "last change",
        "tests/requirements/test_cards.py::test_drafts_are_kept_for_30_days",
    ),
    Period(
        "notifications",
        (Notification, NotificationGroup, NotificationSource),
        NOTIFIED,
        "the latest one",
        "tests/requirements/test_social.py::test_notifications_are_kept_for_30_days",
    ),
    Period("deliveries of webhooks", (WebhookDelivery,), deliveries.KEPT, "creation", ALL),
    Period("analytics per hour", (Tally,), processors.HOURS_KEPT, "end of the hour", ALL),
    Period("security events", (SecurityEvent,), security_events.KEPT, "the event", ALL),
    Period("usernames, email addresses and subdomains of what is deleted", (Unique,), lifecycle.GRACE, "deletion", ALL),
    Period(
        "addresses of sign-ins, as digests",
        (KnownAddress,),
        timedelta(seconds=password_attempts.KNOWN_FOR),
        "last sign-in",
        ALL,
    ),
    Period("counts of failed sign-ins", (SignInFailures,), timedelta(hours=1), "the first", ALL),
    Period(
        "results of mutations with an `Idempotency-Key`",
        (Idempotency,),
        idempotency.KEPT,
        "the mutation",
        "tests/schema/test_idempotency.py::test_an_expired_key_counts_as_absent_before_dynamodb_removes_it",
    ),
    Period("the change log", (ChangeBatch,), log.KEPT, "the change", ALL),
    Period("batches of views", (CardViews,), view_counter.BATCHES_KEPT, "the views", ALL),
    Period("use of rate limits", (ServerUsage,), timedelta(hours=2), "the hour", ALL),
    Period(
        "items that a repair has deleted",
        (SetAside,),
        looking.KEPT,
        "repair",
        "tests/resolvers/maintenance/test_checking_corruption.py::test_what_a_repair_deletes_is_kept_for_30_days",
    ),
)


def table() -> Iterator[str]:
    """Yields the lines of the table in docs/retention.md."""
    yield "| what | kept for | since | shown by |"
    yield "|---|---|---|---|"
    for each in PERIODS:
        yield f"| {each.what} | {_text(each.period)} | {each.since} | `{each.test.rpartition('::')[2]}` |"


def _text(period: timedelta) -> str:
    hours = int(period.total_seconds()) // 3600
    if hours % 24 == 0:
        days = hours // 24
        return "1 day" if days == 1 else f"{days} days"
    return "1 hour" if hours == 1 else f"{hours} hours"
