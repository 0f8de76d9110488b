"""Records: trees of lines, and the escaping of @ in values."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

VOID = "VOID"
# The tags of the partners of a family.
PARTNERS = ("HUSB", "WIFE")
POINTER = re.compile(r"@([^@#\s][^@\n]{0,250})@")
# An escape sequence of 5.5.1, such as @#DJULIAN@, stays as it is; any other @ is doubled.
ESCAPES = re.compile(r"@#[^@\n]*@|@@?")
# Not allowed in a file: control characters other than tab and line feed, and non-characters.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Version(StrEnum):
    """The versions that can be written. Versions before 5.5.1 are read as 5.5.1."""

    V5 = "5.5.1"
    V7 = "7.0"


@dataclass(frozen=True, slots=True)
class Record:
    """A line with its children. It has text or a pointer to another record, both unescaped."""

    tag: str
    value: str = ""
    pointer: str = ""
    xref: str = ""
    children: tuple["Record", ...] = ()
    line: int = field(default=0, compare=False)

    def all(self, *tags: str) -> list["Record"]:
        return [child for child in self.children if child.tag in tags]

    def first(self, tag: str) -> "Record | None":
        return next((child for child in self.children if child.tag == tag), None)

    def text(self, tag: str) -> str:
        """Returns the value of the first child with the tag."""
        found = self.first(tag)
        return found.value if found else ""


def size(records: Iterable[Record]) -> int:
    return sum(1 + size(record.children) for record in records)


def printable(text: str) -> str:
    """Normalizes line ends and removes characters that are not allowed in a file."""
    if text.isprintable():
        return text
    return UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def escaped(text: str, version: Version) -> str:
    if "@" not in text:
        return text
    if version is Version.V7:
        return re.sub(r"^@", "@@", text, flags=re.MULTILINE)
    return ESCAPES.sub(lambda found: "@@" * len(found[0]) if found[0] in ("@", "@@") else found[0], text)


def unescaped(text: str, version: Version) -> str:
    if "@@" not in text:
        return text
    if version is Version.V7:
        return re.sub(r"^@@", "@", text, flags=re.MULTILINE)
    return ESCAPES.sub(lambda found: "@" if found[0] == "@@" else found[0], text)
