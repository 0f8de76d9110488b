"""Search in the schema: one connection over everything that can be found."""

from typing import Annotated, Any, Union

import strawberry

from datastore.accounts import User as StoredUser
from datastore.cards import Category as StoredCategory
from datastore.cards import Difficulty
from datastore.genealogy import Tree as StoredTree
from resolvers.search import edges
from resolvers.search.hashtags import Hashtag as StoredHashtag
from schema.accounts import User
from schema.analytics import shown
from schema.cards import Card, Category
from schema.cms import Content, Product
from schema.declare.connections import Connection, make_types
from schema.declare.edges import Computed, Derived, Edge, Listed, computed
from schema.declare.ids import key_of
from schema.declare.scalars import scalar_type
from schema.declare.signatures import INPUTS
from schema.execution.weights import WEIGHTS
from schema.genealogy import Person, Tree
from schema.neighborhoods import Neighborhood, Site
from schema.social import Post

# An answer of the index costs about as much as so many records.
WEIGHT = 50


@strawberry.type(description="A hashtag in the captions of posts. `search` with its name finds the posts.")
class Hashtag:
    name = shown(str, "Name in lower case, without the `#`.")
    post_count = shown(int, "Number of posts with it.")

    @classmethod
    def is_type_of(cls, value: Any, _: Any) -> bool:
        return isinstance(value, StoredHashtag)


SearchResult = Annotated[
    Union[Card, Category, Content, Hashtag, Neighborhood, Person, Post, Product, Site, Tree, User],  # noqa: UP007
    strawberry.union("SearchResult", description="Everything that can be found."),
]


@strawberry.type(description="A range of a text, in UTF-16 code units, as JavaScript counts them.")
class SearchRange:
    start = shown(int, "Place of the first unit, from 0.")
    end = shown(int, "Place after the last unit.")


@strawberry.type(description="A part of a text that matches a query.")
class SearchHighlight:
    field = shown(str, "Name of the field, such as `title`. `name` stands for all parts of the name of a person.")
    text = shown(str, "Plain text: the whole field, or a part of it.")
    ranges = shown(list[SearchRange], "Ranges of the text that match, in order.")


@strawberry.type(description="A value of a facet.")
class SearchFacetValue:
    value = shown(str, "The value. For categories, it is the `databaseId`.")
    count = shown(int, "Number of results that have it.")


VALUES = list[SearchFacetValue]


@strawberry.type(description="Numbers of results by what they have in common, at most 20 values each, largest first.")
class SearchFacets:
    types = shown(VALUES, "By type.")
    categories = shown(VALUES, "By category, of cards.")
    tags = shown(VALUES, "By tag of cards and hashtag of posts, in lower case.")
    difficulties = shown(VALUES, "By difficulty, of cards.")
    years = shown(VALUES, "By year of publication or creation.")


@strawberry.type(description="A completion of what the user types.")
class SearchSuggestion:
    text = shown(str, "Title or name.")
    type = shown(scalar_type(edges.SearchType), "Type of the node.")
    node = shown(SearchResult, "The record or hashtag with this title or name.")


@strawberry.input(name="SearchFilter", description="Restricts the results of a search. All given fields must match.")
class SearchFilterInput:
    category_ids: list[strawberry.ID] | None = strawberry.field(
        description="Returns only cards of these categories, by global ID.", default=None
    )
    tags: list[str] | None = strawberry.field(
        description="Returns only cards and posts that have all of these tags. Case-insensitive.", default=None
    )
    difficulties: list[scalar_type(Difficulty)] | None = strawberry.field(  # type: ignore[valid-type]
        description="Returns only cards of these difficulties.", default=None
    )
    years: list[int] | None = strawberry.field(
        description="Returns only what was published or created in these years.", default=None
    )
    owner_id: strawberry.ID | None = strawberry.field(
        description="Returns only what belongs to this user, by global ID.", default=None
    )
    tree_id: strawberry.ID | None = strawberry.field(
        description="Returns only this family tree and people in it, by global ID.", default=None
    )


def _read_filter(given: SearchFilterInput) -> edges.SearchFilter:
    categories = given.category_ids
    return edges.SearchFilter(
        None if categories is None else [key_of(StoredCategory, each) for each in categories],
        given.tags,
        given.difficulties,
        given.years,
        key_of(StoredUser, given.owner_id) if given.owner_id is not None else None,
        key_of(StoredTree, given.tree_id) if given.tree_id is not None else None,
    )


INPUTS[edges.SearchFilter] = (SearchFilterInput, _read_filter)

# Fields of connections and edges that cost as much as an answer of the index.
ABOUT: dict[str, tuple[Edge, Any]] = {
    "facets": (Computed(edges.facets, WEIGHT), SearchFacets),
    "total_count": (Computed(edges.total_count, WEIGHT), int),
    "did_you_mean": (Computed(edges.did_you_mean, 5), str | None),
    "is_partial": (
        Derived(
            edges.is_partial,
            "True while the index is being built: not everything can be found yet. Try again in a moment.",
        ),
        bool,
    ),
}
ON_EDGES: dict[str, tuple[Edge, Any]] = {
    "score": (Derived(edges.score, "Score of the match. It is comparable within a list only."), float),
    "highlights": (Computed(edges.highlights, 3), list[SearchHighlight]),
    "matched_field": (Computed(edges.matched_field, 3), str | None),
}


class SearchList(Listed):
    """The connection of `search`, with what the index knows about the whole list and about each result."""

    def _make(self, graphql_type: Any) -> Any:  # noqa: ARG002
        owner, _, name = self.coordinate.partition(".")
        WEIGHTS[owner, name] = WEIGHT
        carried = {each: edge.field(f"SearchResultEdge.{each}", of) for each, (edge, of) in ON_EDGES.items()}
        about = {each: edge.field(f"SearchResultConnection.{each}", of) for each, (edge, of) in ABOUT.items()}
        made = make_types("SearchResult", SearchResult, carried, about, "SearchResult")
        return Edge._make(self, made)


def _search() -> Any:
    return SearchList(edges.search)


class Query:
    search: Connection[SearchResult] = _search()
    suggest: list[SearchSuggestion] = computed(edges.suggest, weight=WEIGHT)
