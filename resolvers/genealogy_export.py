"""From a tree to a GEDCOM file: what a file said of families is said again as far as it is still so."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import orjson
from typing_extensions import Doc

from datastore.choices import Choice
from datastore.dates import HistoricDate, to_gedcom
from datastore.genealogy import GedcomPart, Marriage, Person, Tree
from datastore.keys import Key
from loaders.pages import whole
from loaders.steps import Items, Step
from loaders.viewer import Viewer
from loaders.visibility import seen, seen_at
from resolvers.gedcom import model
from resolvers.gedcom.exporting import write_tree
from resolvers.gedcom.model import GedChild, GedFamily, GedOther, GedPerson, GedTree, Pedigree, Status
from resolvers.gedcom.records import Record, Version
from resolvers.gedcom.writing import kept_text
from resolvers.genealogy import Standing, link_as_seen, standing
from resolvers.genealogy_import import STATUSES
from resolvers.genealogy_kin import WholeTree, whole_tree

SAID_AS = {stored: status for status, stored in STATUSES.items()}


class GedcomVersion(Choice):
    """How a file is written."""

    V5_5_1 = "5.5.1", "GEDCOM 5.5.1, which everything reads."
    V7_0 = "7.0", "GEDCOM 7.0."


VERSIONS = {GedcomVersion.V5_5_1: Version.V5, GedcomVersion.V7_0: Version.V7}


def export_gedcom(
    viewer: Viewer,
    *,
    tree_id: Annotated[Key[Tree], Doc("The `id` of the tree.")],
    version: Annotated[GedcomVersion, Doc("How to write it.")] = GedcomVersion.V7_0,
) -> Step[str | None]:
    """The whole tree as a GEDCOM file, as far as one may see it; null where one may not."""
    found: list[Tree | None] = yield from seen_at([tree_id], viewer)
    if found[0] is None:
        return None
    file = yield from file_of(found[0], viewer)
    return b"".join(write_tree(file, VERSIONS[version])).decode()


def file_of(tree: Tree, viewer: Viewer) -> Step[GedTree]:
    """To strangers nothing is told of those who may be living, nor what a file said besides: it may be about them."""
    own = yield from standing(tree, viewer)
    kin = yield from whole_tree(tree, viewer)
    stored: list[Person | None] = yield Items([person.own_key for person in kin.people.values()])
    shown: list[Person | None] = yield from seen(stored, viewer)
    people = sorted((person for person in shown if person is not None), key=_place)
    parts: list[GedcomPart] = []
    if own > Standing.STRANGER:
        parts = yield from whole(GedcomPart.within(user_id=tree.user_id, tree_id=tree.tree_id))
    families = [each for part in parts if part.part_id.startswith("FAM") for each in orjson.loads(part.text)]
    others = [each for part in parts if part.part_id.startswith("OTHER") for each in orjson.loads(part.text)]
    xrefs = _xrefs(people, families, others)
    return GedTree(
        persons=tuple(_person(person, xrefs[person.person_id]) for person in people),
        families=tuple(_Families(kin, own, xrefs).all(families)),
        others=tuple(GedOther(each["xref"], each["tag"], each["kept"]) for each in others if "tag" in each),
        header=next((each["header"] for each in others if "header" in each), ""),
    )


def _place(person: Person) -> tuple[str, int, str]:
    return person.created_at, person.number, person.person_id


def _xrefs(people: Iterable[Person], *said: list[dict[str, Any]]) -> dict[str, str]:
    """What people are called in the file: as in the one they came from, where nobody else is called so."""
    taken = {each["xref"] for some in said for each in some if each.get("xref")}
    found: dict[str, str] = {}
    unnamed: list[Person] = []
    for person in people:
        if person.xref and person.xref not in taken:
            found[person.person_id] = person.xref
            taken.add(person.xref)
        else:
            unnamed.append(person)
    for person in unnamed:
        found[person.person_id] = _free("I", taken)
    return found


def _free(letter: str, taken: set[str]) -> str:
    number = len(taken) + 1
    while f"{letter}{number}" in taken:
        number += 1
    taken.add(f"{letter}{number}")
    return f"{letter}{number}"


def _person(person: Person, xref: str) -> GedPerson:
    return GedPerson(
        xref=xref,
        first_name=person.first_name or "",
        middle_name=person.middle_name or "",
        last_name=person.last_name or "",
        birth_name=person.birth_name or "",
        preferred_name=person.preferred_name or "",
        suffix=person.suffix or "",
        gender=model.Gender[person.gender.name],
        birth_date=_date(person.birth_date),
        birth_place=person.birth_place or "",
        death_date=_date(person.death_date),
        death_place=person.death_place or "",
        is_deceased=person.is_deceased,
        notes=(person.biography,) if person.biography else (),
        photo_url=person.photo_url or "",
        kept=person.kept or "",
    )


def _date(date: HistoricDate | None) -> str:
    return to_gedcom(date) if date else ""


class _Families:
    """A file groups by families what we have as links between two: a couple, or one parent, with children."""

    def __init__(self, kin: WholeTree, own: Standing, xrefs: dict[str, str]) -> None:
        self._kin = kin
        self._own = own
        self._xrefs = xrefs
        # What no family tells yet, both ways.
        self._parents: dict[str, set[str]] = {}
        self._children: dict[str, set[str]] = {}
        for parent, child in kin.parentages:
            if parent in xrefs and child in xrefs:
                self._parents.setdefault(child, set()).add(parent)
                self._children.setdefault(parent, set()).add(child)
        self._couples = {pair: link for pair, link in kin.marriages.items() if all(each in xrefs for each in pair)}
        self._taken = {*xrefs.values()}

    def all(self, said: list[dict[str, Any]]) -> Iterator[GedFamily]:
        """Those the file has, as far as they are still so, then those that are new."""
        self._taken |= {family["xref"] for family in said}
        for family in said:
            partners = [each if each in self._xrefs else None for each in (family["husband"], family["wife"])]
            children = [child for child in family["children"] if self._are_parents(partners, child)]
            yield self._family(family["xref"], partners, children, family["kept"], family.get("own"))
        for pair in sorted(self._couples):
            yield self._new([*pair])
        for parents in self._left_over():
            yield self._new(parents)

    def _are_parents(self, partners: list[str | None], child: str) -> bool:
        """As the file says, and nothing less: one parent alone is another family."""
        present = {each for each in partners if each}
        return child in self._xrefs and present <= self._parents.get(child, set())

    def _left_over(self) -> Iterator[list[str]]:
        """Of what no family tells yet: a child's first two parents together, then the next."""
        for child in sorted(self._parents):
            while parents := sorted(self._parents[child]):
                yield parents[:2]

    def _new(self, parents: list[str]) -> GedFamily:
        children = sorted(set.intersection(*(self._children.get(parent, set()) for parent in parents)))
        return self._family(_free("F", self._taken), self._by_gender(parents), children, "", None)

    def _by_gender(self, parents: list[str]) -> list[str | None]:
        """The file's places are called husband and wife; whoever is a woman is in the second, if that is free."""
        first, second = [*parents, None][:2]
        women = [each is not None and self._kin.family.people[each].gender.name == "FEMALE" for each in (first, second)]
        return [second, first] if women[0] and not women[1] else [first, second]

    def _family(
        self, xref: str, partners: list[str | None], children: list[str], kept: str, said: dict[str, str] | None
    ) -> GedFamily:
        kinds = [[self._pedigree(parent, child) for parent in partners] for child in children]
        for child in children:
            self._tell(partners, child)
        husband, wife = (self._xrefs[each] if each else "" for each in partners)
        return GedFamily(
            xref=xref,
            husband=husband,
            wife=wife,
            children=tuple(GedChild(self._xrefs[child], *of) for child, of in zip(children, kinds, strict=True)),
            **{"kept": kept, **(_as_said(said) if said is not None else self._marriage(partners, kept))},
        )

    def _tell(self, partners: list[str | None], child: str) -> None:
        for parent in partners:
            if parent:
                self._parents[child].discard(parent)
                self._children[parent].discard(child)

    def _pedigree(self, parent: str | None, child: str) -> Pedigree:
        link = self._kin.parentages.get((parent or "", child))
        return Pedigree[link.kind.name] if link else Pedigree.BIOLOGICAL

    def _marriage(self, partners: list[str | None], kept: str) -> dict[str, Any]:
        pair = tuple(sorted(each for each in partners if each))
        link = self._couples.pop(pair, None) if len(pair) == 2 else None
        if link is None:
            return {}
        verdict = link_as_seen(link, [self._kin.people.get(each) for each in pair], self._own)
        link = verdict if isinstance(verdict, Marriage) else link
        return {
            "marriage_date": _date(link.marriage_date),
            "marriage_place": link.marriage_place or "",
            "divorce_date": _date(link.divorce_date),
            "status": SAID_AS[link.status],
            "kept": "\n".join(filter(None, [kept, kept_text([Record("NOTE", link.notes)] if link.notes else [])])),
        }


def _as_said(said: dict[str, str]) -> dict[str, Any]:
    return {**said, "status": Status(said["status"])}
