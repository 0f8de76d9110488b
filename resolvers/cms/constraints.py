"""Constraints of the CMS: paths, media types, visitors and purposes."""

import re
from collections.abc import Sequence

from resolvers.cms.url_paths import path_of
from resolvers.core.constraints import Constraint, Each, HostName, JsonObject, Matching, Report, Text

MAX_PURPOSES = 20

Title = Text(at_most=300)
Data = JsonObject(at_most=100_000)
MediaType = Matching(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,126}", "a media type is written like image/png")
VisitorKey = Matching(
    "[A-Za-z0-9_-]{16,128}",
    "this is 16 to 128 letters A-Z and a-z, digits, - and _",
    "16–128 letters A–Z and a–z, digits, `-` and `_`.",
)

_purpose = re.compile(r"[a-z0-9_-]{1,40}").fullmatch


class UrlPath(Constraint):
    """A path on a website, such as /about."""

    def check(self, value: str, report: Report) -> str:
        found = path_of(value) if value.strip() else None
        if found is None:
            report("a path is /, or words of letters, digits and -_.~ with slashes between them")
        return found or ""


class Domains(Constraint):
    """Host names, each once."""

    names = Each(HostName(), at_most=20)

    @property
    def limit(self) -> str:
        return self.names.limit

    def check(self, value: Sequence[str], report: Report) -> list[str]:
        return list(dict.fromkeys(self.names.check([*dict.fromkeys(value)], report)))


class Purposes(Constraint):
    """Purposes of a consent, each once."""

    @property
    def limit(self) -> str:
        return f"At most {MAX_PURPOSES}."

    def check(self, value: Sequence[str], report: Report) -> list[str]:
        if len(value) > MAX_PURPOSES:
            report(f"these are {len(value)}; at most {MAX_PURPOSES} are allowed")
        elif not all(map(_purpose, value)):
            report("a purpose is 1 to 40 letters a-z, digits, dashes and underscores")
        return list(dict.fromkeys(value))
