"""Settings of the table, shared by everything that accesses it."""

from hashlib import sha256
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


def is_url(value: str | None) -> str | None:
    if value is not None and not (value.startswith(("http://", "https://")) and urlsplit(value).hostname):
        raise ValueError("write it as http://host:port or https://host")
    return value


class TableSettings(BaseSettings):
    """Read from environment variables of the same names."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    table_name: str = Field("heartwood", pattern=r"^[a-zA-Z0-9_.-]{3,255}$", description="DynamoDB table.")
    dynamodb_endpoint: str | None = Field(
        None, description="URL of a DynamoDB-compatible service. Defaults to AWS or a local engine."
    )
    aws_region: str | None = Field(None, description="AWS region. Selects AWS instead of a local engine.")
    data_dir: Path = Field(
        Path(".data"), description="Directory of the search index, and of the local engine's data and secrets."
    )

    changes: Literal["auto", "stream", "outbox"] = Field(
        "auto",
        description="Source of changes: the stream of the table, or an item beside each write; auto is the stream, "
        "except on this machine.",
    )

    opensearch_url: str | None = Field(
        None, description="URL of an OpenSearch service for the search index. Defaults to an index on each machine."
    )
    opensearch_index: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$",
        description="Beginning of the names of indexes in OpenSearch, one for each table. Defaults to a name from it.",
    )
    opensearch_aws: Literal["auto", "on", "off"] = Field(
        "auto", description="Whether requests to OpenSearch are signed for AWS; auto is on for domains of AWS."
    )

    @property
    def search_name(self) -> str:
        """The beginning of the names of indexes in OpenSearch: one for each table."""
        return self.opensearch_index or f"heartwood-search-{self.search_folder.name[-9:].lstrip('-')}"

    @property
    def search_folder(self) -> Path:
        """The folder of the search index: one for each table, because it must not show the records of another."""
        place = self.dynamodb_endpoint or self.aws_region or "local"
        digest = sha256(f"{place} {self.table_name}".encode()).hexdigest()[:8]
        return self.data_dir / "search" / f"{self.table_name}-{digest}"

    @field_validator("dynamodb_endpoint", "opensearch_url")
    @classmethod
    def _is_endpoint(cls, value: str | None) -> str | None:
        return is_url(value)
