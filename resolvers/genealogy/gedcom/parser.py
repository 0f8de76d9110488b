"""Parses lines into records, one at a time. Every line is used or rejected with its number and a reason."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from resolvers.genealogy.gedcom.encoding import Progress, mended
from resolvers.genealogy.gedcom.lexer import Line, line_of, read_lines
from resolvers.genealogy.gedcom.records import POINTER, Record, Version, printable, size, unescaped
from resolvers.genealogy.gedcom.report import Report

MAX_LINES = 100_000
MAX_CHARACTERS = 1 << 24
# Below one of these tags, a line without level and tag is text that lost its CONT.
TEXTS = {"NOTE", "SNOTE", "TEXT", "COMM"}
CONTINUATIONS = {"CONT": "\n", "CONC": ""}


def read_records(stream: BinaryIO, report: Report, progress: Progress | None = None) -> Iterator[Record]:
    """Yields the level 0 records, holding no more than one in memory."""
    return _records(read_lines(stream, report, progress), _Reader(report))


def kept_records(text: str) -> tuple[Record, ...]:
    """Parses the records that `kept_text` wrote."""
    if not text:
        return ()
    reader = _Reader(Report(), Version.V7)
    lines = (line_of(number, line) for number, line in enumerate(text.split("\n"), 1))
    return tuple(child for record in _records(_below(lines), reader) for child in record.children)


def _below(lines: Iterable[Line]) -> Iterator[Line]:
    """Parses text of any level below a synthetic record."""
    yield Line(0, 0, "KEPT")
    for line in lines:
        level = None if line.level is None else line.level + 1
        yield Line(line.number, level, line.tag, line.xref, line.value, line.refused)


def _records(lines: Iterable[Line], reader: "_Reader") -> Iterator[Record]:
    for line in lines:
        if line.level == 0:
            yield from reader.finished()
        reader.add(line)
    yield from reader.finished()


@dataclass(slots=True)
class _Open:
    """An open line that may still get children. Children of a rejected line are rejected too."""

    level: int
    line: Line
    parts: list[str] = field(default_factory=list)
    children: list["_Open"] = field(default_factory=list)
    refused: bool = False

    def text_below(self, tag: str, below: str) -> str:
        found = (under for child in self.children if child.line.tag == tag for under in child.children)
        return next((under.line.value for under in found if under.line.tag == below), "")


class _Reader:
    """The record being read."""

    def __init__(self, report: Report, version: Version = Version.V5) -> None:
        self._report = report
        self._version = version
        self._stack: list[_Open] = []
        self._line_count = 0
        self._character_count = 0

    def add(self, line: Line) -> None:
        if line.refused:
            self._add_bad(line)
            return
        assert line.level is not None
        self._close(line.level)
        reason = self._reason_against(line)
        if reason:
            self._refuse(line, reason)
        elif line.tag in CONTINUATIONS and not line.xref:
            self._stack[-1].parts += CONTINUATIONS[line.tag], line.value
        else:
            self._open(line)

    def finished(self) -> Iterator[Record]:
        stack, self._stack = self._stack, []
        self._line_count = self._character_count = 0
        if not stack or stack[0].refused:
            return
        if stack[0].line.tag == "HEAD":
            self._report.version = stack[0].text_below("GEDC", "VERS").strip()
            self._version = Version.V7 if self._report.version.startswith("7") else Version.V5
        record = self._record(stack[0])
        self._report.structure_count += size([record])
        yield record

    def _close(self, level: int) -> None:
        while self._stack and self._stack[-1].level >= level:
            self._stack.pop()

    def _reason_against(self, line: Line) -> str:
        self._line_count += 1
        self._character_count += len(line.value)
        if not self._stack and line.level:
            return "The line belongs to no record."
        if not self._stack and line.tag in CONTINUATIONS:
            return "There is no line to continue."
        if self._stack and self._stack[-1].refused:
            return "The line belongs to a rejected line."
        if self._line_count > MAX_LINES:
            return f"The record has more than {MAX_LINES} lines."
        if self._character_count > MAX_CHARACTERS:
            return f"The record has more than {MAX_CHARACTERS} characters."
        return ""

    def _open(self, line: Line) -> None:
        assert line.level is not None
        node = _Open(line.level, line, [line.value])
        if self._stack:
            if line.level != self._stack[-1].level + 1:
                above = self._stack[-1].level
                reason = (
                    f"Level {line.level} follows level {above}. The line is read as a child of the level {above} line."
                )
                self._report.repair(line.number, line.tag, reason)
            self._stack[-1].children.append(node)
        self._stack.append(node)

    def _add_bad(self, line: Line) -> None:
        above = self._stack[-1] if self._stack else None
        if line.level is None and above and not above.refused and above.line.tag in TEXTS:
            self._character_count += len(line.value)
            if self._character_count <= MAX_CHARACTERS:
                above.parts += "\n", line.value
                self._report.repair(line.number, above.line.tag, "The line is read as CONT.", line.value)
                return
        if line.level is not None:
            self._close(line.level)
        self._refuse(line, line.refused)

    def _refuse(self, line: Line, reason: str) -> None:
        self._report.refuse(line.number, line.tag, reason, printable(line.value))
        if line.level is not None:
            self._stack.append(_Open(line.level, line, refused=True))

    def _record(self, node: _Open) -> Record:
        line, raw = node.line, "".join(node.parts)
        pointer = POINTER.fullmatch(raw)
        value = "" if pointer else unescaped(self._readable(raw, line), self._version)
        return Record(
            tag=line.tag,
            value=value,
            pointer=self._readable(pointer[1], line) if pointer else "",
            xref=self._readable(line.xref, line),
            children=tuple(map(self._record, node.children)),
            line=line.number,
        )

    def _readable(self, raw: str, line: Line) -> str:
        if raw.isascii() and raw.isprintable():
            return raw
        text, guessed = mended(raw)
        if guessed:
            self._report.repair(line.number, line.tag, "Bytes that are not UTF-8 are read as Windows-1252.")
        elif "\ufffd" in text and self._report.encoding != "UTF-8":  # in UTF-8 it is a character like any other
            self._report.repair(line.number, line.tag, "Some characters could not be decoded.")
        clean = printable(text)
        if len(clean) < len(text):
            self._report.repair(line.number, line.tag, "Control characters are removed.")
        return clean
