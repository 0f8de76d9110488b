"""Values that only one record may have: a guard each, written in the same transaction as the record."""

import time

from datastore.accounts import Unique
from datastore.client.writes import Delete, Put, absent, below, equals
from datastore.model.keys import Key


def claim(kind: str, value: str, owner_id: str) -> Put:
    """A guard that holds unless somebody has it: guards of what is past its grace count as free."""
    guard = Unique(kind=kind, value=value, owner_id=owner_id)
    return Put(guard, when=absent() | below("expires_at", int(time.time())))


def release(guard: Key[Unique], owner_id: str) -> Delete:
    """Only by whom it belongs to: it may be somebody else's by now."""
    return Delete(guard, when=equals("owner_id", owner_id))
