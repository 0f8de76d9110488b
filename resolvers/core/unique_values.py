"""Unique values: each has a guard item, written in the same transaction as the record."""

import time

from datastore.accounts import Unique
from datastore.client.writes import Delete, Put, absent, below, equals
from datastore.model.keys import Key


def claim(kind: str, value: str, owner_id: str) -> Put:
    """Claims a value on condition that it is free. Expired guards count as free."""
    guard = Unique(kind=kind, value=value, owner_id=owner_id)
    return Put(guard, when=absent() | below("expires_at", int(time.time())))


def release(guard: Key[Unique], owner_id: str) -> Delete:
    """Releases a value on condition that it still has this owner."""
    return Delete(guard, when=equals("owner_id", owner_id))
