"""Checks of settings that are valid in form and unsafe in use."""

import ipaddress
from itertools import pairwise
from urllib.parse import urlsplit

HOW_TO_MAKE_ONE = "make one with `openssl rand -base64 48`"
FEWEST_CHARACTERS = 10
KNOWN = (
    "changeme",
    "change-me",
    "change_me",
    "example",
    "password",
    "secret for tests",
    "super-secret",
    "supersecret",
    "your-256-bit-secret",
    "your-secret",
)
"""Parts of secrets in examples, which attackers try first."""


def is_loopback(host: str) -> bool:
    """Returns True for an address or name that only this machine can reach."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def unguessable(secret: str) -> str:
    """Returns the secret. Refuses one that could be guessed, without repeating it."""
    if len(set(secret)) < FEWEST_CHARACTERS:
        raise ValueError(f"it has fewer than {FEWEST_CHARACTERS} different characters; {HOW_TO_MAKE_ONE}")
    if any(secret[period:] == secret[:-period] for period in range(1, len(secret) // 2 + 1)):
        raise ValueError(f"it repeats a shorter text; {HOW_TO_MAKE_ONE}")
    if _neighbors_in_order(secret) > len(secret) / 2:
        raise ValueError(f"its characters are in alphabetical or numerical order; {HOW_TO_MAKE_ONE}")
    if any(word in secret.lower() for word in KNOWN):
        raise ValueError(f"it looks like a secret from an example; {HOW_TO_MAKE_ONE}")
    return secret


def _neighbors_in_order(text: str) -> int:
    return sum(abs(ord(left) - ord(right)) <= 1 for left, right in pairwise(text))


def private_url(url: str) -> str:
    """Returns the URL. Refuses http except on this machine: anyone between could replace the keys."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError("write it with https://; http is accepted only for this machine")
    return url


def plain_origin(origin: str) -> str:
    """Returns the origin. Refuses wildcards, which would let any website in."""
    if "*" in origin:
        raise ValueError("write each origin in full; wildcards are not accepted")
    return origin


def is_safe_origin(origin: str) -> bool:
    """Returns True for https, and for http on this machine."""
    parts = urlsplit(origin)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")
