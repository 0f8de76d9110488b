"""`search` and `suggest`, and the fields of their results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.cards import Category, Difficulty
from datastore.client.positions import Position
from datastore.model.enums import Choice
from datastore.model.keys import Key
from loaders.needs import Awaited, Once, Step, computed
from loaders.searched import Searched, nodes_of_found
from loaders.threads import Lane
from loaders.viewer import Viewer
from resolvers.core.problems import ProblemCode, refused
from resolvers.search.analysis import fold
from resolvers.search.documents import Text
from resolvers.search.engine import Counts, Hit, SearchRequest
from resolvers.search.finding import Looking, Wanted, found_by
from resolvers.search.highlights import SearchHighlight, corrected, highlights_of
from resolvers.search.index import SearchIndex
from resolvers.search.languages import ALGORITHMS
from resolvers.search.queries import MAX_TEXT

# Characters that take as long as a record in other computations.
CHARACTERS_A_RECORD = 5
HITS_FOR_CORRECTIONS = 5
MOST_SUGGESTIONS = 20
MOST_VALUES = 20

HIGHLIGHTS = Lane("highlights", threads=1, waiting=64)


class SearchType(Choice):
    """Type of what can be found."""

    CARD = "Card", "How-to cards."
    CATEGORY = "Category", "Categories of cards."
    CONTENT = "Content", "Content of the tenant of the request."
    HASHTAG = "Hashtag", "Hashtags of posts."
    NEIGHBORHOOD = "Neighborhood", "Neighborhoods."
    PERSON = "Person", "People in family trees."
    POST = "Post", "Posts."
    PRODUCT = "Product", "Products of the tenant of the request."
    SITE = "Site", "Sites."
    TREE = "Tree", "Family trees."
    USER = "User", "Users."


TYPES = {each.value: each for each in SearchType}


class SearchFilter(NamedTuple):
    """Restricts a search. Values of one field are alternatives, except tags: all of them are needed."""

    category_ids: list[Key[Category]] | None = None
    tags: list[str] | None = None
    difficulties: list[Difficulty] | None = None
    years: list[int] | None = None
    owner_id: Key[Any] | None = None
    tree_id: Key[Any] | None = None


@dataclass(frozen=True)
class SearchFacetValue:
    """A value of a facet, and the number of results that have it."""

    value: str
    count: int


class SearchFacets(NamedTuple):
    """Numbers of results by what they have in common."""

    types: list[SearchFacetValue]
    categories: list[SearchFacetValue]
    tags: list[SearchFacetValue]
    difficulties: list[SearchFacetValue]
    years: list[SearchFacetValue]


class SearchSuggestion(NamedTuple):
    """A completion of what the user types."""

    text: str
    type: Any
    node: Any


Types = Annotated[list[SearchType] | None, Doc("Returns only results of these types. Defaults to all.")]


def search(
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    query: Annotated[
        str,
        Doc(
            f"Words to find, at most {MAX_TEXT} characters. Quotes make a phrase, and the last word may be incomplete. "
            "Inflections and a few typos are forgiven. There are no other operators."
        ),
    ],
    types: Types = None,
    filter: Annotated[SearchFilter | None, Doc("Restricts the results.")] = None,
    language: Annotated[
        str | None, Doc("Code of the language of the query, such as `de`. Defaults to the one it looks like.")
    ] = None,
) -> Searched[Any]:
    """Everything the viewer may see that matches, best match first: results with all words, then with most of them."""
    if language is not None and language not in ALGORITHMS:
        known = ", ".join(sorted(ALGORITHMS))
        message = f"{language[:20]!r} is no language with inflections that are known here; use one of {known}"
        raise refused(ProblemCode.INVALID, message, at="language")
    given = filter or SearchFilter()
    wanted = Wanted(
        query,
        frozenset(each.value for each in types or ()),
        language,
        within=given.tree_id.values["tree_id"] if given.tree_id else None,
        category_ids=frozenset(key.values["category_id"] for key in _few(given.category_ids, "categoryIds")),
        tags=frozenset(tag.strip().removeprefix("#").casefold() for tag in _few(given.tags, "tags")),
        difficulties=frozenset(each.value for each in _few(given.difficulties, "difficulties")),
        years=frozenset(f"{year:04d}" for year in _few(given.years, "years")),
        owner_ids=frozenset({given.owner_id.values["user_id"]} if given.owner_id else ()),
    )
    return found_by(search_index, viewer, wanted)


def _few(values: Sequence[Any] | None, name: str) -> Sequence[Any]:
    if values is not None and len(values) > MOST_VALUES:
        message = f"`{name}` has {len(values)} values; give at most {MOST_VALUES}"
        raise refused(ProblemCode.INVALID, message, at="filter")
    return values or ()


def score(edge: Any) -> float:
    hit: Hit = edge.record.about
    return hit.score


def highlights(edge: Any) -> Step[list[SearchHighlight]]:
    """Parts of its texts that match, best first, at most 3."""
    page = edge.page
    # Of all edges at once: a computation for each would fill the lane.
    found: dict[Position, list[SearchHighlight]] = yield Once(
        ("highlights", page.source.about), partial(_highlights, page)
    )
    return found[edge.record.position]


def _highlights(page: Any) -> Step[dict[Position, list[SearchHighlight]]]:
    looking: Looking = page.source.about
    request: SearchRequest = yield from looking.request()
    texts = {member.position: member.about.texts for member in page.page.records}

    def made() -> dict[Position, list[SearchHighlight]]:
        return {position: highlights_of(each, request.query) for position, each in texts.items()}

    return (yield from computed(HIGHLIGHTS, _size(texts.values()), made))


def matched_field(edge: Any) -> Step[str | None]:
    """Name of the field that matches best, such as `title`."""
    found = yield from highlights(edge)
    return found[0].field if found else None


def _size(texts: Iterable[Sequence[Text]]) -> int:
    """Returns the number of records whose computation takes as long."""
    return sum(len(text.text) for each in texts for text in each) // CHARACTERS_A_RECORD


def facets(page: Any) -> Step[SearchFacets]:
    """Numbers of results by type, category, tag, difficulty and year, of the whole list."""
    counts: Counts = yield from _counts(page, facets=True)
    values = {name: [SearchFacetValue(*each) for each in found] for name, found in counts.facets.items()}
    return SearchFacets(values["type"], values["category"], values["tag"], values["difficulty"], values["year"])


def total_count(page: Any) -> Step[int]:
    """Number of results in the whole list, of which the first 1,000 can be read."""
    counts: Counts = yield from _counts(page, facets=False)
    return counts.total


def _counts(page: Any, *, facets: bool) -> Step[Counts]:
    looking: Looking = page.source.about
    request = yield from looking.request()
    counts: Counts = yield Awaited(lambda _: looking.index.engine.count(request, facets=facets))
    return counts


def did_you_mean(page: Any) -> Step[str | None]:
    """The query with typos corrected, as far as these results tell. Null if there is nothing to correct."""
    looking: Looking = page.source.about
    request = yield from looking.request()
    texts = [member.about.texts for member in page.page.records[:HITS_FOR_CORRECTIONS]]
    function = lambda: corrected(looking.wanted.text, request.query, texts)  # noqa: E731
    return (yield from computed(HIGHLIGHTS, _size(texts), function))


def is_partial(page: Any) -> bool:
    looking: Looking = page.source.about
    return looking.index.is_partial


def suggest(
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    prefix: Annotated[str, Doc("Text that the user has typed so far. At most 500 characters.")],
    types: Types = None,
    first: Annotated[int, Doc(f"Number of suggestions, 1–{MOST_SUGGESTIONS}. Defaults to 5.")] = 5,
) -> Step[list[SearchSuggestion]]:
    """Titles and names that begin with the text, or have words that begin with it."""
    if not 1 <= first <= MOST_SUGGESTIONS:
        raise refused(ProblemCode.INVALID, f"`first` is {first}; it goes from 1 to {MOST_SUGGESTIONS}", at="first")
    wanted = Wanted(prefix, frozenset(each.value for each in types or ()), at="prefix")
    looking = Looking(search_index, viewer, wanted)
    request = yield from looking.request()
    asked = replace(request, limit=4 * first)
    hits: Sequence[Hit] = yield Awaited(lambda _: search_index.engine.suggest(asked))
    members = yield from looking.members(request, hits)
    nodes = yield from nodes_of_found(members, viewer)
    start = fold(prefix.strip())
    made: dict[tuple[str, str], SearchSuggestion] = {}
    pairs = sorted(zip(hits, nodes, strict=True), key=lambda each: not fold(_title(each[0])).startswith(start))
    for hit, node in pairs:
        if node is not None:
            text = _title(hit)
            made.setdefault((hit.type, text), SearchSuggestion(text, TYPES[hit.type], node))
    return [*made.values()][:first]


def _title(hit: Hit) -> str:
    return hit.texts[0].text
