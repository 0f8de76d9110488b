"""File header: the lines a version requires, plus the preserved lines of an imported file."""

from collections.abc import Sequence

from resolvers.genealogy.gedcom.records import Record, Version

SOURCE = Record("SOUR", "HEARTWOOD")
SUBMITTER = Record("SUBM", xref="HEARTWOOD", children=(Record("NAME", "Heartwood"),))
WRITTEN = {"GEDC", "CHAR"}


def kept_header(header: Record | None, others: Sequence[Record]) -> list[Record]:
    if not header:
        return []
    own = (SOURCE, Record("SUBM", pointer=_submitter(others).xref))
    return [child for child in header.children if child.tag not in WRITTEN and child not in own]


def header_records(kept: Sequence[Record], others: Sequence[Record], version: Version) -> list[Record]:
    """Adds the submitter that 5.5.1 requires: the first one in the file, or Heartwood."""
    tags = {record.tag for record in kept}
    submitter = _submitter(others)
    form = (Record("FORM", "LINEAGE-LINKED"),) if version is Version.V5 else ()
    children = [Record("GEDC", children=(Record("VERS", version), *form))]
    if version is Version.V5:
        children.append(Record("CHAR", "UTF-8"))
    if "SOUR" not in tags:
        children.append(SOURCE)
    if "SUBM" not in tags:
        children.append(Record("SUBM", pointer=submitter.xref))
    header = Record("HEAD", children=(*children, *kept))
    return [header, submitter] if "SUBM" not in tags and submitter is SUBMITTER else [header]


def _submitter(others: Sequence[Record]) -> Record:
    return next((record for record in others if record.tag == "SUBM" and record.xref), SUBMITTER)
