"""Queries of a tantivy index. Everything here blocks, so it runs in threads.

A document with all words comes before one with most of them: the first pass finds the former, and only if these are too
few, a second one the latter. Only the second one forgives typos, which cost the most.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, overload

from tantivy import Occur, Query

from resolvers.search.analyzed import texts_of
from resolvers.search.documents import Text
from resolvers.search.embedded_index import EXACT, POSITIONS, shown_in, with_first_letter
from resolvers.search.engine import MOST_VALUES, After, Answer, Counts, Hit, SearchRequest
from resolvers.search.queries import ENOUGH, SearchQuery, Word

Part = tuple[Any, Any]
"""A query, and whether it must, should or must not match."""

WINDOW = 1_000
"""The most hits of a query that pages can reach."""
ALL_WORDS = 1_000.0
"""Added to the scores of documents with all words."""
# Added for each word that matches at all, so that more words count more than better ones.
PER_WORD = 20.0
BOOSTS = {"title": 3.0, "title_stem": 2.0, "tags": 1.5, "text": 1.0, "text_stem": 0.6}
TITLE_PREFIX, TEXT_PREFIX = 3.0, 1.0
TITLE_TYPO = 2.0
PHRASE = 5.0


class StoredTexts(Sequence[Text]):
    """The texts of a hit. Most are never looked at, and decoding them takes longer than finding them."""

    def __init__(self, document: Any) -> None:
        self._document = document

    @cached_property
    def _texts(self) -> list[Text]:
        return texts_of(shown_in(self._document)["texts"])

    @overload
    def __getitem__(self, place: int) -> Text: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Text]: ...
    def __getitem__(self, place: int | slice) -> Text | Sequence[Text]:
        return self._texts[place]

    def __len__(self) -> int:
        return len(self._texts)


class Searching:
    """Answers requests from one searcher, a snapshot of the index."""

    def __init__(self, index: Any) -> None:
        self._searcher = index.searcher()
        self._schema = index.schema

    def query(self, request: SearchRequest) -> Answer:
        size = request.limit + 1
        wanted = size if request.after is None and not request.backward else WINDOW
        hits = self._hits(request, min(WINDOW, wanted))
        if request.backward:
            hits.reverse()
        if request.after is not None:
            hits = [hit for hit in hits if _is_behind(hit, request.after) is not request.backward]
            hits = [hit for hit in hits if (hit.score, hit.key) != request.after]
        return Answer(hits[: request.limit], len(hits) > request.limit)

    def _hits(self, request: SearchRequest, count: int) -> list[Hit]:
        """Returns the best hits in order. Hits of the same score are in the order of their keys, so all are needed."""
        query, limit = request.query, count
        if not query.words and not query.phrases:
            return []
        filters = [*self._filters(request), *self._phrases(query)]
        while True:
            limit = min(WINDOW, max(64, 2 * limit))
            strict = self._search([*filters, *self._all_words(query)], limit)
            found = {(address.segment_ord, address.doc): (score + ALL_WORDS, address) for score, address in strict}
            if len(strict) < count and query.words:
                for score, address in self._search([*filters, self._most_words(query, filters)], limit):
                    found.setdefault((address.segment_ord, address.doc), (score, address))
            scored = sorted(found.values(), key=lambda each: -each[0])[:limit]
            cut = _cut(scored, count)
            if cut < len(scored) or len(scored) < limit or limit >= WINDOW:
                hits = [self._hit(score, address) for score, address in scored[: max(cut, count)]]
                return sorted(hits, key=lambda hit: (-hit.score, hit.key))

    def _typos_in(self, word: Word, filters: Sequence[Part]) -> int:
        """Returns the number of typos to forgive in a word, by the documents with it that the viewer may find."""
        if not word.typos:
            return 0
        exact = Query.const_score_query(Query.disjunction_max_query(self._exact(word)), 1.0)
        query = Query.boolean_query([*filters, (Occur.Must, exact)])
        return word.typos_among(len(self._searcher.search(query, ENOUGH, count=False).hits))

    def _all_words(self, query: SearchQuery) -> list[Part]:
        return [(Occur.Must, self._best([*self._exact(word), *self._beginning(word)])) for word in query.words]

    def _most_words(self, query: SearchQuery, filters: Sequence[Part]) -> Part:
        words = [(Occur.Should, self._word(word, self._typos_in(word, filters))) for word in query.words]
        return Occur.Must, Query.boolean_query(words, minimum_number_should_match=query.needed)

    def _search(self, parts: Sequence[tuple[Any, Any]], limit: int) -> list[tuple[float, Any]]:
        found = self._searcher.search(Query.boolean_query(parts), limit, count=False, weight_by_field="prior")
        return [(round(score, 4), address) for score, address in found.hits]

    def _hit(self, score: float, address: Any) -> Hit:
        document = self._searcher.doc(address)
        return Hit(document["key"][0], document["type"][0], score, StoredTexts(document))

    def count(self, request: SearchRequest, *, facets: bool) -> Counts:
        if not request.query.words and not request.query.phrases:
            return Counts(0, {name: [] for name in EXACT} if facets else {})
        query = Query.boolean_query(self._everything(request))
        total = self._searcher.search(query, 1, count=True).count
        if not facets:
            return Counts(total, {})
        by_field = {name: {"terms": {"field": name, "size": MOST_VALUES}} for name in EXACT}
        counted = self._searcher.aggregate(query, by_field)
        return Counts(
            total,
            {
                name: sorted(
                    ((bucket["key"], int(bucket["doc_count"])) for bucket in counted[name]["buckets"]),
                    key=lambda value: (-value[1], value[0]),
                )
                for name in EXACT
            },
        )

    def _everything(self, request: SearchRequest) -> list[Part]:
        """Returns what all hits of a request have."""
        query = request.query
        filters = [*self._filters(request), *self._phrases(query)]
        return [*filters, self._most_words(query, filters)] if query.words else filters

    def count_tags(
        self, tags: Sequence[str], audiences: Iterable[str], type: str, without_owners: Iterable[str]
    ) -> dict[str, int]:
        needed = [(Occur.Must, self._among("audience", audiences)), (Occur.Must, self._among("type", [type]))]
        if without_owners:
            needed.append((Occur.MustNot, self._among("owner", without_owners)))
        counts = {}
        for tag in tags:
            query = Query.boolean_query([*needed, (Occur.Must, self._among("tag", [tag]))])
            counts[tag] = self._searcher.search(query, 1, count=True).count
        return {tag: count for tag, count in counts.items() if count}

    def suggest(self, request: SearchRequest) -> list[Hit]:
        if not request.query.words:
            return []
        parts = self._filters(request)
        for word in request.query.words:
            ways = [self._term("title", word.text, 2.0)]
            if word.is_prefix:
                ways.append(self._prefix("title", word.text, 1.0))
            parts.append((Occur.Must, Query.disjunction_max_query(ways)))
        hits = [self._hit(score, address) for score, address in self._search(parts, request.limit)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.key))

    def languages(self) -> list[str]:
        """Returns the languages of the documents, the most frequent first."""
        found = self._searcher.terms_with_prefix("language", "", limit=100)
        return [language for language, _ in sorted(found, key=lambda each: -each[1])]

    def _filters(self, request: SearchRequest) -> list[tuple[Any, Any]]:
        given: list[tuple[str, Iterable[str]]] = [
            ("audience", request.audiences),
            ("type", request.types),
            ("within", [request.within] if request.within else ()),
            ("category", request.category_ids),
            *(("tag", [tag]) for tag in sorted(request.tags)),
            ("difficulty", request.difficulties),
            ("year", request.years),
            ("owner", request.owner_ids),
        ]
        needed = [(Occur.Must, self._among(name, values)) for name, values in given if values or name == "audience"]
        if request.without_owners:
            needed.append((Occur.MustNot, self._among("owner", request.without_owners)))
        return needed

    def _among(self, field: str, values: Iterable[str]) -> Any:
        terms = sorted(map(str, values))
        if len(terms) == 1:
            return Query.const_score_query(Query.term_query(self._schema, field, terms[0], "basic"), 0.0)
        return Query.const_score_query(Query.term_set_query(self._schema, field, terms), 0.0)

    def _word(self, word: Word, typos: int) -> Any:
        """A document that has the word at all gets a fixed score, so that more words count more than better ones."""
        allowed = range(1, typos + 1)
        ways = [*self._exact(word), *self._beginning(word), *(self._typos("text", word, each, 0.0) for each in allowed)]
        parts = [
            (Occur.Must, self._best(ways)),
            (Occur.Must, Query.const_score_query(Query.all_query(), PER_WORD)),
            *((Occur.Should, self._typos("title", word, each, TITLE_TYPO)) for each in allowed),
        ]
        return Query.boolean_query(parts)

    def _best(self, ways: Sequence[Any]) -> Any:
        """The best way counts in full, and the others a little."""
        return Query.disjunction_max_query(ways, 0.3)

    def _exact(self, word: Word) -> list[Any]:
        """The word and its inflections."""
        ways = [self._term(field, word.text, BOOSTS[field]) for field in ("title", "tags", "text")]
        return ways + [
            self._term(field, stem, BOOSTS[field]) for stem in word.stems for field in ("title_stem", "text_stem")
        ]

    def _beginning(self, word: Word) -> list[Any]:
        """Other words that begin with the last word."""
        if not word.is_prefix:
            return []
        return [self._prefix("title", word.text, TITLE_PREFIX), self._prefix("text", word.text, TEXT_PREFIX)]

    def _phrases(self, query: SearchQuery) -> list[tuple[Any, Any]]:
        return [
            (Occur.Must, Query.boost_query(Query.phrase_query(self._schema, "text", [*phrase]), PHRASE))
            for phrase in query.phrases
        ]

    def _term(self, field: str, text: str, boost: float) -> Any:
        option = "position" if field in ("title", "text") else "freq"
        return Query.boost_query(Query.term_query(self._schema, field, text, option), boost)

    def _prefix(self, field: str, text: str, score: float) -> Any:
        # A distance of 0: the automaton of the prefix.
        return Query.boost_query(Query.fuzzy_term_query(self._schema, field, text, 0, True, True), score)

    def _typos(self, field: str, word: Word, typos: int, score: float) -> Any:
        text = word.text
        if typos > 1:
            field, text = f"{field}_typos", with_first_letter(text)
        return Query.boost_query(Query.fuzzy_term_query(self._schema, field, text, typos, True, False), score)


def _cut(scored: Sequence[tuple[float, Any]], count: int) -> int:
    """Returns the end of the hits that have the same score as the last of `count`."""
    end = min(count, len(scored))
    while 0 < end < len(scored) and scored[end][0] == scored[end - 1][0]:
        end += 1
    return end


def _is_behind(hit: Hit, after: After) -> bool:
    return (-hit.score, hit.key) > (-after.score, after.key)


__all__ = ["POSITIONS", "WINDOW", "Searching"]
