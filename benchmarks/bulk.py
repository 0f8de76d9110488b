"""Starts a local engine with prefilled tables, using its import: writing so many items by calls takes hours."""

import gzip
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from datastore.local import engine, provision
from datastore.model.entity import Entity


@contextmanager
def filled(tables: dict[str, Iterable[Entity]]) -> Iterator[engine.Engine]:
    """Yields an engine with these tables."""
    binary = engine.dynoxide()
    if binary is None:
        raise engine.EngineFailed("the local engine is not installed: run `npm install`")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table, records in tables.items():
            _export(folder / "export" / table / "data", records)
        schema = folder / "schema.json"
        schema.write_text(json.dumps([{"Table": provision.definition(table, stream=False)} for table in tables]))
        command = [binary, "import", "--source", str(folder / "export"), "--schema", str(schema)]
        done = subprocess.run([*command, "--output", str(folder / "heartwood.db")], capture_output=True, text=True)
        if done.returncode:
            raise engine.EngineFailed(f"the import failed: {done.stderr.strip()}")
        with engine.running(folder) as running:
            yield running


def _export(folder: Path, records: Iterable[Entity]) -> None:
    """Writes items in the format of a DynamoDB export to S3, one per line."""
    folder.mkdir(parents=True)
    with gzip.open(folder / "items.json.gz", "wb", compresslevel=1) as file:
        for record in records:
            file.write(orjson.dumps({"Item": record.encode()}) + b"\n")
