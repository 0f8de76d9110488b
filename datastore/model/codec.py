"""Converts between Python values and DynamoDB's JSON: encoders are closures, decoders are generated code.

Reading is the hot path, so every entity gets one function, generated when it is first used, that maps the item directly
to the record's fields: `'followers': int(i['followers']['N']) if 'followers' in i else 0`. It also checks what DynamoDB
does not: times, and the range of numbers. A record that was decoded can be used and sent without further checks.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, TypeVar, Union, get_args, get_origin

import orjson
from msgspec import UNSET

from datastore.model.generated_code import define
from datastore.model.times import DIGITS, TIME_WITHOUT_DIGITS, Time

AttributeValue = dict[str, Any]
Item = Mapping[str, AttributeValue]
JSON = NewType("JSON", object)
BigInt = NewType("BigInt", int)
"""A whole number that GraphQL's Int may be too small for: bytes, amounts of money."""
T = TypeVar("T")

COMPRESS_FROM = 1024
MAX_INFLATED = 10_000_000
MAX_DEPTH = 128
"""Nesting of a JSON value. The answer around it is nested too, and orjson writes 254 levels."""
INT_LIMIT = 2**31
"""GraphQL's Int. Private numbers are never sent."""
PRIVATE_INT_LIMIT = 2**63
BIG_INT_LIMIT = 2**53
"""JavaScript, and so most of JSON, has no larger exact integers."""
PARSED = "a_"
"""Prefix of attribute names in an item parsed by `datastore.model.responses`."""


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def wire(value: Any) -> AttributeValue:
    """Converts a JSON-like value to DynamoDB's JSON."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int() | float() | Decimal():
            return {"N": str(value)}
        case bytes():
            return {"B": b64encode(value).decode()}
        case Mapping():
            return {"M": {str(key): wire(inner) for key, inner in value.items()}}
        case list() | tuple():
            return {"L": [wire(inner) for inner in value]}
    raise TypeError(f"{type(value).__name__} cannot be stored in a DynamoDB item")


def plain(value: AttributeValue) -> Any:
    """Converts DynamoDB's JSON to a JSON-like value; the inverse of `wire`."""
    kind, inner = next(iter(value.items()))
    match kind:
        case "NULL":
            return None
        case "N":
            return number(inner)
        case "B":
            return b64decode(inner)
        case "M":
            return {key: plain(element) for key, element in inner.items()}
        case "L":
            return [plain(element) for element in inner]
        case "SS" | "NS" | "BS":
            return [plain({kind[0]: element}) for element in inner]
    return inner


def as_we_write(value: AttributeValue) -> AttributeValue:
    """Normalizes values written by other programs: removes NULLs from maps, and converts sets to lists."""
    ((kind, inner),) = value.items()
    if kind == "M":
        return {"M": {key: as_we_write(element) for key, element in inner.items() if "NULL" not in element}}
    if kind == "L":
        return {"L": [as_we_write(element) for element in inner]}
    return {"L": [{kind[0]: element} for element in inner]} if kind in ("SS", "NS", "BS") else value


def number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def json_value(value: AttributeValue) -> Any:
    """Converts DynamoDB's JSON to a value of a JSON field. Raises ValueError for what JSON cannot express."""
    read = plain(value)
    check_json(read)
    return read


def check_json(value: Any) -> None:
    """Raises ValueError for numbers and nesting that cannot be written as JSON."""
    level, depth = [value], 0
    while level:
        inner: list[Any] = []
        for each in level:
            if each.__class__ is dict:
                inner += each.values()
            elif each.__class__ is list:
                inner += each
            elif each.__class__ is float and each - each != 0:
                raise ValueError("a number is not finite")
            elif each.__class__ is int and not -(2**63) <= each < 2**63:
                raise ValueError("a number is out of range")
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"a value is nested deeper than {MAX_DEPTH} levels")
        level = inner


def deflate(text: str | bytes) -> AttributeValue:
    """Encodes text, compressed unless it is short."""
    raw = text.encode() if isinstance(text, str) else text
    if len(raw) < COMPRESS_FROM:
        return {"S": raw.decode()}
    return {"B": b64encode(zlib.compress(raw, 6)).decode()}


def inflate(value: AttributeValue) -> str:
    if "S" in value:
        return str(value["S"])
    stream = zlib.decompressobj()
    text = stream.decompress(b64decode(value["B"]), MAX_INFLATED)
    if not stream.eof:
        raise ValueError(f"compressed text is incomplete or over {MAX_INFLATED:,} bytes")
    return text.decode()


def inflate_json(value: AttributeValue) -> Any:
    text = inflate(value)
    read = orjson.loads(text)
    # orjson reads no other numbers than it writes, so only the nesting needs a check.
    if text.count("[") + text.count("{") > MAX_DEPTH:
        check_json(read)
    return read


def inflate_texts(value: AttributeValue) -> list[str]:
    read = orjson.loads(inflate(value))
    if read.__class__ is not list or not all(each.__class__ is str for each in read):
        raise ValueError("not a list of text")
    return list(read)


def checked_time(text: str) -> str:
    """Returns the time. Raises ValueError for one that is written otherwise or that no calendar has."""
    if text.encode().translate(DIGITS) != TIME_WITHOUT_DIGITS:
        raise ValueError(f"{text[:40]!r} is not a time")
    datetime.fromisoformat(text)
    return text


def out_of_range(value: object) -> Any:
    raise ValueError(f"{str(value)[:40]} is out of range")


def finite(value: Any) -> Any:
    """Returns a float or Decimal. Raises ValueError for infinity and NaN."""
    return value if value - value == 0 else out_of_range(value)


def optional(hint: Any) -> tuple[Any, bool]:
    """Returns the type without `| None`, and True if it had one."""
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        (inner,) = (argument for argument in get_args(hint) if argument is not NoneType)
        return inner, True
    return hint, False


def base_type(hint: Any) -> Any:
    """Returns the type without Annotated and NewType, except for JSON."""
    while True:
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
        elif isinstance(hint, NewType) and hint is not JSON:
            hint = hint.__supertype__
        else:
            return hint


def encoder(hint: Any, *, compressed: bool = False) -> Callable[[Any], AttributeValue]:
    hint = base_type(hint)
    if compressed:
        return deflate if hint is str else lambda value: deflate(orjson.dumps(value))
    if hint is str:
        return lambda value: {"S": value}
    if hint is bool:
        return lambda value: {"BOOL": value}
    if hint in (int, float, Decimal):
        return lambda value: {"N": str(value)}
    if hint is JSON:
        return wire
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value: {"S": value.value}
    if hasattr(hint, "encode_fields"):
        return lambda value: {"M": hint.encode_fields(value)}
    if get_origin(hint) is list:
        each = encoder(get_args(hint)[0])
        return lambda value: {"L": [each(inner) for inner in value]}
    if get_origin(hint) is dict:
        each = encoder(get_args(hint)[1])
        return lambda value: {"M": {key: each(inner) for key, inner in value.items()}}
    raise TypeError(f"a stored field cannot be a {hint}")


class DecoderSource:
    """Generates the source of a record's decoder, with the names it refers to.

    The decoder takes an item as a dict of dicts or, if `parsed`, as a struct of structs. Nested values are dicts in
    both cases.
    """

    def __init__(self, record: type, *, parsed: bool = False) -> None:
        self._parsed = parsed
        self._record_name = record.__name__
        self._int_limit = INT_LIMIT
        self.names: dict[str, Any] = {
            "UNSET": UNSET,
            "new": object.__new__,
            "record": record,
            "json_value": json_value,
            "inflate": inflate,
            "inflate_json": inflate_json,
            "inflate_texts": inflate_texts,
            "Decimal": Decimal,
            "out_of_range": out_of_range,
            "finite": finite,
            "iso": datetime.fromisoformat,
            "checked_time": checked_time,
            "DIGITS": DIGITS,
            "TIME": TIME_WITHOUT_DIGITS,
        }
        self._lines: list[str] = []

    def field(
        self, name: str, hint: Any, default: Any, *, required: bool, compressed: bool = False, private: bool = False
    ) -> None:
        attribute = camel(name)
        # A private count is part of a public sum.
        self._int_limit = PRIVATE_INT_LIMIT if private and not name.endswith("_count") else INT_LIMIT
        if hint is BigInt:
            self._int_limit = BIG_INT_LIMIT
        read = self._read(hint, self._at(attribute), compressed=compressed)
        if not required:
            there = f"{self._at(attribute)} is not UNSET" if self._parsed else f"'{attribute}' in i"
            read = f"({read}) if {there} else {self._name(default)}"
        self._lines.append(f"'{name}': {read},")

    def key(self, key: type) -> None:
        self.names |= {"tuple_new": tuple.__new__, "Key": key}
        pk, sk = (self._value(self._at(attribute), "S", 0) for attribute in ("PK", "SK"))
        self._lines.append(f"'own_key': tuple_new(Key, (record, {pk}, {sk})),")

    def constant(self, name: str, value: Any) -> None:
        self._lines.append(f"'{name}': {self._name(value)},")

    def compile(self, add_fields: Callable[[], None] | None = None) -> Callable[[Item], Any]:
        """Returns the decoder. `add_fields` is called when it is first used."""

        def source() -> str:
            if add_fields:
                add_fields()
            body = "\n        ".join(self._lines)
            return f"def decode(i):\n    r = new(record)\n    r.__dict__ = {{\n        {body}\n    }}\n    return r\n"

        decode: Callable[[Item], Any] = define("decode", source, self.names, purpose=f"decode {self._record_name}")
        return decode

    def _at(self, attribute: str) -> str:
        return f"i.{PARSED}{attribute}" if self._parsed else f"i['{attribute}']"

    def _value(self, at: str, kind: str, depth: int) -> str:
        return f"{at}.{kind}" if self._parsed and depth == 0 else f"{at}['{kind}']"

    def _name(self, value: Any) -> str:
        """Returns code for the default; mutable defaults are created for each record."""
        if value is None or (isinstance(value, bool | int | str | float) and not isinstance(value, Enum)):
            return repr(value)
        name = f"_{len(self.names)}"
        self.names[name] = value
        return f"{name}()" if isinstance(value, type) or callable(value) else name

    def _read(self, hint: Any, at: str, *, compressed: bool = False, depth: int = 0) -> str:
        is_time = hint is Time
        hint = base_type(hint)
        if compressed:
            inflated = {str: "inflate", JSON: "inflate_json", list[str]: "inflate_texts"}
            return f"{inflated[hint]}({at})"
        if is_time:
            # Shape and calendar, without a call of a Python function.
            text = self._value(at, "S", depth)
            return f"t if (t := {text}).encode().translate(DIGITS) == TIME and iso(t) else checked_time(t)"
        if hint is str:
            return self._value(at, "S", depth)
        if hint is bool:
            return self._value(at, "BOOL", depth)
        if hint is int:
            limit, text = self._int_limit, self._value(at, "N", depth)
            return f"n if {-limit} <= (n := int({text})) < {limit} else out_of_range(n)"
        if hint in (float, Decimal):
            return f"finite({hint.__name__}({self._value(at, 'N', depth)}))"
        if hint is JSON:
            return f"json_value({at})"
        if isinstance(hint, type) and issubclass(hint, Enum):
            members = f"_{len(self.names)}"
            self.names[members] = {member.value: member for member in hint}
            return f"{members}[{self._value(at, 'S', depth)}]"
        if hasattr(hint, "decode_fields"):
            nested = f"_{len(self.names)}"
            self.names[nested] = hint.decode_fields
            return f"{nested}({at}['M'])"
        inner = f"e{depth}"
        if get_origin(hint) is list:
            return f"[({self._read(get_args(hint)[0], inner, depth=depth + 1)}) for {inner} in {at}['L']]"
        if get_origin(hint) is dict:
            value = self._read(get_args(hint)[1], inner, depth=depth + 1)
            return f"{{k{depth}: ({value}) for k{depth}, {inner} in {at}['M'].items()}}"
        raise TypeError(f"a stored field cannot be a {hint}")
