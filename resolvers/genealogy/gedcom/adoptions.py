"""Adoption events: they name the adopting family, and their dates belong to the parent-child links."""

from collections import Counter
from collections.abc import Mapping, Sequence

from resolvers.genealogy.gedcom.events import details_of, event_records, kept_events
from resolvers.genealogy.gedcom.model import Pedigree
from resolvers.genealogy.gedcom.pedigrees import Kinds
from resolvers.genealogy.gedcom.records import PARTNERS, Record

# Keyed by family and partner.
Dates = dict[tuple[str, str], str]


def adoptions_of(events: Sequence[Record], kinds: Mapping[str, Kinds]) -> tuple[Dates, list[Record]]:
    """Returns the dates of unambiguous adoptions, and the events to preserve without those dates."""
    told_by = Counter(parent for event in events for parent in _parents(event, kinds))
    dates: Dates = {}
    kept = []
    for event in events:
        parents = _parents(event, kinds)
        (date,) = details_of([event], "DATE")
        if date and parents and all(told_by[parent] == 1 for parent in parents):
            dates |= dict.fromkeys(parents, date)
            kept += kept_events([event], "DATE")
        else:
            kept.append(event)
    return dates, kept


def adoption_records(kept: Sequence[Record], kinds: Mapping[str, Kinds], dates: Dates) -> list[Record]:
    """Returns the preserved events with their dates, and a new event for each date that has none."""
    left = dict(dates)
    told = []
    for event in kept:
        parents = [parent for parent in _parents(event, kinds) if parent in left]
        if parents and not event.text("DATE") and len({left[parent] for parent in parents}) == 1:
            told += event_records([event], "ADOP", DATE=left[parents[0]])
            left = {parent: date for parent, date in left.items() if parent not in parents}
        else:
            told.append(event)
    by_event: dict[tuple[str, str], list[str]] = {}
    for (family, partner), date in left.items():
        by_event.setdefault((family, date), []).append(partner)
    return [*told, *(_event(family, date, partners) for (family, date), partners in by_event.items())]


def _parents(event: Record, kinds: Mapping[str, Kinds]) -> list[tuple[str, str]]:
    """Returns the adopting partners: the one the event names, or both, if the child is adopted by them."""
    family = event.first("FAMC")
    if family is None or family.pointer not in kinds:
        return []
    named = family.text("ADOP").strip().upper()
    return [
        (family.pointer, partner)
        for partner, kind in zip(PARTNERS, kinds[family.pointer], strict=True)
        if kind is Pedigree.ADOPTIVE and named in (partner, "BOTH", "")
    ]


def _event(family: str, date: str, partners: list[str]) -> Record:
    who = Record("ADOP", "BOTH" if len(partners) > 1 else partners[0])
    return Record("ADOP", children=(Record("DATE", date), Record("FAMC", pointer=family, children=(who,))))
