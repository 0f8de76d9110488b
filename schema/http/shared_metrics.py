"""Metrics of several server processes: a scrape reaches one of them, which answers for all."""

import asyncio
import mmap
import struct
from collections.abc import Callable

EVERY = 1.0
ROOM = 256 * 1024
"""Bytes for the text of one process; it has about 30,000."""
LENGTH = struct.Struct("<I")


class Board:
    """Memory that all processes share, with two pages for each: one to read, and one to write meanwhile."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._memory = mmap.mmap(-1, processes * (1 + 2 * ROOM))

    def write(self, number: int, text: str) -> None:
        """Replaces the text of the process with this number, counted from 1."""
        content = text.encode()
        if LENGTH.size + len(content) > ROOM:
            return
        start = self._start(number)
        page = 1 - self._memory[start]
        self._memory.seek(start + 1 + page * ROOM)
        self._memory.write(LENGTH.pack(len(content)) + content)
        self._memory[start] = page

    def _read(self, number: int) -> str:
        start = self._start(number)
        self._memory.seek(start + 1 + self._memory[start] * ROOM)
        (length,) = LENGTH.unpack(self._memory.read(LENGTH.size))
        return self._memory.read(length).decode()

    def _start(self, number: int) -> int:
        return (number - 1) * (1 + 2 * ROOM)

    def text(self) -> str:
        """Returns all texts as one, in which each value has the label of its process."""
        families: dict[str, list[str]] = {}
        for number in range(1, self._processes + 1):
            lines: list[str] = []
            for line in self._read(number).splitlines():
                if line.startswith("# HELP"):
                    lines = families.setdefault(line, [])
                elif not line.startswith("# TYPE"):
                    lines.append(_labeled(line, number))
                elif not lines:
                    lines.append(line)
        return "".join(f"{line}\n" for head, lines in families.items() for line in (head, *lines))


class Published:
    """The metrics of one of several processes, which all of them can read."""

    def __init__(self, board: Board, number: int, text: Callable[[], str]) -> None:
        self._board = board
        self._number = number
        self._text = text

    def publish(self) -> None:
        self._board.write(self._number, self._text())

    async def run(self) -> None:
        """Publishes until it is canceled."""
        while True:
            self.publish()
            await asyncio.sleep(EVERY)

    def all(self) -> str:
        self.publish()
        return self._board.text()


def _labeled(line: str, number: int) -> str:
    name, _, value = line.rpartition(" ")
    label = f'worker="{number}"'
    return f"{name[:-1]},{label}}} {value}" if name.endswith("}") else f"{name}{{{label}}} {value}"
