"""ENVIRONMENT=production: settings that are convenient on a laptop and unsafe in production are refused.

The server speaks plain HTTP, so in production a proxy in front of it ends TLS, and confirms it in X-Forwarded-Proto.
"""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from schema.http.settings import Settings

CLOSED = {"graphiql": False, "introspection": "off"}
"""Settings that are open by default, and in production only if they are asked for."""


def close(settings: "Settings") -> None:
    """Closes what is not asked for."""
    for name, value in CLOSED.items():
        if name not in settings.model_fields_set:
            setattr(settings, name, value)


def refusals(settings: "Settings") -> list[str]:
    """Returns one line for each unsafe setting: its name, what is wrong, and what to do."""
    found = []
    if not settings.auth_secret:
        found.append("AUTH_SECRET: production needs one; make it with `openssl rand -base64 48` and keep it in a vault")
    if settings.auth_jwks_url and urlsplit(settings.auth_jwks_url).scheme != "https":
        found.append(f"AUTH_JWKS_URL: write {settings.auth_jwks_url} with https://; anyone between could replace keys")
    insecure = [origin for origin in settings.cors_origins if not origin.startswith("https://")]
    if insecure:
        found.append(f"CORS_ORIGINS: write {insecure[0]} with https://, or remove it")
    if settings.is_public and not settings.trusted_proxies:
        found.append(
            "TRUSTED_PROXIES: name the addresses or networks of the load balancer that ends TLS, such as 10.0.0.0/16; "
            "or set HOST=127.0.0.1 if it runs on this machine"
        )
    if settings.rate_limits == "off":
        found.append("RATE_LIMITS: remove it, or write on; without limits, one client can use the whole table")
    if settings.webhooks_allow_private == "on":
        found.append(
            "WEBHOOKS_ALLOW_PRIVATE: remove it, or write off; anyone could reach the network behind the server"
        )
    if settings.log_level == "DEBUG":
        found.append("LOG_LEVEL: write INFO; DEBUG logs details of requests")
    return found
