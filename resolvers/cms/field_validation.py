"""What the fields of a website's things and visitors may hold; the same name means the same everywhere."""

import re
from collections.abc import Callable
from typing import Any

from datastore.model.codec import camel
from datastore.model.entity import Entity
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks

MAX_DATA = 100_000
MAX_PURPOSES = 20

Check = Callable[[Checks, str, Any], Any]


def checked(entity: type[Entity], **given: Any) -> dict[str, Any]:
    """What was given for fields of an entity; all problems at once. What was not mentioned is left out."""
    checks = Checks()
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            fields[name] = None if entity.fields[name].optional else checks.given(camel(name), value)
        elif value is not UNSET:
            fields[name] = FIELDS[name](checks, camel(name), value)
    checks.done()
    return fields


def _text(at_most: int) -> Check:
    return lambda checks, path, value: checks.text(path, value, at_most=at_most)


def _required(at_most: int) -> Check:
    return lambda checks, path, value: checks.required_text(path, value, at_most=at_most)


def _data(checks: Checks, path: str, value: Any) -> Any:
    return checks.json_object(path, value, at_most=MAX_DATA)


def _choice(checks: Checks, path: str, value: Any) -> Any:
    """GraphQL knows its enums."""
    return value


def _amount(checks: Checks, path: str, value: int) -> int:
    """GraphQL's Int has 32 bits."""
    if value < 0:
        checks.problem(path, f"this is {value}; it cannot be less than 0")
    return value


def _written(pattern: str, message: str) -> Check:
    matches = re.compile(pattern).fullmatch

    def check(checks: Checks, path: str, value: str) -> str:
        if not matches(value):
            checks.problem(path, message)
        return value

    return check


def _purposes(checks: Checks, path: str, values: list[str]) -> list[str]:
    if len(values) > MAX_PURPOSES:
        checks.problem(path, f"these are {len(values)}; at most {MAX_PURPOSES} are allowed")
    elif not all(map(_purpose, values)):
        checks.problem(path, "a purpose is 1 to 40 letters a-z, digits, dashes and underscores")
    return list(dict.fromkeys(values))


_purpose = re.compile(r"[a-z0-9_-]{1,40}").fullmatch

FIELDS: dict[str, Check] = {
    "title": _required(300),
    "status": _choice,
    "kind": Checks.name,
    "url": Checks.https_url,
    "description": _text(20_000),
    "data": _data,
    "sku": _text(100),
    "price": _amount,
    "currency": _written("[A-Z]{3}", "a currency is three letters A-Z, such as EUR"),
    "media_type": _written(
        r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,126}", "a media type is written like image/png"
    ),
    "size": _amount,
    "alt": _text(1_000),
    "author_name": _required(100),
    "author_email": Checks.email,
    "body": _required(2_000),
    "email": Checks.email,
    "name": _text(100),
    "source": _text(200),
    "visitor_id": _written("[A-Za-z0-9_-]{16,128}", "this is 16 to 128 letters A-Z and a-z, digits, - and _"),
    "purposes": _purposes,
    "policy_version": _text(100),
}
