"""The daily backup: done by the one server that holds a lease, in a process of its own for the sake of requests."""

import asyncio
import logging
import os
import random
import sys
from datetime import UTC, datetime, timedelta

from datastore.changes.leases import Held, LeaseLost, Leases
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.client.table import Table
from datastore.local.endpoint import Place
from datastore.maintenance.backup_settings import BackupSettings
from datastore.maintenance.locations import location
from datastore.maintenance.stored_backups import prune

log = logging.getLogger("heartwood.backup")

LEASE = "daily-backup"
LOOK_EVERY = 60.0
# A backup that fails is tried again, not before an hour is over.
TRIED_EVERY = timedelta(hours=1)
TIME_FOR_ONE = 10.0


class DailyBackup:
    """Backs up the table every day at BACKUP_AT, and deletes backups that are older than BACKUP_KEEP_DAYS.

    The position of the lease is the day of the last backup, so a server that was off at that time makes up for it.
    """

    def __init__(self, table: Table, place: Place, settings: BackupSettings) -> None:
        self._table = table
        self._place = place
        self._settings = settings
        self._leases = Leases(table)
        self._tried_at = datetime.min.replace(tzinfo=UTC)

    async def run(self) -> None:
        """Looks every minute until it is canceled."""
        if self._settings.backup_to is None:
            return
        while True:
            await asyncio.sleep(LOOK_EVERY * random.uniform(0.5, 1.0))  # noqa: S311
            try:
                await self.look(datetime.now(UTC))
            except (DatastoreError, LeaseLost, OSError) as error:
                log.error("the daily backup failed: %s", error)
            except Exception:
                log.exception("the daily backup failed")

    async def look(self, now: datetime) -> bool:
        """Makes the backup of this day if it is due and no other server has it. Returns True if it was made."""
        day = due_day(now, self._settings.backup_at)
        if now - self._tried_at < TRIED_EVERY:
            return False
        held = await self._leases.take(LEASE)
        if held is None:
            return False
        try:
            if held.position is not None and held.position >= day:
                return False
            self._tried_at = now
            keeping = asyncio.create_task(held.keep())
            try:
                await self._back_up()
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
            await self._done(held, day)
        finally:
            await held.release()
        await asyncio.to_thread(self._prune, now)
        return True

    async def _done(self, held: Held, day: str) -> None:
        await self._table.using(Usage.lasting(TIME_FOR_ONE)).write(held.still_mine(position=day))

    async def _back_up(self) -> None:
        """Runs `heartwood backup`. Raises OSError if it fails."""
        settings = self._settings
        command = [sys.executable, "-m", "server", "backup", "--to", str(settings.backup_to)]
        command += ["--read-units", str(settings.backup_read_units)]
        log.info("the daily backup begins")
        for more in ([], ["--resume"], ["--restart"]):
            process = await asyncio.create_subprocess_exec(
                *command,
                *more,
                env=self._environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                preexec_fn=lambda: os.nice(10),
            )
            try:
                out, err = await process.communicate()
            except BaseException:
                process.terminate()
                raise
            if process.returncode == 0:
                log.info("the daily backup is done: %s", out.decode().strip().replace("\n", ", "))
                return
            last = err.decode(errors="replace").strip()
            # Only a backup that was interrupted needs the others.
            if "--resume" not in last and not more:
                break
        raise OSError(last[-1_000:])

    def _environment(self) -> dict[str, str]:
        """Returns the environment of the backup: the engine at home belongs to this process, or to its parent."""
        settings = self._settings
        own = {"TABLE_NAME": settings.table_name, "DATA_DIR": str(settings.data_dir), "CHANGES": settings.changes}
        if self._place.endpoint:
            own["DYNAMODB_ENDPOINT"] = self._place.endpoint
        return {**os.environ, **own}

    def _prune(self, now: datetime) -> None:
        settings = self._settings
        keep = timedelta(days=settings.backup_keep_days)
        for name in prune(location(str(settings.backup_to)), settings.table_name, keep, now):
            log.info("the backup %s is older than BACKUP_KEEP_DAYS and was deleted", name)


def due_day(now: datetime, at: str) -> str:
    """Returns the day whose backup should exist by now: today, or yesterday before the time of the backup."""
    is_due = f"{now:%H:%M}" >= at
    return f"{now if is_due else now - timedelta(days=1):%Y-%m-%d}"
