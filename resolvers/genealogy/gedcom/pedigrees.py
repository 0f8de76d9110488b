"""Parent-child kinds, as the links between child and family state them."""

from dataclasses import replace

from resolvers.genealogy.gedcom.model import Pedigree
from resolvers.genealogy.gedcom.records import Record

Kinds = tuple[Pedigree, Pedigree]

KINDS = {
    "ADOPTED": Pedigree.ADOPTIVE,
    "ADOPTIVE": Pedigree.ADOPTIVE,
    "BIOLOGICAL": Pedigree.BIOLOGICAL,
    "BIRTH": Pedigree.BIOLOGICAL,
    "FOSTER": Pedigree.FOSTER,
    "NATURAL": Pedigree.BIOLOGICAL,
    "STEP": Pedigree.STEP,
    "STEPCHILD": Pedigree.STEP,
}
# PEDI covers both parents and has no value for step children; those are stated for each parent.
PEDI = {Pedigree.ADOPTIVE: "ADOPTED", Pedigree.FOSTER: "FOSTER"}
RELATIONS = {
    Pedigree.BIOLOGICAL: "Natural",
    Pedigree.ADOPTIVE: "Adopted",
    Pedigree.STEP: "Step",
    Pedigree.FOSTER: "Foster",
}
TAGS = {"PEDI", "_FREL", "_MREL"}
BY_BIRTH = (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)


def kinds_of(to_child: Record, from_child: Record) -> Kinds:
    """Returns the kinds for husband and wife. The default is biological."""
    if not to_child.children and not from_child.children:
        return BY_BIRTH
    both = KINDS.get(from_child.text("PEDI").strip().upper(), Pedigree.BIOLOGICAL)
    husband, wife = (KINDS.get(to_child.text(tag).strip().upper(), both) for tag in ("_FREL", "_MREL"))
    return husband, wife


def says_more(to_child: Record, from_child: Record) -> bool:
    """Tells whether the link says more than would be generated from the kinds."""
    return (to_child.children, from_child.children) != _said(kinds_of(to_child, from_child))


def saying(kinds: Kinds, to_child: Record, from_child: Record) -> tuple[Record, Record]:
    """Returns both links unchanged while they state the same kinds, else rewritten."""
    if kinds_of(to_child, from_child) == kinds:
        return to_child, from_child
    of_family, of_child = _said(kinds)
    return _changed(to_child, of_family), _changed(from_child, of_child)


def _said(kinds: Kinds) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    husband, wife = kinds
    if kinds == BY_BIRTH:
        return (), ()
    if husband is wife and husband in PEDI:
        return (), (Record("PEDI", PEDI[husband]),)
    return (Record("_FREL", RELATIONS[husband]), Record("_MREL", RELATIONS[wife])), ()


def _changed(link: Record, said: tuple[Record, ...]) -> Record:
    return replace(link, children=(*said, *(child for child in link.children if child.tag not in TAGS)))
