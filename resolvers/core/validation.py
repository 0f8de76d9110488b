"""Checking what people send: every problem of an input is reported at once."""

import re
import unicodedata
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson

from datastore.model.codec import JSON
from resolvers.accounts.passwords import MAX_BYTES
from resolvers.cms.url_paths import path_of
from resolvers.core.problems import Problem, ProblemCode, Refused

MAX_URL = 2048
MIN_PASSWORD = 8
MAX_NESTING = 100

T = TypeVar("T")

_username = re.compile(r"[a-z0-9](?:[a-z0-9._]{1,28})[a-z0-9]").fullmatch
_email = re.compile(r"[^@\s#]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_][\w-]{1,62}").fullmatch
_label = re.compile(r"[a-z0-9](?:[a-z0-9-]{1,61})[a-z0-9]").fullmatch
_name = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?").fullmatch
_host_name = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?").fullmatch
_control = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]").search


# Names that would pass for something of ours.
RESERVED_SUBDOMAINS = {
    "about", "account", "accounts", "admin", "api", "app", "apps", "assets", "auth", "billing", "blog", "cdn",
    "dashboard", "dev", "docs", "email", "ftp", "graphql", "help", "imap", "info", "localhost", "login", "mail",
    "news", "ns1", "ns2", "pop", "postmaster", "root", "security", "smtp", "ssl", "staging", "static", "status",
    "support", "test", "webmail", "www",
}  # fmt: skip


class Checks:
    """Collect problems, then `done()` raises them together."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def problem(self, path: str, message: str) -> None:
        self._problems.append(Problem(ProblemCode.INVALID, message, ("input", path)))

    @property
    def found(self) -> bool:
        return bool(self._problems)

    def done(self) -> None:
        if self._problems:
            raise Refused(*self._problems)

    def username(self, path: str, value: str) -> str:
        username = unicodedata.normalize("NFKC", value).strip().lower()
        if not _username(username):
            self.problem(
                path,
                "a username is 3 to 30 letters a-z, digits, dots and underscores, with a letter or digit at each end",
            )
        return username

    def email(self, path: str, value: str) -> str:
        email = unicodedata.normalize("NFKC", value).strip().lower()
        if len(email.encode(errors="replace")) > 254 or not _email(email) or _control(email):
            self.problem(path, "this is not an e-mail address we can use; write it like ada@example.org, without '#'")
        return email

    def password(self, path: str, value: str) -> None:
        if len(value) < MIN_PASSWORD:
            self.problem(path, f"a password has at least {MIN_PASSWORD} characters")
        elif len(value.encode(errors="replace")) > MAX_BYTES or _control(value) or "\n" in value:
            self.problem(path, f"a password has at most {MAX_BYTES} bytes and no control characters")

    def text(self, path: str, value: str | None, *, at_most: int) -> str | None:
        """Free text, trimmed; nothing but space is the same as none."""
        text = (value or "").strip()
        if len(text) > at_most:
            self.problem(path, f"this has {len(text)} characters; at most {at_most} are allowed")
        elif _control(text):
            self.problem(path, "control characters are not allowed")
        return text or None

    def required_text(self, path: str, value: str, *, at_most: int) -> str:
        text = self.text(path, value, at_most=at_most)
        if text is None:
            self.problem(path, "this needs at least one character")
        return text or ""

    def texts(self, path: str, values: list[str] | None, *, at_most: int, each_at_most: int) -> list[str]:
        """A list of free texts, trimmed; empty ones are left out."""
        texts = [text for value in values or () if (text := self.text(path, value, at_most=each_at_most))]
        if len(texts) > at_most:
            self.problem(path, f"these are {len(texts)}; at most {at_most} are allowed")
        return texts

    def number(self, path: str, value: int | None, *, at_most: int) -> int | None:
        if value is not None and not 0 <= value <= at_most:
            self.problem(path, f"this is {value:,}; it goes from 0 to {at_most:,}")
        return value

    def given(self, path: str, value: T | None) -> T | None:
        """What may be left out, and may not be null."""
        if value is None:
            self.problem(path, "this cannot be null; leave it out to keep it as it is")
        return value

    def subdomain(self, path: str, value: str) -> str:
        subdomain = value.strip().lower()
        if not _label(subdomain) or "--" in subdomain:
            self.problem(path, "a subdomain is 3 to 63 letters a-z, digits and single dashes between them")
        elif subdomain in RESERVED_SUBDOMAINS:
            self.problem(path, f"{subdomain} is reserved; choose another one")
        return subdomain

    def name(self, path: str, value: str) -> str:
        """Of something that programs know by it."""
        name = value.strip().lower()
        if not _name(name):
            self.problem(path, "this is 1 to 40 letters a-z, digits and dashes, with a letter or digit at each end")
        return name

    def path(self, path: str, value: str) -> str:
        """An address on a website."""
        found = path_of(value) if value.strip() else None
        if found is None:
            self.problem(path, "an address is /, or words of letters, digits and -_.~ with slashes between them")
        return found or ""

    def host_name(self, path: str, value: str) -> str:
        name = value.strip().lower().rstrip(".")
        if not _host_name(name) or len(name) > 253:
            self.problem(path, f"{value[:60]!r} is not a host name; write it like www.example.org")
        return name

    def json_object(self, path: str, value: Any, *, at_most: int) -> JSON:
        return self._json(path, value, dict, "an object, such as {}", at_most)

    def json_list(self, path: str, value: Any, *, at_most: int) -> JSON:
        return self._json(path, value, list, "a list, such as []", at_most)

    def _json(self, path: str, value: Any, kind: type, called: str, at_most: int) -> JSON:
        """As large as it is written without spaces."""
        written = None if _is_too_deep(value) else _written(value)
        if written is None:
            self.problem(path, "this cannot be kept: a number has more than 64 bits, or it is nested too deep")
        elif not isinstance(value, kind):
            self.problem(path, f"this must be {called}")
        elif len(written) > at_most:
            self.problem(path, f"this has {len(written):,} bytes; at most {at_most:,} are allowed")
        return JSON(value)

    def https_url(self, path: str, value: str) -> str:
        try:
            parts = urlsplit(value)
            fine = parts.scheme == "https" and bool(parts.hostname) and parts.username is None and (parts.port or 1) > 0
        except ValueError:
            fine = False
        if not fine or len(value.encode(errors="replace")) > MAX_URL or _control(value) or any(map(str.isspace, value)):
            self.problem(path, f"an address begins with https://, has no user name and at most {MAX_URL} bytes")
        return value


def _written(value: Any) -> bytes | None:
    """As JSON, if it is the same when it is read again: infinity, which a query can spell 1e400, would become null."""
    try:
        written = orjson.dumps(value)
    except (TypeError, ValueError):
        return None
    return written if orjson.loads(written) == value else None


def _is_too_deep(value: Any) -> bool:
    """Answers have levels of their own around it, and orjson writes 254 in all."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)
