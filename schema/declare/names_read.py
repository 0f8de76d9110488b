"""Finds the fields that functions may read of records, from their code, so that nothing else has to be read.

It returns too many names rather than too few: every name and every text in the code of a function, of the functions it
calls and of what it closes over. A name that is missing all the same stops the operation with `NotRead`, and the
executor then reads whole records. Tests run every field of the schema.
"""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from operator import attrgetter
from typing import Any

from datastore.model.entity import REGISTRY, Entity
from loaders.visibility import rule_functions

# Functions of these packages are looked into: others never see a record.
OURS = ("resolvers", "datastore", "loaders", "schema")
# Instances of these packages hold functions of resolvers.
HOLDERS = ("resolvers", "loaders", "schema.declare")

# Globals that are looked into, besides instances of classes of resolvers.
FOLLOWED = (types.FunctionType, type, partial, attrgetter, tuple, frozenset, Mapping)
# What the body of a class declares that reads fields of its records.
DECLARED = (property, cached_property, classmethod, staticmethod, types.FunctionType)


@cache
def names_of_rules() -> frozenset[str]:
    """Returns the names of the fields that may decide about visibility."""
    return names_in(rule_functions())


def names_in(things: Iterable[Any]) -> frozenset[str]:
    """Returns the names of all fields that these functions, and objects that hold functions, may read."""
    names: set[str] = set()
    seen: set[int] = set()
    todo = list(things)
    # What has been looked at stays alive, so that no other object gets its id.
    kept: list[Any] = []
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        kept.append(thing)
        if isinstance(thing, str):
            todo += _properties().get(thing, ()) if thing not in names else ()
            names.add(thing)
        else:
            todo += _parts(thing)
    return frozenset(names)


def _parts(thing: Any) -> Iterable[Any]:
    """Returns what a thing consists of, as far as it can hold a function or the name of a field."""
    for kind, parts in _PARTS:
        if isinstance(thing, kind):
            return parts(thing)
    cls = type(thing)
    return (*getattr(thing, "__dict__", {}).values(), cls) if cls.__module__.startswith(HOLDERS) else ()


def _parts_of_class(cls: type) -> Iterable[Any]:
    is_helper = cls.__module__.startswith("resolvers") and not issubclass(cls, Entity)
    return vars(cls).values() if is_helper else ()


def _parts_of_function(function: types.FunctionType) -> Iterator[Any]:
    if not (function.__module__ or "").startswith(OURS):
        return
    yield function.__code__
    yield function.__defaults__ or ()
    yield function.__kwdefaults__ or {}
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue
    names = {*_global_names(function.__code__)}
    for value in map(function.__globals__.get, names):
        if isinstance(value, FOLLOWED) or type(value).__module__.startswith("resolvers"):
            yield value
        elif isinstance(value, types.ModuleType) and value.__name__.startswith(OURS):
            yield from (vars(value)[name] for name in names & vars(value).keys())


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


@cache
def _properties() -> dict[str, list[Any]]:
    """Returns the properties and methods of entities by name: a function that uses one reads its fields."""
    found: dict[str, list[Any]] = {}
    for entity in REGISTRY.values():
        for name, value in vars(entity).items():
            if isinstance(value, DECLARED) and not name.startswith("__"):
                found.setdefault(name, []).append(value)
    return found


_PARTS: list[tuple[Any, Callable[[Any], Iterable[Any]]]] = [
    (types.CodeType, lambda code: (*code.co_names, *code.co_consts)),
    (types.FunctionType, _parts_of_function),
    ((types.MethodType, staticmethod, classmethod), lambda method: (method.__func__,)),
    (partial, lambda made: (made.func, *made.args, *made.keywords.values())),
    (attrgetter, lambda getter: getter.__reduce__()[1]),
    (property, lambda declared: (declared.fget,)),
    (cached_property, lambda declared: (declared.func,)),
    ((tuple, list, set, frozenset), iter),
    (Mapping, lambda mapping: mapping.values()),
    (type, _parts_of_class),
]
