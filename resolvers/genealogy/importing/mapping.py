"""Maps a GEDCOM file to the people and links of a tree."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID, uuid5

from datastore.genealogy import GedcomPart, Gender, Marriage, Parentage, ParentageKind, Person, Tree
from datastore.model.times import Time, now
from resolvers.core.problems import ProblemCode, refused
from resolvers.genealogy.gedcom.fingerprint import fingerprint
from resolvers.genealogy.gedcom.limits import MAX_BIOGRAPHY
from resolvers.genealogy.gedcom.model import GedPerson, GedTree
from resolvers.genealogy.gedcom.reader import read_tree
from resolvers.genealogy.gedcom.report import Report
from resolvers.genealogy.importing.links import marriages_of, parentages_of
from resolvers.genealogy.preserved import FILE, date_of, parts_of

NAMESPACE = UUID("6c0f9a52-6f0b-5b43-9a0e-6f1e2f6a7d11")
# Preserved text per person: together with the longest biography it still fits into an item.
KEPT_BYTES = 80_000


class ReadFile(NamedTuple):
    """A parsed file before it is assigned to a tree."""

    file: GedTree
    report: Report
    mark: str


class Contents(NamedTuple):
    """The mapped file. People are created while they are written, so that a shared note is held once."""

    tree: Tree
    file: GedTree
    ids: dict[str, str]
    parents: dict[str, list[Parentage]]
    order: list[str]
    marriages: list[Marriage]
    parts: list[GedcomPart]
    mark: str
    report: Report
    moment: Time

    @property
    def first_person_id(self) -> str:
        return self.ids[self.file.persons[0].xref]

    @property
    def person_count(self) -> int:
        return len(self.order)

    @property
    def link_count(self) -> int:
        return sum(map(len, self.parents.values())) + len(self.marriages)

    def people(self, *, but: Collection[str] = ()) -> Iterator[tuple[Person, list[Parentage]]]:
        """Yields people with their parents, parents first, except those with the IDs in `but`."""
        numbered = {self.ids[person.xref]: (number, person) for number, person in enumerate(self.file.persons, 1)}
        for person_id in self.order:
            if person_id in but:
                continue
            parents = self.parents.get(person_id, [])
            yield self._person(*numbered[person_id], parents), parents

    def _person(self, number: int, said: GedPerson, parents: list[Parentage]) -> Person:
        return Person(
            user_id=self.tree.user_id,
            tree_id=self.tree.tree_id,
            person_id=self.ids[said.xref],
            number=number,
            first_name=said.first_name or None,
            middle_name=said.middle_name or None,
            last_name=said.last_name or None,
            birth_name=said.birth_name or None,
            preferred_name=said.preferred_name or None,
            suffix=said.suffix or None,
            gender=Gender[said.gender.name],
            birth_date=date_of(said.birth_date),
            birth_place=said.birth_place or None,
            death_date=date_of(said.death_date),
            death_place=said.death_place or None,
            is_deceased=said.is_deceased,
            biography=said.biography or None,
            photo_url=said.photo_url or None,
            parent_ids=[link.parent_id for link in parents],
            biological_parents=sum(link.kind is ParentageKind.BIOLOGICAL for link in parents),
            file=self.mark[:FILE],
            xref=said.xref,
            kept=said.kept if said.kept and _has_room(said) else None,
            created_at=self.moment,
            updated_at=self.moment,
        )


def read_file(stream: BinaryIO, progress: Callable[[int], None] | None = None) -> ReadFile:
    """Parses any bytes."""
    file, report = read_tree(stream, progress)
    if not file.persons:
        raise refused(ProblemCode.INVALID, "the file has no people: a GEDCOM file has INDI records", at="content")
    for person in file.persons:
        if sum(map(len, person.notes)) > MAX_BIOGRAPHY:
            length = f"over {MAX_BIOGRAPHY:,} characters"
            reason = f"The notes of @{person.xref}@ have {length}. The rest is preserved but not shown."
            report.repair(person.line, "NOTE", reason)
    return ReadFile(file, report, fingerprint(file))


def contents_of(tree: Tree, read: ReadFile) -> Contents:
    """Derives IDs from file and tree, so that repeating an import creates the same people."""
    file, report, mark = read
    ids: dict[str, str] = {person.xref: _id(tree, mark, person.xref) for person in file.persons}
    links, parents, order = parentages_of(tree, file, ids, report)
    marriages, extra = marriages_of(tree, file, ids)
    long = {ids[person.xref]: person.kept for person in file.persons if not _has_room(person)}
    parts = parts_of(tree, mark, file, ids, links, extra, long)
    return Contents(tree, file, ids, parents, order, marriages, parts, mark, report, now())


def _id(tree: Tree, mark: str, xref: str) -> Any:
    return uuid5(NAMESPACE, f"{tree.tree_id} {mark} {xref}").hex


def _has_room(person: GedPerson) -> bool:
    return len(person.kept) * 4 <= KEPT_BYTES or len(person.kept.encode()) <= KEPT_BYTES
