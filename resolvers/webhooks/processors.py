"""The processor that turns changes into deliveries of webhooks."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from datastore.changes.change import Change, What
from datastore.client.table import RangeRead
from datastore.client.writes import Put, absent
from datastore.model.entity import Entity
from datastore.model.times import Time, epoch_seconds
from datastore.webhooks import HookOwner, Webhook, WebhookCount
from loaders.needs import Pages, Together, needed
from loaders.request import Loaders
from loaders.visibility import seen
from resolvers.background.processors import processor
from resolvers.cards import webhook_events as of_cards
from resolvers.cms import webhook_events as of_cms
from resolvers.neighborhoods import webhook_events as of_neighborhoods
from resolvers.social import webhook_events as of_social
from resolvers.webhooks.commands import MOST_HOOKS
from resolvers.webhooks.deliveries import Made
from resolvers.webhooks.edges import hooks_of
from resolvers.webhooks.events import RULES, EventRule
from resolvers.webhooks.visibility import viewer_of

DOMAINS = (of_cards, of_cms, of_neighborhoods, of_social)

# A change tells of events that happened up to this long before it. Its delivery is kept for longer, so that later
# changes of the same record find it.
NEWS = 24 * 3600

PAIRS_AT_ONCE = 40


class Event(NamedTuple):
    """An event that a record made."""

    rule: EventRule
    record: Any
    at: Time


@processor(*RULES, at_once=100)
async def deliver_webhooks(load: Loaders, changes: Sequence[Change]) -> None:
    """Queues a delivery for each event and each webhook that asked for it.

    While there is no webhook at all, this is one Query of half a read unit for all changes. Otherwise the changed
    records are read, and then one small item for each distinct owner; webhooks are read only of owners that have some.
    """
    if not (await load.page(Webhook.active(), 1)).records:
        return
    events = await _events(load, changes)
    told = await load.run(needed(Together([event.rule.told(event.record) for event in events])))
    hooks = await _hooks(load, list(dict.fromkeys(owner for owners in told for owner in owners)))
    made = [
        Made.of(hook, event.rule.event, event.at, _id(hook, event), event.rule.body(event.record, event.at))
        for event, owners in zip(events, told, strict=True)
        for owner in owners
        for hook in hooks.get(owner, ())
        if _wants(hook, event) and await _sees(load, owner, event)
    ]
    there = await load.fresh(*(each.delivery.own_key for each in made)) if made else []
    new = [each for each, found in zip(made, there, strict=True) if found is None]
    for start in range(0, len(new), PAIRS_AT_ONCE):
        some = new[start : start + PAIRS_AT_ONCE]
        await load.write(*(write for each in some for write in (Put(each.delivery, when=absent()), each.job)))


async def _events(load: Loaders, changes: Sequence[Change]) -> list[Event]:
    latest = {change.key: change for change in changes if change.what is not What.REMOVED}
    records: list[Entity | None] = await load.fresh(*latest)
    found = []
    for change, record in zip(latest.values(), records, strict=True):
        for rule in RULES[change.entity] if record is not None else ():
            at = rule.at(record)
            if at is not None and epoch_seconds(change.at) - epoch_seconds(at) < NEWS:
                found.append(Event(rule, record, at))
    return found


async def _hooks(load: Loaders, owners: Sequence[HookOwner]) -> dict[HookOwner, Sequence[Webhook]]:
    """Returns the webhooks of those owners that have some."""
    counts = await load.fresh(*(WebhookCount.key(**owner._asdict()) for owner in owners)) if owners else []
    having = [owner for owner, count in zip(owners, counts, strict=True) if count is not None and count.count]
    reads = [RangeRead(hooks_of(owner), MOST_HOOKS) for owner in having]
    pages = await load.run(needed(Pages(reads))) if reads else []
    return {owner: page.records for owner, page in zip(having, pages, strict=True)}


def _wants(hook: Webhook, event: Event) -> bool:
    return hook.active_since is not None and hook.active_since <= event.at and event.rule.event in hook.events


async def _sees(load: Loaders, owner: HookOwner, event: Event) -> bool:
    """Returns True if the owner may see the record: a webhook is told nothing that its owner could not read."""
    if event.rule.of_hidden:
        return True
    (record,) = await load.run(seen([event.record], viewer_of(owner)))
    return record is not None


def _id(hook: Webhook, event: Event) -> str:
    """Returns an ID that is the same whenever the event is found again."""
    key = event.record.own_key
    text = "\n".join((hook.webhook_id, event.rule.event.value, key.pk, key.sk, event.at))
    return f"msg_{base64.b32encode(hashlib.sha256(text.encode()).digest()[:20]).decode().lower()}"
