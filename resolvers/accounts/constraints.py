"""Constraints of usernames and passwords."""

import re
import unicodedata

from resolvers.accounts.passwords import MAX_BYTES
from resolvers.core.constraints import Constraint, Report, has_control_characters

MIN_PASSWORD = 8

_username = re.compile(r"[a-z0-9](?:[a-z0-9._]{1,28})[a-z0-9]").fullmatch


class Username(Constraint):
    """In lower case."""

    @property
    def limit(self) -> str:
        return "3–30 letters a–z, digits, dots and underscores."

    def check(self, value: str, report: Report) -> str:
        username = unicodedata.normalize("NFKC", value).strip().lower()
        if not _username(username):
            report(
                "a username is 3 to 30 letters a-z, digits, dots and underscores, with a letter or digit at each end"
            )
        return username


class Password(Constraint):
    """As it is: nothing is trimmed."""

    @property
    def limit(self) -> str:
        return f"At least {MIN_PASSWORD} characters, at most {MAX_BYTES} bytes."

    def check(self, value: str, report: Report) -> str:
        if len(value) < MIN_PASSWORD:
            report(f"a password has at least {MIN_PASSWORD} characters")
        elif len(value.encode(errors="replace")) > MAX_BYTES or has_control_characters(value) or "\n" in value:
            report(f"a password has at most {MAX_BYTES} bytes and no control characters")
        return value
