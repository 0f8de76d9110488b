"""A chart of one metric as SVG: one bar per day or hour."""

from xml.etree import ElementTree as ET

from datastore.analytics import AnalyticsPeriod
from resolvers.analytics.metrics import Metric
from resolvers.analytics.results import Analytics

WIDTH, HEIGHT, MARGIN, HEADING = 640, 240, 24, 64
BASE = HEIGHT - 40
STYLE = """
.analytics { --paper: #ffffff; --ink: #1c2733; --faint: #566474; --bar: #2f6fb3; --below: #b3476f; --line: #74828f;
  font: 12px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .analytics { --paper: #14191f; --ink: #e8edf2; --faint: #a5b1bd; --bar: #7db4ec;
  --below: #ec9abb; --line: #8a97a4; } }
.analytics .paper { fill: var(--paper); }
.analytics text { fill: var(--ink); }
.analytics .heading { font-size: 18px; font-weight: 600; }
.analytics .note { fill: var(--faint); font-size: 11px; }
.analytics .end { text-anchor: end; }
.analytics .bar { fill: var(--bar); }
.analytics .below { fill: var(--below); }
.analytics .line { stroke: var(--line); }
"""


def chart(found: Analytics, metric: Metric, period: AnalyticsPeriod) -> str:
    """Renders the counts of a metric. Bars of periods with more removed than added point downward."""
    values = [getattr(point, metric.value) for point in found.points]
    name = metric.value.replace("_", " ")
    heading = f"{name.capitalize()} per {period.value.lower()}"
    total = getattr(found.totals, metric.value)
    first, last = (_label(period, found.points[place].at) for place in (0, -1))
    svg = _canvas(heading, f"{total:,} in all, from {first} to {last} (UTC). At most {max(values):,}.")
    high, low = max(0, *values), min(0, *values)
    scale = (BASE - HEADING) / ((high - low) or 1)
    zero = HEADING + high * scale
    step = (WIDTH - 2 * MARGIN) / len(values)
    for place, (point, value) in enumerate(zip(found.points, values, strict=True)):
        if value:
            size = abs(value) * scale
            top = zero - size if value > 0 else zero
            place_and_size = {"x": MARGIN + place * step, "y": top, "width": max(step * 0.8, 0.5), "height": size}
            numbers = {each: f"{number:.6g}" for each, number in place_and_size.items()}
            bar = ET.SubElement(svg, "rect", {"class": "bar" if value > 0 else "below", **numbers})
            ET.SubElement(bar, "title").text = f"{_label(period, point.at)}: {value:,}"
    line = {"class": "line", "x1": f"{MARGIN}", "x2": f"{WIDTH - MARGIN}", "y1": f"{zero:g}", "y2": f"{zero:g}"}
    ET.SubElement(svg, "line", line)
    _text(svg, first, "note", MARGIN, HEIGHT - 16)
    _text(svg, last, "note end", WIDTH - MARGIN, HEIGHT - 16)
    return ET.tostring(svg, encoding="unicode")


def _canvas(heading: str, summary: str) -> ET.Element:
    size = {"width": str(WIDTH), "height": str(HEIGHT)}
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "class": "analytics", "role": "img"}
    svg = ET.Element("svg", {**attributes, **size, "viewBox": f"0 0 {WIDTH} {HEIGHT}"})
    ET.SubElement(svg, "title").text = heading
    ET.SubElement(svg, "desc").text = summary
    ET.SubElement(svg, "style").text = STYLE
    ET.SubElement(svg, "rect", {"class": "paper", **size})
    _text(svg, heading, "heading", MARGIN, MARGIN + 8)
    _text(svg, summary, "note", MARGIN, MARGIN + 28)
    return svg


def _text(svg: ET.Element, text: str, role: str, x: float, y: float) -> None:
    ET.SubElement(svg, "text", {"class": role, "x": f"{x:g}", "y": f"{y:g}"}).text = text


def _label(period: AnalyticsPeriod, at: str) -> str:
    return at[:10] if period is AnalyticsPeriod.DAY else f"{at[:10]} {at[11:16]}"
