"""The progress of an operation: a bar in a terminal, and lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

LINE_EVERY = 10.0


class Progress(Protocol):
    def phase(self, what: str, total: int | None = None) -> None:
        """Begins a part of the operation. `total` is its number of items, if it is known."""

    def add(self, items: int, note: str = "") -> None:
        """Reports that items are done."""

    def say(self, line: str) -> None:
        """Prints a line."""


class Silent:
    def phase(self, what: str, total: int | None = None) -> None: ...
    def add(self, items: int, note: str = "") -> None: ...
    def say(self, line: str) -> None: ...


class Lines:
    """Prints a line when a part begins, and one every ten seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._what, self._items = "", 0
        self._total: int | None = None
        self._said_at = 0.0

    def phase(self, what: str, total: int | None = None) -> None:
        self._what, self._total, self._items = what, total, 0
        self._said_at = time.monotonic()
        self.say(what)

    def add(self, items: int, note: str = "") -> None:
        self._items += items
        if time.monotonic() - self._said_at >= LINE_EVERY:
            self._said_at = time.monotonic()
            of = f" of about {self._total:,}" if self._total else ""
            self.say(f"{self._what}: {self._items:,}{of} items{f', {note}' if note else ''}")

    def say(self, line: str) -> None:
        print(line, file=self._out, flush=True)


@contextmanager
def shown() -> Iterator[Progress]:
    """Yields the progress to report to, on standard error: a bar if that is a terminal."""
    out = sys.stderr
    if not out.isatty():
        yield Lines(out)
        return
    with _Bar.on(out) as bar:
        yield bar


class _Bar:
    """A progress bar of rich."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = None

    @classmethod
    @contextmanager
    def on(cls, out: TextIO) -> Iterator["_Bar"]:
        # Loaded only for a terminal.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with RichProgress(*columns, console=Console(file=out)) as progress:
            yield cls(progress)

    def phase(self, what: str, total: int | None = None) -> None:
        self._task = self._progress.add_task(what, total=total, note="")

    def add(self, items: int, note: str = "") -> None:
        self._progress.update(self._task, advance=items, note=note)

    def say(self, line: str) -> None:
        self._progress.console.print(line, highlight=False)
