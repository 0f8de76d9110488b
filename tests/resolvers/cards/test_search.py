"""Finding cards by words: of any script, by their beginnings, those that fit best first."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.cards import Card, CardStatus, Category
from resolvers.cards import search
from resolvers.cards.tokenizer import asked_words, words_of
from tests.support.cards import Workshop
from tests.support.graph import Graph, viewer_of

SEARCH = """query ($text: String!, $first: Int, $after: String, $last: Int, $before: String) {
  searchCards(text: $text, first: $first, after: $after, last: $last, before: $before) {
    nodes { title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
FOUND = "query ($text: String!) { searchCards(text: $text) { nodes { title } } }"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Perfect Wood Finish", ["perfect", "wood", "finish"]),
        ("wood, WOOD; Wood!", ["wood"]),
        ("How to do the dishes", ["dishes"]),
        ("Crème brûlée", ["creme", "brulee"]),
        ("Cre\u0300me", ["creme"]),
        ("Straße STRASSE", ["strasse"]),
        ("ΟΔΟΣ οδός", ["οδοσ"]),
        ("İstanbul ISTANBUL istanbul", ["istanbul"]),
        ("IŞIK ışık", ["isik"]),
        ("Йогурт", ["иогурт"]),
        ("лакированная доска", ["лакированная", "доска"]),
        ("לֶחֶם", ["לחם"]),
        ("كِتَاب", ["كتاب"]),
        ("लकड़ी का काम", ["लकडी", "का", "काम"]),
        ("목공 기초", ["목공", "기초"]),
        ("木工入門", ["木", "工", "入", "門", "木工", "工入", "入門"]),
        ("木工DIY入門", ["木", "工", "木工", "diy", "入", "門", "入門"]),
        ("ラーメン", ["ラ", "ー", "メ", "ン", "ラー", "ーメ", "メン"]),
        ("ﾗｰﾒﾝ ＤＩＹ ﬁnish", ["ラ", "ー", "メ", "ン", "ラー", "ーメ", "メン", "diy", "finish"]),
        ("Don't panic, it’s Ada's", ["dont", "panic", "adas"]),
        ("2x4 ½ ١٢ 350°F", ["2x4", "1", "2", "١٢", "350", "f"]),
        ("🔥 Fire👩‍🔧 🪵", ["fire"]),
        ("wood#METADATA\x00\x1f\u2028\ud800oak", ["wood", "metadata", "oak"]),
        ("a the of", []),
        ("𝐇𝐞𝐥𝐥𝐨 Ⅻ ℌouse", ["hello", "xii", "house"]),
        ("ทาสี", ["ท", "า", "สี", "ทา", "าสี"]),
        ("ຕັດໄມ້", ["ຕັ", "ດ", "ໄ", "ມ", "ຕັດ", "ດໄ", "ໄມ"]),
        ("ឈើ", ["ឈើ"]),
        ("သစ်သား", ["သ", "စ", "သား", "သစ", "စသား"]),
        ("", []),
        ("...!?", []),
    ],
)
def test_words_of_many_scripts(text, words):
    assert words_of(text) == words


def test_two_characters_next_to_each_other_are_asked_for_together():
    assert asked_words("木工入門 oak") == ["木工", "工入", "入門", "oak"]
    assert asked_words("木") == ["木"]


async def stocked(workshop: Workshop, *titles: str, **fields: Any) -> tuple[User, Category, list[Card]]:
    author, category = await workshop.person("author"), await workshop.category("things", name="Things")
    cards = [await workshop.card(author, category, title=title, **fields) for title in titles]
    await workshop.find_by_words(*cards)
    return author, category, cards


async def found(graph: Graph, text: str) -> list[str]:
    asked = await graph.ask(FOUND, text=text)
    return [node["title"] for node in asked.data["searchCards"]["nodes"]]


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Crème brûlée", "creme BRULEE"),
        ("Straßenbau", "strassen"),
        ("Großmutters Brot", "großmutter"),
        ("Ο καλός δρόμος", "ΚΑΛΟΣ"),
        ("IŞIK", "ışık"),
        ("木工入門", "木工"),
        ("木工入門", "門"),
        ("लकड़ी का काम", "लकड़ी"),
        ("الخَشَب", "الخشب"),
        ("Ada's table", "ada’s"),
        ("Ada's table", "adas"),
        ("2x4 frame", "2x4"),
        ("Oil 5 ways", "5"),
    ],
)
async def test_a_card_is_found_however_its_words_are_written(graph, workshop, title, query):
    await stocked(workshop, title, "Another thing")

    assert await found(graph, query) == [title]


async def test_a_word_is_found_by_its_beginnings_of_three_letters_and_more(graph, workshop):
    await stocked(workshop, "Woodworkers")

    found_by = [n for n in range(1, 13) if await found(graph, "woodworkersx"[:n])]

    assert found_by == [3, 4, 5, 6, 7, 8, 9, 10, 11]


async def test_long_words_with_the_same_beginning_are_told_apart(graph, workshop):
    await stocked(workshop, "Woodworking", "Woodworker", "Woodwork")

    assert await found(graph, "woodwork") == ["Woodwork", "Woodworker", "Woodworking"]
    assert await found(graph, "woodworke") == ["Woodworker"]
    assert await found(graph, "woodworki") == ["Woodworking"]
    assert await found(graph, "woodworkx") == []


async def test_a_word_of_two_letters_is_found_as_a_whole_only(graph, workshop):
    await stocked(workshop, "Go karts", "Gold leaf")

    assert await found(graph, "go") == ["Go karts"]
    assert await found(graph, "gol") == ["Gold leaf"]


async def test_all_words_have_to_be_there(graph, workshop):
    await stocked(workshop, "Oak table", "Oak chair", "Ash table", "A table of oak and ash")

    assert await found(graph, "the oak table") == ["A table of oak and ash", "Oak table"]
    assert await found(graph, "tab ash oak") == ["A table of oak and ash"]
    assert await found(graph, "oak oak OAK chair") == ["Oak chair"]
    assert await found(graph, "oak iron") == []


async def test_what_fits_best_comes_first_then_the_newest(graph, workshop):
    author = await workshop.person("author")
    plain, oak, oakery = [await workshop.category(name) for name in ("plain", "oak", "oakery")]
    cards = [
        await workshop.card(author, oakery, title="in a category that begins so"),
        await workshop.card(author, plain, title="tag that begins so", tags=["oaken"]),
        await workshop.card(author, oak, title="in the category"),
        await workshop.card(author, plain, title="Oakwood, older"),
        await workshop.card(author, plain, title="Oakwood, newer"),
        await workshop.card(author, plain, title="tagged", tags=["pine and oak"]),
        await workshop.card(author, plain, title="Oak"),
        await workshop.card(author, oak, title="Oak, with everything", tags=["oak"]),
    ]
    await workshop.find_by_words(*cards)

    assert await found(graph, "oak") == [
        "Oak, with everything",
        "Oak",
        "tagged",
        "Oakwood, newer",
        "Oakwood, older",
        "in the category",
        "tag that begins so",
        "in a category that begins so",
    ]


async def test_a_search_costs_a_query_a_word_and_one_read_of_the_cards(graph, workshop):
    await stocked(workshop, "Oak table", "Oak chair", "Ash table")

    one = await graph.ask(FOUND, text="oak")
    two = await graph.ask(FOUND, text="oak table the")
    nothing = await graph.ask(FOUND, text="iron")
    full = await graph.ask('{ searchCards(text: "oak") { nodes { title instructions author { username } } } }')

    assert one.calls == {"Query": 1, "BatchGetItem": 1}
    assert two.calls == {"Query": 2, "GetItem": 1}
    assert nothing.data["searchCards"]["nodes"] == []
    assert nothing.calls == {"Query": 1}
    assert full.data["searchCards"]["nodes"][0]["instructions"] == ["Begin.", "End."]
    # Heavy fields are read for this page only, together with the authors.
    assert full.calls == {"Query": 1, "BatchGetItem": 2}


async def paged(graph: Graph, text: str, size: int, *, backward: bool = False) -> list[list[str]]:
    """The titles of every page, in the order they were asked for."""
    pages: list[list[str]] = []
    cursor = None
    while True:
        paging = {"last": size, "before": cursor} if backward else {"first": size, "after": cursor}
        page = (await graph.ask(SEARCH, text=text, **paging)).data["searchCards"]
        pages.append([node["title"] for node in page["nodes"]])
        info = page["pageInfo"]
        if not info["hasPreviousPage" if backward else "hasNextPage"]:
            return pages
        cursor = info["startCursor" if backward else "endCursor"]


async def test_pages_go_both_ways(graph, workshop):
    titles = [f"Oak {number}" for number in range(7)]
    await stocked(workshop, *titles)
    newest = titles[::-1]

    assert await paged(graph, "oak", 3) == [newest[:3], newest[3:6], newest[6:]]
    assert await paged(graph, "oak", 3, backward=True) == [newest[4:], newest[1:4], newest[:1]]
    assert await paged(graph, "oak", 7) == [newest]


async def test_pages_are_full_of_what_may_be_seen(graph, workshop):
    _, _, cards = await stocked(workshop, *(f"Oak {number}" for number in range(9)))
    for card in cards[::2]:
        await graph.table.put(card.changed(status=CardStatus.ARCHIVED, listed_at=None))

    assert await paged(graph, "oak", 2) == [["Oak 7", "Oak 5"], ["Oak 3", "Oak 1"]]
    assert await paged(graph, "oak", 2, backward=True) == [["Oak 3", "Oak 1"], ["Oak 7", "Oak 5"]]


@pytest.mark.parametrize("indexed", [False, True])
async def test_pages_fit_together_when_cards_go_in_between(graph, workshop, indexed):
    """Holds before and after the index follows."""
    _, _, cards = await stocked(workshop, *(f"Oak {number}" for number in range(8)))
    first = (await graph.ask(SEARCH, text="oak", first=3)).data["searchCards"]
    for card in (cards[5], cards[4], cards[2]):  # the last one of the page, and two of the next
        await graph.table.put(card.changed(status=CardStatus.ARCHIVED, listed_at=None))
        if indexed:
            await workshop.find_by_words(card)

    second = (await graph.ask(SEARCH, text="oak", first=3, after=first["pageInfo"]["endCursor"])).data["searchCards"]

    assert [node["title"] for node in first["nodes"]] == ["Oak 7", "Oak 6", "Oak 5"]
    assert [node["title"] for node in second["nodes"]] == ["Oak 3", "Oak 1", "Oak 0"]
    assert second["pageInfo"]["hasNextPage"] is False


async def test_a_cursor_belongs_to_its_words(graph, workshop):
    await stocked(workshop, "Oak table", "Oak chair", "Ash table")
    first = (await graph.ask(SEARCH, text="oak", first=1)).data["searchCards"]

    other = await graph.ask(SEARCH, text="table", first=1, after=first["pageInfo"]["endCursor"])

    assert other.error["extensions"]["code"] == "INVALID"


async def test_of_a_common_word_the_newest_are_considered_or_those_of_a_rarer_one(graph, workshop, monkeypatch):
    monkeypatch.setattr(search, "CONSIDERED", 4)
    titles = [f"Oak {number}" for number in range(10)]
    await stocked(workshop, *titles[:1], "Oak inlay", *titles[1:], "Ash inlay")

    alone = await graph.ask(FOUND, text="oak")
    together = await graph.ask(FOUND, text="oak inlay")
    turned = await graph.ask(FOUND, text="inlay oak")

    assert [node["title"] for node in alone.data["searchCards"]["nodes"]] == titles[:5:-1]
    assert together.data == turned.data == {"searchCards": {"nodes": [{"title": "Oak inlay"}]}}
    # What the newest of the common word do not tell is looked up for the two cards of the rare one.
    assert together.calls == {"Query": 2, "BatchGetItem": 1, "GetItem": 1}


async def test_of_two_common_words_the_one_that_reaches_back_further_is_looked_through(graph, workshop, monkeypatch):
    monkeypatch.setattr(search, "CONSIDERED", 3)
    titles = ["Ash 1", "Oak ash 2", "Oak ash 3", "Oak 4", "Oak 5", "Oak 6", "Oak 7", "Ash 8"]
    await stocked(workshop, *titles)

    assert await found(graph, "oak ash") == ["Oak ash 3", "Oak ash 2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "give a word to search for"),
        (" \t\n", "give a word to search for"),
        ("#!?🔥\x00\ud800", "give a word to search for"),
        ("x" * 201, "at most 200 characters can be searched for"),
        ("x" * 10_000, "at most 200 characters can be searched for"),
    ],
)
async def test_what_cannot_be_searched_for_is_said(graph, text, message):
    asked = await graph.ask(FOUND, text=text)

    assert asked.error["message"] == message
    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.calls == {}


async def test_the_first_eight_words_of_a_longer_text_count(graph, workshop):
    titles = ["如何正确地给木桌子上油并抛光", "One two three four five six seven eight nine"]
    await stocked(workshop, *titles, "One two three four five six seven")

    assert [await found(graph, title) for title in titles] == [[title] for title in titles]
    assert await found(graph, f"{titles[1]} and more") == [titles[1]]
    asked = await graph.ask(FOUND, text=titles[0])
    assert asked.calls["Query"] == 8


@pytest.mark.parametrize(
    ("text", "titles"),
    [("for", ["Forge"]), ("the", []), ("how to do the", []), ("for the", []), ("a", []), ("the forge", ["Forge"])],
)
async def test_common_words_alone_are_the_beginnings_of_others(graph, workshop, text, titles):
    await stocked(workshop, "Forge", "For the table")

    assert await found(graph, text) == titles


@pytest.mark.parametrize(("title", "text"), [("วิธีทาสีไม้", "ทาสี"), ("วิธีทาสีไม้", "สีไม"), ("របៀបលាបថ្នាំឈើ", "ឈើ")])
async def test_words_of_scripts_without_spaces_are_found_within_a_title(graph, workshop, title, text):
    await stocked(workshop, title, "ไม้")

    assert await found(graph, text) == [title]


@pytest.mark.parametrize(
    "text", ["oak#METADATA", "SEARCH#oak", "oak\x00", "oak\ud800", "oak\U0010ffff", "ﷺ" * 50, "x" * 200, "oak\u0301"]
)
async def test_hostile_words_find_nothing_they_should_not(graph, workshop, text):
    await stocked(workshop, "Oak table")

    asked = await graph.ask(FOUND, text=text)

    titles = [node["title"] for node in asked.data["searchCards"]["nodes"]]
    assert titles == (["Oak table"] if words_of(text) == ["oak"] else [])


async def test_drafts_and_what_is_deleted_are_not_found_even_by_their_authors(graph, workshop):
    author, category, _ = await stocked(workshop, "Oak table")
    draft = await workshop.card(author, category, CardStatus.DRAFT, title="Oak draft")
    await workshop.find_by_words(draft)

    asked = await graph.ask(FOUND, viewer_of(author), text="oak")

    assert asked.data["searchCards"]["nodes"] == [{"title": "Oak table"}]


async def test_a_card_that_is_gone_is_not_found(graph, workshop):
    """Holds before the index follows; a stale read is not trusted."""
    _, _, cards = await stocked(workshop, "Oak table")
    await graph.table.delete(cards[0].own_key)

    asked = await graph.ask(FOUND, text="oak")

    assert asked.data["searchCards"]["nodes"] == []
    assert asked.calls == {"Query": 1, "GetItem": 2}
