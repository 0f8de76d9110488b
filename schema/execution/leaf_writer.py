"""Leaves of an answer: generated code that writes all leaf fields of a selection, and what a value has to be.

Most of an answer is leaves, and nearly all of them are what they should be. So for every selection a loop is written
out and compiled that builds one dict per record and looks only at the class of a value:

    add({'id': v if (v := f0(r)).__class__ is str else s1(v), 'author': None, …})

Whatever is not plainly right goes through the scalar's own coercion, which raises what graphql-core would report.
"""

from collections.abc import Callable, Sequence
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
from datastore.model.times import DIGITS, TIME_WITHOUT_DIGITS

Serialize = Callable[[Any], Any]
Write = Callable[[Sequence[Any], Sequence[Callable[[Any], Any]]], list[dict[str, Any]]]

# What needs no coercion: a test of the value that is read by the code in the braces.
PLAIN = {
    GraphQLString.name: "(v := {}).__class__ is str",
    GraphQLID.name: "(v := {}).__class__ is str",
    GraphQLBoolean.name: "(v := {}).__class__ is bool",
    GraphQLInt.name: "(v := {}).__class__ is int and -2147483648 <= v <= 2147483647",
    "DateTime": "(v := {}).__class__ is str and v.isascii() and v.encode().translate(DIGITS) == TIME",
}

NAMES: dict[str, Any] = {"DIGITS": DIGITS, "TIME": TIME_WITHOUT_DIGITS}


class Unfit(Exception):
    """A value that its type does not allow; graphql-core will say so in its own words."""


def leaf_type(of_type: GraphQLOutputType) -> GraphQLLeafType | None:
    """The scalar or enum itself, if it is one, or one that may not be null."""
    inner = of_type.of_type if is_non_null_type(of_type) else of_type
    return inner if is_leaf_type(inner) else None


def serializer(of_type: GraphQLOutputType) -> Serialize:
    """From a resolved value to what goes into the answer."""
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


def completer(of_type: GraphQLOutputType) -> Callable[[Sequence[Any]], list[Any]]:
    """`serializer` for many values, with the same look at what is plainly right."""
    names = {**NAMES, "serialize": serializer(of_type)}
    source = f"def complete(values): return [{_code(of_type, 'value', 'serialize')} for value in values]"
    complete: Callable[[Sequence[Any]], list[Any]] = define("complete", source, names, purpose=f"complete {of_type}")
    return complete


class WriterSource:
    """Writes the source of one selection's loop and keeps the names that source refers to."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {**NAMES}
        self._entries: list[str] = []
        self._functions = 0

    def constant(self, key: str, value: str | None) -> None:
        """`__typename`, or the place of something that is filled in later."""
        self._entries.append(f"{key!r}: {value!r}")

    def attribute(self, key: str, name: str, of_type: GraphQLOutputType) -> None:
        self._leaf(key, f"r.{name}", of_type)

    def function(self, key: str, of_type: GraphQLOutputType) -> None:
        """The next of the functions that the loop is given."""
        self._leaf(key, f"f{self._functions}(r)", of_type)
        self._functions += 1

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
    """What goes into the answer for the value that is read by this code."""
    leaf = leaf_type(of_type)
    assert leaf is not None
    test = PLAIN.get(leaf.name)
    return f"v if {test.format(read)} else {serialize}(v)" if test else f"{serialize}({read})"
