"""Keeps notifications equal to what they are about: each exists exactly as long as its cause.

A domain declares the notices of its records, and one processor:

    NOTICES = Notices()

    @NOTICES.of(Like)
    async def likes(load: Loaders, likes: Sequence[Like]) -> list[Notice]: ...

    @processor(Like, at_once=AT_ONCE)
    async def notify_social(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
        return await NOTICES.kept(load, changes)
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from datastore.changes.change import Change
from datastore.client.writes import Delete, Put, Write, absent, equals
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import Time, now, time_from_now
from datastore.notifications import (
    Notification,
    NotificationGroup,
    NotificationKind,
    NotificationPreferences,
    NotificationSource,
    about,
)
from loaders.request import Loaders
from resolvers.background.processors import MOST_WRITES
from resolvers.notifications.daily_mail import mails_to
from resolvers.notifications.groups import KEPT_DAYS, Groups, expiry

# Reads are shared by all of them. Their writes are divided if they do not fit into a transaction.
AT_ONCE = 60
MOST_RECIPIENTS = 20

F = TypeVar("F", bound=Callable[..., Awaitable[Iterable["Notice"]]])


class Notice(NamedTuple):
    """A record (`source`) that is there, and the users it notifies of what `actor_id` did to the record `about`."""

    source: Key[Any]
    kind: NotificationKind
    to: Sequence[str]
    about: Key[Any]
    actor_id: str | None
    at: Time

    @property
    def group_id(self) -> str:
        return group_id(self.kind, self.about)


def group_id(kind: NotificationKind, target: Key[Any]) -> str:
    return f"{kind.value}-{digest(target)}"


def digest(key: Key[Any]) -> str:
    return hashlib.sha256(f"{key.entity.__name__} {key.pk} {key.sk}".encode()).hexdigest()[:32]


def _itself(key: Key[Any]) -> Key[Any]:
    return key


@dataclass(frozen=True)
class _Declared:
    function: Callable[..., Awaitable[Iterable[Notice]]]
    source: Callable[[Key[Any]], Key[Any]]


class Notices:
    """The notices of a domain."""

    def __init__(self) -> None:
        self._declared: dict[type[Entity], _Declared] = {}

    def of(self, entity: type[Entity], source: Callable[[Key[Any]], Key[Any]] = _itself) -> Callable[[F], F]:
        """Declares the notices of an entity's records: of those that are there and are not hidden, in order.

        `source` returns what causes them, if that is another record, such as the membership of an event.
        """

        def declare(function: F) -> F:
            self._declared[entity] = _Declared(function, source)
            return function

        return declare

    async def kept(self, load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
        """Returns the writes that make the notifications match the changed records."""
        keys: list[Key[Any]] = list(dict.fromkeys(change.key for change in changes))
        wanted = await self._wanted(load, keys)
        ids = {digest(source): notice for source, notice in wanted.items()}
        found = await load.fresh(*(NotificationSource.key(source_id=source_id) for source_id in ids))
        before = dict(zip(ids, found, strict=True))
        reached = {user_id for notice in wanted.values() if notice for user_id in notice.to}
        preferences = await _preferences(load, reached)
        changed: list[tuple[str, NotificationSource | None, Notice | None]] = []
        for source_id, notice in ids.items():
            heard = _for_those_who_want_it(notice, preferences)
            if not _matches(before[source_id], heard):
                changed.append((source_id, before[source_id], heard))
        return await _written(load, changed, preferences)

    async def _wanted(self, load: Loaders, keys: Sequence[Key[Any]]) -> dict[Key[Any], Notice | None]:
        """Returns the notice of each source; None if it has none now."""
        records = dict(zip(keys, await load.fresh(*keys), strict=True))
        wanted: dict[Key[Any], Notice | None] = {self._declared[key.entity].source(key): None for key in keys}
        for entity, declared in self._declared.items():
            shown = [record for record in records.values() if isinstance(record, entity) and not _is_hidden(record)]
            if shown:
                wanted |= {notice.source: notice for notice in await declared.function(load, shown)}
        return wanted


def _is_hidden(record: Entity) -> bool:
    return any(account.mark and getattr(record, account.mark) for account in record.accounts)


async def _preferences(load: Loaders, user_ids: Iterable[str]) -> dict[str, NotificationPreferences]:
    found = await load.fresh(*(NotificationPreferences.key(user_id=user_id) for user_id in sorted(user_ids)))
    return {each.user_id: each for each in found if each is not None}


def _for_those_who_want_it(notice: Notice | None, known: dict[str, NotificationPreferences]) -> Notice | None:
    """Leaves out the actor and those who muted the kind; None if no one is left, or if it is long ago."""
    if notice is None or notice.at < time_from_now(-timedelta(days=KEPT_DAYS)):
        return None
    to = [
        user_id
        for user_id in dict.fromkeys(notice.to)
        if user_id != notice.actor_id and not (user_id in known and notice.kind in known[user_id].muted_kinds)
    ]
    return notice._replace(to=to[:MOST_RECIPIENTS]) if to else None


def _matches(before: NotificationSource | None, notice: Notice | None) -> bool:
    if before is None or notice is None:
        return before is None and notice is None
    told = (before.group_id, before.actor_id, before.caused_at, set(before.user_ids))
    return told == (notice.group_id, notice.actor_id, notice.at, set(notice.to))


async def _written(
    load: Loaders,
    changed: Sequence[tuple[str, NotificationSource | None, Notice | None]],
    preferences: dict[str, NotificationPreferences],
) -> Sequence[Write]:
    """Returns the writes. If they are too many for a transaction, writes all but the last part of them."""
    noted_at = now()
    keys = {
        NotificationGroup.key(user_id=user_id, group_id=part.group_id)
        for _, before, notice in changed
        for part, users in ((before, before.user_ids if before else ()), (notice, notice.to if notice else ()))
        for user_id in users
        if part
    }
    groups = Groups(dict(zip(keys, await load.fresh(*keys), strict=True)))
    writes: list[Write] = []
    for source_id, before, notice in changed:
        own = _own_writes(source_id, before, notice, noted_at)
        # The groups of those it reaches, and an email to each.
        along = (len(before.user_ids) if before else 0) + 2 * (len(notice.to) if notice else 0)
        if writes and len(writes) + groups.changes + len(own) + along > MOST_WRITES:
            await load.write(*writes, *groups.writes())
            writes, groups = [], groups.stored()
        writes += own
        if before is not None:
            groups.take_back(before)
        if notice is not None:
            groups.note(_source(source_id, notice, noted_at), notice.about)
            planned = {write.key for write in writes}
            writes += [mail for mail in mails_to(notice.to, preferences) if mail.key not in planned]
    return [*writes, *groups.writes()]


def _own_writes(
    source_id: str, before: NotificationSource | None, notice: Notice | None, noted_at: Time
) -> list[Write]:
    """Returns the writes of the source and of its notifications, except their groups."""
    key = NotificationSource.key(source_id=source_id)
    still = absent() if before is None else equals("noted_at", before.noted_at)
    writes: list[Write] = [Put(_source(source_id, notice, noted_at), when=still) if notice else Delete(key, when=still)]
    stale = {_single_key(user_id, source_id, before.caused_at) for user_id in before.user_ids} if before else set()
    for user_id in notice.to if notice else ():
        assert notice is not None
        stale.discard(_single_key(user_id, source_id, notice.at))
        writes.append(Put(_single(user_id, source_id, notice, noted_at)))
    return [*writes, *map(Delete, sorted(stale))]


def _single_key(user_id: str, source_id: str, caused_at: Time) -> Key[Notification]:
    return Notification.key(user_id=user_id, created_at=caused_at, notification_id=source_id)


def _source(source_id: str, notice: Notice, noted_at: Time) -> NotificationSource:
    return NotificationSource(
        source_id=source_id,
        kind=notice.kind,
        group_id=notice.group_id,
        user_ids=[*notice.to],
        actor_id=notice.actor_id,
        caused_at=notice.at,
        noted_at=noted_at,
        expires_at=expiry(noted_at),
    )


def _single(user_id: str, source_id: str, notice: Notice, noted_at: Time) -> Notification:
    return Notification(
        user_id=user_id,
        notification_id=source_id,
        kind=notice.kind,
        actor_id=notice.actor_id,
        created_at=notice.at,
        expires_at=expiry(noted_at),
        **about(notice.about),
    )
