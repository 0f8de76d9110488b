"""Constraints of sites' subdomains."""

import re

from resolvers.core.constraints import Constraint, Report

# Names that would pass for something of ours.
RESERVED_SUBDOMAINS = {
    "about", "account", "accounts", "admin", "api", "app", "apps", "assets", "auth", "billing", "blog", "cdn",
    "dashboard", "dev", "docs", "email", "ftp", "graphql", "help", "imap", "info", "localhost", "login", "mail",
    "news", "ns1", "ns2", "pop", "postmaster", "root", "security", "smtp", "ssl", "staging", "static", "status",
    "support", "test", "webmail", "www",
}  # fmt: skip

_label = re.compile(r"[a-z0-9](?:[a-z0-9-]{1,61})[a-z0-9]").fullmatch


class Subdomain(Constraint):
    """In lower case."""

    @property
    def limit(self) -> str:
        return "3–63 letters a–z, digits and single dashes."

    def check(self, value: str, report: Report) -> str:
        subdomain = value.strip().lower()
        if not _label(subdomain) or "--" in subdomain:
            report("a subdomain is 3 to 63 letters a-z, digits and single dashes between them")
        elif subdomain in RESERVED_SUBDOMAINS:
            report(f"{subdomain} is reserved; choose another one")
        return subdomain
