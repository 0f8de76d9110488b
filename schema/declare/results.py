"""The results of a command, as the record of an Idempotency-Key holds them.

When a command writes, its payload is not known yet. But the writes and the arguments tell which records are in it: one
rule, `Results`, finds their keys for all commands. A replay reads these records as they are then.
"""

from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from datastore.client.writes import Check, Delete, Put, Update, Write
from datastore.model.codec import optional
from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key

# Holes of keys that are not stored: the record must not hold personal data.
PERSONAL = frozenset({"email"})

Arguments = Mapping[str, Any]


class Results:
    """The records in the payload of a command: how to find their keys.

    The key of a record of type E is, in this order, that of the E the command puts, the argument that is the ID of an
    E (`<field>_id` if there are several), and that of the E it updates, deletes (for a field `…_id`) or checks.
    Anything else in a payload needs a `replay` function.
    """

    def __init__(self, command: str, returns: Any, payload: type, *, replayable: bool) -> None:
        """`returns` is what the function returns: a named tuple, or the payload's only result."""
        self._command = command
        self._replayable = replayable
        self.only = ""
        if isinstance(returns, type) and hasattr(returns, "_fields"):
            hints = get_type_hints(returns)
        else:
            (self.only,) = payload.__annotations__.keys() - {"problems"}
            hints = {self.only: returns}
        kinds = {name: optional(hint)[0] for name, hint in hints.items()}
        self._entities = {
            name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Entity)
        }
        self._flags = [name for name, kind in kinds.items() if kind is bool]
        unknown = kinds.keys() - self._entities.keys() - {*self._flags}
        if unknown and not replayable:
            raise self._needs_replay(f"{', '.join(sorted(unknown))} cannot be found again")

    def _needs_replay(self, why: str) -> TypeError:
        return TypeError(f"{self._command}: {why} for a repeated Idempotency-Key; give command() a `replay`")

    def of_writes(self, writes: Sequence[Write], arguments: Arguments) -> dict[str, Any]:
        """Returns what to store before the payload is known. Arguments are not stored: a repetition sends them."""
        if self._flags and not self._replayable:
            raise self._needs_replay(f"{', '.join(self._flags)} is not known when it writes")
        keys = {name: self._written(name, entity, writes, arguments) for name, entity in self._entities.items()}
        return _stored(keys)

    def of_result(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what to store of the results of a command that wrote nothing."""
        keys = {name: named[name].own_key if named[name] is not None else None for name in self._entities}
        return _stored(keys) | {name: named[name] for name in self._flags}

    def keys(self, stored: Mapping[str, Any], arguments: Arguments) -> dict[str, Key[Any] | None]:
        """Returns the keys of the records, of a replay."""
        return {
            name: _key(stored[name]) if name in stored else _argument(name, entity, arguments)
            for name, entity in self._entities.items()
        }

    def flags(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        return {name: stored[name] for name in self._flags if name in stored}

    def _written(self, name: str, entity: Any, writes: Sequence[Write], arguments: Arguments) -> Key[Any] | None:
        ways: list[type[Write]] = [Update, *([Delete] if name.endswith("_id") else []), Check]
        for way in (Put, None, *ways):
            if way is None:
                if _argument(name, entity, arguments) is not None:
                    return None
                continue
            found = {write.key for write in writes if isinstance(write, way) and write.key.entity is entity}
            if len(found) > 1:
                raise self._needs_replay(f"several records that it writes could be {name}")
            if found:
                return found.pop()
        return None


def _argument(name: str, entity: Any, arguments: Arguments) -> Key[Any] | None:
    keys = {given: value for given, value in arguments.items() if isinstance(value, Key) and value.entity is entity}
    if len(keys) == 1:
        return next(iter(keys.values()))
    return keys.get(f"{name}_id")


def _stored(keys: Mapping[str, Key[Any] | None]) -> dict[str, Any]:
    return {
        name: [key.entity.__name__, key.pk, key.sk]
        for name, key in keys.items()
        if key is not None and PERSONAL.isdisjoint(key.entity.key_holes)
    }


def _key(stored: Sequence[str]) -> Key[Any]:
    name, pk, sk = stored
    return Key(REGISTRY[name], pk, sk)
