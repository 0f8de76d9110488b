"""A document as engines index it: texts of tokens that are separated by spaces."""

from collections.abc import Sequence
from math import log10
from typing import NamedTuple
from zlib import crc32

from resolvers.search.analysis import Terms, terms
from resolvers.search.documents import LONGEST_TEXT, Document, Text, Weight
from resolvers.search.languages import language_of

# Neighbors of a phrase are in one text, so texts have a gap between them.
GAP = " \x1e \x1e \x1e "
# The prior of a document is between 1 and this: gentle, so that it only decides between documents that match alike.
MOST_PRIOR = 1.1


class Analyzed(NamedTuple):
    """The tokens of a document. `text` and `text_stem` have those of all its texts."""

    title: str
    title_stem: str
    tags: str
    text: str
    text_stem: str
    language: str | None


def analyzed(document: Document) -> Analyzed:
    texts = [text._replace(text=text.text[:LONGEST_TEXT]) for text in document.texts]
    language = language_of(" ".join(text.text for text in texts))
    found = [(text.weight, terms(text.text, language)) for text in texts]
    titles = [each for weight, each in found if weight is Weight.TITLE]
    tags = [each for weight, each in found if weight is Weight.TAGS]
    every = [each for _, each in found]
    return Analyzed(
        _words(titles),
        _stems(titles),
        " ".join((_words(tags), _stems(tags))),
        _words(every),
        _stems(every),
        language,
    )


def _words(lists: Sequence[Terms]) -> str:
    """Returns words in order, with parts of words at the end, where they separate no neighbors."""
    whole = GAP.join(" ".join(each.words) for each in lists)
    parts = " ".join(part for each in lists for part in each.parts)
    return f"{whole}{GAP}{parts}" if parts else whole


def _stems(lists: Sequence[Terms]) -> str:
    return " ".join(stem for each in lists for stem in each.stems)


def prior(document: Document) -> float:
    """Returns a factor for the score: newer and more popular documents count a little more."""
    popular = min(1.0, log10(1 + max(0, document.popularity)) / 5)
    year = document.created_at[:4] if document.created_at else ""
    recent = min(1.0, max(0.0, (int(year) - 2010) / 30)) if year.isdigit() else 0.0
    # Documents that are alike get different scores, in an order that is the same on every server.
    shuffled = crc32(document.key.encode()) / 2**32
    return 1.0 + (MOST_PRIOR - 1.0) * (0.6 * popular + 0.4 * recent + 0.001 * shuffled)


def shown_texts(texts: Sequence[Text]) -> list[list[str]]:
    """Returns the texts as JSON that an engine stores for highlights."""
    return [[text.field, text.text[:LONGEST_TEXT], text.weight.value] for text in texts]


def texts_of(stored: Sequence[Sequence[str]]) -> list[Text]:
    return [Text(field, text, Weight(weight)) for field, text, weight in stored]
