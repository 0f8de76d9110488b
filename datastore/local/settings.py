"""Settings of the table, shared by everything that accesses it."""

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
    data_dir: Path = Field(Path(".data"), description="Directory of the local engine's data and secrets.")

    changes: Literal["auto", "stream", "outbox"] = Field(
        "auto",
        description="Source of changes: the stream of the table, or an item beside each write; auto is the stream, "
        "except on this machine.",
    )

    @field_validator("dynamodb_endpoint")
    @classmethod
    def _is_endpoint(cls, value: str | None) -> str | None:
        return is_url(value)
