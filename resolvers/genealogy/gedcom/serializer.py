"""Serializes records to the bytes of a file, and to the compact text preserved with a person or family."""

from collections.abc import Iterable, Iterator

from resolvers.genealogy.gedcom.dates import with_phrase
from resolvers.genealogy.gedcom.records import Record, Version, escaped, printable
from resolvers.genealogy.gedcom.versions import classic, modern

MAX_WIDTH = 248
MIN_WIDTH = 40


def write_records(records: Iterable[Record], version: Version) -> Iterator[bytes]:
    """Yields UTF-8 bytes, one level 0 record at a time, in the given version."""
    for record in records:
        said = classic(modern(record)) if version is Version.V5 else with_phrase(modern(record))
        yield "".join(f"{line}\n" for line in _lines([said], 0, version)).encode()


def kept_text(records: Iterable[Record], level: int = 1) -> str:
    """Returns one line per structure with CONT for line breaks, as `kept_records` reads it."""
    return "\n".join(_lines(records, level, Version.V7))


def _lines(records: Iterable[Record], level: int, version: Version) -> Iterator[str]:
    """Uses a stack instead of recursion: nested generators would make deep lines quadratic."""
    waiting = [(level, record) for record in records][::-1]
    while waiting:
        level, record = waiting.pop()
        start = f"{level} @{record.xref}@ {record.tag}" if record.xref else f"{level} {record.tag}"
        if record.pointer:
            yield f"{start} @{record.pointer}@"
        else:
            yield from _value_lines(start, level + 1, escaped(printable(record.value), version), version)
        waiting += [(level + 1, child) for child in reversed(record.children)]


def _value_lines(start: str, below: int, value: str, version: Version) -> Iterator[str]:
    if len(value) <= MIN_WIDTH and "\n" not in value:
        yield f"{start} {value}" if value else start
        return
    for line in value.split("\n"):
        width = max(MAX_WIDTH - len(start), MIN_WIDTH) if version is Version.V5 else len(line)
        for part in _folded(line, width):
            yield f"{start} {part}" if part else start
            start = f"{below} CONC"
        start = f"{below} CONT"


def _folded(line: str, width: int) -> Iterator[str]:
    """Splits neither next to a space, which some readers drop, nor inside a doubled @."""
    start = 0
    while len(line) - start > width:
        ends = range(start + width, start + width // 2, -1)
        end = next((end for end in ends if line[end - 1] not in " @" and line[end] not in " @"), start + width)
        yield line[start:end]
        start = end
    yield line[start:]
