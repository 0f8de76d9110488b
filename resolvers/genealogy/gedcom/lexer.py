"""Splits a file into numbered lines of bounded length, with any line endings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from resolvers.genealogy.gedcom.encoding import Characters, Progress
from resolvers.genealogy.gedcom.report import Report

MAX_BYTES = 1 << 18
MAX_LEVEL = 99
ENDS = (b"\r", b"\n")
LINE = re.compile(
    r"[ \t\ufeff]*(?P<level>[0-9]{1,9})[ \t]+"
    r"(?:@(?P<xref>[^@#\s][^@]{0,250})@[ \t]*)?"
    r"(?P<tag>[A-Za-z0-9_]{1,100})"
    r"(?:[ \t](?P<value>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or a rejected line with the reason. The level is None if the line has none."""

    number: int
    level: int | None
    tag: str = ""
    xref: str = ""
    value: str = ""
    refused: str = ""


def read_lines(stream: BinaryIO, report: Report, progress: Progress | None = None) -> Iterator[Line]:
    characters = Characters(stream, report, progress)
    for number, raw in enumerate(_raw_lines(characters.blocks()), 1):
        report.line_count = number
        if not raw.strip():
            report.blank_line_count += 1
        elif len(raw) > MAX_BYTES:
            start = line_of(number, characters.text(raw[:300], number))
            reason = f"The line is longer than {MAX_BYTES} bytes."
            yield Line(number, start.level, start.tag, value=start.value, refused=reason)
        else:
            yield line_of(number, characters.text(raw, number))


def line_of(number: int, text: str) -> Line:
    found = LINE.fullmatch(text)
    if not found:
        return Line(number, None, value=text, refused="The line does not begin with a level and a tag.")
    level, xref, tag, value = found.group("level", "xref", "tag", "value")
    if int(level) > MAX_LEVEL:
        return Line(number, int(level), tag, value=text, refused=f"The level is above {MAX_LEVEL}.")
    return Line(number, int(level), tag, xref or "", value or "")


def _raw_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Holds back the last line of a block: it may continue, or end in half of a CRLF."""
    waiting = b""
    for block in blocks:
        *whole, waiting = (waiting + block).splitlines(keepends=True) or [b""]
        for line in whole:
            yield line.rstrip(b"\r\n")
        if not waiting.endswith(ENDS):
            waiting = waiting[: MAX_BYTES + 1]
    if waiting:
        yield waiting.rstrip(b"\r\n")
