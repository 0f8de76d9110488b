"""Settings of backups."""

from pydantic import Field, field_validator

from datastore.local.settings import TableSettings
from datastore.maintenance.locations import check_location


class BackupSettings(TableSettings):
    """Read from environment variables of the same names."""

    backup_to: str | None = Field(
        None, description="Folder or s3://bucket/prefix of daily backups, by one server. Off by default."
    )
    backup_at: str = Field(
        "03:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="Time of the daily backup, in UTC: hh:mm."
    )
    backup_keep_days: int = Field(
        35, ge=1, le=36_500, description="Days after which daily backups are deleted. The latest is always kept."
    )
    backup_read_units: float = Field(
        200.0, gt=0, description="Read units per second that the daily backup uses at most."
    )

    @field_validator("backup_to")
    @classmethod
    def _is_a_location(cls, value: str | None) -> str | None:
        return value if value is None else check_location(value)
