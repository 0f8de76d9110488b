"""Converts between Python values and DynamoDB's JSON: encoders are closures, decoders are generated code.

Reading is the hot path, so every entity gets one function, generated at import, that maps the item directly to the
record's fields: `'followers': int(i['followers']['N']) if 'followers' in i else 0`.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, TypeVar, Union, get_args, get_origin

import orjson
from msgspec import UNSET

from datastore.model.generated_code import define

AttributeValue = dict[str, Any]
Item = Mapping[str, AttributeValue]
JSON = NewType("JSON", object)
T = TypeVar("T")

COMPRESS_FROM = 1024
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


def deflate(text: str | bytes) -> AttributeValue:
    """Encodes text, compressed unless it is short."""
    raw = text.encode() if isinstance(text, str) else text
    if len(raw) < COMPRESS_FROM:
        return {"S": raw.decode()}
    return {"B": b64encode(zlib.compress(raw, 6)).decode()}


def inflate(value: AttributeValue) -> str:
    if "S" in value:
        return str(value["S"])
    return zlib.decompress(b64decode(value["B"])).decode()


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
        self.names: dict[str, Any] = {
            "UNSET": UNSET,
            "new": object.__new__,
            "record": record,
            "plain": plain,
            "inflate": inflate,
            "loads": orjson.loads,
            "Decimal": Decimal,
        }
        self._lines: list[str] = []

    def field(self, name: str, hint: Any, default: Any, *, required: bool, compressed: bool = False) -> None:
        attribute = camel(name)
        read = self._read(hint, self._at(attribute), compressed=compressed)
        if not required:
            there = f"{self._at(attribute)} is not UNSET" if self._parsed else f"'{attribute}' in i"
            read = f"{read} if {there} else {self._name(default)}"
        self._lines.append(f"'{name}': {read},")

    def key(self, key: type) -> None:
        self.names |= {"tuple_new": tuple.__new__, "Key": key}
        pk, sk = (self._value(self._at(attribute), "S", 0) for attribute in ("PK", "SK"))
        self._lines.append(f"'own_key': tuple_new(Key, (record, {pk}, {sk})),")

    def constant(self, name: str, value: Any) -> None:
        self._lines.append(f"'{name}': {self._name(value)},")

    def compile(self) -> Callable[[Item], Any]:
        body = "\n        ".join(self._lines)
        source = f"def decode(i):\n    r = new(record)\n    r.__dict__ = {{\n        {body}\n    }}\n    return r\n"
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
        hint = base_type(hint)
        if compressed:
            return f"inflate({at})" if hint is str else f"loads(inflate({at}))"
        if hint is str:
            return self._value(at, "S", depth)
        if hint is bool:
            return self._value(at, "BOOL", depth)
        if hint in (int, float, Decimal):
            return f"{hint.__name__}({self._value(at, 'N', depth)})"
        if hint is JSON:
            return f"plain({at})"
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
            return f"[{self._read(get_args(hint)[0], inner, depth=depth + 1)} for {inner} in {at}['L']]"
        if get_origin(hint) is dict:
            value = self._read(get_args(hint)[1], inner, depth=depth + 1)
            return f"{{k{depth}: {value} for k{depth}, {inner} in {at}['M'].items()}}"
        raise TypeError(f"a stored field cannot be a {hint}")
