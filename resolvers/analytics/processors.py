"""Keeps the counts of analytics and the top lists of each day."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from datastore.analytics import AnalyticsPeriod, CardViews, CountedObject, Scope, Tally, TopList
from datastore.changes.change import Change, What
from datastore.client.writes import Condition, Delete, Put, Update, Write, absent, equals, same
from datastore.model.keys import Key
from datastore.model.times import as_time, epoch_seconds
from loaders.request import Loaders
from loaders.visibility import never_shown
from resolvers.analytics.authors import Authors
from resolvers.analytics.events import HEARD, Event, events
from resolvers.analytics.metrics import ADDED, DAY, HOUR, PLATFORM, RANKED, REMOVED, beginning, day_of
from resolvers.analytics.subjects import SUBJECTS, Object
from resolvers.background.jobs import delete_all, job, queued
from resolvers.background.processors import processor

never_shown(
    Tally, TopList, CountedObject, CardViews, because="fields of their own show counts, with access rules of their own"
)

HOURS_KEPT = timedelta(days=90)
# Longer than the change log is kept: until then the counts of a purged record may still move.
SETTLED = timedelta(days=2)
LONGEST_LIST = 100
EVERYTHING = Object(Scope.PLATFORM, PLATFORM)

Tallies = dict[Key[Tally], tuple[Tally, Counter[str]]]
Tops = dict[Key[TopList], tuple[TopList, set[Object]]]
Days = Mapping[Key[Tally], Tally | None]
NO_DAYS: Days = MappingProxyType({})


# Usually there are far fewer than 90 writes: changes of a moment share hours, authors and objects.
@processor(*HEARD, at_once=60)
async def count_activity(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
    """Counts what happened, per day and hour, by object, author, tenant and platform."""
    authors = Authors()
    found = await events(load, changes, authors)
    tallies, tops = tallied(found), tops_of(found)
    days, lists = await _read(load, tops)
    return [
        *(_added(tally, counts, days) for tally, counts in tallies.values()),
        *_ranked(tops, lists, days, tallies),
        *authors.writes,
        *_purges(changes),
    ]


def _subjects(event: Event) -> list[Object]:
    """Returns all that an event counts for."""
    author = Object(Scope.USER, event.author_id) if event.author_id else None
    tenant = Object(Scope.TENANT, event.tenant_id) if event.tenant_id else None
    return [each for each in (event.about, author, tenant, EVERYTHING) if each is not None]


def tallied(found: Sequence[Event]) -> Tallies:
    """Returns the counts to add, one entry for each stored item."""
    tallies: Tallies = {}
    for event in found:
        name = (REMOVED if event.is_removal else ADDED)[event.metric]
        for subject in _subjects(event):
            for period in (DAY, HOUR):
                tally = _tally(subject, period, event.at)
                tallies.setdefault(tally.own_key, (tally, Counter()))[1][name] += event.amount
    return tallies


def _tally(subject: Object, period: AnalyticsPeriod, at: str) -> Tally:
    begins_at = beginning(period, at)
    ends = epoch_seconds(begins_at) + int(HOURS_KEPT.total_seconds()) if period is HOUR else None
    times: dict[str, Any] = {"created_at": begins_at, "updated_at": begins_at, "expires_at": ends}
    return Tally(scope=subject.scope, subject=subject.subject, period=period, begins_at=begins_at, **times)


def tops_of(found: Sequence[Event]) -> Tops:
    """Returns the top lists that may change, empty, and the objects that gained in each.

    Removals do not count here: a count that only grows cannot leave a list to one that was dropped before.
    """
    tops: Tops = {}
    for event in found:
        about = event.about
        if about is None or event.is_removal or event.metric not in RANKED.get(about.scope, ()):
            continue
        for subject in _subjects(event):
            # Staff rank content, authors and administrators rank posts and cards.
            if subject != about and (subject.scope is Scope.TENANT) is (about.scope is Scope.CONTENT):
                top = TopList(
                    scope=subject.scope,
                    subject=subject.subject,
                    kind=about.scope,
                    metric=event.metric.value,
                    day=day_of(event.at),
                    counts={},
                )
                tops.setdefault(top.own_key, (top, set()))[1].add(about)
    return tops


async def _read(load: Loaders, tops: Tops) -> tuple[Days, dict[Key[TopList], TopList | None]]:
    """Returns the counts of the day of all objects that are ranked, and the lists that rank them."""
    keys = dict.fromkeys(_tally(about, DAY, top.day).own_key for top, objects in tops.values() for about in objects)
    places: list[Key[Any]] = [*keys, *tops]
    found: list[Any] = await load.fresh(*places)
    return dict(zip(keys, found, strict=False)), dict(zip(tops, found[len(keys) :], strict=True))


def _added(tally: Tally, counts: Counter[str], days: Days) -> Update:
    """Adds to a stored item. One that a top list is computed from must not have changed since it was read."""
    when: Condition | None = None
    if tally.own_key in days:
        before = days[tally.own_key]
        for metric in RANKED[tally.scope]:
            unchanged = same(metric.value, getattr(before, metric.value) if before else None)
            when = when & unchanged if when else unchanged
    return Update.upsert(tally, add=dict(counts), when=when)


def _ranked(tops: Tops, lists: dict[Key[TopList], TopList | None], days: Days, tallies: Tallies) -> Iterator[Put]:
    """Yields the lists that changed. No two processes change the same version of one."""
    for key, (empty, objects) in tops.items():
        stored = lists[key]
        top = stored or empty
        best = ranked_first(top, objects, tallies, days)
        if stored is None:
            yield Put(top.changed(counts=best), when=absent())
        elif best != stored.counts:
            yield Put(top.changed(counts=best, version=top.version + 1), when=equals("version", top.version))


def ranked_first(top: TopList, objects: Iterable[Object], tallies: Tallies, days: Days = NO_DAYS) -> dict[str, int]:
    """Returns the entries of a list after what these objects gained. `days` has their counts before."""
    counts = dict(top.counts)
    for about in objects:
        day = _tally(about, DAY, top.day).own_key
        before = days.get(day)
        counts[about.subject] = (getattr(before, top.metric) or 0 if before else 0) + tallies[day][1][top.metric]
    return dict(sorted(counts.items(), key=_rank)[:LONGEST_LIST])


def _rank(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]


def _purges(changes: Sequence[Change]) -> Iterator[Put]:
    """Queues the purge of the counts of each record that is gone."""
    for change in changes:
        if change.what is What.REMOVED and change.entity in SUBJECTS:
            gone = SUBJECTS[change.entity](change.key.values)
            yield queued(
                purge_counts,
                due_at=as_time(datetime.fromisoformat(change.at) + SETTLED),
                job_id=f"counts-{gone.scope.value}-{gone.subject}",
                scope=gone.scope.name,
                subject=gone.subject,
            )


@job
async def purge_counts(load: Loaders, *, scope: str, subject: str) -> None:
    """Purges the counts of a record that is gone."""
    about = Object(Scope[scope], subject)
    for period in (DAY, HOUR):
        await delete_all(load, Tally.within(scope=about.scope, subject=subject, period=period))
    for kind, metrics in RANKED.items():
        for metric in metrics:
            lists = TopList.within(scope=about.scope, subject=subject, kind=kind, metric=metric.value)
            await delete_all(load, lists)
    await load.write(Delete(about.key))
