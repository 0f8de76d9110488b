"""Checking what people send: every problem of an input is reported at once."""

import re
import unicodedata
from urllib.parse import urlsplit

from resolvers.passwords import MAX_BYTES
from resolvers.problems import Problem, ProblemCode, Refused

MAX_URL = 2048
MIN_PASSWORD = 8

_username = re.compile(r"[a-z0-9](?:[a-z0-9._]{1,28})[a-z0-9]").fullmatch
_email = re.compile(r"[^@\s#]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_][\w-]{1,62}").fullmatch
_control = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]").search


class Checks:
    """Collect problems, then `done()` raises them together."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def problem(self, path: str, message: str) -> None:
        self._problems.append(Problem(ProblemCode.INVALID, message, ("input", path)))

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

    def https_url(self, path: str, value: str) -> str:
        try:
            parts = urlsplit(value)
            fine = parts.scheme == "https" and bool(parts.hostname) and parts.username is None and (parts.port or 1) > 0
        except ValueError:
            fine = False
        if not fine or len(value) > MAX_URL or _control(value) or any(map(str.isspace, value)):
            self.problem(path, f"an address begins with https://, has no user name and at most {MAX_URL} characters")
        return value
