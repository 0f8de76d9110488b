"""Translates requests to queries of OpenSearch. They score as the embedded engine does, and find the same.

Documents with all words are one tier, those with most of them another one below. Only the second one forgives typos.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from resolvers.search.embedded_query import BOOSTS, PER_WORD, PHRASE, TEXT_PREFIX, TITLE_PREFIX, TITLE_TYPO
from resolvers.search.engine import MOST_VALUES, SearchRequest
from resolvers.search.queries import SearchQuery, Word

Query = dict[str, Any]

FACET_FIELDS = ("type", "category", "tag", "difficulty", "year")


def filters(request: SearchRequest) -> list[Query]:
    """Returns what every hit must have, which does not count for its score."""
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
    needed = [among(name, values) for name, values in given if values or name == "audience"]
    if request.without_owners:
        needed.append({"bool": {"must_not": [among("owner", request.without_owners)]}})
    return needed


def among(field: str, values: Iterable[str]) -> Query:
    return {"terms": {field: sorted(map(str, values))}}


def all_words(request: SearchRequest) -> Query:
    """Finds documents with all words."""
    return _scored(request, [_best([*_exact(word), *_beginning(word)]) for word in request.query.words])


def most_words(request: SearchRequest, typos: Sequence[int], *, without_all: bool) -> Query:
    """Finds documents with most words, with so many typos in each; on request, without those that have all words."""
    words = [_word(word, forgiven) for word, forgiven in zip(request.query.words, typos, strict=True)]
    most = {"bool": {"should": words, "minimum_should_match": request.query.needed}}
    excluded = [{"bool": {"filter": [has(word) for word in request.query.words]}}] if without_all else []
    return _scored(request, [most], excluded)


def exists(request: SearchRequest, word: Word) -> Query:
    """Finds documents that have a word as it is, or an inflection."""
    return {"bool": {"filter": [*filters(request), *_phrases(request.query), {"dis_max": {"queries": _exact(word)}}]}}


def has(word: Word) -> Query:
    return {"dis_max": {"queries": [*_exact(word), *_beginning(word)]}}


def titles(request: SearchRequest) -> Query:
    """Finds documents whose titles have all words, the last one as a prefix."""
    words = []
    for word in request.query.words:
        ways = [_term("title", word.text, 2.0)]
        if word.is_prefix:
            ways.append(_prefix("title", word.text, 1.0))
        words.append({"dis_max": {"queries": ways}})
    return _with_prior({"bool": {"filter": filters(request), "must": words}})


def facets() -> Query:
    # More values per shard than are returned, so that their numbers are right with several shards too.
    return {
        name: {"terms": {"field": name, "size": MOST_VALUES, "shard_size": 50 * MOST_VALUES}} for name in FACET_FIELDS
    }


def _scored(request: SearchRequest, must: Sequence[Query], must_not: Sequence[Query] = ()) -> Query:
    wanted: Query = {"filter": filters(request), "must": [*_phrases(request.query), *must]}
    return _with_prior({"bool": {**wanted, "must_not": [*must_not]} if must_not else wanted})


def _with_prior(query: Query) -> Query:
    factor = {"field": "prior", "missing": 1.0}
    return {"function_score": {"query": query, "field_value_factor": factor, "boost_mode": "multiply"}}


def _word(word: Word, typos: int) -> Query:
    """A document that has the word at all gets a fixed score, so that more words count more than better ones."""
    ways = [*_exact(word), *_beginning(word)]
    fuzzy = [_typos("text", word, each, 1.0) for each in range(1, typos + 1)]
    better = [_best(ways)]
    better += [_typos("title", word, each, TITLE_TYPO) for each in range(1, typos + 1)]
    any_way = {"dis_max": {"queries": [*ways, *fuzzy]}}
    return {"bool": {"must": [{"constant_score": {"filter": any_way, "boost": PER_WORD}}], "should": better}}


def _best(ways: Sequence[Query]) -> Query:
    """The best way counts in full, and the others a little."""
    return {"dis_max": {"queries": [*ways], "tie_breaker": 0.3}}


def _exact(word: Word) -> list[Query]:
    ways = [_term(field, word.text, BOOSTS[field]) for field in ("title", "tags", "text")]
    return ways + [_term(field, stem, BOOSTS[field]) for stem in word.stems for field in ("title_stem", "text_stem")]


def _beginning(word: Word) -> list[Query]:
    if not word.is_prefix:
        return []
    return [_prefix("title", word.text, TITLE_PREFIX), _prefix("text", word.text, TEXT_PREFIX)]


def _phrases(query: SearchQuery) -> list[Query]:
    return [{"match_phrase": {"text": {"query": " ".join(phrase), "boost": PHRASE}}} for phrase in query.phrases]


def _term(field: str, text: str, boost: float) -> Query:
    return {"term": {field: {"value": text, "boost": boost}}}


def _prefix(field: str, text: str, boost: float) -> Query:
    return {"prefix": {field: {"value": text, "boost": boost, "rewrite": "constant_score"}}}


def _typos(field: str, word: Word, typos: int, boost: float) -> Query:
    fuzzy = {"value": word.text, "fuzziness": typos, "transpositions": True, "rewrite": "constant_score"}
    # Two typos are after the first letter, as in the embedded engine.
    return {"fuzzy": {field: {**fuzzy, "prefix_length": typos - 1, "boost": boost}}}
