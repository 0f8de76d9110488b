"""Exports a tree as a GEDCOM file, including preserved content that still applies."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated

from typing_extensions import Doc

from datastore.genealogy import GedcomPart, Person, Tree
from datastore.model.enums import Choice
from datastore.model.keys import Key
from loaders.needs import Once, Step, computed
from loaders.pages import whole
from loaders.threads import FILES, check_time
from loaders.viewer import Viewer
from loaders.visibility import readable_at, seen, seen_at
from resolvers.genealogy.exporting.families import Families, FileFamily, as_gedcom
from resolvers.genealogy.gedcom import model
from resolvers.genealogy.gedcom.merging import Xrefs, renamed
from resolvers.genealogy.gedcom.model import GedOther, GedPerson, GedTree
from resolvers.genealogy.gedcom.records import Record, Version
from resolvers.genealogy.gedcom.serializer import kept_text
from resolvers.genealogy.gedcom.writer import write_tree
from resolvers.genealogy.preserved import FILE, Said, said_by_file
from resolvers.genealogy.relatives import WholeTree, whole_tree
from resolvers.genealogy.standing import Standing, standing

NOTHING = Said([], [], {})


class GedcomVersion(Choice):
    """Format of an exported file."""

    V5_5_1 = "5.5.1", "GEDCOM 5.5.1, which most programs read."
    V7_0 = "7.0", "GEDCOM 7.0."


VERSIONS = {GedcomVersion.V5_5_1: Version.V5, GedcomVersion.V7_0: Version.V7}


def export_gedcom(
    viewer: Viewer,
    *,
    tree_id: Annotated[Key[Tree], Doc("ID of the tree.")],
    version: Annotated[GedcomVersion, Doc("GEDCOM version of the file. Defaults to 7.0.")] = GedcomVersion.V7_0,
) -> Step[str | None]:
    """The tree as a GEDCOM file, with what the viewer may see. Null if the viewer cannot see the tree."""
    found: list[Tree | None] = yield from seen_at([tree_id], viewer)
    if found[0] is None:
        return None
    text: str = yield Once(("GEDCOM", tree_id, version), partial(_text, found[0], viewer, VERSIONS[version]))
    return text


def _text(tree: Tree, viewer: Viewer, version: Version) -> Step[str]:
    file: GedTree = yield Once(("GEDCOM", tree.own_key), partial(file_of, tree, viewer))
    return (yield from computed(FILES, len(file.persons), partial(_written, file, version)))


def _written(file: GedTree, version: Version) -> str:
    return b"".join(write_tree(file, version, check_time)).decode()


def file_of(tree: Tree, viewer: Viewer) -> Step[GedTree]:
    """Hides people who may be living, and preserved content, which may be about them, from strangers."""
    own = yield from standing(tree, viewer)
    kin = yield from whole_tree(tree, viewer)
    stored: list[Person | None] = yield from readable_at([person.own_key for person in kin.people.values()])
    shown: list[Person | None] = yield from seen(stored, viewer)
    parts: list[GedcomPart] = []
    if own > Standing.STRANGER:
        parts = yield from whole(GedcomPart.within(user_id=tree.user_id, tree_id=tree.tree_id))
    build = partial(_file, tree, own, kin, [person for person in shown if person is not None], parts)
    return (yield from computed(FILES, len(shown), build))


def _file(tree: Tree, own: Standing, kin: WholeTree, people: list[Person], parts: list[GedcomPart]) -> GedTree:
    people = _in_order(people)
    if own is Standing.STRANGER:
        people = [person.changed(kept=None) for person in people]
    # A file that is not completely imported may contain half a line.
    finished = [mark[:FILE] for mark in tree.imports]
    said = said_by_file(part for part in parts if part.part_id.split("-")[1] in finished)
    files = _Files({file: said[file] for file in finished if file in said}, people)
    families = Families(kin, own, files.xrefs, files.free)
    return GedTree(
        persons=tuple(files.persons()),
        families=tuple(families.all(files.families())),
        others=tuple(files.others()),
        header=files.header,
    )


def _in_order(people: list[Person]) -> list[Person]:
    """Returns people in creation order; those of a file in file order, even if importing took two attempts."""
    begun: dict[str | None, str] = {}
    for person in people:
        begun[person.file] = min(begun.get(person.file, person.created_at), person.created_at)

    def place(person: Person) -> tuple[str, int, str]:
        return begun[person.file] if person.file else person.created_at, person.number, person.person_id

    return sorted(people, key=place)


class _Files:
    """The files a tree was imported from, and the xrefs of their records in the export."""

    def __init__(self, said: dict[str, Said], people: list[Person]) -> None:
        self._people = people
        self._said = {**said, **{_file_of(person): NOTHING for person in people if _file_of(person) not in said}}
        self._kept = {person.person_id: self._kept_of(person) for person in people}
        by_file: dict[str, list[Person]] = {file: [] for file in self._said}
        for person in people:
            by_file[_file_of(person)].append(person)
        names = Xrefs()
        self.free = names.free
        self._moved = {
            file: names.of_file(self._own(file, by_file[file]), self._texts(file, by_file[file])) for file in self._said
        }
        self.xrefs = {person.person_id: self._xref(person) for person in people}
        headers = [(file, each.header) for file, each in self._said.items() if each.header]
        self.header = renamed(headers[0][1], self._moved[headers[0][0]]) if headers else ""
        self._other_headers = headers[1:]

    def persons(self) -> Iterator[GedPerson]:
        for person in self._people:
            check_time()
            kept = renamed(self._kept[person.person_id], self._moved[_file_of(person)])
            yield _person(person, self.xrefs[person.person_id], kept)

    def families(self) -> Iterator[FileFamily]:
        for file, said in self._said.items():
            for family in said.families:
                kept = renamed(family["kept"], self._moved[file])
                xref = self._called(file, family["xref"])
                yield FileFamily(xref, family["partners"], family["children"], kept, family.get("own"))

    def others(self) -> Iterator[GedOther]:
        """Turns the header of a second file into a note, because a file has one header."""
        for file, said in self._said.items():
            for each in said.others:
                if "tag" in each:
                    kept = renamed(each["kept"], self._moved[file])
                    yield GedOther(self._called(file, each["xref"]), each["tag"], kept)
        for file, header in self._other_headers:
            xref = self.free("N")
            text = f"The header of another file:\n{renamed(header, self._moved[file])}"
            yield GedOther(xref, "SNOTE", kept_text([Record("SNOTE", text, xref=xref)], 0))

    def _kept_of(self, person: Person) -> str:
        return person.kept or self._said[_file_of(person)].people.get(person.person_id, "")

    def _own(self, file: str, people: list[Person]) -> Iterator[str]:
        said = self._said[file]
        yield from (person.xref for person in people if person.xref)
        yield from (each["xref"] for each in (*said.families, *said.others) if each.get("xref"))

    def _texts(self, file: str, people: Iterable[Person]) -> Iterator[str]:
        said = self._said[file]
        yield said.header
        yield from (self._kept[person.person_id] for person in people)
        yield from (each["kept"] for each in (*said.families, *said.others) if "kept" in each)

    def _xref(self, person: Person) -> str:
        """Assigns xrefs to people who came from no file, after all files have theirs."""
        return self._called(_file_of(person), person.xref) if person.xref else self.free("I")

    def _called(self, file: str, xref: str) -> str:
        return self._moved[file].get(xref, xref)


def _file_of(person: Person) -> str:
    return person.file or ""


def _person(person: Person, xref: str, kept: str) -> GedPerson:
    return GedPerson(
        xref=xref,
        first_name=person.first_name or "",
        middle_name=person.middle_name or "",
        last_name=person.last_name or "",
        birth_name=person.birth_name or "",
        preferred_name=person.preferred_name or "",
        suffix=person.suffix or "",
        gender=model.Gender[person.gender.name],
        birth_date=as_gedcom(person.birth_date),
        birth_place=person.birth_place or "",
        death_date=as_gedcom(person.death_date),
        death_place=person.death_place or "",
        is_deceased=person.is_deceased,
        notes=(person.biography,) if person.biography else (),
        photo_url=person.photo_url or "",
        kept=kept,
    )
