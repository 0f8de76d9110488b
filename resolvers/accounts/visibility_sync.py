"""Hides, restores and purges the works of an account. Which these are follows from the owner each entity declares.

A domain adds what only it knows with `works`: which counts a record moves, what else changes while it is hidden, what
is inside of it. Everything else is the same for all: a record is marked in the transaction that moves its counts, so it
counts exactly as long as it has no mark, however often a job is cut off, repeated, or overtaken by another one.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from datastore.accounts import User
from datastore.client.writes import Condition, Update, Write, absent, exists
from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key
from datastore.model.ownership import OfUser
from datastore.model.times import now
from loaders.request import Loaders
from resolvers.background.jobs import BATCH, for_each
from resolvers.core.retry import retries_on_conflict


@dataclass(frozen=True)
class Count:
    """The record that counts another one, and the writes that move its count by +1 or -1. Without it, none do."""

    at: Callable[[Any], Key[Any]]
    moves: Callable[[Any, Any, int], Sequence[Write]]


def add_to(name: str) -> Callable[[Any, Any, int], Sequence[Write]]:
    """For a `Count` that is one field of one record."""
    return lambda _, counter, step: [Update(counter.own_key, add={name: step}, when=exists())]


@dataclass(frozen=True)
class Works:
    """The rules of a domain for one of its entities. The defaults suit records that nothing depends on."""

    counts: Mapping[str, Count] = field(default_factory=dict)
    """The counts of a record, by the mark that takes it out of them."""
    placed: Callable[[Any], Any | None] = lambda record: record
    """Takes a record with its new mark; returns the record as it should be, or None to leave it as it is."""
    as_read: Callable[[Any], Condition] = lambda _: exists()
    """The condition that the input of `placed` and of the counts has not changed since the record was read."""
    along: Callable[[Any, Any], Sequence[Write]] = lambda _, __: ()
    """Takes the record before and after; returns the writes that go along, such as jobs."""
    match: Callable[[Loaders, Any], Awaitable[None]] | None = None
    """Brings a record without a mark in line with its account in a way of its own."""
    empty: Callable[[Loaders, Any], Awaitable[None]] | None = None
    """Purges the contents of a record, before the record itself. Idempotent."""
    leave: Callable[[Loaders, Any], Awaitable[None]] | None = None
    """Purges a record in a way of its own."""


DECLARED: dict[type[Entity], Works] = {}


def works(entity: type[Entity], declared: Works) -> None:
    """Declares what hiding, restoring and purging records of this entity takes besides marking and deleting them."""
    unknown = declared.counts.keys() - {account.mark for account in entity.accounts}
    if unknown:
        raise TypeError(f"{entity.__name__} has no owner with the mark {unknown.pop()}: add owner=user(…, mark=…)")
    DECLARED[entity] = declared


def owned() -> Iterator[tuple[type[Entity], OfUser, Works]]:
    """Yields every entity removed with an account, once per owner. Not User: `purge_account` deletes it last."""
    for entity in [*REGISTRY.values()]:
        for account in entity.accounts:
            if entity is not User:
                yield entity, account, DECLARED.get(entity, Works())


async def match_to_account(load: Loaders, user_id: str) -> bool | None:
    """Hides all works of a deleted account, or shows those of a restored one, until they match the account.

    Returns True if they are hidden, and None if the account no longer exists.
    """
    key = User.key(user_id=user_id)
    (user,) = await load.fresh(key)
    while user is not None:
        hidden = user.deleted_at is not None
        await _each_kind(partial(_match_kind, load, user_id, hidden))
        (user,) = await load.fresh(key)
        if user is not None and hidden is (user.deleted_at is not None):
            return hidden
    return None


async def purge_works(load: Loaders, user_id: str) -> None:
    """Purges all works of an account. Works that are not hidden yet are hidden first, which adjusts the counts."""
    await _each_kind(partial(_purge_kind, load, user_id))


async def _each_kind(step: Callable[[type[Entity], OfUser, Works], Awaitable[None]]) -> None:
    """Runs a step for every entity. A failure is raised at the end, so it does not keep the others back."""
    failures: list[Exception] = []
    for entity, account, declared in owned():
        try:
            await step(entity, account, declared)
        except Exception as error:
            failures.append(error)
    if failures:
        raise failures[0]


async def _match_kind(
    load: Loaders, user_id: str, hidden: bool, entity: type[Entity], account: OfUser, declared: Works
) -> None:
    if account.mark is None and declared.match is None:
        return
    async for found in load.pages(account.works(entity, user_id), BATCH):
        # Records that the index shows as hidden were hidden by an earlier attempt.
        open_ones = [record for record in found if not (hidden and account.mark and getattr(record, account.mark))]
        await for_each(open_ones, _match, load, hidden, account, declared)


async def _match(record: Any, load: Loaders, hidden: bool, account: OfUser, declared: Works) -> None:
    """Reads the record itself, since an index may be stale."""
    if account.mark is None:
        if declared.match is not None:
            await retries_on_conflict(declared.match)(load, record)
    else:
        await set_mark(load, record, hidden, account.mark, declared)


@retries_on_conflict
async def set_mark(load: Loaders, found: Any, hidden: bool, mark: str, declared: Works) -> None:
    """Marks a record, or removes its mark, and moves its counts. `updated_at` stays as it is."""
    count = declared.counts.get(mark)
    keys: list[Key[Any]] = [found.own_key, *([count.at(found)] if count else [])]
    record, *counters = await load.fresh(*keys)
    if record is None or hidden is (getattr(record, mark) is not None):
        return
    changed = declared.placed(record.changed(**{mark: now() if hidden else None}, updated_at=record.updated_at))
    if changed is None:
        return
    when = exists() & (absent if hidden else exists)(mark) & declared.as_read(record)
    moved = [write for c in counters if count and c for write in count.moves(record, c, -1 if hidden else 1)]
    await load.write(Update.of(record, changed, when=when), *moved, *declared.along(record, changed))


async def _purge_kind(load: Loaders, user_id: str, entity: type[Entity], account: OfUser, declared: Works) -> None:
    async for found in load.pages(account.works(entity, user_id), BATCH):
        await for_each(found, _purge, load, account, declared)
        if declared.leave is None:
            await load.table.batch_write(deletes=[record.own_key for record in found])


async def _purge(record: Any, load: Loaders, account: OfUser, declared: Works) -> None:
    if account.mark is not None:
        await _match(record, load, True, account, declared)
    if declared.empty is not None:
        await declared.empty(load, record)
    if declared.leave is not None:
        await retries_on_conflict(declared.leave)(load, record)
