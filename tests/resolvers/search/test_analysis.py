"""Texts are split into the same tokens for every engine."""

import pytest

from resolvers.search.analysis import stem, terms, tokens
from resolvers.search.languages import language_of


def words_of(text: str) -> list[str]:
    return [token.word for token in tokens(text) if not token.is_part]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Perfect Wood Finish", ["perfect", "wood", "finish"]),
        ("wood, WOOD; Wood!", ["wood", "wood", "wood"]),
        ("Crème brûlée", ["creme", "brulee"]),
        ("Cre\u0300me", ["creme"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδοσ"]),
        ("İstanbul ISTANBUL", ["istanbul", "istanbul"]),
        ("IŞIK ışık", ["isik", "isik"]),
        ("Йогурт", ["иогурт"]),
        ("לֶחֶם", ["לחם"]),
        ("كِتَاب", ["كتاب"]),
        ("लकड़ी का काम", ["लकडी", "का", "काम"]),
        ("목공 기초", ["목공", "기초"]),
        ("木工入門", ["木工", "工入", "入門"]),
        ("木", ["木"]),
        ("木工DIY入門", ["木工", "diy", "入門"]),
        ("ﾗｰﾒﾝ ＤＩＹ ﬁnish", ["ラー", "ーメ", "メン", "diy", "finish"]),
        ("Don't panic, it’s Ada's", ["dont", "panic", "its", "adas"]),
        ("🔥 Fire👩‍🔧 🪵", ["fire"]),
        ("wood#METADATA\x00\x1f\u2028oak", ["wood", "metadata", "oak"]),
        ("C++, c# and .NET; node.js!", ["c++", "c#", "and", ".net", "node.js"]),
        ("#garden snake_case 2x4", ["garden", "snake", "case", "2x4"]),
        ("ทาสี", ["ทา", "าสี"]),
        ("a" * 61, []),
        ("", []),
        ("...!? *", []),
    ],
)
def test_words_of_many_scripts(text, words):
    assert words_of(text) == words
    assert terms(text, None).words == words


def test_parts_of_words_are_tokens_too():
    assert [token.word for token in tokens("node.js 木工") if token.is_part] == ["node", "js", "木", "工"]
    assert terms("asp.net", None).parts == ["asp", "net"]


def test_a_token_says_where_it_is():
    text = "Die Häuser, c++"
    assert [text[token.start : token.end] for token in tokens(text)] == ["Die", "Häuser", "c++"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["finishing", "finished", "finishes"]),
        ("de", ["Häuser", "Hauses", "Häusern"]),
        ("fr", ["chevaux", "cheval"]),
        ("ru", ["доска", "доски", "доской"]),
        ("es", ["bicicleta", "bicicletas"]),
    ],
)
def test_inflections_have_one_stem(language, words):
    assert len({stem(word, language) for word in words}) == 1


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The table is made of oak and it was finished by hand", "en"),
        ("Der Tisch ist aus Eiche und nicht aus Buche", "de"),
        ("La table est faite avec du chêne pour la maison", "fr"),
        ("La mesa está hecha con roble para los niños", "es"),
        ("Стол сделан из дуба", "ru"),
        ("木の机の作り方", "ja"),
        ("自制木桌", "zh"),
        ("ทาสีบ้าน", "th"),
        ("나무 의자", "ko"),
        ("Oak", None),
        ("12 + 34", None),
    ],
)
def test_languages_are_recognized(text, language):
    assert language_of(text) == language
