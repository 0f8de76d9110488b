"""Character encodings: declared, detected, and mended line by line."""

import io

import pytest
from ansel.encodings import gedcom as ansel

from resolvers.genealogy.gedcom.reader import read_tree
from resolvers.genealogy.gedcom.report import GedcomRemark
from tests.support.gedcom import report_of, tree_of


def in_ansel(text: str) -> bytes:
    return bytes(ansel.Codec().encode(text)[0])


@pytest.mark.parametrize(
    ("declared", "encode"),
    [
        ("UTF-8", lambda text: text.encode()),
        ("UTF-8", lambda text: text.encode("utf-8-sig")),
        ("UNICODE", lambda text: text.encode("utf-16")),
        ("UNICODE", lambda text: text.encode("utf-16-le")),
        ("UNICODE", lambda text: text.encode("utf-16-be")),
        ("UNICODE", lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
        ("ANSI", lambda text: text.encode("cp1252")),
        ("ISO-8859-1", lambda text: text.encode("latin-1")),
        ("IBMPC", lambda text: text.encode("cp437")),
        ("ANSEL", in_ansel),
    ],
)
def test_a_file_is_in_the_encoding_that_it_says(declared, encode):
    content = f"0 HEAD\n1 CHAR {declared}\n0 @I1@ INDI\n1 NAME Zoë Märta /Dvořák/\n0 TRLR\n"
    content = content if declared in ("UTF-8", "UNICODE") else content.replace("ř", "r")
    if declared == "ANSEL":
        content = content.replace("ë", "e\u0308").replace("ä", "a\u0308").replace("á", "a\u0301")
    tree, told = read_tree(io.BytesIO(encode(content)))
    person = tree.persons[0]
    last = "Dvořák" if declared in ("UTF-8", "UNICODE") else "Dvorák"
    assert (person.first_name, person.middle_name, person.last_name) == ("Zoë", "Märta", last)
    assert told.repaired == []


def test_marks_before_letters_come_behind_them_composed():
    content = b"0 HEAD\n1 CHAR ANSEL\n0 @I1@ INDI\n1 NAME \xe8Arne /S\xf2\xe5o\xb2/\n0 TRLR"
    person = tree_of(content).persons[0]
    assert (person.first_name, person.last_name) == ("Ärne", "Sọ̄ø")


def test_a_file_that_says_it_is_ansel_and_is_utf_8_is_read_as_utf_8():
    content = "0 HEAD\n1 CHAR ANSEL\n0 @I1@ INDI\n1 NAME Zoë\n1 NOTE Märta\n0 TRLR".encode()
    assert (tree_of(content).persons[0].first_name, tree_of(content).persons[0].biography) == ("Zoë", "Märta")
    assert report_of(content).repaired == [GedcomRemark(4, "", "The file declares ANSEL, but this line is UTF-8.")]


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (
            "0 HEAD\n1 CHAR ANSEL\n0 TRLR".encode("utf-16"),
            GedcomRemark(2, "CHAR", "The file declares ANSEL, but it is UTF-16."),
        ),
        (
            "0 HEAD\n1 CHAR ANSI\n0 TRLR".encode("utf-8-sig"),
            GedcomRemark(2, "CHAR", "The file declares ANSI, but it is UTF-8."),
        ),
        (
            b"0 HEAD\n1 CHAR UNICODE\n0 TRLR",
            GedcomRemark(2, "CHAR", "The file declares UNICODE, but it is not. It is read as UTF-8."),
        ),
        (
            b"0 HEAD\n1 CHAR EBCDIC\n0 TRLR",
            GedcomRemark(2, "CHAR", "EBCDIC is not a known encoding. The file is read as UTF-8."),
        ),
    ],
)
def test_an_encoding_that_is_not_the_one_said_is_told(content, remark):
    assert report_of(content).repaired == [remark]


def test_bytes_that_are_not_utf_8_are_windows_1252_and_the_rest_stays():
    content = b"0 HEAD\n0 @I1@ INDI\n1 NOTE Zo\xc3\xab and Zo\xeb\n0 TRLR"
    assert tree_of(content).persons[0].biography == "Zoë and Zoë"
    assert report_of(content).repaired == [
        GedcomRemark(3, "NOTE", "Bytes that are not UTF-8 are read as Windows-1252.")
    ]


def test_a_character_that_was_split_over_two_lines_is_whole():
    content = b"0 HEAD\n0 @I1@ INDI\n1 NOTE Zo\xc3\n2 CONC \xab\n0 TRLR"
    assert tree_of(content).persons[0].biography == "Zoë"
    assert report_of(content).repaired == []
