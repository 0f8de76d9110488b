"""Estimates the memory of records, in a few microseconds each."""

from collections.abc import Iterable
from enum import Enum
from sys import getsizeof
from typing import Any

from datastore.model.entity import Record
from datastore.model.keys import Key

# Of an object besides its dictionary, and of a tuple of three, without what they hold.
OBJECT = 64
KEY = 80
ASCII = 49
"""Of a text, besides its characters."""
FREE = frozenset({type(None), bool, type})
"""Kinds of values that are shared by all records."""


def size_of(records: Iterable[Any]) -> int:
    """Returns about how many bytes these records take."""
    return sum(map(_size, records))


def _size(value: Any) -> int:
    kind = value.__class__
    if kind is str:
        return ASCII + len(value) if value.isascii() else getsizeof(value)
    if kind is Key:
        return KEY + _size(value.pk) + _size(value.sk)
    if kind in FREE:
        return 0
    if isinstance(value, Record):
        fields = value.__dict__
        return OBJECT + getsizeof(fields) + _sizes(fields.values())
    if kind is dict:
        return getsizeof(value) + _sizes(value) + _sizes(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return getsizeof(value) + _sizes(value)
    return 0 if isinstance(value, Enum) else getsizeof(value)


def _sizes(values: Iterable[Any]) -> int:
    return sum([_size(each) for each in values if each is not None])
