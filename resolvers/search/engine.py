"""The interface of a search engine, which keeps the index and answers queries.

The texts that an engine indexes are analyzed by `resolvers.search.analysis`, so that every engine finds the same.
An index is a generation: it is filled while another is in use, and then replaces it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from datastore.client.errors import Unavailable
from resolvers.search.documents import Audience, Document, Text
from resolvers.search.queries import SearchQuery

Positions = Mapping[int, int]
"""The number of the last batch that is in the index, by partition of the change log."""

FACETS = ("type", "category", "tag", "difficulty", "year")
MOST_VALUES = 20
"""The most values of a facet that are counted, the most frequent first."""
NOT_THERE = "The search index is being created. Try again in a moment."


class SearchUnavailable(Unavailable):
    """The index cannot answer now. The message is for the client."""


class After(NamedTuple):
    """The position of a hit in the order of an answer: by descending score, then by ascending key."""

    score: float
    key: str


@dataclass(frozen=True)
class SearchRequest:
    """A query, and the documents that it may find: those of one of the audiences that fit all filters."""

    query: SearchQuery
    audiences: frozenset[Audience]
    types: frozenset[str] = frozenset()
    """Empty for all types."""
    within: str | None = None
    """ID of a tenant or a tree: finds only its parts."""
    category_ids: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    """Finds documents with all of these, in lower case."""
    difficulties: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()
    owner_ids: frozenset[str] = frozenset()
    without_owners: frozenset[str] = frozenset()
    """Accounts that are hidden."""
    limit: int = 20
    after: After | None = None
    backward: bool = False
    """Returns hits before `after`, the nearest first; without it, from the end."""


class Hit(NamedTuple):
    """A document that was found, with its texts."""

    key: str
    type: str
    score: float
    texts: Sequence[Text]


class Answer(NamedTuple):
    """Hits in order. `more` is true if there are further ones in the direction of reading."""

    hits: Sequence[Hit]
    more: bool


class Counts(NamedTuple):
    """The number of documents that a request finds, and the numbers by facet, the most frequent values first."""

    total: int
    facets: Mapping[str, Sequence[tuple[str, int]]]


class Generation(Protocol):
    """One index. Only one process at a time may write to it."""

    name: str

    async def positions(self) -> Positions | None:
        """Returns the positions of the last commit; None if it has never been complete."""

    async def update(self, documents: Sequence[Document], removed: Sequence[str], *, version: int) -> None:
        """Puts documents in the place of those with the same keys, and removes others by their keys.

        A version is the time in microseconds at which the records were read. An engine with several writers must not
        let an older version replace a newer one.
        """

    async def depends(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Returns `depends` of the documents that exist, including those that are not committed."""

    async def commit(self, positions: Positions | None) -> None:
        """Makes updates durable and visible to queries, together with the positions. None if it is not complete."""

    async def reset(self) -> None:
        """Drops what is not committed, after an error."""


class SearchEngine(Protocol):
    """Answers queries from the current generation. All methods raise SearchUnavailable if they cannot."""

    async def lock(self) -> bool:
        """Returns True if this process is the one that writes, until it is closed or loses a lease."""

    async def open(self) -> None:
        """Opens the current generation, if there is one of this version of the mapping."""

    async def close(self) -> None: ...

    @property
    def current(self) -> Generation | None:
        """The generation that answers queries."""

    async def wants_rebuild(self) -> bool:
        """Returns True once after an operator has asked for a rebuild."""

    async def begin(self) -> Generation:
        """Creates an empty generation beside the current one. Removes those that were begun and never switched to."""

    async def switch(self, to: Generation) -> None:
        """Answers from this generation from now on, and removes the others."""

    async def query(self, request: SearchRequest) -> Answer:
        """Returns the best hits."""

    async def count(self, request: SearchRequest, *, facets: bool) -> Counts:
        """Counts what the request finds, regardless of its limit and position."""

    async def count_tags(
        self, tags: Sequence[str], audiences: frozenset[Audience], type: str, without_owners: frozenset[str]
    ) -> Mapping[str, int]:
        """Returns the number of documents of a type that have each tag, without tags that none has."""

    async def suggest(self, request: SearchRequest) -> Sequence[Hit]:
        """Returns documents whose titles have all words of the query, the last of them as a prefix."""

    async def languages(self) -> Sequence[str]:
        """Returns the languages of the documents, the most frequent first."""
