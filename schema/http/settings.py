"""Settings of the server."""

import os
import re
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode

from datastore.local import endpoint
from datastore.local.settings import is_url
from datastore.maintenance.backup_settings import BackupSettings
from resolvers.accounts.tokens import TokenSettings
from resolvers.background.mail import MailServer, MailSettings, address_of
from resolvers.core.allowance import Rates
from resolvers.core.command_limits import limits_in
from resolvers.core.options import Options
from schema.execution.introspection import Allowed
from schema.execution.limits import Limits
from schema.http import production
from schema.http.client_address import Network, networks
from schema.http.connection_limits import ConnectionLimits
from schema.http.setting_checks import is_loopback, is_safe_origin, plain_origin, private_url, unguessable

SECRETS = {"AUTH_SECRET", "MAIL_URL", "OPENSEARCH_URL"}
"""Settings whose values never appear in output."""


class Settings(BackupSettings):
    """Settings, read from the environment variables of the same names."""

    environment: Literal["development", "production"] = Field(
        "development", description="production refuses unsafe settings and plain http."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on.")
    workers: int = Field(1, ge=1, le=64, description="Number of server processes on the port.")
    trusted_proxies: Annotated[list[Network], NoDecode] = Field(
        [], description="Proxies whose X-Forwarded-For is trusted: addresses or networks, separated by commas."
    )
    auth_secret: str | None = Field(
        None, min_length=32, description="Signs tokens and cursors. Generated in DATA_DIR if the table is local."
    )
    auth_jwks_url: str | None = Field(
        None, description="URL of the keys of an identity provider that issues the tokens."
    )
    auth_issuer: str | None = Field(None, description="Required `iss` claim of tokens.")
    auth_audience: str | None = Field(None, description="Required `aud` claim of tokens.")
    auth_token_lifetime: int = Field(43_200, ge=60, description="Lifetime of our own tokens in seconds.")
    mail_url: str | None = Field(None, description="SMTP server: smtp://… or smtps://…")
    mail_from: str | None = Field(None, description="Sender of mail. Required with MAIL_URL.")
    request_timeout: float = Field(
        10.0, gt=0, le=300, description="Time limit of a request in seconds, from its body to the complete response."
    )
    max_connections: int = Field(5_000, ge=10, le=100_000, description="Maximum number of connections.")
    max_connections_per_address: int = Field(
        1_000, ge=1, le=100_000, description="Maximum number of connections from one address, except trusted proxies."
    )
    write_timeout: float = Field(
        30.0, gt=0, le=600, description="Seconds that a client may take to read the next 16 KB of a response."
    )
    max_requests_in_flight: int = Field(
        400,
        ge=8,
        le=10_000,
        description="Maximum number of concurrent requests; fewer while the CPU is saturated.",
    )
    max_calls_in_flight: int = Field(64, ge=1, le=10_000, description="Maximum number of concurrent DynamoDB calls.")
    cache_mb: int = Field(
        0, ge=0, le=100_000, description="Megabytes of hot records and pages to keep in each process. 0 keeps none."
    )
    max_streams: int = Field(
        20_000, ge=0, description="Maximum number of open streams: live queries and subscriptions, in one process."
    )
    max_streams_per_client: int = Field(
        100, ge=1, description="Maximum number of open streams of one viewer, and from one address."
    )
    max_body_bytes: int = Field(1_000_000, ge=1_000, description="Maximum size of a request body in bytes.")
    max_answer_bytes: int = Field(10_000_000, ge=1_000, description="Maximum size of a response in bytes.")
    max_query_tokens: int = Field(2_000, ge=100, description="Maximum length of a query in tokens.")
    max_query_depth: int = Field(15, ge=1, le=100, description="Maximum depth of a query.")
    max_query_cost: int = Field(10_000, ge=1, description="Maximum cost of a query: a record costs 1, a leaf 0.1.")
    introspection: Allowed = Field(
        "on", description="Who may introspect the schema: on for all, off for none, signed-in for signed-in viewers."
    )
    max_json_depth: int = Field(64, ge=1, le=500, description="Maximum nesting of variables.")
    max_json_values: int = Field(20_000, ge=100, description="Maximum number of values in variables.")
    rate_limits: Literal["auto", "on", "off"] = Field(
        "auto", description="Rate limits; auto is off if only this machine can reach the server and its table."
    )
    rate_limit_cost: int = Field(
        120_000, ge=1, le=10**9, description="Cost that a viewer, or an anonymous client, may use per minute."
    )
    rate_limit_writes: int = Field(
        300, ge=1, le=10**9, description="Mutations that a viewer, or an anonymous client, may send per minute."
    )
    rate_limit_client_factor: int = Field(
        20, ge=1, le=10_000, description="Limits of all signed-in viewers at one client together, as a multiple of one."
    )
    rate_limit_tenant_factor: int = Field(
        50, ge=1, le=10_000, description="Limits of all visitors of one tenant together, as a multiple of one viewer."
    )
    rate_limit_commands: Annotated[dict[str, int], NoDecode] = Field(
        {}, description="Hourly limits of single commands, where they differ: createPost=30,vote=0"
    )
    compile_queries: bool = Field(
        True, description="True to compile queries to plans; graphql-core runs them otherwise."
    )
    change_partitions: int = Field(
        1, ge=1, le=16, description="Number of partitions of the change log. It can be raised, but not lowered."
    )
    feed_shards: int = Field(1, ge=1, le=100, description="Number of partitions for new posts.")
    feed_shards_before: int = Field(1, ge=1, le=100, description="Highest FEED_SHARDS ever used.")
    feed_fanout: int = Field(
        5_000,
        ge=0,
        le=1_000_000,
        description="Most followers to whose home feeds a post is copied. Posts of other users are merged on reading.",
    )
    sites_domain: str = Field(
        "example.org",
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(:\d{1,5})?$",
        description="Parent domain of published sites.",
    )
    webhooks_allow_private: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether webhooks may use http and addresses inside of the network; "
        "auto is on if only this machine can reach the server and its table.",
    )
    cors_origins: Annotated[list[str], NoDecode] = Field(
        [],
        description="Allowed web origins, separated by commas: https://app.example.org,https://www.example.org. "
        "Pages of localhost are always allowed if only this machine can reach the server.",
    )
    public_max_age: int = Field(
        5, ge=0, le=86_400, description="Seconds that caches may keep the answers of anonymous GET queries."
    )
    graphiql: bool = Field(True, description="True to serve GraphiQL to browsers at /graphql.")
    metrics: bool = Field(True, description="True to serve metrics at /metrics.")
    slow_operation: float = Field(
        1.0, ge=0, le=300, description="Seconds from which an operation is logged with its plan; 0 for never."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Minimum level of log lines.")
    log_format: Literal["auto", "text", "json"] = Field(
        "auto", description="Log format; auto is text on a terminal and JSON elsewhere."
    )

    @field_validator("workers")
    @classmethod
    def _can_be_forked(cls, value: int) -> int:
        if value > 1 and not hasattr(os, "fork"):
            raise ValueError("this system cannot run several workers; set WORKERS=1")
        return value

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _are_networks(cls, value: str | list[str]) -> list[Network]:
        return networks(value)

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _are_origins(cls, value: str | list[str]) -> list[str]:
        origins = [origin.strip() for origin in (value.split(",") if isinstance(value, str) else value)]
        for origin in origins:
            plain_origin(origin)
        if any(not re.fullmatch(r"https?://[^/\s]+", origin) for origin in origins):
            raise ValueError("write origins like https://app.example.org, with commas between them")
        return origins

    @field_validator("auth_jwks_url")
    @classmethod
    def _is_keys_url(cls, value: str | None) -> str | None:
        is_url(value)
        return None if value is None else private_url(value)

    @field_validator("auth_secret")
    @classmethod
    def _is_unguessable(cls, value: str | None) -> str | None:
        return None if value is None else unguessable(value)

    @field_validator("mail_url")
    @classmethod
    def _is_mail_server(cls, value: str | None) -> str | None:
        if value is not None:
            MailServer.at(value)
        return value

    @field_validator("mail_from")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None:
            address_of(value)
        return value

    @model_validator(mode="after")
    def _is_fit_for_production(self) -> "Settings":
        if self.is_production:
            production.close(self)
            if refused := production.refusals(self):
                raise ValueError("\n".join(refused))
        return self

    @model_validator(mode="after")
    def _mail_has_a_sender(self) -> "Settings":
        if self.mail_url and not self.mail_from:
            raise ValueError("MAIL_URL needs MAIL_FROM: the address that mail comes from")
        return self

    @model_validator(mode="after")
    def _origins_are_safe(self) -> "Settings":
        unsafe = [origin for origin in self.cors_origins if not is_safe_origin(origin)]
        if unsafe and not endpoint.is_at_home(self):
            raise ValueError(f"CORS_ORIGINS: write {unsafe[0]} with https://; http is accepted only for localhost")
        return self

    @model_validator(mode="after")
    def _provider_is_whole(self) -> "Settings":
        if self.auth_jwks_url and not (self.auth_issuer and self.auth_audience):
            raise ValueError("AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE: tokens for others must not count")
        return self

    @field_validator("rate_limit_commands", mode="before")
    @classmethod
    def _are_limits(cls, value: str | dict[str, int]) -> dict[str, int]:
        return limits_in(value) if isinstance(value, str) else value

    def limits_rates(self, *, local_table: bool) -> bool:
        """Returns True if rate limits are on."""
        return not self._is_alone(local_table) if self.rate_limits == "auto" else self.rate_limits == "on"

    def allows_private_webhooks(self, *, local_table: bool) -> bool:
        """Returns True if webhooks may send to addresses inside of the network."""
        chosen = self.webhooks_allow_private
        return self._is_alone(local_table) if chosen == "auto" else chosen == "on"

    def _is_alone(self, local_table: bool) -> bool:
        """True if only this machine can reach the server and its table."""
        return local_table and not self.is_public and not self.trusted_proxies and not self.is_production

    @property
    def rates(self) -> Rates:
        return Rates(
            self.rate_limit_cost, self.rate_limit_writes, self.rate_limit_client_factor, self.rate_limit_tenant_factor
        )

    def tokens(self, secret: str) -> TokenSettings:
        return TokenSettings(
            secret=secret,
            lifetime=self.auth_token_lifetime,
            jwks_url=self.auth_jwks_url,
            issuer=self.auth_issuer,
            audience=self.auth_audience,
        )

    def mail(self, *, into_log: bool) -> MailSettings:
        """Returns the mail settings. Sending may take half of a request's time; the rest is left for reads."""
        server = MailServer.at(self.mail_url) if self.mail_url else None
        return MailSettings(server, self.mail_from or "", self.request_timeout / 2, into_log)

    @property
    def is_production(self) -> bool:
        return self.environment == "production"

    @property
    def is_public(self) -> bool:
        """True if other machines can reach the server."""
        return not is_loopback(self.host)

    @property
    def allows_local_origins(self) -> bool:
        """True if pages of this machine may call the server: while it is developed, not behind a proxy."""
        return not self.is_public and not self.trusted_proxies and not self.is_production

    @property
    def options(self) -> Options:
        return Options(self.feed_shards, self.feed_shards_before, self.sites_domain, feed_fanout=self.feed_fanout)

    @property
    def connection_limits(self) -> ConnectionLimits:
        return ConnectionLimits(self.max_connections, self.max_connections_per_address, self.write_timeout)

    @property
    def limits(self) -> Limits:
        return Limits(
            self.max_query_tokens,
            self.max_query_depth,
            self.max_query_cost,
            self.max_json_depth,
            self.max_json_values,
        )


def explained(error: ValidationError) -> str:
    """Returns one line per invalid setting, without the values of secrets."""
    lines = []
    for problem in error.errors():
        name = ".".join(map(str, problem["loc"])).upper()
        value = "" if name in SECRETS or not name else f" (it is {problem['input']!r})"
        message = problem["msg"].removeprefix("Value error, ")
        # What is wrong with several settings together names them itself.
        lines.append(f"{name}: {message}{value}" if name else message)
    return "\n".join(lines)
