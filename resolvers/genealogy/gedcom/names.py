"""Personal names: a value with the last name in slashes, its pieces, and alternative names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from resolvers.genealogy.gedcom.limits import MAX_NAME
from resolvers.genealogy.gedcom.records import Record

BIRTH_TYPES = {"BIRTH", "MAIDEN"}
PIECES = {"NPFX", "GIVN", "NICK", "SPFX", "SURN", "NSFX"}
QUOTED = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a person."""

    first: str = ""
    middle: str = ""
    last: str = ""
    suffix: str = ""
    preferred: str = ""
    birth: str = ""


def names_of(records: Sequence[Record]) -> Names:
    """Returns the name in the first NAME structure, and the birth name from the first alternative of that type.

    Omits values that are too long.
    """
    if not records:
        return Names()
    given, last, suffix = _parts(records[0])
    first, middle = _split(given)
    quoted = QUOTED.search(records[0].value)
    preferred = records[0].text("NICK") or (quoted[1] if quoted else "")
    birth = next((_parts(record) for record in records[1:] if _is_birth(record)), ("", "", ""))
    said = (first, middle, last, suffix, preferred.strip(), birth[1] or birth[0])
    return Names(*(each if len(each) <= MAX_NAME else "" for each in said))


def name_records(names: Names, kept: Sequence[Record] = ()) -> list[Record]:
    """Returns the original names while they are unchanged; an edited name keeps its unrelated details."""
    if kept and names_of(kept) == names:
        return list(kept)
    written = _written(names)
    if not kept:
        return written
    besides = tuple(child for child in kept[0].children if child.tag not in PIECES)
    name = written[0] if written else Record("NAME")
    others = [record for record in kept[1:] if not _is_birth(record)]
    return [replace(name, children=(*name.children, *besides)), *others, *written[1:]]


def kept_names(records: Sequence[Record]) -> list[Record]:
    """Returns the names to preserve, or nothing if regenerating them loses nothing."""
    written = _written(names_of(records))
    if len(written) == len(records) and all(map(_is_covered, records, written)):
        return []
    return list(records)


def _written(names: Names) -> list[Record]:
    value = (names.first, names.middle, f"/{names.last}/" if names.last else "", names.suffix)
    pieces = {"GIVN": _joined(names), "NICK": names.preferred, "SURN": names.last, "NSFX": names.suffix}
    children = tuple(Record(tag, piece) for tag, piece in pieces.items() if piece)
    written = [Record("NAME", " ".join(filter(None, value)), children=children)] if children or names.birth else []
    if names.birth:
        kind = (Record("TYPE", "BIRTH"), Record("SURN", names.birth))
        written.append(Record("NAME", f"/{names.birth}/", children=kind))
    return written


def _is_covered(record: Record, written: Record) -> bool:
    same_value = " ".join(record.value.replace("//", "").split()) == written.value
    return same_value and all(child in written.children for child in record.children)


def _joined(names: Names) -> str:
    """Joins first and middle names, with a comma where the first space would not separate them."""
    given = f"{names.first} {names.middle}".strip()
    return given if _split(given) == (names.first, names.middle) else f"{names.first}, {names.middle}".rstrip()


def _split(given: str) -> tuple[str, str]:
    first, _, middle = given.partition("," if "," in given else " ")
    return first.strip(), middle.strip()


def _parts(record: Record) -> tuple[str, str, str]:
    """Splits a name into given name, last name and suffix, by its pieces or else by its slashes."""
    last = f"{record.text('SPFX')} {record.text('SURN')}".strip()
    given, prefix, suffix = record.text("GIVN").strip(), record.text("NPFX").strip(), record.text("NSFX").strip()
    value = QUOTED.sub(" ", record.value)
    if not record.value or _words(value) == _words(f"{prefix} {given} {last} {suffix}"):
        return given, last, suffix
    before, slash, after = value.partition("/")
    if not slash:
        return _without(prefix, before.strip().removesuffix(last)), last, suffix
    inside, _, after = after.rpartition("/") if "/" in after else (after, "", "")
    before, inside, after = _without(prefix, before), inside.strip(), " ".join(after.split())
    return (before, inside, after or suffix) if before else (after, inside, suffix)


def _without(prefix: str, given: str) -> str:
    return " ".join(given.strip().removeprefix(prefix).split())


def _words(text: str) -> list[str]:
    return sorted(QUOTED.sub(" ", text).replace(",", " ").replace("/", " ").split())


def _is_birth(record: Record) -> bool:
    return record.text("TYPE").strip().upper() in BIRTH_TYPES
