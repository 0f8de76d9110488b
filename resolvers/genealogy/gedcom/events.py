"""Events of a person or family: the mapped details, such as the date, and the rest, preserved below the event."""

from collections.abc import Sequence
from dataclasses import replace

from resolvers.genealogy.gedcom.limits import fits
from resolvers.genealogy.gedcom.records import Record


def details_of(records: Sequence[Record], *tags: str) -> list[str]:
    """Returns the values of these tags in the first event; empty if it did not take place or if a value is too long."""
    if not happened(records[:1]):
        return [""] * len(tags)
    texts = [(tag, records[0].text(tag)) for tag in tags]
    return [text if fits(tag, text) else "" for tag, text in texts]


def happened(records: Sequence[Record]) -> bool:
    """Returns False for the value N, which says that the event did not take place."""
    return any(record.value.strip().upper() != "N" for record in records)


def kept_events(records: Sequence[Record], *tags: str) -> list[Record]:
    """Returns the first event without its mapped details, or nothing if no other details remain."""
    if not happened(records[:1]):
        return list(records)
    children = records[0].children
    for tag in tags:
        children = _without(children, tag)
    rest = replace(records[0], children=children)
    says_nothing_else = rest == Record(rest.tag) and rest != records[0] and len(records) == 1
    return [] if says_nothing_else else [rest, *records[1:]]


def event_records(kept: Sequence[Record], event: str, **details: str) -> list[Record]:
    """Returns the preserved events with that tag, with the details of the first one filled in."""
    if not any(details.values()):
        return list(kept)
    rest = kept[0] if kept else Record(event)
    children = rest.children
    for tag, value in reversed(details.items()):
        children = _with(children, tag, value)
    value = rest.value if happened([rest]) else ""
    return [replace(rest, value=value, children=children), *kept[1:]]


def _without(children: tuple[Record, ...], tag: str) -> tuple[Record, ...]:
    """Clears the first child with the tag. Drops it if nothing else is left of it and no other child has the tag."""
    places = [place for place, child in enumerate(children) if child.tag == tag]
    if not places or not children[places[0]].value or not fits(tag, children[places[0]].value):
        return children
    bare = replace(children[places[0]], value="")
    stays = (bare,) if bare != Record(tag) or len(places) > 1 else ()
    return (*children[: places[0]], *stays, *children[places[0] + 1 :])


def _with(children: tuple[Record, ...], tag: str, value: str) -> tuple[Record, ...]:
    if not value:
        return children
    place = next((place for place, child in enumerate(children) if child.tag == tag), None)
    if place is None:
        return (Record(tag, value), *children)
    return (*children[:place], replace(children[place], value=value), *children[place + 1 :])
