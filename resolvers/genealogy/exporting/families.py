"""Groups links into GEDCOM families: a couple, or one parent, with children."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from datastore.genealogy import Gender, Marriage, Parentage
from datastore.model.dates import HistoricDate
from resolvers.genealogy.gedcom.dates import to_gedcom
from resolvers.genealogy.gedcom.families import without_marriage
from resolvers.genealogy.gedcom.model import GedChild, GedFamily, Pedigree, Status
from resolvers.genealogy.importing.links import STATUSES
from resolvers.genealogy.preserved import Facts, Line, facts_of, unsaid
from resolvers.genealogy.relatives import WholeTree
from resolvers.genealogy.standing import Standing
from resolvers.genealogy.visibility import link_as_seen

SAID_AS = {stored: status for status, stored in STATUSES.items()}

Partners = Sequence[str | None]


class FileFamily(NamedTuple):
    """A family of a file. `own` holds its details if the couple has no link for it."""

    xref: str
    partners: Partners
    children: list[Line]
    kept: str
    own: dict[str, str] | None


class Families:
    """The families of an export: those of the imported files that still apply, then new ones."""

    def __init__(self, kin: WholeTree, own: Standing, xrefs: dict[str, str], free: Callable[[str], str]) -> None:
        self._kin = kin
        self._own = own
        self._xrefs = xrefs
        self._free = free
        # Links that no family covers yet, in both directions.
        self._parents: dict[str, set[str]] = {}
        self._children: dict[str, set[str]] = {}
        for parent, child in kin.parentages:
            if parent in xrefs and child in xrefs:
                self._parents.setdefault(child, set()).add(parent)
                self._children.setdefault(parent, set()).add(child)
        self._couples = {pair: link for pair, link in kin.marriages.items() if all(each in xrefs for each in pair)}
        self._untold = dict.fromkeys(sorted(self._couples))
        # Children that the files list in each family, by partners.
        self._placed: set[tuple[tuple[str, str], str]] = set()

    def all(self, said: Iterable[FileFamily]) -> Iterator[GedFamily]:
        families = [*said]
        self._placed = {(_pair(family.partners), child["id"]) for family in families for child in family.children}
        for family in families:
            told = self._as_said(family)
            was_somebody = any(family.partners) or family.children
            if told.partners or told.children or not was_somebody:
                yield told
        while self._untold:
            yield self._new([*next(iter(self._untold))])
        for child in sorted(self._parents):
            # For links not covered yet: a child's first two parents together, then the next.
            while parents := sorted(self._parents[child]):
                yield self._new(parents[:2])

    def _as_said(self, family: FileFamily) -> GedFamily:
        partners: Partners = [each if each in self._xrefs else None for each in family.partners]
        if all(partners) and _pair(partners) not in self._couples:
            # No longer a couple: each gets a family of their own.
            family = family._replace(kept=without_marriage(family.kept), own={})
            partners = [partners[0], None]
        children = [child for child in family.children if self._are_parents(partners, child)]
        if family.own is None:
            children += [{"id": child} for child in self._children_of(partners) if self._is_new(partners, child)]
        return self._family(family.xref, partners, children, family.kept, family.own)

    def _children_of(self, parents: Iterable[str | None]) -> list[str]:
        """Returns the children of all these parents whose links no family covers yet."""
        return sorted(set.intersection(*(self._children.get(parent or "", set()) for parent in parents)))

    def _is_new(self, partners: Partners, child: str) -> bool:
        return (_pair(partners), child) not in self._placed

    def _are_parents(self, partners: Partners, child: Line) -> bool:
        """True if the child is exported and every link to these partners that the import created still exists."""
        made = child.get("made", [True, True])
        return child["id"] in self._xrefs and all(
            partner is None or not was_made or (partner, child["id"]) in self._kin.parentages
            for partner, was_made in zip(partners, made, strict=True)
        )

    def _new(self, parents: list[str]) -> GedFamily:
        lines = [{"id": child} for child in self._children_of(parents)]
        return self._family(self._free("F"), self._by_gender(parents), lines, "", None)

    def _by_gender(self, parents: list[str]) -> Partners:
        """Returns husband and wife. A woman takes the second place, unless the other partner is a woman too."""
        first, second = [*parents, None][:2]
        women = [each is not None and self._is_woman(each) for each in (first, second)]
        return [second, first] if women[0] and not women[1] else [first, second]

    def _is_woman(self, person_id: str) -> bool:
        return self._kin.family.people[person_id].gender.name == Gender.FEMALE.name

    def _family(
        self, xref: str, partners: Partners, children: list[Line], kept: str, own: dict[str, str] | None
    ) -> GedFamily:
        told = tuple(self._child(partners, child) for child in children)
        husband, wife = (self._xrefs[each] if each else "" for each in partners)
        marriage = self._marriage(partners) if own is None else _as_said(own)
        return GedFamily(xref=xref, husband=husband, wife=wife, children=told, kept=kept, **marriage)

    def _child(self, partners: Partners, child: Line) -> GedChild:
        child_id = child["id"]
        now = [self._facts(partner, child_id) for partner in partners]
        for partner in filter(None, partners):
            self._parents.get(child_id, set()).discard(partner)
            self._children.get(partner, set()).discard(child_id)
        if "said" in child:
            now = list(map(_still_said, child["said"], child["made"], now))
        (kind, date, notes), (wife_kind, wife_date, wife_notes) = (facts or unsaid(now) for facts in now)
        return GedChild(
            self._xrefs[child_id],
            Pedigree[kind],
            Pedigree[wife_kind],
            as_gedcom(date),
            as_gedcom(wife_date),
            notes,
            wife_notes,
        )

    def _facts(self, parent: str | None, child: str) -> Facts | None:
        link = self._kin.parentages.get((parent or "", child))
        if link is None:
            return None
        seen = link_as_seen(link, [self._kin.people.get(each) for each in (link.parent_id, child)], self._own)
        return facts_of(seen if isinstance(seen, Parentage) else link)

    def _marriage(self, partners: Partners) -> dict[str, Any]:
        pair = _pair(partners)
        link = self._couples.get(pair)
        self._untold.pop(pair, None)
        if link is None:
            return {}
        seen = link_as_seen(link, [self._kin.people.get(each) for each in pair], self._own)
        link = seen if isinstance(seen, Marriage) else link
        return {
            "marriage_date": as_gedcom(link.marriage_date),
            "marriage_place": link.marriage_place or "",
            "divorce_date": as_gedcom(link.divorce_date),
            "status": SAID_AS.get(link.status, Status.UNKNOWN),
            "notes": link.notes or "",
        }


def _pair(partners: Partners) -> tuple[str, str]:
    first, second = sorted(each or "" for each in partners)
    return first, second


def _still_said(said: Facts, made: Facts | None, now: Facts | None) -> Facts:
    """Returns the file's version where nothing has changed since."""
    if made is None or now is None:
        return now or said
    return [one if was == is_now else is_now for one, was, is_now in zip(said, made, now, strict=True)]


def _as_said(own: dict[str, str]) -> dict[str, Any]:
    return {**own, "status": Status(own.get("status", Status.UNKNOWN))}


def as_gedcom(date: HistoricDate | str | None) -> str:
    return to_gedcom(HistoricDate(date)) if date else ""
