"""Answers requests from an index of OpenSearch: documents with all words in one round trip, the rest in a second."""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

from resolvers.search import opensearch_query as queries
from resolvers.search.analyzed import texts_of
from resolvers.search.engine import NOT_THERE, After, Answer, Counts, Hit, SearchRequest, SearchUnavailable
from resolvers.search.opensearch_client import BUSY, OVERLOADED, OpenSearchClient, Reply, expect, lines
from resolvers.search.queries import ENOUGH

QUERY_SECONDS = 2.0
# The service stops a little earlier, so that it does not work on what no one waits for.
TIME_OF_SERVICE = "1500ms"
ALL_WORDS = 10_000.0
"""Added to the scores of documents with all words. Others cannot reach it."""
MOST_LANGUAGES = 100
TOO_SLOW = "The search took too long. Try again with fewer words."

Body = dict[str, Any]


class Asking:
    """Sends queries to the index behind an alias, so that all servers ask a new generation at once."""

    def __init__(self, client: OpenSearchClient, alias: str) -> None:
        self._client = client
        self._alias = alias

    async def query(self, request: SearchRequest) -> Answer:
        if not request.query.words and not request.query.phrases:
            return Answer([], False)
        hits = await (self._backward(request) if request.backward else self._forward(request))
        return Answer(hits[: request.limit], len(hits) > request.limit)

    async def _forward(self, request: SearchRequest) -> list[Hit]:
        size, after = request.limit + 1, request.after
        is_below = after is not None and after.score < ALL_WORDS
        first = _page(queries.all_words(request), 0 if is_below else size, None if is_below else after, ALL_WORDS)
        hits, typos = await self._first(request, first)
        if len(hits) >= size or not request.query.words:
            return hits
        rest = queries.most_words(request, typos, without_all=True)
        (found,) = await self._ask(request, [_page(rest, size - len(hits), after if is_below else None)])
        return hits + _hits(found)

    async def _backward(self, request: SearchRequest) -> list[Hit]:
        size, after = request.limit + 1, request.after
        is_above = after is not None and after.score >= ALL_WORDS
        first = _page(queries.all_words(request), size, after if is_above else None, ALL_WORDS, backward=True)
        hits, typos = await self._first(request, first)
        if is_above or not request.query.words:
            return hits
        rest = queries.most_words(request, typos, without_all=True)
        (found,) = await self._ask(request, [_page(rest, size, after, backward=True)])
        return _hits(found) + hits

    async def _first(self, request: SearchRequest, page: Body) -> tuple[list[Hit], list[int]]:
        """Returns documents with all words, and how many typos to forgive in each word if these are too few."""
        words = request.query.words
        unsure = [word for word in words if word.typos]
        probes = [
            {"query": queries.exists(request, word), "size": 0, "terminate_after": ENOUGH, "track_total_hits": ENOUGH}
            for word in unsure
        ]
        found, *probed = await self._ask(request, [{**page, "track_total_hits": False}, *probes])
        totals = {word: _total(each) for word, each in zip(unsure, probed, strict=True)}
        return _hits(found, ALL_WORDS), [word.typos_among(totals.get(word, 0)) for word in words]

    async def count(self, request: SearchRequest, *, facets: bool) -> Counts:
        if not request.query.words and not request.query.phrases:
            return Counts(0, {name: [] for name in queries.FACET_FIELDS} if facets else {})
        everything = queries.all_words(request)
        if request.query.words:
            _, typos = await self._first(request, {"query": everything, "size": 0})
            everything = queries.most_words(request, typos, without_all=False)
        body = {"query": everything, "size": 0, "track_total_hits": True}
        (found,) = await self._ask(request, [{**body, "aggs": queries.facets()} if facets else body])
        counted = found["aggregations"] if facets else {}
        return Counts(_total(found), {name: _buckets(each) for name, each in _in_order(counted)})

    async def count_tags(self, tags: Sequence[str], filters: Sequence[Body]) -> Mapping[str, int]:
        if not tags:
            return {}
        needed = {"bool": {"filter": [*filters, queries.among("tag", tags)]}}
        by_tag = {"terms": {"field": "tag", "include": sorted(set(tags)), "size": len(set(tags))}}
        (found,) = await self._ask(None, [{"query": needed, "size": 0, "aggs": {"tag": by_tag}}])
        return dict(_buckets(found["aggregations"]["tag"]))

    async def suggest(self, request: SearchRequest) -> Sequence[Hit]:
        if not request.query.words:
            return []
        (found,) = await self._ask(request, [_page(queries.titles(request), request.limit, None)])
        return _hits(found)

    async def languages(self) -> Sequence[str]:
        by_language = {"terms": {"field": "language", "size": MOST_LANGUAGES}}
        (found,) = await self._ask(None, [{"size": 0, "aggs": {"language": by_language}}])
        return [language for language, _ in _buckets(found["aggregations"]["language"])]

    async def _ask(self, request: SearchRequest | None, bodies: Sequence[Body]) -> list[Any]:
        """Sends queries together. Pages of a search go to the same copy of the index: others may score differently."""
        same = {"preference": f"query{crc32(request.query.identity.encode()):08x}"} if request else {}
        head = {"search_type": "dfs_query_then_fetch", "allow_partial_search_results": False, **same}
        sent = lines(part for body in bodies for part in (head, {"timeout": TIME_OF_SERVICE, **body}))
        reply = await self._client.ask("POST", f"/{self._alias}/_msearch", sent, seconds=QUERY_SECONDS)
        if reply.status == 404:
            raise SearchUnavailable(NOT_THERE)
        return [_checked(each) for each in expect(reply, 200)["responses"]]


def _checked(found: Any) -> Any:
    status = found.get("status", 200)
    if status == 404:
        raise SearchUnavailable(NOT_THERE)
    if status in BUSY:
        raise SearchUnavailable(OVERLOADED)
    expect(Reply(status, found), 200)
    if found["timed_out"]:
        raise SearchUnavailable(TOO_SLOW)
    return found


def _page(query: Body, size: int, after: After | None, above: float = 0.0, *, backward: bool = False) -> Body:
    """Returns a query for the hits behind a position. Scores of the service lack what is added to those of a tier."""
    order = [{"_score": "asc"}, {"key": "desc"}] if backward else [{"_score": "desc"}, {"key": "asc"}]
    page: Body = {"query": query, "size": size, "sort": order, "_source": ["key", "type", "shown"]}
    if after is not None:
        page["search_after"] = [after.score - above, after.key]
    return page


def _hits(found: Any, above: float = 0.0) -> list[Hit]:
    hits = []
    for each in found["hits"]["hits"]:
        shown = each["_source"]
        hits.append(Hit(shown["key"], shown["type"], each["sort"][0] + above, texts_of(shown["shown"]["texts"])))
    return hits


def _total(found: Any) -> int:
    return int(found["hits"]["total"]["value"])


def _buckets(counted: Any) -> list[tuple[str, int]]:
    return [(bucket["key"], bucket["doc_count"]) for bucket in counted["buckets"]]


def _in_order(counted: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, counted[name]) for name in queries.FACET_FIELDS if name in counted]
