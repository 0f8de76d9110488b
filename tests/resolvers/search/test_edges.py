"""`search` and `suggest` over all domains."""

import pytest

from datastore.cards import CardStatus, Difficulty
from datastore.model.times import now
from resolvers.search.edges import HIGHLIGHTS
from resolvers.search.engine import NOT_THERE
from tests.conftest import shared_executor
from tests.support.graph import id_of, viewer_of

FOUND = """query ($text: String!, $types: [SearchType!], $filter: SearchFilter, $first: Int, $after: String) {
  search(query: $text, types: $types, filter: $filter, first: $first, after: $after) {
    nodes { __typename ... on Node { id } ... on Hashtag { name postCount } } } }"""
ABOUT = """query ($text: String!, $first: Int) {
  search(query: $text, first: $first) {
    totalCount didYouMean isPartial
    facets { types { value count } tags { value count } categories { value count } difficulties { value count }
      years { value count } }
    edges { score matchedField highlights { field text ranges { start end } }
      node { ... on Card { title } ... on Post { caption } } } } }"""

PAGED = """query ($text: String!, $first: Int, $after: String, $last: Int) {
  search(query: $text, first: $first, after: $after, last: $last, types: [CARD]) {
    nodes { ... on Node { id } } pageInfo { hasNextPage endCursor } } }"""
SUGGESTED = "query ($text: String!) { suggest(prefix: $text) { text type node { ... on Node { id } } } }"


async def found(graph, text, viewer=None, **variables):
    asked = await graph.ask(FOUND, *([viewer] if viewer else []), text=text, **variables)
    return [node.get("id") or node["name"] for node in asked.data["search"]["nodes"]]


async def test_everything_public_is_found_by_one_query(graph, workshop, society, town, website, kindred):
    ada = await society.person("ada", display_name="Ada Oakley")
    post = await society.post(ada, caption="My oak table #oak")
    category = await workshop.category("oak", name="Oak")
    card = await workshop.card(ada, category, title="Finish an oak table")
    await graph.settle_search()
    assert set(await found(graph, "oak")) == {id_of(ada), id_of(post), id_of(category), id_of(card), "oak"}
    assert await found(graph, "oak", types=["CARD"]) == [id_of(card)]
    assert await found(graph, "oak", types=["HASHTAG"]) == ["oak"]


async def test_a_page_takes_one_batch_of_reads(graph, workshop):
    ada, category = await workshop.person("ada"), await workshop.category("wood", name="Wood")
    for number in range(5):
        await workshop.card(ada, category, title=f"Oak {number}")
    await graph.settle_search()
    asked = await graph.ask(FOUND, text="oak", first=3)
    assert asked.calls == {"BatchGetItem": 1}
    signed_in = await graph.ask(FOUND, viewer_of(ada), text="oak", first=3)
    assert signed_in.calls == {"Query": 2, "BatchGetItem": 1}


async def test_what_the_index_tells_about_results(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood", name="Wood")
    fields = {"published_at": "2026-01-02T03:04:05.000Z", "difficulty": Difficulty.EXPERT, "description": None}
    await workshop.card(ada, wood, title="Finish an oak table", tags=["Varnish"], **fields)
    await workshop.card(ada, wood, title="Chairs", tags=[], instructions=["🪵 Oak.", "Saw tables."], **fields)
    await graph.settle_search()
    asked = await graph.ask(ABOUT, text="oak tabel", first=1)
    search = asked.data["search"]
    (edge,) = search.pop("edges")
    assert search == {
        "totalCount": 2,
        "didYouMean": "oak table",
        "isPartial": False,
        "facets": {
            "types": [{"value": "Card", "count": 2}],
            "tags": [{"value": "varnish", "count": 1}],
            "categories": [{"value": "wood", "count": 2}],
            "difficulties": [{"value": "EXPERT", "count": 2}],
            "years": [{"value": "2026", "count": 2}],
        },
    }
    assert edge.pop("score") > 0
    ranges = [{"start": 10, "end": 13}, {"start": 14, "end": 19}]
    assert edge == {
        "matchedField": "title",
        "highlights": [{"field": "title", "text": "Finish an oak table", "ranges": ranges}],
        "node": {"title": "Finish an oak table"},
    }
    body, *_ = (await graph.ask(ABOUT, text="saw oak")).data["search"]["edges"]
    # The tree takes two units of UTF-16.
    assert body["highlights"] == [
        {
            "field": "instructions",
            "text": "🪵 Oak. Saw tables.",
            "ranges": [{"start": 3, "end": 6}, {"start": 8, "end": 11}],
        }
    ]


async def test_the_highlights_of_a_large_page_are_one_computation(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood", name="Wood")
    # More cards than computations may wait for their turn.
    count = HIGHLIGHTS.places + 1
    for number in range(count):
        await workshop.card(ada, wood, title=f"Oak {number}", instructions=["Sand the table. " * 120])
    await graph.settle_search()
    query = """query ($first: Int) {
      search(query: "oak table", first: $first, types: [CARD]) { edges { matchedField highlights { field } } } }"""
    edges = (await graph.ask(query, first=count)).data["search"]["edges"]
    assert edges == count * [{"matchedField": "title", "highlights": [{"field": "title"}, {"field": "instructions"}]}]


async def test_pages_are_full_of_what_the_viewer_may_see(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood", name="Wood")
    cards = [await workshop.card(ada, wood, title=f"Oak {'table ' * number}") for number in range(12)]
    await graph.settle_search()
    order = await found(graph, "oak")
    hidden = [card for card in cards if id_of(card) in order[::2]]
    for card in hidden:
        # The index does not know it yet.
        await graph.table.put(card.changed(deleted_at=now()))
    shown = [each for each in order if each not in {id_of(card) for card in hidden}]
    pages, after = [], None
    while True:
        asked = await graph.ask(PAGED, text="oak", first=4, after=after)
        page = asked.data["search"]
        pages.append([node["id"] for node in page["nodes"]])
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert pages == [shown[:4], shown[4:]]
    backward = await graph.ask(PAGED, text="oak", last=4)
    assert [node["id"] for node in backward.data["search"]["nodes"]] == shown[-4:]


async def test_a_cursor_belongs_to_its_query(graph, workshop):
    ada, wood = await workshop.person("ada"), await workshop.category("wood", name="Wood")
    for number in range(3):
        await workshop.card(ada, wood, title=f"Oak {number}")
    await graph.settle_search()
    page = (await graph.ask(PAGED, text="oak", first=1)).data["search"]
    other = await graph.ask(PAGED, text="wood", first=1, after=page["pageInfo"]["endCursor"])
    assert other.errors == [("search", "INVALID")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "give a word to search for: letters or digits"),
        (" *?!() ", "give a word to search for: letters or digits"),
        ("x" * 501, "this has 501 characters; search for at most 500"),
        ("oak " * 10_000, "this has 40,000 characters; search for at most 500"),
    ],
)
async def test_what_cannot_be_searched_for_is_refused(graph, text, message):
    for query in (FOUND, SUGGESTED, "query ($text: String!) { searchCards(text: $text) { nodes { id } } }"):
        asked = await graph.ask(query, text=text)
        assert asked.error["message"].endswith(message), asked.error
        assert asked.calls == {}


@pytest.mark.parametrize("name", ["ownerId", "treeId"])
async def test_an_empty_id_is_no_filter_for_everything(graph, name):
    asked = await graph.ask(FOUND, text="oak", filter={name: ""})
    assert asked.errors == [("search", "INVALID")]
    assert asked.calls == {}


async def test_without_an_index_search_is_unavailable_and_everything_else_goes_on(graph, society):
    ada = await society.person("ada")
    asked = await graph.ask(
        '{ search(query: "oak") { nodes { __typename } } user(by: {username: "ada"}) { id } }', viewer_of(ada)
    )
    assert asked.errors == [("search", "UNAVAILABLE")]
    assert asked.error["message"] == NOT_THERE
    assert asked.body["data"] == {"search": None, "user": {"id": id_of(ada)}}


async def test_suggestions_begin_with_what_was_typed(graph, workshop, society):
    ada, wood = await society.person("oakley"), await workshop.category("wood", name="Wood")
    table = await workshop.card(ada, wood, title="Finish an oak table")
    oak = await workshop.card(ada, wood, title="Oak in the garden")
    draft = await workshop.card(ada, wood, CardStatus.DRAFT, title="Oak secrets")
    await graph.settle_search()
    asked = await graph.ask(SUGGESTED, text="Oa")
    suggested = [(each["text"], each["type"], each["node"]["id"]) for each in asked.data["suggest"]]
    first = [("Oak in the garden", "CARD", id_of(oak)), ("oakley", "USER", id_of(ada))]
    assert sorted(suggested[:2]) == first
    assert suggested[2:] == [("Finish an oak table", "CARD", id_of(table))]
    own = await graph.ask(SUGGESTED, viewer_of(ada), text="oak secr")
    assert [each["node"]["id"] for each in own.data["suggest"]] == [id_of(draft)]


async def test_both_executors_answer_alike(graph, workshop, society):
    ada, wood = await society.person("ada"), await workshop.category("wood", name="Wood")
    await society.post(ada, caption="An #oak")
    await workshop.card(ada, wood, title="Finish an oak table")
    await graph.settle_search()
    compiled = await graph.ask(ABOUT, text="oak")
    graph.services.executor = shared_executor(graph.services.settings.limits, compiled=False)
    assert (await graph.ask(ABOUT, text="oak")).body == compiled.body
