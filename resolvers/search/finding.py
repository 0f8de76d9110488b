"""Finds records by words: from the text of a request to a list of what its viewer may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.client.positions import Position
from datastore.client.table import Page, RangeRead
from datastore.genealogy import TreeShare
from datastore.neighborhoods import Membership, MembershipStatus
from loaders.needs import Awaited, Once, Pages, Step
from loaders.searched import FoundRecord, Searched, Some
from loaders.viewer import Viewer
from resolvers.core.problems import ProblemCode, refused
from resolvers.search.documents import EVERYONE, Audience, key_of_document
from resolvers.search.engine import After, Answer, Hit, SearchRequest
from resolvers.search.hashtags import HASHTAG, Hashtag
from resolvers.search.index import SearchIndex
from resolvers.search.queries import MAX_TEXT, SearchQuery, parsed

# Audiences of a viewer by shares and memberships. People who have more find the first of these.
MOST_GROUPS = 200
MOST_HIDDEN = 1_000


@dataclass(frozen=True)
class Wanted:
    """The criteria of a list."""

    text: str
    types: frozenset[str] = frozenset()
    language: str | None = None
    at: str = "query"
    """Name of the argument that has the text."""
    only_public: bool = False
    within: str | None = None
    category_ids: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    difficulties: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()
    owner_ids: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if len(self.text) > MAX_TEXT:
            message = f"this has {len(self.text):,} characters; search for at most {MAX_TEXT}"
            raise refused(ProblemCode.INVALID, message, at=self.at)
        query = parsed(self.text)
        if not query.words and not query.phrases:
            raise refused(ProblemCode.INVALID, "give a word to search for: letters or digits", at=self.at)

    @property
    def identity(self) -> str:
        """Binds cursors to the list: the same in all processes, unlike the order of a set."""
        return repr([sorted(value) if isinstance(value, frozenset) else value for value in vars(self).values()])


SearchText = Annotated[
    str | None,
    Doc(
        "Returns only results that match these words, best match first, regardless of the order. "
        f"At most {MAX_TEXT} characters."
    ),
]
"""The argument `search` of lists."""


class Looking:
    """One search of one viewer."""

    def __init__(self, index: SearchIndex, viewer: Viewer, wanted: Wanted) -> None:
        self.index = index
        self.viewer = viewer
        self.wanted = wanted

    def request(self) -> Step[SearchRequest]:
        """Returns the request to the engine."""
        wanted = self.wanted
        audiences = frozenset({EVERYONE}) if wanted.only_public else (yield from audiences_of(self.viewer))
        query: SearchQuery = yield Once(("query", wanted.text, wanted.language), self._query)
        return SearchRequest(
            query,
            audiences,
            types=wanted.types,
            within=wanted.within,
            category_ids=wanted.category_ids,
            tags=wanted.tags,
            difficulties=wanted.difficulties,
            years=wanted.years,
            owner_ids=wanted.owner_ids,
            without_owners=frozenset(sorted(self.viewer.hidden_accounts)[:MOST_HIDDEN]),
        )

    def _query(self) -> Step[SearchQuery]:
        languages: Sequence[str] = yield Awaited(lambda _: self.index.languages())
        return parsed(self.wanted.text, languages[:3], self.wanted.language)

    def fetch(self, limit: int, after: Position | None, backward: bool) -> Step[Some]:
        request = yield from self.request()
        start = After(float(after[0]), after[1]) if after else None
        asked = replace(request, limit=limit, after=start, backward=backward)
        answer: Answer = yield Awaited(lambda _: self.index.engine.query(asked))
        return Some((yield from self.members(request, answer.hits)), answer.more)

    def members(self, request: SearchRequest, hits: Sequence[Hit]) -> Step[list[FoundRecord]]:
        """Returns the members of a list for hits."""
        counts = yield from self._posts_with(request, hits)
        return [_member(hit, counts) for hit in hits]

    def _posts_with(self, request: SearchRequest, hits: Sequence[Hit]) -> Step[dict[str, int]]:
        """Returns the number of posts with each hashtag among the hits."""
        names = [_hashtag(hit) for hit in hits if hit.type == HASHTAG]
        if not names:
            return {}
        found: dict[str, int] = yield Awaited(
            lambda _: self.index.engine.count_tags(names, frozenset({EVERYONE}), "Post", request.without_owners)
        )
        return found


def found_by(
    index: SearchIndex, viewer: Viewer, wanted: Wanted, keeps: Callable[[Any], bool] | None = None
) -> Searched[Any]:
    """Returns the list of what is found, best match first. `keeps` filters it further."""
    looking = Looking(index, viewer, wanted)
    return Searched(looking.fetch, wanted.identity, looking, keeps)


def audiences_of(viewer: Viewer) -> Step[frozenset[Audience]]:
    """Returns the audiences that a viewer belongs to."""
    own: frozenset[Audience] = yield Once("audiences", partial(_audiences, viewer))
    return own


def _audiences(viewer: Viewer) -> Step[frozenset[Audience]]:
    found = {EVERYONE}
    if viewer.tenant_id is not None:
        found.add(Audience.tenant(viewer.tenant_id))
        if viewer.tenant_role is not None:
            found.add(Audience.staff(viewer.tenant_id))
    if viewer.user_id is not None:
        found.add(Audience.user(viewer.user_id))
        reads = [
            RangeRead(TreeShare.within(shared_with_id=viewer.user_id), MOST_GROUPS),
            RangeRead(Membership.of_user(user_id=viewer.user_id).newest_first(), MOST_GROUPS),
        ]
        pages: list[Page[Any]] = yield Pages(reads)
        found |= {Audience.tree(share.tree_id) for share in pages[0].records}
        found |= {
            Audience.neighborhood(membership.neighborhood_id)
            for membership in pages[1].records
            if membership.status in (MembershipStatus.ACTIVE, MembershipStatus.INVITED)
        }
    return frozenset(found)


def _member(hit: Hit, counts: dict[str, int]) -> FoundRecord:
    position = (repr(hit.score), hit.key)
    if hit.type == HASHTAG:
        name = _hashtag(hit)
        count = counts.get(name, 0)
        return FoundRecord(position, None, hit, Hashtag(name, count) if count else None)
    return FoundRecord(position, key_of_document(hit.key), hit)


def _hashtag(hit: Hit) -> str:
    return hit.texts[0].text.removeprefix("#")
