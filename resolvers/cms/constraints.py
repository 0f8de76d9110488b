"""Constraints of addresses on a website."""

from resolvers.cms.url_paths import path_of
from resolvers.core.constraints import Constraint, Report


class UrlPath(Constraint):
    """A path on a website, such as /about."""

    def check(self, value: str, report: Report) -> str:
        found = path_of(value) if value.strip() else None
        if found is None:
            report("a path is /, or words of letters, digits and -_.~ with slashes between them")
        return found or ""
