"""Parent-child and spouse links of a file, without cycles and duplicates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from datastore.genealogy import Marriage, MarriageStatus, Parentage, ParentageKind, Tree
from datastore.model.keys import Key
from resolvers.genealogy.gedcom.model import GedTree, Pedigree, Status
from resolvers.genealogy.gedcom.report import Report
from resolvers.genealogy.link_records import BIOLOGICAL_PARENTS, couple
from resolvers.genealogy.preserved import Parentages, date_of

# A child and its links are one transaction.
MOST_PARENTS = 50

STATUSES = {
    Status.MARRIED: MarriageStatus.MARRIED,
    Status.DIVORCED: MarriageStatus.DIVORCED,
    Status.SEPARATED: MarriageStatus.SEPARATED,
    Status.WIDOWED: MarriageStatus.WIDOWED,
    Status.UNKNOWN: MarriageStatus.PARTNERS,
}


class _Link(NamedTuple):
    """A parent-child link stated by the file."""

    pair: tuple[str, str]
    line: int
    text: str
    pedigree: Pedigree
    adoption_date: str
    notes: str


class _Parents:
    """The parents of one child collected so far."""

    def __init__(self) -> None:
        self.count = self.of_birth = 0

    def reason_against(self, kind: ParentageKind) -> str:
        if kind is ParentageKind.BIOLOGICAL and self.of_birth >= BIOLOGICAL_PARENTS:
            return "a child has at most two biological parents"
        return f"a child has at most {MOST_PARENTS} parents" if self.count >= MOST_PARENTS else ""

    def add(self, kind: ParentageKind) -> None:
        self.count += 1
        self.of_birth += kind is ParentageKind.BIOLOGICAL


def parentages_of(
    tree: Tree, file: GedTree, ids: dict[str, str], report: Report
) -> tuple[Parentages, dict[str, list[Parentage]], list[str]]:
    """Returns all links, the links of each child, and all people in an order with parents before children.

    Each pair occurs once. Drops third biological parents and links that would close a cycle.
    """
    found = _possible(_links(file, ids), report)
    children: dict[str, list[str]] = {}
    for parent_id, child_id in found:
        children.setdefault(parent_id, []).append(child_id)
    order, closing = _parents_first([*children, *ids.values()], children)
    links: Parentages = {}
    by_child: dict[str, list[Parentage]] = {}
    for pair, said in found.items():
        if pair in closing:
            report.refuse(said.line, "CHIL", f"{said.text}: a person cannot be their own ancestor.")
            continue
        links[pair] = Parentage(
            user_id=tree.user_id,
            tree_id=tree.tree_id,
            parent_id=pair[0],
            child_id=pair[1],
            kind=ParentageKind[said.pedigree.name],
            adoption_date=date_of(said.adoption_date),
            notes=said.notes or None,
        )
        by_child.setdefault(pair[1], []).append(links[pair])
    return links, by_child, order


def marriages_of(tree: Tree, file: GedTree, ids: dict[str, str]) -> tuple[list[Marriage], set[str]]:
    """Returns one marriage per couple, and the xrefs of the families that keep their own details.

    Those are families with one partner, and further families of a couple.
    """
    found: dict[Key[Marriage], Marriage] = {}
    extra: set[str] = set()
    for family in file.families:
        one, other = ids.get(family.husband), ids.get(family.wife)
        if not one or not other:
            extra.add(family.xref)
            continue
        marriage = couple(
            tree,
            one,
            other,
            status=STATUSES[family.status],
            marriage_date=date_of(family.marriage_date),
            marriage_place=family.marriage_place or None,
            divorce_date=date_of(family.divorce_date),
            notes=family.notes or None,
        )
        if marriage.own_key in found:
            extra.add(family.xref)
        found.setdefault(marriage.own_key, marriage)
    return [*found.values()], extra


def _links(file: GedTree, ids: dict[str, str]) -> Iterator[_Link]:
    """Returns the links in file order."""
    for family in file.families:
        for child in family.children:
            husband = child.husband_pedigree, child.husband_adoption_date, child.husband_notes
            wife = child.wife_pedigree, child.wife_adoption_date, child.wife_notes
            for partner, said in ((family.husband, husband), (family.wife, wife)):
                if partner in ids:
                    text = f"@{child.xref}@ of @{partner}@"
                    yield _Link((ids[partner], ids[child.xref]), child.line or family.line, text, *said)


def _possible(links: Iterable[_Link], report: Report) -> dict[tuple[str, str], _Link]:
    """Returns the first link of each pair. Refuses a third biological parent and more than 50 parents."""
    found: dict[tuple[str, str], _Link] = {}
    parents: dict[str, _Parents] = {}
    for link in links:
        if link.pair in found:
            continue
        others = parents.setdefault(link.pair[1], _Parents())
        kind = ParentageKind[link.pedigree.name]
        reason = others.reason_against(kind)
        if reason:
            report.refuse(link.line, "CHIL", f"{link.text}: {reason}.")
        else:
            others.add(kind)
            found[link.pair] = link
    return found


def _parents_first(
    people: Iterable[str], children: Mapping[str, Sequence[str]]
) -> tuple[list[str], set[tuple[str, str]]]:
    """Returns a topological order and the links to drop: one depth-first walk visits every link once."""
    done: list[str] = []
    met: set[str] = set()
    above: set[str] = set()
    closing: set[tuple[str, str]] = set()
    for first in people:
        path = [] if first in met else [(first, iter(children.get(first, ())))]
        while path:
            person, below = path[-1]
            met.add(person)
            above.add(person)
            child = next(below, None)
            if child is None:
                path.pop()
                above.remove(person)
                done.append(person)
            elif child in above:
                closing.add((person, child))
            elif child not in met:
                path.append((child, iter(children.get(child, ()))))
    return done[::-1], closing
