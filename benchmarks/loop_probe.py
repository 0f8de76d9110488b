"""Runs `heartwood serve` and records how late its event loop is. benchmarks.event_loop starts it as a script.

It runs in the folder of any checkout, so it uses nothing but the standard library and that checkout's `server`.
"""

import asyncio
import contextlib
import faulthandler
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

TICK = 0.002
WORTH_WRITING = 0.005


async def tick(lags: IO[str], stacks: IO[str] | None, late: float) -> None:
    """Writes the time of each lag, its length, and the CPU time of the event loop's own thread in it.

    Writes what was running if it was longer than `late` seconds.
    """
    while True:
        if stacks:
            faulthandler.dump_traceback_later(late, file=stacks)
        began, used = time.monotonic(), time.thread_time()
        await asyncio.sleep(TICK)
        now = time.monotonic()
        if now - began - TICK > WORTH_WRITING:
            lags.write(f"{now:.6f} {now - began - TICK:.6f} {time.thread_time() - used:.6f}\n")


def probed(serve: Any, lags: IO[str], stacks: IO[str] | None, late: float) -> Any:
    async def serve_and_tick(*arguments: Any, **options: Any) -> None:
        ticking = asyncio.create_task(tick(lags, stacks, late))
        try:
            await serve(*arguments, **options)
        finally:
            ticking.cancel()
            faulthandler.cancel_dump_traceback_later()

    return serve_and_tick


@contextlib.contextmanager
def files(folder: Path) -> Iterator[tuple[IO[str], IO[str] | None]]:
    with (folder / "lags").open("w", buffering=1) as lags:
        if "STACKS" not in os.environ:
            yield lags, None
            return
        with (folder / "stacks").open("w") as stacks:
            yield lags, stacks


def main(folder: Path) -> int:
    # Imports come from the checkout, not from the folder of this file.
    sys.path[0] = os.getcwd()
    from schema.http import process
    from server import main as heartwood

    with files(folder) as (lags, stacks):
        process.serve = probed(process.serve, lags, stacks, float(os.environ.get("STACKS", "0")))
        return heartwood(["serve", "--no-demo"])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
