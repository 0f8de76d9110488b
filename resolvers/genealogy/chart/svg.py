"""Renders a person's ancestors or descendants as SVG."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from unicodedata import category, east_asian_width
from xml.etree import ElementTree as ET

from datastore.genealogy import Gender, ParentageKind
from resolvers.genealogy.chart.layout import HEIGHT, LEVEL_GAP, WIDTH, Box, Line, boxes_of
from resolvers.genealogy.kinship.family import KINDS, Family

MOST = 100
MARGIN, HEADING, FOOT = 24, 84, 24
NARROWEST = 640
HEADING_ROOM, NAME_ROOM, LIFE_ROOM = 36, 18.5, 23
INDENT, LEADING, SPINE = 14, 16, 16
LONGEST = 250
NARROW = "iljtfrI1.,:;'|!()[]- "
STYLE = """
.family-tree { --paper: #ffffff; --ink: #1c2733; --faint: #566474; --box: #f4f6f8; --line: #74828f;
  --male: #2f6fb3; --female: #b3476f; --other: #6b7a3a; font: 12px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .family-tree { --paper: #14191f; --ink: #e8edf2; --faint: #a5b1bd;
  --box: #212932; --line: #8a97a4; --male: #7db4ec; --female: #ec9abb; --other: #b9c97e; } }
.family-tree .paper { fill: var(--paper); }
.family-tree text { fill: var(--ink); }
.family-tree .heading { font-size: 18px; font-weight: 600; }
.family-tree .name { font-weight: 600; }
.family-tree .corner { font-size: 11px; font-weight: 600; text-anchor: end; }
.family-tree .life, .family-tree .note { fill: var(--faint); font-size: 11px; }
.family-tree .box { fill: var(--box); stroke: var(--line); }
.family-tree .root .box { stroke: var(--ink); stroke-width: 2; }
.family-tree .accent { fill: var(--other); }
.family-tree .MALE .accent { fill: var(--male); }
.family-tree .FEMALE .accent { fill: var(--female); }
.family-tree .reference .box { fill: none; stroke-dasharray: 3 3; }
.family-tree .reference .name { font-weight: 400; font-style: italic; }
.family-tree .link { fill: none; stroke: var(--line); stroke-width: 1.5; }
.family-tree .ADOPTIVE { stroke-dasharray: 6 3; }
.family-tree .STEP { stroke-dasharray: 6 3 1.5 3; }
.family-tree .FOSTER { stroke-dasharray: 1.5 3; }
"""

_not_xml = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Label(NamedTuple):
    """The text in a person's box."""

    name: str
    life: str = ""


UNNAMED = Label("?")


def tree_picture(
    family: Family,
    labels: Mapping[str, Label],
    person_id: str,
    line: Line,
    *,
    most: int = MOST,
    generations: int | None = None,
) -> str:
    """Renders the nearest relatives, up to a number of boxes and generations, and the number omitted."""
    boxes = boxes_of(family, person_id, line, max(most, 1), generations)
    names = {box.person_id: labels.get(box.person_id, UNNAMED) for box in boxes}
    svg = _canvas(boxes, _heading(names[person_id], line), _summary(family, boxes, line))
    for box in boxes[1:]:
        ET.SubElement(svg, "path", {"class": f"link {box.kind.value}", "d": _link(boxes, box, line)})
    numbers = _numbers(boxes)
    for box in boxes:
        _draw(svg, box, family.people[box.person_id].gender, names[box.person_id], numbers.get(box.person_id))
    _legend(svg, [kind for kind in KINDS[1:] if any(box.kind is kind for box in boxes)], _bottom(boxes))
    return ET.tostring(svg, encoding="unicode")


def _heading(label: Label, line: Line) -> str:
    return f"{line.value.capitalize()} of {_fitting(_name(label), HEADING_ROOM, 1)[0]}"


def _summary(family: Family, boxes: list[Box], line: Line) -> str:
    shown = sum(not box.is_reference for box in boxes)
    walk = family.ancestors if line is Line.ANCESTORS else family.descendants
    left_out = 1 + len(walk(boxes[0].person_id, kinds=KINDS)) - shown
    summary = f"{_counted(shown, 'person', 'people')}, {_counted(boxes[-1].level + 1, 'generation', 'generations')}."
    return f"{summary} {_counted(left_out, 'more person is', 'more people are')} not shown." if left_out else summary


def _canvas(boxes: list[Box], heading: str, summary: str) -> ET.Element:
    width = max(NARROWEST, *(box.x + WIDTH for box in boxes)) + 2 * MARGIN
    height = _bottom(boxes) + MARGIN + FOOT
    size = {"width": f"{width:g}", "height": f"{height:g}"}
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "class": "family-tree", "role": "img"}
    svg = ET.Element("svg", {**attributes, **size, "viewBox": f"0 0 {width:g} {height:g}"})
    ET.SubElement(svg, "title").text = heading
    ET.SubElement(svg, "desc").text = summary
    ET.SubElement(svg, "style").text = STYLE
    ET.SubElement(svg, "rect", {"class": "paper", **size})
    _text(svg, heading, "heading", MARGIN, MARGIN + 16)
    _text(svg, summary, "note", MARGIN, MARGIN + 38)
    return svg


def _numbers(boxes: list[Box]) -> dict[str, int]:
    """Numbers the boxes that references point to, so that they can be found on paper."""
    referred = dict.fromkeys(box.person_id for box in boxes if box.is_reference)
    return {person_id: number for number, person_id in enumerate(referred, 1)}


def _draw(svg: ET.Element, box: Box, gender: Gender, label: Label, number: int | None) -> None:
    role = "reference" if box.is_reference else "root" if box.before is None else "person"
    x, y = box.x + MARGIN, box.y + HEADING
    group = ET.SubElement(svg, "g", {"class": f"{role} {gender.value}", "transform": f"translate({x:g} {y:g})"})
    ET.SubElement(group, "title").text = ", ".join(filter(None, [_name(label), _clean(label.life)]))
    ET.SubElement(group, "rect", {"class": "box", "width": str(WIDTH), "height": str(HEIGHT), "rx": "6"})
    if not box.is_reference:
        ET.SubElement(group, "rect", {"class": "accent", "width": "4", "height": str(HEIGHT - 12), "y": "6"})
    names = _fitting(_name(label), NAME_ROOM, 2)
    life = f"see {number}" if box.is_reference else "".join(_fitting(label.life, LIFE_ROOM - 4 * bool(box.hidden), 1))
    first = (HEIGHT - LEADING * (len(names) + bool(life))) / 2 + 12
    for place, name in enumerate(names):
        _text(group, name, "name", INDENT, first + place * LEADING)
    _text(group, life, "life", INDENT, first + len(names) * LEADING)
    if number and not box.is_reference:
        _text(group, str(number), "corner", WIDTH - 6, 14)
    if box.hidden:
        _text(group, f"+{box.hidden}", "corner", WIDTH - 6, HEIGHT - 7)


def _link(boxes: list[Box], box: Box, line: Line) -> str:
    """Draws the connector from the previous box through the space between the levels."""
    assert box.before is not None
    before = boxes[box.before]
    x, y = box.x + MARGIN, box.y + HEADING
    from_x, from_y = before.x + MARGIN, before.y + HEADING
    if line is Line.ANCESTORS:
        return f"M{from_x + WIDTH:g} {from_y + HEIGHT / 2:g}H{x - LEVEL_GAP / 2:g}V{y + HEIGHT / 2:g}H{x:g}"
    top = boxes[before.further[0]].y + HEADING
    out = f"M{from_x + WIDTH / 2:g} {from_y + HEIGHT:g}V{top - LEVEL_GAP / 2:g}"
    return f"{out}H{x - SPINE:g}V{y + HEIGHT / 2:g}H{x:g}" if box.is_stacked else f"{out}H{x + WIDTH / 2:g}V{y:g}"


def _legend(svg: ET.Element, kinds: list[ParentageKind], y: float) -> None:
    for place, kind in enumerate(kinds):
        x = MARGIN + place * 120
        ET.SubElement(svg, "path", {"class": f"link {kind.value}", "d": f"M{x} {y + MARGIN:g}h40"})
        _text(svg, kind.value.lower(), "note", x + 48, y + MARGIN + 4)


def _bottom(boxes: list[Box]) -> float:
    return HEADING + max(box.y for box in boxes) + HEIGHT + MARGIN


def _text(parent: ET.Element, text: str, role: str, x: float, y: float) -> None:
    if text:
        ET.SubElement(parent, "text", {"class": role, "x": f"{x:g}", "y": f"{y:g}"}).text = text


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _name(label: Label) -> str:
    return _clean(label.name) or UNNAMED.name


def _clean(text: str) -> str:
    """Removes characters that XML does not allow, and line breaks."""
    return " ".join(_not_xml.sub(" ", text[:LONGEST]).split())


def _fitting(text: str, room: float, most_lines: int) -> list[str]:
    """Wraps text to the box and truncates it with an ellipsis."""
    lines: list[str] = []
    for word in _clean(text).split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and (_room(joined) <= room or len(lines) == most_lines):
            lines[-1] = joined
        else:
            lines.append(word)
    return [line if _room(line) <= room else _cut(line, room) for line in lines]


def _cut(line: str, room: float) -> str:
    while _room(line) > room - 1:
        line = line[:-1]
    return f"{line.rstrip()}…"


def _room(text: str) -> float:
    """Estimates the text width in units of lowercase letters, because fonts differ."""
    return sum(_letter(character) for character in text)


def _letter(character: str) -> float:
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    if east_asian_width(character) in ("W", "F"):
        return 2
    if character in NARROW:
        return 0.6
    return 1.3 if character.isupper() or character in "mw@%" else 1
