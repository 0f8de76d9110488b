"""Backs up, restores and moves a large table, kills each of them in the middle, and compares the tables to the byte.

python -m benchmarks.backup --items 500000
"""

import argparse
import asyncio
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from benchmarks.bulk import filled
from datastore.accounts import Unique
from datastore.changes.leases import Leases
from datastore.changes.log import ChangeLog
from datastore.changes.outbox import Outbox, OutboxSource
from datastore.client.budget import Usage
from datastore.client.errors import WritesPaused
from datastore.client.local_credentials import LOCAL
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import Put
from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION
from datastore.maintenance.changed_places import LEFT_OUT
from datastore.maintenance.operations import OperationWatch, operations_under_way
from datastore.maintenance.raw_items import Digest, head_of
from datastore.maintenance.segments import MaintenanceScan, Positions, ScannedPage
from datastore.model.entity import Entity
from datastore.social import Comment, Like, Post

NAME = "heartwood"
ROOT = Path(__file__).parents[1]
LONG = 1e6
WRITERS = 4
BATCH = 1_000
KILLED = "killed by SIGKILL"


def records(number: int) -> Iterator[Entity]:
    """Yields posts with likes and comments: 1 to 7 to 2."""
    for index in range(number):
        post_id, kind = f"post-{index // 10:07d}", index % 10
        if kind == 0:
            yield Post(
                post_id=post_id,
                user_id=f"user-{index % 997}",
                image_url=f"https://example.org/{index}.jpg",
                caption=f"Post {index}. " * 20,
            )
        elif kind < 8:
            yield Like(post_id=post_id, user_id=f"user-{kind}")
        else:
            yield Comment(post_id=post_id, comment_id=f"c{kind}", user_id=f"user-{kind}", content="Well said. " * 10)


@asynccontextmanager
async def table_at(endpoint: str, outbox: Outbox | None = None) -> AsyncIterator[Table]:
    transport = Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=LOCAL, attempt_timeout=60)
    yield Table(transport, NAME, Usage.lasting(LONG, is_patient=True), outbox)
    await transport.close()


async def digest_of(endpoint: str) -> Digest:
    digest = Digest()

    async def add(page: ScannedPage) -> None:
        for item in page.items:
            if head_of(item).kind not in LEFT_OUT:
                digest.add(item)

    async with table_at(endpoint) as table:
        await MaintenanceScan(table, Positions(1), consistent=True).run(add)
    return digest


Condition = Callable[[], Awaitable[bool]]


async def heartwood(*arguments: str, kill_when: Condition | None = None, **variables: str) -> tuple[float, str]:
    """Runs a command. Returns its seconds and output. Kills it with SIGKILL when a condition is met, if told to."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", *arguments),
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    reading = asyncio.create_task(process.communicate())
    while kill_when and not reading.done():
        if await kill_when():
            process.send_signal(signal.SIGKILL)
            break
        await asyncio.wait([reading], timeout=0.1)
    out, err = await reading
    if process.returncode not in ((0,) if kill_when is None else (0, -signal.SIGKILL)):
        raise RuntimeError(f"heartwood {' '.join(arguments)} ended with {process.returncode}: {err.decode()}")
    seconds = time.monotonic() - began
    return seconds, out.decode().strip() if process.returncode == 0 else f"{KILLED} after {seconds:.1f} s"


async def position_of(table: Table) -> dict[str, Any]:
    """Returns the progress of the operation on a table."""
    found = await operations_under_way(table)
    return orjson.loads(found[0].position) if found and found[0].position else {}


async def backup_and_restore(source: str, target: str, folder: Path, items: int, *, kills: bool) -> None:
    to = ("backup", "--to", str(folder))
    seconds, said = await heartwood(*to, DYNAMODB_ENDPOINT=source)
    place = Path(said.splitlines()[-1])
    size = await asyncio.to_thread(lambda: sum(path.stat().st_size for path in place.rglob("*.gz")))
    print(f"backup: {seconds:.1f} s, {size / 1e6:.1f} MB\n{said}\n", flush=True)
    if kills:
        await killed_and_resumed(to, source, target, folder, place, items)
    else:
        seconds, said = await heartwood("restore", str(place), "--no-check", DYNAMODB_ENDPOINT=target)
        print(f"restore: {seconds:.1f} s\n{said}\n", flush=True)
    before, after = await digest_of(source), await digest_of(target)
    print(f"source {before.items:,} items {before.text}\ntarget {after.items:,} items {after.text}\n", flush=True)
    assert (before.items, before.total) == (after.items, after.total)


async def killed_and_resumed(
    to: tuple[str, ...], source: str, target: str, folder: Path, place: Path, items: int
) -> None:
    """Kills a backup and a restore in the middle, and lets both go on."""
    shutil.rmtree(place)
    state = folder / f".{NAME}.partial" / "progress.json"

    async def quarter_is_read() -> bool:
        with suppress(FileNotFoundError):
            return bool(orjson.loads(await asyncio.to_thread(state.read_bytes))["scan"]["items"] >= items / 4)
        return False

    _, killed = await heartwood(*to, kill_when=quarter_is_read, DYNAMODB_ENDPOINT=source)
    seconds, said = await heartwood(*to, "--resume", DYNAMODB_ENDPOINT=source)
    print(f"backup, {killed}, went on for {seconds:.1f} s\n{said}\n", flush=True)
    backup = said.splitlines()[-1]
    async with table_at(target) as table:

        async def a_file_is_written() -> bool:
            return bool((await position_of(table)).get("files"))

        _, killed = await heartwood(
            "restore", backup, "--no-check", kill_when=a_file_is_written, DYNAMODB_ENDPOINT=target
        )
    if not killed.startswith(KILLED):
        # A small restore is done before it can be killed.
        print(f"restore:\n{killed}\n")
        return
    seconds, said = await heartwood("restore", backup, "--no-check", DYNAMODB_ENDPOINT=target)
    print(f"restore, {killed}, went on for {seconds:.1f} s\n{said}\n")


async def move_under_load(source: str, target: str, items: int) -> None:
    """A server writes with an outbox until it is refused; the move is killed once."""
    outbox = Outbox()
    acknowledged: dict[Any, int] = {}
    async with table_at(source, outbox) as table, table_at(target) as there:
        parts = OperationWatch(table), OutboxSource(table, outbox, Leases(table), ChangeLog(table))
        tasks = [asyncio.create_task(part.run()) for part in parts]

        async def write(writer: int) -> None:
            for number in range(10**9):
                record = Like(post_id=f"new-{writer}-{number // 5}", user_id=f"user-{number % 5}")
                guard = Unique(kind="email", value=f"{writer}-{number % 1_000}@example.org", owner_id=str(number))
                with suppress(WritesPaused):
                    await table.using(Usage.lasting(60)).write(Put(record), Put(guard))
                    acknowledged[record.own_key] = acknowledged[guard.own_key] = number
                await asyncio.sleep(0.02)

        writers = [asyncio.create_task(write(number)) for number in range(WRITERS)]
        command = ("move", "--from", f"endpoint={source}", "--to", f"endpoint={target}")

        async def quarter_is_copied() -> bool:
            return bool((await position_of(table)).get("scan", {}).get("items", 0) >= items / 4)

        _, killed = await heartwood(*command, kill_when=quarter_is_copied)
        seconds, said = await heartwood(*command, "--switch")
        written = len(acknowledged)
        print(f"move, {killed}, went on for {seconds:.1f} s\n{said}\n")
        for task in (*writers, *tasks):
            task.cancel()
        await asyncio.gather(*writers, *tasks, return_exceptions=True)
        lost = 0
        keys = [*acknowledged]
        for start in range(0, len(keys), BATCH):
            found = await there.get_many(keys[start : start + BATCH], consistent=True)
            for key, record in found.items():
                is_wrong = isinstance(record, Unique) and record.owner_id != str(acknowledged[key])
                lost += record is None or isinstance(record, Exception) or is_wrong
        print(f"{written:,} items were written and acknowledged during the move; {lost} of them are lost", flush=True)
        assert lost == 0


async def run(items: int, parts: list[str], *, kills: bool) -> None:
    began = time.monotonic()
    with ExitStack() as stack:
        source = stack.enter_context(filled({NAME: records(items)})).endpoint
        restored, moved = (stack.enter_context(engine.in_memory(moto=False)).endpoint for _ in range(2))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        print(f"{items:,} items loaded in {time.monotonic() - began:.1f} s\n", flush=True)
        provision.ensure(provision.connect(restored, LOCAL_REGION), NAME, backups=False, stream=False)
        if "backup" in parts:
            await backup_and_restore(source, restored, folder, items, kills=kills)
        if "move" in parts:
            await move_under_load(source, moved, items)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process, the engines included: {memory:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--only", choices=["backup", "move"], nargs="+", default=["backup", "move"])
    parser.add_argument("--no-kills", action="store_true", help="back up and restore without kill -9")
    chosen = parser.parse_args()
    asyncio.run(run(chosen.items, chosen.only, kills=not chosen.no_kills))
