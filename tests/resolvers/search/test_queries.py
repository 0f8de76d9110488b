"""The text of a query is read as words and phrases, and nothing else."""

import pytest

from resolvers.search.queries import MAX_WORDS, parsed


def words_of(text: str, **given: str) -> list[str]:
    return [word.text for word in parsed(text, **given).words]


@pytest.mark.parametrize(
    ("text", "words", "phrases"),
    [
        ("how to finish the table", ["finish", "table"], ()),
        ("how to", ["how", "to"], ()),
        ('"red oak" tables', ["tables"], (("red", "oak"),)),
        ('"oak"', ["oak"], ()),
        ("„rote Eiche“ «vieux chêne»", [], (("rote", "eiche"), ("vieux", "chene"))),
        ('"unbalanced oak', ["unbalanced", "oak"], ()),
        ("oak OAK oak", ["oak"], ()),
        ("(oak|elm)* AND title:pine~2", ["oak", "elm", "title", "pine", "2"], ()),
        ("oak\x00\x07elm\ud800", ["oak", "elm"], ()),
        ("*?!", [], ()),
    ],
)
def test_words_and_phrases(text, words, phrases):
    query = parsed(text)
    assert ([word.text for word in query.words], query.phrases) == (words, phrases)


@pytest.mark.parametrize(
    ("word", "typos"), [("oak", 0), ("oaks", 1), ("finish1", 0), ("finishe", 1), ("finished", 2), ("c++", 0)]
)
def test_typos_by_length(word, typos):
    assert parsed(word).words[0].typos == typos


@pytest.mark.parametrize(
    ("word", "found", "typos"),
    [
        ("finished", 0, 2),
        ("finished", 1, 1),
        ("finished", 4, 1),
        ("finished", 5, 0),
        ("oaks", 4, 1),
        ("oaks", 5, 0),
        ("oak", 0, 0),
    ],
)
def test_typos_by_the_documents_with_a_word(word, found, typos):
    assert parsed(word).words[0].typos_among(found) == typos


def test_only_the_last_word_may_be_incomplete():
    assert [word.is_prefix for word in parsed("oak tab").words] == [False, True]
    assert [word.is_prefix for word in parsed("oak tab ").words] == [False, False]
    assert [word.is_prefix for word in parsed("oak t").words] == [False, False]


def test_stems_of_the_languages_of_the_index_are_looked_for():
    assert parsed("häuser", ["de"]).words[0].stems == ("hauser", "haus")
    assert parsed("häuser", language="de").words[0].stems == ("haus", "hauser")


def test_the_first_words_of_a_long_query_count():
    text = " ".join(f"w{number}" for number in range(50))
    assert words_of(text) == [f"w{number}" for number in range(MAX_WORDS)]
