"""Highlights show where a query matches, and corrections how it may have been meant."""

import pytest

from resolvers.search.documents import Text, Weight
from resolvers.search.highlights import FRAGMENT, corrected, distance, highlights_of
from resolvers.search.queries import parsed


def marked(text: str, query: str) -> list[str]:
    """Returns the fragments, with brackets around the ranges."""
    shown = []
    for highlight in highlights_of([Text("body", text)], parsed(query, ["en", "de"])):
        units = highlight.text.encode("utf-16-le")
        made, end = "", 0
        for start, stop in highlight.ranges:
            made += (
                f"{units[2 * end : 2 * start].decode('utf-16-le')}[{units[2 * start : 2 * stop].decode('utf-16-le')}]"
            )
            end = stop
        shown.append(made + units[2 * end :].decode("utf-16-le"))
    return shown


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("Sand the oak table.", "table oaks", "Sand the [oak] [table]."),
        ("Die schönen Häuser und der Garten", "haus", "Die schönen [Häuser] und der Garten"),
        ("Finish it", "finsih", "[Finish] it"),
        ("Woodworking", "woodw", "[Woodworking]"),
        ("A red oak", '"red oak"', "A [red] [oak]"),
        ("🪵🪵 oak", "oak", "🪵🪵 [oak]"),
        ("木工入門", "木工", "[木工]入門"),
        ("One\ntwo", "two", "One [two]"),
    ],
)
def test_what_matches_is_marked(text, query, shown):
    assert marked(text, query) == [shown]


def test_nothing_is_marked_without_a_match():
    assert marked("Sand the oak table.", "pine") == []


def test_of_a_long_text_the_part_with_the_most_words_is_shown():
    text = f"oak {'filler ' * 100}the oak table stands {'filler ' * 100}"
    (shown,) = marked(text, "oak table")
    assert "the [oak] [table] stands" in shown
    assert len(shown) <= FRAGMENT + 4


def test_titles_come_first():
    texts = [Text("bio", "oak oak oak"), Text("title", "Oak", Weight.TITLE)]
    assert [each.field for each in highlights_of(texts, parsed("oak"))] == ["title", "bio"]


@pytest.mark.parametrize(
    ("one", "other", "letters"),
    [("oak", "oak", 0), ("oak", "oka", 1), ("oak", "oaks", 1), ("oak", "elm", 3), ("", "a", 1)],
)
def test_the_distance_of_words(one, other, letters):
    assert distance(one, other) == distance(other, one) == letters


def test_typos_are_corrected_as_the_results_have_the_words():
    hits = [[Text("title", "Finish an oak table")]]
    assert corrected("Finsh an OAK tabel", parsed("Finsh an OAK tabel"), hits) == "finish an OAK table"
    assert corrected("finished oak tables", parsed("finished oak tables"), hits) is None
    assert corrected("pine", parsed("pine"), hits) is None
    assert corrected("finsh", parsed("finsh"), []) is None
