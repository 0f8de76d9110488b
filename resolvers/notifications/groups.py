"""Groups of notifications: their counts, their latest actors, and the time they are listed at."""

from collections.abc import Container, Mapping
from datetime import datetime, timedelta
from typing import Any

from datastore.client.writes import Delete, Put, Update, Write, absent, equals
from datastore.model.keys import Key
from datastore.model.times import Time, epoch_seconds, now
from datastore.notifications import Noted, NotificationGroup, NotificationSource, about

KEPT_DAYS = 30
LATEST = 10

GroupKey = Key[NotificationGroup]
State = Mapping[GroupKey, NotificationGroup | None]


def expiry(noted_at: Time) -> int:
    return epoch_seconds(noted_at) + KEPT_DAYS * 86_400


def count(group: NotificationGroup, hidden: Container[str | None] = ()) -> int:
    """Number of notifications in the group. Each counts until the end of the day on which it expires.

    Those of hidden actors do not count if they are among the latest.
    """
    first = _first_day(now()[:10])
    counted = sum(number for day, number in group.days.items() if day >= first)
    return counted - sum(noted.actor_id in hidden and noted.noted_at[:10] >= first for noted in group.latest)


class Groups:
    """Groups as they are stored, and as they become."""

    def __init__(self, stored: State) -> None:
        self._before = stored
        self._after = dict(stored)

    @property
    def changes(self) -> int:
        """Number of changed groups."""
        return sum(self._after[key] is not group for key, group in self._before.items())

    def stored(self) -> "Groups":
        """Returns the groups once the writes are applied."""
        return Groups(self._after)

    def note(self, source: NotificationSource, target: Key[Any]) -> None:
        """Adds a notification to the group of each recipient."""
        noted = Noted(source_id=source.source_id, actor_id=source.actor_id, noted_at=source.noted_at)
        day = source.noted_at[:10]
        for user_id in source.user_ids:
            key = NotificationGroup.key(user_id=user_id, group_id=source.group_id)
            group = self._after[key]
            if group is None:
                group = NotificationGroup(
                    user_id=user_id,
                    group_id=source.group_id,
                    kind=source.kind,
                    noted_at=source.noted_at,
                    version=0,
                    **about(target),
                )
            days = {each: number for each, number in group.days.items() if each >= _first_day(day)}
            self._after[key] = group.changed(
                noted_at=source.noted_at,
                days={**days, day: days.get(day, 0) + 1},
                latest=[noted, *group.latest][:LATEST],
                expires_at=source.expires_at,
                version=(self._before[key] or group).version + 1,
            )

    def take_back(self, source: NotificationSource) -> None:
        """Removes a notification from the group of each recipient, and a group of which nothing is left."""
        day = source.noted_at[:10]
        for user_id in source.user_ids:
            key = NotificationGroup.key(user_id=user_id, group_id=source.group_id)
            group = self._after[key]
            if group is None or day not in group.days:
                continue
            days = {each: number - (each == day) for each, number in group.days.items() if number > (each == day)}
            latest = [noted for noted in group.latest if noted.source_id != source.source_id]
            if not days:
                self._after[key] = None
                continue
            noted_at = latest[0].noted_at if latest else group.noted_at
            version = (self._before[key] or group).version + 1
            self._after[key] = group.changed(noted_at=noted_at, days=days, latest=latest, version=version)

    def writes(self) -> list[Write]:
        """Returns the writes of the changed groups, on condition that they are as they were read."""
        return [
            _write(key, before, after)
            for key, before in self._before.items()
            if (after := self._after[key]) is not before
        ]


def _first_day(today: str) -> str:
    """Returns the first day whose notifications have not expired."""
    return (datetime.fromisoformat(today) - timedelta(days=KEPT_DAYS)).date().isoformat()


def _write(key: GroupKey, before: NotificationGroup | None, after: NotificationGroup | None) -> Write:
    if before is None:
        assert after is not None
        return Put(after, when=absent())
    still = equals("version", before.version)
    return Update.of(before, after, when=still) if after else Delete(key, when=still)
