"""Generates the code that writes the leaf fields of a selection.

Most of an answer is leaves, and nearly all of them are what they should be. So for every selection a loop is written
out and compiled that builds one dict per record and looks only at the class of a value:

    add({'caption': v if (v := r.caption).__class__ is str else s1(v), 'author': None, …})

All other values go through the scalar's own coercion, which raises what graphql-core would report.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphql import (
    GraphQLBoolean,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLOutputType,
    GraphQLString,
    Undefined,
    is_leaf_type,
    is_non_null_type,
)

from datastore.model.generated_code import define

Serialize = Callable[[Any], Any]
Complete = Callable[[Sequence[Any]], list[Any]]
Write = Callable[[Sequence[Any], Sequence[Callable[[Any], Any]]], list[dict[str, Any]]]

# Tests for values that need no coercion; the braces stand for the code that reads the value.
PLAIN = {
    GraphQLString.name: "(v := {}).__class__ is str",
    GraphQLID.name: "(v := {}).__class__ is str",
    GraphQLBoolean.name: "(v := {}).__class__ is bool",
    GraphQLInt.name: "(v := {}).__class__ is int and -2147483648 <= v <= 2147483647",
    # Decoding has checked that it is exact, or a time.
    "BigInt": "(v := {}).__class__ is int",
    "DateTime": "(v := {}).__class__ is str",
}


class Unfit(Exception):
    """A value that its type does not allow. Its cause, if there is one, is the error of the scalar."""


def leaf_type(of_type: GraphQLOutputType) -> GraphQLLeafType | None:
    """Returns the scalar or enum, without non-null, or None for other types."""
    inner = of_type.of_type if is_non_null_type(of_type) else of_type
    return inner if is_leaf_type(inner) else None


def serializer(of_type: GraphQLOutputType) -> Serialize:
    """Returns the function from a resolved value to the value in the response."""
    leaf = leaf_type(of_type)
    assert leaf is not None
    required = is_non_null_type(of_type)

    def serialize(value: Any) -> Any:
        if value is None or value is Undefined:
            if required:
                raise Unfit("null")
            return None
        try:
            coerced = None if isinstance(value, Exception) else leaf.coerce_output_value(value)
        except Exception as error:
            raise Unfit(value) from error
        if coerced is None or coerced is Undefined:
            raise Unfit(value)
        return coerced

    return serialize


def completer(of_type: GraphQLOutputType) -> Complete:
    """Returns the same function for many values, with the same fast path."""
    names = {"serialize": serializer(of_type)}
    source = f"def complete(values): return [{_code(of_type, 'value', 'serialize')} for value in values]"
    complete: Complete = define("complete", source, names, purpose=f"complete {of_type}")
    return complete


class WriterSource:
    """Writes the source of one selection's loop and keeps the names that source refers to."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        self._entries: list[str] = []
        self._functions = 0

    def constant(self, key: str, value: str | None) -> None:
        """Adds `__typename`, or the place of a field that is filled in later."""
        self._entries.append(f"{key!r}: {value!r}")

    def attribute(self, key: str, name: str, of_type: GraphQLOutputType) -> None:
        self._leaf(key, f"r.{name}", of_type)

    def function(self, key: str, of_type: GraphQLOutputType) -> None:
        """Adds a leaf that is computed by the next of the functions passed to the loop."""
        self._leaf(key, f"f{self._functions}(r)", of_type)
        self._functions += 1

    def expression(self, key: str, code: str, names: Mapping[str, Any]) -> None:
        """Adds a leaf with the code of its value, which needs no coercion."""
        self._names |= names
        self._entries.append(f"{key!r}: {code}")

    def compile(self) -> Write:
        taken = "".join(f"f{number}, " for number in range(self._functions))
        lines = [
            "def write(records, functions):",
            f"    {taken}= functions" if taken else "    pass",
            "    written = []",
            "    add = written.append",
            "    for r in records:",
            f"        add({{{', '.join(self._entries)}}})",
            "    return written",
        ]
        write: Write = define("write", "\n".join(lines), self._names, purpose="write leaves")
        return write

    def _leaf(self, key: str, read: str, of_type: GraphQLOutputType) -> None:
        name = f"s{len(self._entries)}"
        self._names[name] = serializer(of_type)
        self._entries.append(f"{key!r}: {_code(of_type, read, name)}")


def _code(of_type: GraphQLOutputType, read: str, serialize: str) -> str:
    """Returns the code of a response value, given the code that reads it."""
    leaf = leaf_type(of_type)
    assert leaf is not None
    test = PLAIN.get(leaf.name)
    return f"v if {test.format(read)} else {serialize}(v)" if test else f"{serialize}({read})"
