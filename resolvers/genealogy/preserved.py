"""Preserved file content in items of moderate size: JSON lines, split at any point."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from datastore.genealogy import GedcomPart, Parentage, ParentageKind, Tree
from datastore.model.dates import HistoricDate
from resolvers.genealogy.gedcom.dates import from_gedcom
from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedTree

# An item holds 400 KB, and a character takes up to four bytes.
CHARACTERS = 75_000
FILE = 16
FAMILIES, OTHERS, PEOPLE = "FAM", "OTHER", "PERSON"

Line = dict[str, Any]
# Parent-child details: kind, adoption date and notes.
Facts = list[str]
BY_BIRTH: Facts = [ParentageKind.BIOLOGICAL.name, "", ""]
Parentages = dict[tuple[str, str], Parentage]


class Said(NamedTuple):
    """All parts of one file."""

    families: list[Line]
    others: list[Line]
    people: dict[str, str]

    @property
    def header(self) -> str:
        return next((str(each["header"]) for each in self.others if "header" in each), "")


def parts_of(
    tree: Tree, mark: str, file: GedTree, ids: dict[str, str], links: Parentages, extra: set[str], kept: dict[str, str]
) -> list[GedcomPart]:
    """Families, other records with the header, and what does not fit into a person."""
    kinds = {
        FAMILIES: _families(file, ids, links, extra),
        OTHERS: _others(file),
        PEOPLE: ({"id": person_id, "kept": text} for person_id, text in kept.items()),
    }
    return [part for kind, lines in kinds.items() for part in _parts(tree, f"{kind}-{mark[:FILE]}", lines)]


def said_by_file(parts: Iterable[GedcomPart]) -> dict[str, Said]:
    """Groups parts by the prefix of their file's fingerprint."""
    texts: dict[str, dict[str, list[str]]] = {}
    for part in parts:
        kind, file, _ = part.part_id.split("-")
        texts.setdefault(file, {}).setdefault(kind, []).append(part.text)
    return {file: _said(kinds) for file, kinds in texts.items()}


def facts_of(link: Parentage) -> Facts:
    return [link.kind.name if link.kind else BY_BIRTH[0], link.adoption_date or "", link.notes or ""]


def unsaid(facts: Sequence[Facts | None]) -> Facts:
    """Returns the other partner's details for a partner who is missing."""
    return next(filter(None, facts), BY_BIRTH)


def date_of(text: str) -> HistoricDate | None:
    return from_gedcom(text) if text else None


def _said(kinds: dict[str, list[str]]) -> Said:
    found = {kind: [orjson.loads(line) for line in "".join(texts).split("\n") if line] for kind, texts in kinds.items()}
    people = {each["id"]: each["kept"] for each in found.get(PEOPLE, ())}
    return Said(found.get(FAMILIES, []), found.get(OTHERS, []), people)


def _parts(tree: Tree, name: str, lines: Iterable[Line]) -> Iterator[GedcomPart]:
    for number, text in enumerate(_pieces(orjson.dumps(line).decode() + "\n" for line in lines)):
        yield _part(tree, name, number, text)


def _pieces(texts: Iterable[str]) -> Iterator[str]:
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= CHARACTERS:
            whole = "".join(waiting)
            ends = range(CHARACTERS, size + 1, CHARACTERS)
            yield from (whole[end - CHARACTERS : end] for end in ends)
            waiting = [whole[ends[-1] :]]
            size -= ends[-1]
    if size:
        yield "".join(waiting)


def _part(tree: Tree, name: str, number: int, text: str) -> GedcomPart:
    return GedcomPart(user_id=tree.user_id, tree_id=tree.tree_id, part_id=f"{name}-{number:06d}", text=text)


def _families(file: GedTree, ids: dict[str, str], links: Parentages, extra: set[str]) -> Iterator[Line]:
    """Returns the families as in the file: members in order, and further details."""
    for family in file.families:
        partners = ids.get(family.husband), ids.get(family.wife)
        line: Line = {
            "xref": family.xref,
            "partners": partners,
            "children": [_child(child, ids[child.xref], partners, links) for child in family.children],
            "kept": family.kept,
        }
        if family.xref in extra:
            line["own"] = _own(family)
        yield line


def _child(said: GedChild, child_id: str, partners: tuple[str | None, str | None], links: Parentages) -> Line:
    """Adds the outcome where it differs: another family stated it first, or it is impossible."""
    found = [
        [said.husband_pedigree.name, date_of(said.husband_adoption_date) or "", said.husband_notes],
        [said.wife_pedigree.name, date_of(said.wife_adoption_date) or "", said.wife_notes],
    ]
    pairs = [links.get((partner or "", child_id)) for partner in partners]
    made = [facts_of(link) if link else None for link in pairs]
    is_refused = any(partner and not facts for partner, facts in zip(partners, made, strict=True))
    if not is_refused and found == [facts or unsaid(made) for facts in made]:
        return {"id": child_id}
    return {"id": child_id, "said": found, "made": made}


def _own(family: GedFamily) -> dict[str, str]:
    return {
        "marriage_date": family.marriage_date,
        "marriage_place": family.marriage_place,
        "divorce_date": family.divorce_date,
        "status": family.status.value,
        "notes": family.notes,
    }


def _others(file: GedTree) -> Iterator[Line]:
    yield {"header": file.header}
    yield from ({"xref": other.xref, "tag": other.tag, "kept": other.kept} for other in file.others)
