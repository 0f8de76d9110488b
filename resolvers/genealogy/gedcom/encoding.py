"""Character encoding detection: by the first bytes, by the header, and line by line."""

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ansel.encodings import gedcom as ansel

from resolvers.genealogy.gedcom.report import Report

Progress = Callable[[int], None]

BLOCK = 1 << 16
CODECS = {
    "ANSEL": "ansel",
    "ANSI": "cp1252",
    "ASCII": "utf-8",
    "CP1252": "cp1252",
    "IBM WINDOWS": "cp1252",
    "IBMPC": "cp437",
    "ISO-8859-1": "cp1252",
    "ISO-8859-15": "iso8859-15",
    "ISO8859-1": "cp1252",
    "LATIN1": "cp1252",
    "MACINTOSH": "mac_roman",
    "UNICODE": "utf-16",
    "UTF-16": "utf-16",
    "UTF-8": "utf-8",
    "UTF8": "utf-8",
    "WINDOWS-1250": "cp1250",
    "WINDOWS-1251": "cp1251",
    "WINDOWS-1252": "cp1252",
}
DECLARED = re.compile(rb"[\r\n][ \t]*1[ \t]+CHAR[ \t]+([^\r\n]{1,40})")
# A letter has one or two combining marks. A long run is not ANSEL, and reordering it is quadratic.
ROW_OF_MARKS = re.compile(rb"[\xe0-\xfe]{16}")
# Python's surrogate escape for a byte that is not UTF-8.
STRAY_BYTE = re.compile(r"[\udc80-\udcff]")


class Characters:
    """Reads a file block by block and decodes it line by line.

    Headers are often wrong, so all valid UTF-8 is read as UTF-8.
    """

    def __init__(self, stream: BinaryIO, report: Report, progress: Progress | None) -> None:
        self._report = report
        self._blocks = _blocks(stream, report, progress)
        self._first = next(self._blocks, b"")
        self._shown = _shown(self._first)
        if self._shown in ("utf-16-le", "utf-16-be"):
            self._blocks = _transcoded(self._first, self._blocks, self._shown)
            self._first = next(self._blocks, b"")
        self._first = self._first.removeprefix(codecs.BOM_UTF8)
        self._codec = self._declared()
        self._is_reported = False

    def blocks(self) -> Iterator[bytes]:
        yield self._first
        yield from self._blocks

    def text(self, raw: bytes, number: int) -> str:
        """Leaves invalid bytes for `mended`, because a character may be split across two lines."""
        if raw.isascii():
            return raw.decode("ascii")
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return self._otherwise(raw, number)
        if self._codec != "utf-8" and not self._is_reported:
            self._is_reported = True
            self._report.repair(number, "", f"The file declares {self._report.encoding}, but this line is UTF-8.")
        return text

    def _declared(self) -> str:
        found = DECLARED.search(self._first)
        name = found[1].decode("latin-1").strip().upper() if found else ""
        line = len(self._first[: found.start(1)].splitlines()) if found else 0
        codec = CODECS.get(name, "utf-8")
        shown = "utf-16" if self._shown.startswith("utf-16") else self._shown
        self._report.encoding = shown.upper() or name or "UTF-8"
        if shown:
            if found and codec != shown:
                self._report.repair(line, "CHAR", f"The file declares {name}, but it is {shown.upper()}.")
            return "utf-8"
        if found and name not in CODECS:
            self._report.repair(line, "CHAR", f"{name} is not a known encoding. The file is read as UTF-8.")
        if codec == "utf-16":
            self._report.repair(line, "CHAR", f"The file declares {name}, but it is not. It is read as UTF-8.")
            self._report.encoding = "UTF-8"
            return "utf-8"
        return codec

    def _otherwise(self, raw: bytes, number: int) -> str:
        if self._codec == "utf-8":
            return raw.decode(errors="surrogateescape")
        if self._codec != "ansel":
            return raw.decode(self._codec, errors="replace")
        if ROW_OF_MARKS.search(raw):
            self._report.repair(number, "", "This line is not ANSEL. It is read as Windows-1252.")
            return raw.decode("cp1252", errors="replace")
        text: str = ansel.Codec().decode(raw, "replace")[0]
        return unicodedata.normalize("NFC", text)


def mended(text: str) -> tuple[str, bool]:
    """Decodes a value and tells whether it was guessed: bytes that are not UTF-8 are taken as Windows-1252."""
    if text.isascii() or not STRAY_BYTE.search(text):
        return text, False
    try:
        return text.encode(errors="surrogateescape").decode(), False
    except UnicodeError:
        return STRAY_BYTE.sub(_as_windows, text), True


def _as_windows(stray: re.Match[str]) -> str:
    return bytes([ord(stray[0]) - 0xDC00]).decode("cp1252", errors="replace")


def _blocks(stream: BinaryIO, report: Report, progress: Progress | None) -> Iterator[bytes]:
    while block := _filled(stream):
        report.byte_count += len(block)
        if progress:
            progress(report.byte_count)
        yield block


def _filled(stream: BinaryIO) -> bytes:
    """Reads a full block even from a slow stream, because the first one must contain the header."""
    parts, missing = [], BLOCK
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _shown(first: bytes) -> str:
    """Detects a byte order mark, or UTF-16 by the zero byte next to the first digit."""
    if first.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if first.startswith(codecs.BOM_UTF16_LE) or (first[:1] > b"\0" and first[1:2] == b"\0"):
        return "utf-16-le"
    if first.startswith(codecs.BOM_UTF16_BE) or (first[:1] == b"\0" and first[1:2] > b"\0"):
        return "utf-16-be"
    return ""


def _transcoded(first: bytes, blocks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    yield decoder.decode(first).encode()
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()
