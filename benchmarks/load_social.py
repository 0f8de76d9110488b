"""Loads a social network into the table: the LDBC sample if available, otherwise a synthetic one."""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from benchmarks.social_data import Network, ldbc, synthetic
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import endpoint
from datastore.local.engine import EngineFailed
from datastore.local.settings import TableSettings
from datastore.model.entity import Entity

USUAL_PLACES = (Path("data/ldbc-snb"), Path("../shared/data/ldbc-snb"))
BATCH = 500


def network(folder: Path | None) -> tuple[str, Network]:
    for candidate in (folder,) if folder else USUAL_PLACES:
        if (candidate / "dynamic").is_dir():
            return "LDBC's sample", ldbc(candidate)
    if folder:
        raise SystemExit(f"no LDBC data in {folder}")
    return "a synthetic network", synthetic()


async def load(table: Table, records: list[Entity]) -> None:
    columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("items", total=len(records))
        for batch in _batches(records):
            await table.batch_write(puts=batch)
            progress.advance(task, len(batch))


def _batches(records: list[Entity]) -> Iterator[list[Entity]]:
    for at in range(0, len(records), BATCH):
        yield records[at : at + BATCH]


async def run(where: endpoint.Place, name: str, records: list[Entity]) -> None:
    transport = Transport(region=where.region, endpoint=where.endpoint)
    await load(Table(transport, name, Usage.lasting(3600)), records)
    await transport.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.load_social", description=__doc__)
    parser.add_argument("--ldbc", type=Path, help="folder of LDBC's CSV files")
    arguments = parser.parse_args()
    title, found = network(arguments.ldbc)
    records = list(found.records())
    settings = TableSettings()
    try:
        with endpoint.chosen(settings) as where:
            if not where.is_local:
                raise SystemExit(f"{where} is not on this machine; test data is only loaded into a local table")
            where.ensure_table(settings.table_name)
            print(f"Loading {title} into {settings.table_name} at {where}")
            asyncio.run(run(where, settings.table_name, records))
    except EngineFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
