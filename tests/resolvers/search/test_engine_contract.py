"""The contract of search engines."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from resolvers.search.documents import EVERYONE, Audience, Text, Weight
from resolvers.search.engine import After, SearchEngine, SearchUnavailable
from tests.resolvers.search.engines import BACKENDS, document, filled, found, request


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def engine(backend: str, tmp_path: Path) -> AsyncIterator[SearchEngine]:
    async with BACKENDS[backend](tmp_path) as opened:
        yield opened


async def test_without_a_generation_search_is_unavailable(engine):
    assert engine.current is None
    with pytest.raises(SearchUnavailable):
        await engine.query(request("wood"))
    with pytest.raises(SearchUnavailable):
        await engine.count(request("wood"), facets=True)
    with pytest.raises(SearchUnavailable):
        await engine.suggest(request("wood"))


async def test_a_document_is_found_after_the_commit(engine):
    await filled(engine, document("1", "Oak table"))
    assert engine.current is not None
    await engine.current.update([document("2", "Oak chair")], [], version=2)
    assert await found(engine, "chair") == []
    await engine.current.commit({0: 2})
    assert await found(engine, "chair") == ["2"]
    assert await engine.current.positions() == {0: 2}


async def test_a_hit_has_its_type_and_texts(engine):
    await filled(engine, document("1", "Oak table", "Sand it.", tags=["wood"], type="Post"))
    (hit,) = (await engine.query(request("oak"))).hits
    assert (hit.key, hit.type) == ("1", "Post")
    assert [*hit.texts] == [
        Text("title", "Oak table", Weight.TITLE),
        Text("body", "Sand it.", Weight.BODY),
        Text("tags", "wood", Weight.TAGS),
    ]
    assert hit.score > 0


async def test_an_update_replaces_and_a_removal_removes(engine):
    await filled(engine, document("1", "Oak table"), document("2", "Oak chair"))
    assert engine.current is not None
    await engine.current.update([document("1", "Pine shelf")], ["2"], version=2)
    await engine.current.commit({0: 2})
    assert await found(engine, "oak") == []
    assert await found(engine, "pine") == ["1"]


async def test_updates_in_one_commit_are_applied_in_order(engine):
    await filled(engine)
    assert engine.current is not None
    await engine.current.update([document("1", "Oak"), document("2", "Oak")], [], version=2)
    await engine.current.update([document("1", "Pine")], ["2"], version=3)
    await engine.current.commit({0: 2})
    assert await found(engine, "oak") == []
    assert await found(engine, "pine") == ["1"]


async def test_depends_is_known_before_and_after_the_commit(engine):
    await filled(engine, document("1", "Oak", depends="public"), document("2", "Pine"))
    assert engine.current is not None
    assert await engine.current.depends(["1", "2", "3"]) == {"1": "public", "2": ""}
    await engine.current.update([document("1", "Oak", depends="private")], ["2"], version=2)
    assert await engine.current.depends(["1", "2"]) == {"1": "private"}


async def test_what_was_committed_survives(backend, tmp_path):
    async with BACKENDS[backend](tmp_path) as engine:
        await filled(engine, document("1", "Oak"))
        assert engine.current is not None
        await engine.current.update([document("2", "Oak")], [], version=2)
    async with BACKENDS[backend](tmp_path) as engine:
        await engine.open()
        assert engine.current is not None
        assert await engine.current.positions() == {0: 1}
        assert await found(engine, "oak") == ["1"]


async def test_an_incomplete_generation_has_no_positions(engine):
    generation = await engine.begin()
    await generation.update([document("1", "Oak")], [], version=1)
    await generation.commit(None)
    await engine.switch(generation)
    assert await generation.positions() is None
    assert await found(engine, "oak") == ["1"]
    await generation.commit({0: 5, 1: 7})
    assert await generation.positions() == {0: 5, 1: 7}


async def test_a_generation_is_filled_beside_the_current_one(engine):
    await filled(engine, document("1", "Oak"))
    generation = await engine.begin()
    await generation.update([document("2", "Oak")], [], version=1)
    await generation.commit({0: 9})
    assert await found(engine, "oak") == ["1"]
    await engine.switch(generation)
    assert await found(engine, "oak") == ["2"]
    assert engine.current is generation


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Finish a wooden table", "table"),
        ("Finish a wooden table", "tables finished"),
        ("Finish a wooden table", "finsh"),
        ("Refinishing furniture", "refinsihng furnitrue"),
        ("Refinishing furniture", "wefinishing"),
        ("Refinishing furniture", "erfinishing"),
        ("Finish a wooden table", "woo"),
        ("Finish a wooden table", "how to finish the table"),
        ("Finish a wooden table", '"wooden table"'),
        ("Crème brûlée", "creme BRULEE"),
        ("Straße", "STRASSE"),
        ("Learn C++", "c++"),
        ("Learn C#", "c#"),
        ("Learn .NET", ".net"),
        ("Learn node.js", "node.js"),
        ("Learn node.js", "node"),
        ("木工入門", "木工"),
        ("木工入門", "門"),
        ("ทาสีบ้าน", "ทาสี"),
        ("лакированная доска", "лакированные доски"),
        ("Die schönen Häuser der Stadt und ihre Gärten", "haus stadt"),
        ("Les chevaux et leurs cavaliers dans la forêt", "cheval cavalier"),
    ],
)
async def test_a_title_is_found(engine, title, text):
    await filled(engine, document("1", title), document("2", "Something else entirely"))
    assert await found(engine, text) == ["1"]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Learn C", "c++"),
        ("Learn C++", "c#"),
        ("Internet", ".net"),
        ("Oak", "elm"),
        ("Refinishing furniture", "refiinsihngg"),
        ("Refinishing furniture", "wefinishign"),
        ("A table of wood", '"wooden table"'),
        ("Wood tables", '"table wood"'),
    ],
)
async def test_a_title_is_not_found(engine, title, text):
    await filled(engine, document("1", title))
    assert await found(engine, text) == []


async def test_all_words_come_before_most_of_them(engine):
    await filled(
        engine,
        document("1", "Oak oak oak table"),
        document("2", "A chair", "made of an oak, with a table"),
        document("3", "Oak"),
        document("4", "Pine"),
    )
    assert await found(engine, "oak table chair") == ["2", "1"]
    assert await found(engine, "oak table") == ["1", "2", "3"]


async def test_a_word_of_few_documents_may_be_a_typo(engine):
    tables = [document(f"{number}", "Table") for number in range(4)]
    hidden = document("hidden", "Table", audiences=[Audience.user("ada")])
    await filled(engine, *tables, hidden, document("c", "Cable"))
    assert sorted(await found(engine, "table")) == ["0", "1", "2", "3", "c"]
    assert sorted(await found(engine, "table", EVERYONE, Audience.user("ada"))) == ["0", "1", "2", "3", "hidden"]
    assert (await engine.count(request("table"), facets=False)).total == 5


async def test_two_typos_need_a_word_that_is_not_there(engine):
    await filled(engine, document("1", "Finished"), document("2", "Finsihe"), document("3", "Finisher"))
    assert sorted(await found(engine, "finished")) == ["1", "3"]
    assert sorted(await found(engine, "finishex")) == ["1", "2", "3"]


async def test_a_title_counts_more_than_tags_and_these_more_than_a_body(engine):
    await filled(
        engine,
        document("1", "Some things", "about oak and other trees"),
        document("2", "Some things", "about many other trees", tags=["oak"]),
        document("3", "Oak", "about many other trees"),
    )
    assert await found(engine, "oak") == ["3", "2", "1"]


async def test_new_and_popular_documents_come_first_among_equals(engine):
    await filled(
        engine,
        document("1", "Oak", created_at="2012-01-01T00:00:00Z"),
        document("2", "Oak", created_at="2026-01-01T00:00:00Z"),
        document("3", "Oak", created_at="2012-01-01T00:00:00Z", popularity=50_000),
    )
    assert await found(engine, "oak") == ["3", "2", "1"]


async def test_audiences_separate_documents(engine):
    one, other = Audience.tenant("one"), Audience.tenant("other")
    await filled(
        engine,
        document("1", "Oak", audiences=[one]),
        document("2", "Oak", audiences=[other]),
        document("3", "Oak", audiences=[EVERYONE]),
    )
    assert await found(engine, "oak", EVERYONE) == ["3"]
    assert sorted(await found(engine, "oak", EVERYONE, one)) == ["1", "3"]
    assert sorted(await found(engine, "oak", one, other)) == ["1", "2"]
    assert (await engine.count(request("oak", one), facets=False)).total == 1


async def test_filters(engine):
    await filled(
        engine,
        document("1", "Oak", category_id="wood", tags=["hard", "brown"], difficulty="EXPERT", owner_id="ada"),
        document("2", "Oak", type="Post", created_at="2025-02-03T04:05:06Z", owner_id="bob", within="tree"),
    )
    assert await found(engine, "oak", types=frozenset({"Post"})) == ["2"]
    assert await found(engine, "oak", category_ids=frozenset({"wood"})) == ["1"]
    assert await found(engine, "oak", tags=frozenset({"hard", "brown"})) == ["1"]
    assert await found(engine, "oak", tags=frozenset({"hard", "soft"})) == []
    assert await found(engine, "oak", difficulties=frozenset({"EXPERT", "BEGINNER"})) == ["1"]
    assert await found(engine, "oak", years=frozenset({"2025"})) == ["2"]
    assert await found(engine, "oak", owner_ids=frozenset({"bob"})) == ["2"]
    assert await found(engine, "oak", within="tree") == ["2"]
    assert await found(engine, "oak", without_owners=frozenset({"bob"})) == ["1"]


async def test_facets_count_everything_that_is_found(engine):
    cards = [
        document(str(number), f"Oak {number}", category_id="wood", tags=["hard"] if number % 2 else ["soft"])
        for number in range(5)
    ]
    await filled(
        engine,
        *cards,
        document("p", "Oak", type="Post", created_at="2025-02-03T04:05:06Z"),
        document("x", "Oak", audiences=[Audience.user("ada")], tags=["secret"]),
    )
    counts = await engine.count(request("oak", limit=1), facets=True)
    assert counts.total == 6
    assert {name: [*values] for name, values in counts.facets.items()} == {
        "type": [("Card", 5), ("Post", 1)],
        "category": [("wood", 5)],
        "tag": [("soft", 3), ("hard", 2)],
        "difficulty": [],
        "year": [("2025", 1)],
    }


async def test_pages_have_every_hit_once_in_both_directions(engine):
    documents = [document(f"{number:02d}", "Oak " * (number % 3 + 1)) for number in range(25)]
    await filled(engine, *documents)
    whole = await engine.query(request("oak", limit=100))
    order = [hit.key for hit in whole.hits]
    assert sorted(order) == [each.key for each in documents]
    assert not whole.more
    for backward in (False, True):
        paged: list[str] = []
        after = None
        while True:
            page = await engine.query(request("oak", limit=7, after=after, backward=backward))
            paged += [hit.key for hit in page.hits]
            if not page.more:
                break
            after = After(page.hits[-1].score, page.hits[-1].key)
        assert paged == (order[::-1] if backward else order)


async def test_suggestions_complete_the_last_word_of_a_title(engine):
    await filled(
        engine,
        document("1", "Finish a wooden table"),
        document("2", "Wool", "finish"),
        document("3", "Wooden spoon", audiences=[Audience.user("ada")]),
    )
    assert sorted(hit.key for hit in await engine.suggest(request("woo"))) == ["1", "2"]
    assert [hit.key for hit in await engine.suggest(request("finish woo"))] == ["1"]
    assert [hit.key for hit in await engine.suggest(request("xyz"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "a*",
        ".*",
        "(oak|elm)+",
        "oak AND (elm",
        "title:oak",
        "[* TO *]",
        '"',
        "oak~2^5",
        "\\",
        "oak\x00elm",
        "/o.k/",
    ],
)
async def test_signs_are_no_operators(engine, text):
    await filled(engine, document("1", "Pine"))
    assert await found(engine, text) == []


async def test_languages_of_the_documents_are_listed(engine):
    await filled(
        engine,
        document("1", "The house of the rising sun is in the city"),
        document("2", "The house and the garden"),
        document("3", "Das Haus und der Garten in der Stadt"),
    )
    assert [*await engine.languages()] == ["en", "de"]
