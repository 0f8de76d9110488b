"""Everything that can be set, in one typed place."""

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode

from datastore.local.settings import TableSettings, is_url
from resolvers.accounts.tokens import TokenSettings
from resolvers.background.mail import MailServer, MailSettings, address_of
from resolvers.core.options import Options
from schema.execution.limits import Limits

SECRETS = {"AUTH_SECRET", "MAIL_URL"}
"""What must not be repeated anywhere."""


class Settings(TableSettings):
    """Everything that can be set, each by the environment variable of its name."""

    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="The port to listen on.")
    auth_secret: str | None = Field(
        None, min_length=32, description="Signs tokens and cursors; made and kept in DATA_DIR when the table is local."
    )
    auth_jwks_url: str | None = Field(None, description="An identity provider's keys; tokens come from there then.")
    auth_issuer: str | None = Field(None, description="The `iss` a token must have.")
    auth_audience: str | None = Field(None, description="The `aud` a token must have.")
    auth_token_lifetime: int = Field(43_200, ge=60, description="Seconds a token of our own is valid.")
    mail_url: str | None = Field(None, description="The SMTP server that takes our mail: smtp://… or smtps://…")
    mail_from: str | None = Field(None, description="The address mail comes from; MAIL_URL needs it.")
    request_timeout: float = Field(10.0, gt=0, le=300, description="Seconds a request may take, retries included.")
    max_calls_in_flight: int = Field(64, ge=1, le=10_000, description="DynamoDB calls under way at once.")
    max_body_bytes: int = Field(1_000_000, ge=1_000, description="The largest request body.")
    max_query_tokens: int = Field(4_000, ge=100, description="The longest query, in tokens.")
    max_query_depth: int = Field(15, ge=1, le=100, description="How deep a query may go.")
    max_query_cost: int = Field(10_000, ge=1, description="How many records a query may be able to bring.")
    max_json_depth: int = Field(64, ge=1, le=500, description="How deep variables may be nested.")
    compile_queries: bool = Field(True, description="Whether queries run as compiled plans, or all by graphql-core.")
    feed_shards: int = Field(1, ge=1, le=100, description="How many partitions new posts are spread over.")
    feed_shards_before: int = Field(1, ge=1, le=100, description="The most there ever were, where that was more.")
    sites_domain: str = Field(
        "example.org",
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(:\d{1,5})?$",
        description="What published sites are subdomains of.",
    )
    cors_origins: Annotated[list[str], NoDecode] = Field(
        [], description="Web origins that may call, with commas: https://app.example.org,https://www.example.org"
    )
    graphiql: bool = Field(True, description="Whether browsers get GraphiQL at /graphql.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much is logged.")
    log_format: Literal["auto", "text", "json"] = Field("auto", description="text on a terminal, else JSON lines.")

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _are_origins(cls, value: str | list[str]) -> list[str]:
        origins = [origin.strip() for origin in (value.split(",") if isinstance(value, str) else value)]
        if any(not re.fullmatch(r"https?://[^/\s]+", origin) for origin in origins):
            raise ValueError("write origins like https://app.example.org, with commas between them")
        return origins

    @field_validator("auth_jwks_url")
    @classmethod
    def _is_keys_url(cls, value: str | None) -> str | None:
        return is_url(value)

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
    def _mail_has_a_sender(self) -> "Settings":
        if self.mail_url and not self.mail_from:
            raise ValueError("MAIL_URL needs MAIL_FROM: the address that mail comes from")
        return self

    @model_validator(mode="after")
    def _provider_is_whole(self) -> "Settings":
        if self.auth_jwks_url and not (self.auth_issuer and self.auth_audience):
            raise ValueError("AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE: tokens for others must not count")
        return self

    def tokens(self, secret: str) -> TokenSettings:
        return TokenSettings(
            secret=secret,
            lifetime=self.auth_token_lifetime,
            jwks_url=self.auth_jwks_url,
            issuer=self.auth_issuer,
            audience=self.auth_audience,
        )

    def mail(self, *, into_log: bool) -> MailSettings:
        """Half of a request's time is left for what is read afterwards."""
        server = MailServer.at(self.mail_url) if self.mail_url else None
        return MailSettings(server, self.mail_from or "", self.request_timeout / 2, into_log)

    @property
    def options(self) -> Options:
        return Options(self.feed_shards, self.feed_shards_before, self.sites_domain)

    @property
    def limits(self) -> Limits:
        return Limits(self.max_query_tokens, self.max_query_depth, self.max_query_cost, self.max_json_depth)


def explained(error: ValidationError) -> str:
    """One line per setting; a secret is not repeated."""
    lines = []
    for problem in error.errors():
        name = ".".join(map(str, problem["loc"])).upper()
        value = "" if name in SECRETS or not name else f" (it is {problem['input']!r})"
        lines.append(f"{name or 'settings'}: {problem['msg'].removeprefix('Value error, ')}{value}")
    return "\n".join(lines)
