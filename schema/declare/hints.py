"""Compares types in the schema with those in the annotations of resolver functions."""

from collections.abc import Generator, Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from datastore.model.entity import Entity


class Types:
    """The types of the schema, each with the class of its values."""

    def __init__(self, values: dict[type, type], node: type) -> None:
        self._values = values
        self._node = node

    def fits(self, declared: Any, returned: Any) -> bool:
        """True if every value of the annotation `returned` is one of the type `declared`."""
        if may_be_none(returned) and not may_be_none(declared):
            return False
        wanted = [*members(declared)]
        return Any in wanted or all(any(self._is(each, given) for each in wanted) for given in members(returned))

    def shows(self, declared: Any, entity: Any) -> bool:
        """True if records of this entity are values of the type `declared`."""
        return all(self._is(each, entity) for each in members(declared))

    def has_ids(self, declared: type) -> bool:
        """True if objects of the type have an ID."""
        return issubclass(declared, self._node)

    def _is(self, declared: Any, given: Any) -> bool:
        if given is Any or declared is given or self._values.get(declared) is given:
            return True
        if get_origin(declared) is list and get_origin(given) is list:
            return self.fits(get_args(declared)[0], get_args(given)[0])
        if not isinstance(given, type):
            return False
        if declared is self._node:
            return issubclass(given, Entity)
        return declared.__name__ == given.__name__ and self._has_fields(declared, given)

    def _has_fields(self, declared: Any, given: type) -> bool:
        """True if `given` has every field of an object type, with a type that fits."""
        if not hasattr(declared, "__strawberry_definition__"):
            return False
        hints = get_type_hints(given)
        return all(
            field.python_name in hints and self.fits(field.type_annotation.annotation, hints[field.python_name])
            for field in declared.__strawberry_definition__.fields
        )


def members(hint: Any) -> Iterator[Any]:
    """The members of a union other than None, or the hint itself."""
    yield from (each for each in _members(hint) if each is not NoneType)


def may_be_none(hint: Any) -> bool:
    return NoneType in _members(hint)


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def result_of(hint: Any) -> Any:
    """The result of a step; any other hint as it is."""
    return get_args(hint)[2] if is_step(hint) else hint


def is_step(hint: Any) -> bool:
    return get_origin(hint) is Generator


def argument_of(hint: Any) -> Any:
    """`Post` for `Connection[Post] | None`."""
    (only,) = members(hint)
    return next(iter(get_args(only)), None)


def generic(hint: Any, *origins: Any, partly: bool = False) -> list[Any] | None:
    """The argument of each member, if all of them are one of these generic types: `[Post]` for `Range[Post] | None`.

    With `partly`, those of the members that are.
    """
    found = [*members(result_of(hint))]
    right = [each for each in found if get_origin(each) in origins]
    return [get_args(each)[0] for each in right] if partly or len(right) == len(found) else None


def named(hint: Any) -> str:
    """As it is written in code."""
    if is_step(hint):
        return f"Step[{named(result_of(hint))}]"
    if get_origin(hint) in (Union, UnionType):
        return " | ".join("None" if each is NoneType else named(each) for each in get_args(hint))
    if get_args(hint):
        return f"{get_origin(hint).__name__}[{', '.join(map(named, get_args(hint)))}]"
    return getattr(hint, "__name__", str(hint))
