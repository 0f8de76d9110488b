"""Lines and records: line ends, continuations, rejected lines, and limits."""

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolvers.genealogy.gedcom import lexer, parser, report
from resolvers.genealogy.gedcom.model import Gender
from resolvers.genealogy.gedcom.parser import read_records
from resolvers.genealogy.gedcom.reader import read_tree
from resolvers.genealogy.gedcom.records import Record
from resolvers.genealogy.gedcom.report import GedcomRemark, Report
from tests.support.gedcom import BACH, records_of, report_of, tree_of, unhurried


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_any_line_end_will_do(end):
    content = BACH.replace("\n", end).encode()
    assert tree_of(content) == tree_of(BACH)
    assert report_of(content).line_count == 33


class Trickling(io.BytesIO):
    """A stream that returns a few bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 1, 3))


def test_a_stream_may_give_little_at_a_time():
    content = BACH.replace("\n", "\r\n").encode("utf-16")
    assert read_tree(Trickling(content))[0] == tree_of(BACH)


def test_a_line_end_may_be_split_over_two_blocks():
    filling = b"0 HEAD\r\n1 NOTE "
    content = filling + b"x" * ((1 << 16) - len(filling) - 1) + b"\r\n0 TRLR\r\n"
    told = report_of(content)
    assert (content[(1 << 16) - 1 : (1 << 16) + 1], told.line_count, told.blank_line_count) == (b"\r\n", 3, 0)


def test_a_record_is_there_before_the_next_block_is_read():
    content = b"0 HEAD\n0 @I1@ INDI\n0 @I2@ INDI\n" + b"0 NOTE\n" * 100_000
    stream = io.BytesIO(content)
    found = read_records(stream, Report())
    assert (next(found), stream.tell()) == (Record("HEAD"), 1 << 16)


def test_progress_is_told_in_bytes():
    told: list[int] = []
    list(read_records(io.BytesIO(b"0 HEAD\n" * 20_000), Report(), told.append))
    assert told == [1 << 16, 2 << 16, 140_000]


def test_continued_lines_are_one_value():
    content = "0 HEAD\n0 NOTE one \n1 CONC two\n1 CONT\n1 CONT  three\n1 SOUR x\n"
    assert records_of(content)[1] == Record("NOTE", "one two\n\n three", children=(Record("SOUR", "x"),))


@pytest.mark.parametrize(
    ("version", "written_value", "value", "pointer"),
    [
        ("5.5.1", "me@@home.org", "me@home.org", ""),
        ("5.5.1", "me@home.org", "me@home.org", ""),
        ("5.5.1", "@@I1@@", "@I1@", ""),
        ("5.5.1", "@#DJULIAN@ 1700", "@#DJULIAN@ 1700", ""),
        ("5.5.1", "@I1@", "", "I1"),
        ("7.0", "me@@home.org", "me@@home.org", ""),
        ("7.0", "@@I1@", "@I1@", ""),
        ("7.0", "@@@x", "@@x", ""),
        ("7.0", "@VOID@", "", "VOID"),
    ],
)
def test_an_at_sign_is_doubled_as_the_version_says(version, written_value, value, pointer):
    content = f"0 HEAD\n1 GEDC\n2 VERS {version}\n0 NOTE {written_value}\n"
    assert records_of(content)[1] == Record("NOTE", value, pointer=pointer)


def test_spaces_and_empty_lines_do_no_harm():
    content = "\n  0 HEAD\n\t\n 0  @I1@  INDI\n  1 NAME  Ann \n\n0 TRLR\n"
    assert records_of(content)[1] == Record("INDI", xref="I1", children=(Record("NAME", " Ann "),))
    told = report_of(content)
    assert (told.blank_line_count, told.refused, told.repaired) == (3, [], [])


NO_LEVEL = "The line does not begin with a level and a tag."


BELOW = "The line belongs to a rejected line."


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        (["garbage"], [GedcomRemark(3, "", NO_LEVEL, "garbage")]),
        (["1"], [GedcomRemark(3, "", NO_LEVEL, "1")]),
        (["one NAME x"], [GedcomRemark(3, "", NO_LEVEL, "one NAME x")]),
        (["-1 NAME x"], [GedcomRemark(3, "", NO_LEVEL, "-1 NAME x")]),
        (["100 NAME x", "101 TYPE y"], [
            GedcomRemark(3, "NAME", "The level is above 99.", "100 NAME x"),
            GedcomRemark(4, "TYPE", "The level is above 99.", "101 TYPE y"),
        ]),
        (["0 CONT x", "1 SOUR y"], [
            GedcomRemark(3, "CONT", "There is no line to continue.", "x"),
            GedcomRemark(4, "SOUR", BELOW, "y"),
        ]),
        (["1 FAMS @F9@"], [GedcomRemark(3, "FAMS", "There is no such family.", "@F9@")]),
        (["0 @F1@ FAM", "1 CHIL @I9@"], [GedcomRemark(4, "CHIL", "There is no such person.", "@I9@")]),
        (["0 @F1@ FAM", "1 CHIL @I1@", "1 CHIL @I1@"], [GedcomRemark(5, "CHIL", "The child is a duplicate.", "@I1@")]),
        (["0 HEAD", "1 NOTE x"], [GedcomRemark(3, "HEAD", "This record has no content here.")]),
        (["0 @F1@ FAM x"], [GedcomRemark(3, "FAM", "This type of record has no value.", "x")]),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_line(said, refused):
    assert report_of("\n".join(["0 HEAD", "0 @I1@ INDI", *said, "0 TRLR"])).refused == refused


def test_a_line_before_any_record_is_refused():
    reason = "The line belongs to no record."
    assert report_of("1 NAME x\n0 HEAD\n0 TRLR").refused == [GedcomRemark(1, "NAME", reason, "x")]


def test_a_text_that_lost_its_cont_is_mended():
    content = "0 HEAD\n0 @I1@ INDI\n1 NOTE one\ntwo\n2 CONT three\n0 TRLR"
    assert tree_of(content).persons[0].biography == "one\ntwo\nthree"
    assert report_of(content).repaired == [GedcomRemark(4, "NOTE", "The line is read as CONT.", "two")]


def test_a_level_that_is_left_out_is_told():
    content = "0 HEAD\n0 @I1@ INDI\n1 BIRT\n3 DATE 1900\n2 PLAC Rome\n0 TRLR"
    person = tree_of(content).persons[0]
    assert (person.birth_date, person.birth_place) == ("1900", "Rome")
    assert report_of(content).repaired == [
        GedcomRemark(4, "DATE", "Level 3 follows level 1. The line is read as a child of the level 1 line.")
    ]


def test_a_line_after_a_deeper_one_is_a_child_of_the_nearest_lower_level():
    content = "0 HEAD\n0 @I1@ INDI\n1 BIRT\n4 DATE 1900\n3 PLAC Rome\n0 TRLR"
    person = tree_of(content).persons[0]
    assert (person.birth_date, person.birth_place) == ("1900", "Rome")
    assert report_of(content).repaired == [
        GedcomRemark(4, "DATE", "Level 4 follows level 1. The line is read as a child of the level 1 line."),
        GedcomRemark(5, "PLAC", "Level 3 follows level 1. The line is read as a child of the level 1 line."),
    ]


def test_a_file_without_beginning_and_end_is_read():
    told = report_of("0 @I1@ INDI\n1 NAME Ann")
    assert told.person_count == 1
    assert told.repaired == [
        GedcomRemark(1, "TRLR", "The file has no TRLR record. The end of the file may be missing."),
        GedcomRemark(1, "HEAD", "The file has no header."),
    ]


def test_control_characters_are_left_out_and_told():
    content = "0 HEAD\n0 @I1@ INDI\n1 NOTE a\x07b\tc\n0 TRLR"
    assert tree_of(content).persons[0].biography == "ab\tc"
    assert report_of(content).repaired == [GedcomRemark(3, "NOTE", "Control characters are removed.")]


def test_a_report_has_an_end():
    told = report_of("garbage\n" * 5_000)
    assert (told.refused_count, len(told.refused)) == (5_000, report.MOST)


class Endless(io.RawIOBase):
    """A stream of a given length."""

    def __init__(self, start: bytes, unit: bytes, size: int) -> None:
        self._start, self._unit, self._left = start, unit, size

    def read(self, size: int = -1) -> bytes:
        start, self._start = self._start[:size], self._start[size:]
        count = min(size - len(start), self._left)
        self._left -= count
        return start + (self._unit * (count // len(self._unit) + 1))[:count]


@pytest.mark.parametrize("start", [b"0 HEAD\n1 NOTE ", b"", b"0 HEAD\n1 CHAR ANSEL\n1 NOTE "])
@pytest.mark.parametrize("unit", [b"a", b"\xe8", b"@", b"\0"])
def test_a_line_without_end_is_refused_and_takes_no_memory(start, unit):
    told = Report()
    tracemalloc.start()
    for _ in read_records(Endless(start, unit, 1 << 25), told):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [remark.reason for remark in told.refused] == [f"The line is longer than {lexer.MAX_BYTES} bytes."]
    assert peak < 1 << 22


def test_what_is_below_a_line_that_is_too_long_is_refused_with_it():
    content = "0 HEAD\n0 @I1@ INDI\n1 BIRT\n1 NOTE " + "x" * lexer.MAX_BYTES + "\n2 DATE 1900\n1 SEX F\n0 TRLR"
    assert [(remark.line, remark.tag) for remark in report_of(content).refused] == [(4, "NOTE"), (5, "DATE")]
    assert (tree_of(content).persons[0].gender, tree_of(content).persons[0].birth_date) == (Gender.FEMALE, "")


def test_a_record_has_only_so_many_lines():
    content = "0 HEAD\n0 @I1@ INDI\n" + "1 NOTE x\n" * (parser.MAX_LINES + 5) + "0 TRLR\n"
    told = Report()
    assert len(list(read_records(io.BytesIO(content.encode()), told))) == 3
    assert {remark.reason for remark in told.refused} == {f"The record has more than {parser.MAX_LINES} lines."}
    assert told.refused_count == 6


def test_depth_has_an_end():
    content = "\n".join(f"{level} DEEP" for level in range(10_000))
    told = report_of(content)
    assert (told.structure_count, told.refused_count) == (100, 9_900)


def test_a_row_of_marks_is_not_ansel():
    content = b"0 HEAD\n1 CHAR ANSEL\n0 @I1@ INDI\n1 NOTE " + b"\xe8" * 100_000 + b"\n0 TRLR"
    assert tree_of(content).persons[0].notes == ("è" * 100_000,)
    assert [remark.line for remark in report_of(content).repaired] == [4]


@unhurried
@given(st.binary())
def test_any_bytes_are_read(content):
    tree_of(content)
    tree_of(b"0 HEAD\n1 CHAR ANSEL\n0 @I1@ INDI\n" + content)
