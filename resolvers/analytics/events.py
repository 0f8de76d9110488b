"""Events: the changes in the log that count, and the subjects they count for."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from datastore.accounts import User
from datastore.analytics import CardViews
from datastore.changes.change import Change, What
from datastore.cms import Content, ContentVersion, PageComment
from datastore.model.keys import Key
from datastore.model.times import Time
from datastore.neighborhoods import Build
from datastore.social import Follow
from loaders.request import Loaders
from resolvers.analytics.authors import Authors
from resolvers.analytics.metrics import Metric
from resolvers.analytics.subjects import BUILT, COUNTED, SUBJECTS, VIEWED, Object, content_object

HEARD = (*COUNTED, *SUBJECTS, CardViews, Follow, Build, ContentVersion, PageComment)


class Event(NamedTuple):
    """Something that counts. It counts for the object, its author, the tenant and the platform."""

    metric: Metric
    at: Time
    is_removal: bool = False
    about: Object | None = None
    author_id: str | None = None
    tenant_id: str | None = None
    amount: int = 1


async def events(load: Loaders, changes: Sequence[Change], authors: Authors) -> list[Event]:
    """Returns what counts. An object that was gone before it had any counts does not."""
    await authors.find(load, changes)
    editors = await _editors(load, [change for change in changes if _version(change)])
    found = (_event(change, authors, editors) for change in changes if not change.expired)
    return [event for event in found if event is not None]


def _event(change: Change, authors: Authors, editors: dict[Key[Any], str]) -> Event | None:
    if change.what is What.CHANGED:
        return None
    entity, values, is_removal = change.entity, change.key.values, change.what is What.REMOVED
    if entity in COUNTED:
        return _counted(change, authors)
    if entity is PageComment:
        about = content_object(values["tenant_id"], values["node_id"])
        return Event(Metric.COMMENTS, change.at, is_removal, about, tenant_id=values["tenant_id"])
    if entity is Follow:
        return Event(Metric.FOLLOWS, change.at, is_removal, author_id=values["following_id"])
    if entity is User:
        return Event(Metric.USERS, change.at, is_removal)
    return None if is_removal else _irreversible(change, authors, editors)


def _counted(change: Change, authors: Authors) -> Event | None:
    """An object, or something that people do with one."""
    metric, find = COUNTED[change.entity]
    about, is_removal = find(change.key.values), change.what is What.REMOVED
    author = authors.known.get(about)
    if author is None:
        return None
    if change.entity not in SUBJECTS:
        return Event(metric, change.at, is_removal, about, author)
    if is_removal and not authors.purge(about, change.at):
        return None
    return Event(metric, change.at, is_removal, author_id=author)


def _irreversible(change: Change, authors: Authors, editors: dict[Key[Any], str]) -> Event | None:
    """Something that cannot be removed."""
    values = change.key.values
    if change.entity is CardViews:
        card = VIEWED(values)
        author = authors.known.get(card)
        return Event(Metric.VIEWS, change.at, False, card, author, amount=int(values["views"])) if author else None
    if change.entity is Build:
        site = BUILT(values)
        return Event(Metric.BUILDS, change.at, False, site, authors.known.get(site))
    if _version(change):
        about = content_object(values["tenant_id"], values["node_id"])
        return Event(Metric.CONTENT_CHANGES, change.at, False, about, editors.get(change.key), values["tenant_id"])
    return None


def _version(change: Change) -> int | None:
    """Returns the version of content that a change has made. Storing a version in the history makes the next one."""
    if change.what is not What.INSERTED:
        return None
    if change.entity is Content:
        return 1
    return int(change.key.values["version"]) + 1 if change.entity is ContentVersion else None


async def _editors(load: Loaders, made: Sequence[Change]) -> dict[Key[Any], str]:
    """Returns the authors of versions, by the keys of the changes. A version is the latest, or in the history."""
    if not made:
        return {}
    places: list[Key[Any]] = []
    for change in made:
        values, version = change.key.values, _version(change)
        node = {"tenant_id": values["tenant_id"], "node_id": values["node_id"]}
        places += [Content.key(**node), ContentVersion.key(**node, version=version)]
    found = await load.fresh(*places)
    editors: dict[Key[Any], str] = {}
    for change, latest, stored in zip(made, found[::2], found[1::2], strict=True):
        record = latest if latest is not None and latest.version == _version(change) else stored
        if record is not None:
            editors[change.key] = record.author_id
    return editors
