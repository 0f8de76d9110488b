"""All checks, with the rules of all domains. A check with notes of its own, such as of a search index, goes here."""

from collections.abc import Sequence
from zlib import crc32

from resolvers.accounts import checks as accounts
from resolvers.cards import checks as cards
from resolvers.cms import checks as cms
from resolvers.genealogy import checks as genealogy
from resolvers.maintenance.checks import Check
from resolvers.maintenance.counter_checks import CounterChecks
from resolvers.maintenance.derived_checks import DerivedChecks
from resolvers.maintenance.guard_checks import GuardChecks
from resolvers.maintenance.item_checks import ItemChecks
from resolvers.maintenance.list_checks import ListChecks
from resolvers.maintenance.mark_checks import MarkChecks
from resolvers.maintenance.reference_checks import ReferenceChecks, all_needs
from resolvers.maintenance.rules import COUNTERS, GUARDS, LISTED
from resolvers.neighborhoods import checks as neighborhoods
from resolvers.notifications import checks as notifications
from resolvers.social import checks as social
from resolvers.social.feed_checks import FeedChecks
from resolvers.webhooks import checks as webhooks

RULES = (accounts, cards, cms, genealogy, neighborhoods, notifications, social, webhooks)


def version() -> int:
    """Returns a number that changes with the rules: notes made by other rules are of no use."""
    numbered = [*(rule.label for rule in COUNTERS), *(rule.label for rule in LISTED), *GUARDS]
    numbered += [need.entity.__name__ for need in all_needs()]
    return crc32(" ".join(numbered).encode())


def all_checks() -> Sequence[Check]:
    """Returns the checks in the order in which the scan feeds them."""
    return (
        ItemChecks(),
        ReferenceChecks(),
        GuardChecks(),
        ListChecks(),
        MarkChecks(),
        CounterChecks(),
        DerivedChecks(),
        FeedChecks(),
    )
