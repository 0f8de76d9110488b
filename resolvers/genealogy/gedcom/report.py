"""Import report: lines read, mapped and preserved, and every line rejected."""

from dataclasses import dataclass, field

MOST = 1_000
EXCERPT = 100


@dataclass(frozen=True, slots=True)
class GedcomRemark:
    """A remark about a line."""

    line: int
    tag: str
    reason: str
    text: str = ""


@dataclass(slots=True)
class Report:
    """Filled during reading. Rejected lines are lost; repaired lines were read differently than written."""

    version: str = ""
    encoding: str = ""
    byte_count: int = 0
    line_count: int = 0
    blank_line_count: int = 0
    structure_count: int = 0
    person_count: int = 0
    family_count: int = 0
    other_record_count: int = 0
    kept_count: int = 0
    refused_count: int = 0
    repaired_count: int = 0
    refused: list[GedcomRemark] = field(default_factory=list)
    repaired: list[GedcomRemark] = field(default_factory=list)

    @property
    def mapped_count(self) -> int:
        """Returns the number of structures (lines with continuations) mapped to people and families."""
        return self.structure_count - self.kept_count

    def refuse(self, line: int, tag: str, reason: str, text: str = "") -> None:
        self.refused_count += 1
        if len(self.refused) < MOST:
            self.refused.append(GedcomRemark(line, tag[:EXCERPT], reason, text[:EXCERPT]))

    def repair(self, line: int, tag: str, reason: str, text: str = "") -> None:
        self.repaired_count += 1
        if len(self.repaired) < MOST:
            self.repaired.append(GedcomRemark(line, tag[:EXCERPT], reason, text[:EXCERPT]))
