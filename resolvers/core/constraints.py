"""Constraints of a command's arguments, declared in their annotations.

`caption: Annotated[str | None, Doc("Caption."), Text(at_most=2_200)]`: the input is validated before the command runs,
the command gets the normalized value, and the schema's description ends with the limit. Whether an argument may be
null or empty is said by its type: `str | None` may be both, `str` neither.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson

from datastore.model.codec import JSON

MAX_URL = 2048
MAX_NESTING = 100

Report = Callable[[str], None]

_email = re.compile(r"[^@\s#]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_][\w-]{1,62}").fullmatch
_name = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?").fullmatch
_host_name = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?").fullmatch
has_control_characters = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]").search


class Constraint:
    """Validates and normalizes one argument."""

    @property
    def limit(self) -> str:
        """The sentence that ends the argument's description; empty for none."""
        return ""

    def check(self, value: Any, report: Report) -> Any:
        """Returns the value as the command gets it; reports what is wrong with it. Never called with None."""
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Constraint):
    """Free text, trimmed. Blank text becomes None, which an argument of type `str` does not allow."""

    at_most: int

    @property
    def limit(self) -> str:
        return f"At most {self.at_most:,} characters."

    def check(self, value: str, report: Report) -> str | None:
        text = value.strip()
        if len(text) > self.at_most:
            report(f"this has {len(text)} characters; at most {self.at_most} are allowed")
        elif has_control_characters(text):
            report("control characters are not allowed")
        return text or None


@dataclass(frozen=True)
class Each(Constraint):
    """A list whose items satisfy `item`; items that become None are left out."""

    item: Constraint
    at_most: int

    @property
    def limit(self) -> str:
        each = self.item.limit.rstrip(".")
        return f"At most {self.at_most:,} items" + (f", each {each[0].lower()}{each[1:]}." if each else ".")

    def check(self, value: Sequence[Any], report: Report) -> list[Any]:
        items = [item for each in value if (item := self.item.check(each, report)) is not None]
        if len(items) > self.at_most:
            report(f"these are {len(items)}; at most {self.at_most} are allowed")
        return items


@dataclass(frozen=True)
class Number(Constraint):
    """A whole number from 0."""

    at_most: int

    @property
    def limit(self) -> str:
        return f"From 0 to {self.at_most:,}."

    def check(self, value: int, report: Report) -> int:
        if not 0 <= value <= self.at_most:
            report(f"this is {value:,}; it goes from 0 to {self.at_most:,}")
        return value


@dataclass(frozen=True)
class Matching(Constraint):
    """Text that matches a regular expression; `message` says what is expected."""

    pattern: str
    message: str
    describes: str = ""

    @property
    def limit(self) -> str:
        return self.describes

    def check(self, value: str, report: Report) -> str:
        if not re.fullmatch(self.pattern, value):
            report(self.message)
        return value


class HttpsUrl(Constraint):
    @property
    def limit(self) -> str:
        return f"An https URL of at most {MAX_URL:,} bytes."

    def check(self, value: str, report: Report) -> str:
        if not _is_https(value) or len(value.encode(errors="replace")) > MAX_URL or has_control_characters(value):
            report(f"a URL begins with https://, has no user name and at most {MAX_URL} bytes")
        return value


def _is_https(value: str) -> bool:
    try:
        parts = urlsplit(value)
        fine = parts.scheme == "https" and bool(parts.hostname) and parts.username is None and (parts.port or 1) > 0
    except ValueError:
        return False
    return fine and not any(map(str.isspace, value))


class Email(Constraint):
    """In lower case."""

    def check(self, value: str, report: Report) -> str:
        email = unicodedata.normalize("NFKC", value).strip().lower()
        if len(email.encode(errors="replace")) > 254 or not _email(email) or has_control_characters(email):
            report("this is not an email address we can use; write it like ada@example.org, without '#'")
        return email


class Name(Constraint):
    """A name that programs use, in lower case."""

    @property
    def limit(self) -> str:
        return "1–40 letters a–z, digits and dashes."

    def check(self, value: str, report: Report) -> str:
        name = value.strip().lower()
        if not _name(name):
            report("this is 1 to 40 letters a-z, digits and dashes, with a letter or digit at each end")
        return name


class HostName(Constraint):
    """In lower case, without the final dot."""

    def check(self, value: str, report: Report) -> str:
        name = value.strip().lower().rstrip(".")
        if not _host_name(name) or len(name) > 253:
            report(f"{value[:60]!r} is not a host name; write it like www.example.org")
        return name


@dataclass(frozen=True)
class _Json(Constraint):
    at_most: int
    """Bytes, as JSON without spaces."""

    kind: ClassVar[type] = dict
    called = ""
    example = ""

    @property
    def limit(self) -> str:
        return f"A JSON {self.called} of at most {self.at_most:,} bytes."

    def check(self, value: Any, report: Report) -> JSON:
        written = None if _is_too_deep(value) else _written(value)
        if written is None:
            report("this cannot be stored: a number has more than 64 bits, or it is nested too deep")
        elif not isinstance(value, self.kind):
            report(f"this must be {self.example}")
        elif len(written) > self.at_most:
            report(f"this has {len(written):,} bytes; at most {self.at_most:,} are allowed")
        return JSON(value)


class JsonObject(_Json):
    called = "object"
    example = "an object, such as {}"


class JsonList(_Json):
    kind = list
    called = "list"
    example = "a list, such as []"


def _written(value: Any) -> bytes | None:
    """Returns the value as JSON, or None if it would be read differently: infinity (1e400 in a query) becomes null."""
    try:
        written = orjson.dumps(value)
    except (TypeError, ValueError):
        return None
    return written if orjson.loads(written) == value else None


def _is_too_deep(value: Any) -> bool:
    """True if the value is nested too deep to be part of a response: orjson writes at most 254 levels."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)
