"""GEDCOM: bytes to records to people and families and back, whatever the bytes are."""

import io
import tracemalloc
from dataclasses import replace

import pytest
from ansel.encodings import gedcom as ansel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolvers.genealogy.gedcom import lexer, parser, report
from resolvers.genealogy.gedcom.fingerprint import fingerprint
from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedPerson, GedTree, Gender, Pedigree, Status
from resolvers.genealogy.gedcom.parser import kept_records, read_records
from resolvers.genealogy.gedcom.reader import read_tree
from resolvers.genealogy.gedcom.records import Record, Version
from resolvers.genealogy.gedcom.report import Remark, Report
from resolvers.genealogy.gedcom.serializer import kept_text, write_records
from resolvers.genealogy.gedcom.writer import write_tree

both_versions = pytest.mark.parametrize("version", Version)
# Some examples are large files, and the machine may be busy.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

BACH = """\
0 HEAD
1 GEDC
2 VERS 5.5.1
1 CHAR UTF-8
0 @I1@ INDI
1 NAME Johann Sebastian /Bach/
1 SEX M
1 BIRT
2 DATE @#DJULIAN@ 21 MAR 1685
2 PLAC Eisenach
2 SOUR @S1@
3 PAGE 12
1 DEAT
2 DATE 28 JUL 1750
1 OCCU Kantor
1 FAMS @F1@
0 @I2@ INDI
1 NAME Maria Barbara /Bach/
1 SEX F
1 FAMS @F1@
0 @I3@ INDI
1 NAME Wilhelm Friedemann /Bach/
1 FAMC @F1@
0 @F1@ FAM
1 HUSB @I1@
1 WIFE @I2@
1 CHIL @I3@
1 MARR
2 DATE 17 OCT 1707
2 PLAC Dornheim
0 @S1@ SOUR
1 TITL Kirchenbuch
0 TRLR
"""


def records_of(content: str | bytes) -> list[Record]:
    return list(read_records(io.BytesIO(content.encode() if isinstance(content, str) else content), Report()))


def tree_of(content: str | bytes) -> GedTree:
    return read_tree(io.BytesIO(content.encode() if isinstance(content, str) else content))[0]


def report_of(content: str | bytes) -> Report:
    return read_tree(io.BytesIO(content.encode() if isinstance(content, str) else content))[1]


def person_of(*said: str) -> GedPerson:
    return tree_of("\n".join(["0 HEAD", "0 @I1@ INDI", *said, "0 TRLR"])).persons[0]


def written(tree: GedTree, version: Version = Version.V5) -> str:
    return b"".join(write_tree(tree, version)).decode()


def written_person(person: GedPerson) -> list[str]:
    """The lines below a person who is alone in a file."""
    found = written(GedTree(persons=(person,))).split("\n0 ")
    return next(part for part in found if part.endswith(" INDI") or " INDI\n" in part).split("\n")[1:]


def test_a_family_is_read():
    tree = tree_of(BACH)
    johann, maria, wilhelm = tree.persons
    assert johann == GedPerson(
        xref="I1",
        first_name="Johann",
        middle_name="Sebastian",
        last_name="Bach",
        gender=Gender.MALE,
        birth_date="JULIAN 21 MAR 1685",
        birth_place="Eisenach",
        death_date="28 JUL 1750",
        is_deceased=True,
        kept="1 BIRT\n2 SOUR @S1@\n3 PAGE 12\n1 OCCU Kantor",
    )
    assert (maria.kept, wilhelm.kept, wilhelm.gender) == ("", "", Gender.UNKNOWN)
    assert tree.families == (
        GedFamily(
            xref="F1",
            husband="I1",
            wife="I2",
            children=(GedChild("I3"),),
            marriage_date="17 OCT 1707",
            marriage_place="Dornheim",
            status=Status.MARRIED,
        ),
    )
    assert [(other.xref, other.tag, other.kept) for other in tree.others] == [
        ("S1", "SOUR", "0 @S1@ SOUR\n1 TITL Kirchenbuch")
    ]


def test_a_report_counts_what_became_of_a_file():
    told = report_of(BACH)
    assert (told.version, told.encoding, told.line_count) == ("5.5.1", "UTF-8", 33)
    assert (told.person_count, told.family_count, told.other_record_count) == (3, 1, 1)
    assert (told.structure_count, told.kept_count, told.mapped_count) == (33, 6, 27)
    assert (told.refused, told.repaired) == ([], [])


@both_versions
def test_what_was_read_is_written_and_read_again(version):
    tree = tree_of(BACH)
    again = tree_of(written(tree, version))
    assert again == tree


def test_a_date_is_written_in_the_calendar_of_either_version():
    tree = tree_of(BACH)
    assert "2 DATE @#DJULIAN@ 21 MAR 1685\n" in written(tree, Version.V5)
    assert "2 DATE JULIAN 21 MAR 1685\n" in written(tree, Version.V7)


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
    assert report_of(content).repaired == [Remark(4, "", "The file says it is ANSEL, but this line is UTF-8.")]


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (
            "0 HEAD\n1 CHAR ANSEL\n0 TRLR".encode("utf-16"),
            Remark(2, "CHAR", "The file says it is ANSEL, but it is UTF-16."),
        ),
        (
            "0 HEAD\n1 CHAR ANSI\n0 TRLR".encode("utf-8-sig"),
            Remark(2, "CHAR", "The file says it is ANSI, but it is UTF-8."),
        ),
        (
            b"0 HEAD\n1 CHAR UNICODE\n0 TRLR",
            Remark(2, "CHAR", "The file says it is UNICODE, but it is not: it is read as UTF-8."),
        ),
        (
            b"0 HEAD\n1 CHAR EBCDIC\n0 TRLR",
            Remark(2, "CHAR", "EBCDIC is not known: the file is read as UTF-8."),
        ),
    ],
)
def test_an_encoding_that_is_not_the_one_said_is_told(content, remark):
    assert report_of(content).repaired == [remark]


def test_bytes_that_are_not_utf_8_are_windows_1252_and_the_rest_stays():
    content = b"0 HEAD\n0 @I1@ INDI\n1 NOTE Zo\xc3\xab and Zo\xeb\n0 TRLR"
    assert tree_of(content).persons[0].biography == "Zoë and Zoë"
    assert report_of(content).repaired == [Remark(3, "NOTE", "What is not UTF-8 is read as Windows-1252.")]


def test_a_character_that_was_split_over_two_lines_is_whole():
    content = b"0 HEAD\n0 @I1@ INDI\n1 NOTE Zo\xc3\n2 CONC \xab\n0 TRLR"
    assert tree_of(content).persons[0].biography == "Zoë"
    assert report_of(content).repaired == []


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_any_line_end_will_do(end):
    content = BACH.replace("\n", end).encode()
    assert tree_of(content) == tree_of(BACH)
    assert report_of(content).line_count == 33


class Trickling(io.BytesIO):
    """A stream that gives little at a time."""

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
BELOW = "The line is below one that was refused."


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        (["garbage"], [Remark(3, "", NO_LEVEL, "garbage")]),
        (["1"], [Remark(3, "", NO_LEVEL, "1")]),
        (["one NAME x"], [Remark(3, "", NO_LEVEL, "one NAME x")]),
        (["-1 NAME x"], [Remark(3, "", NO_LEVEL, "-1 NAME x")]),
        (["100 NAME x", "101 TYPE y"], [
            Remark(3, "NAME", "The level is above 99.", "100 NAME x"),
            Remark(4, "TYPE", "The level is above 99.", "101 TYPE y"),
        ]),
        (["0 CONT x", "1 SOUR y"], [
            Remark(3, "CONT", "There is nothing to be continued.", "x"),
            Remark(4, "SOUR", BELOW, "y"),
        ]),
        (["1 FAMS @F9@"], [Remark(3, "FAMS", "There is no such family.", "@F9@")]),
        (["0 @F1@ FAM", "1 CHIL @I9@"], [Remark(4, "CHIL", "There is no such person.", "@I9@")]),
        (["0 @F1@ FAM", "1 CHIL @I1@", "1 CHIL @I1@"], [Remark(5, "CHIL", "The child is there already.", "@I1@")]),
        (["0 HEAD", "1 NOTE x"], [Remark(3, "HEAD", "There is nothing to be said here.")]),
        (["0 @F1@ FAM x"], [Remark(3, "FAM", "Such a record has no value of its own.", "x")]),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_line(said, refused):
    assert report_of("\n".join(["0 HEAD", "0 @I1@ INDI", *said, "0 TRLR"])).refused == refused


def test_a_line_before_any_record_is_refused():
    reason = "There is no record that the line could be part of."
    assert report_of("1 NAME x\n0 HEAD\n0 TRLR").refused == [Remark(1, "NAME", reason, "x")]


def test_a_text_that_lost_its_cont_is_mended():
    content = "0 HEAD\n0 @I1@ INDI\n1 NOTE one\ntwo\n2 CONT three\n0 TRLR"
    assert tree_of(content).persons[0].biography == "one\ntwo\nthree"
    assert report_of(content).repaired == [Remark(4, "NOTE", "The line lost its CONT.", "two")]


def test_a_level_that_is_left_out_is_told():
    content = "0 HEAD\n0 @I1@ INDI\n1 BIRT\n3 DATE 1900\n2 PLAC Rome\n0 TRLR"
    person = tree_of(content).persons[0]
    assert (person.birth_date, person.birth_place) == ("1900", "Rome")
    assert report_of(content).repaired == [Remark(4, "DATE", "Level 3 is below 1.")]


def test_a_file_without_beginning_and_end_is_read():
    told = report_of("0 @I1@ INDI\n1 NAME Ann")
    assert told.person_count == 1
    assert told.repaired == [
        Remark(1, "TRLR", "The file does not say where it ends: some of it may be missing."),
        Remark(1, "HEAD", "The file has no header."),
    ]


def test_control_characters_are_left_out_and_told():
    content = "0 HEAD\n0 @I1@ INDI\n1 NOTE a\x07b\tc\n0 TRLR"
    assert tree_of(content).persons[0].biography == "ab\tc"
    assert report_of(content).repaired == [Remark(3, "NOTE", "Control characters were left out.")]


def test_a_report_has_an_end():
    told = report_of("garbage\n" * 5_000)
    assert (told.refused_count, len(told.refused)) == (5_000, report.MOST)


class Endless(io.RawIOBase):
    """As many bytes as asked for, and then no more."""

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


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (["1 NAME Ann /Lee/"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Ann Mary Jane  /Lee/ Jr."], ("Ann", "Mary Jane", "Lee", "Jr.", "", "")),
        (["1 NAME Ann"], ("Ann", "", "", "", "", "")),
        (["1 NAME Ann /Lee"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME /Lee/ Ann"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Ann Lee", "2 GIVN Ann", "2 SURN Lee"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME", "2 GIVN Ann", "2 SURN Lee"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Mary Ann /Lee/", "2 GIVN Mary Ann,", "2 SURN Lee"], ("Mary Ann", "", "Lee", "", "", "")),
        (['1 NAME Joseph "Joe" /Lee/'], ("Joseph", "", "Lee", "", "Joe", "")),
        (["1 NAME Joseph /Lee/", "2 NICK Joe"], ("Joseph", "", "Lee", "", "Joe", "")),
        (
            ["1 NAME Dr. Ludwig van /Beethoven/", "2 NPFX Dr.", "2 GIVN Ludwig", "2 SPFX van", "2 SURN Beethoven"],
            ("Ludwig", "", "van Beethoven", "", "", ""),
        ),
        (["1 NAME Ann /Lee/", "1 NAME Ann /Ray/", "2 TYPE maiden"], ("Ann", "", "Lee", "", "", "Ray")),
        (["1 NAME Ann /Lee/", "1 NAME Anny /Ray/", "2 TYPE aka"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Ann /Lee/", "2 TYPE birth"], ("Ann", "", "Lee", "", "", "")),
    ],
)
def test_a_name_is_told_apart(said, names):
    person = person_of(*said)
    found = (person.first_name, person.middle_name, person.last_name, person.suffix)
    assert (*found, person.preferred_name, person.birth_name) == names
    assert {line for line in said if line.startswith("1 NAME") and "  " not in line} <= {
        line.replace(" birth", " BIRTH") for line in written_person(person)
    }


@pytest.mark.parametrize(
    ("said", "gender", "lines_written"),
    [
        (["1 SEX M"], Gender.MALE, ["1 SEX M"]),
        (["1 SEX F"], Gender.FEMALE, ["1 SEX F"]),
        (["1 SEX X"], Gender.OTHER, ["1 SEX X"]),
        (["1 SEX U"], Gender.UNKNOWN, ["1 SEX U"]),
        (["1 SEX ?"], Gender.UNKNOWN, ["1 SEX ?"]),
        ([], Gender.UNKNOWN, []),
    ],
)
def test_a_gender_is_what_sex_says(said, gender, lines_written):
    assert person_of(*said).gender is gender
    assert written_person(person_of(*said)) == lines_written


@pytest.mark.parametrize(
    ("said", "is_deceased"),
    [
        (["1 DEAT Y"], True),
        (["1 DEAT"], False),
        (["1 DEAT", "2 DATE 1900"], True),
        (["1 BURI", "2 PLAC Rome"], True),
        (["1 DEAT N"], False),
        (["1 BIRT Y"], False),
    ],
)
def test_who_died_is_told_even_if_it_is_not_known_when(said, is_deceased):
    assert person_of(*said).is_deceased is is_deceased
    assert written_person(person_of(*said)) == said


def test_somebody_who_died_is_written_as_such():
    assert written_person(GedPerson("I1", is_deceased=True)) == ["1 DEAT Y"]


def test_details_of_an_event_stay_below_it():
    said = ["1 BIRT", "2 DATE 1900", "3 _HOUR at dawn", "2 PLAC Rome", "3 MAP", "4 LATI N41.9", "2 SOUR @S1@"]
    person = person_of(*said)
    assert (person.birth_date, person.birth_place) == ("1900", "Rome")
    assert person.kept == "1 BIRT\n2 DATE\n3 _HOUR at dawn\n2 PLAC\n3 MAP\n4 LATI N41.9\n2 SOUR @S1@"
    assert written_person(person) == said


def test_of_two_births_the_first_counts_and_both_are_written():
    said = ["1 BIRT", "2 DATE 1900", "1 BIRT", "2 DATE 1901"]
    person = person_of(*said)
    assert (person.birth_date, person.kept) == ("1900", "1 BIRT\n1 BIRT\n2 DATE 1901")
    assert written_person(person) == said


def test_a_birth_date_that_was_changed_keeps_its_sources():
    person = replace(person_of("1 BIRT", "2 DATE 1900", "2 SOUR @S1@"), birth_date="1901")
    assert written_person(person) == ["1 BIRT", "2 DATE 1901", "2 SOUR @S1@"]


def test_a_name_that_was_changed_keeps_its_sources_and_loses_what_spelt_it():
    person = person_of("1 NAME Bill /Lee/", "2 GIVN William", "2 SOUR @S1@", "1 NAME Billy", "2 TYPE aka")
    assert written_person(replace(person, first_name="Will")) == [
        "1 NAME Will /Lee/",
        "2 GIVN Will",
        "2 SURN Lee",
        "2 SOUR @S1@",
        "1 NAME Billy",
        "2 TYPE aka",
    ]


NOTED = "0 HEAD\n0 @I1@ INDI\n1 NOTE own\n2 SOUR @S1@\n1 NOTE @N1@\n0 @N1@ NOTE shared\n1 CONT by all\n0 TRLR\n"


@both_versions
def test_a_biography_is_of_all_notes(version):
    tree = tree_of(NOTED)
    assert tree.persons[0].biography == "own\n\nshared\nby all"
    assert tree_of(written(tree, version)) == tree


def test_a_shared_note_is_named_as_the_version_names_it():
    assert "1 NOTE @N1@\n" in written(tree_of(NOTED), Version.V5)
    assert "0 @N1@ NOTE shared\n" in written(tree_of(NOTED), Version.V5)
    assert "1 SNOTE @N1@\n" in written(tree_of(NOTED), Version.V7)
    assert "0 @N1@ SNOTE shared\n" in written(tree_of(NOTED), Version.V7)


def test_a_biography_that_was_changed_takes_the_place_of_the_notes():
    tree = tree_of(NOTED)
    changed = replace(tree, persons=(replace(tree.persons[0], notes=("new",)),))
    assert "0 @I1@ INDI\n1 NOTE new\n0 @N1@ NOTE shared\n" in written(changed)


def test_a_biography_that_was_removed_is_not_written():
    tree = tree_of(NOTED)
    assert "0 @I1@ INDI\n0 @N1@" in written(replace(tree, persons=(replace(tree.persons[0], notes=()),)))


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("1 OBJE\n2 FILE https://example.org/ann.png", "https://example.org/ann.png"),
        ("1 OBJE\n2 FILE ann.png\n1 OBJE @O1@", "https://example.org/shared.jpg"),
        ("1 OBJE\n2 FILE http://example.org/ann.png", ""),
    ],
)
def test_a_photo_is_one_that_can_be_shown(said, url):
    tree = tree_of(f"0 HEAD\n0 @I1@ INDI\n{said}\n0 @O1@ OBJE\n1 FILE https://example.org/shared.jpg\n0 TRLR")
    assert tree.persons[0].photo_url == url
    assert f"0 @I1@ INDI\n{said}\n0 @O1@ OBJE\n" in written(tree)


@pytest.mark.parametrize(("version", "form"), [(Version.V5, "png"), (Version.V7, "image/png")])
def test_a_new_photo_has_a_record(version, form):
    tree = GedTree(persons=(GedPerson("I1", photo_url="https://example.org/ann.png"),))
    content = written(tree, version)
    assert "0 @I1@ INDI\n1 OBJE @O1@\n" in content
    assert f"0 @O1@ OBJE\n1 FILE https://example.org/ann.png\n2 FORM {form}\n" in content
    assert tree_of(content).persons[0].photo_url == "https://example.org/ann.png"


def family_of(*said: str, child: str = "") -> GedTree:
    people = ["0 @I1@ INDI", "0 @I2@ INDI", "0 @I3@ INDI", "1 FAMC @F1@", child]
    return tree_of("\n".join(["0 HEAD", *people, "0 @F1@ FAM", *said, "0 TRLR"]))


@pytest.mark.parametrize(
    ("said", "child", "kinds"),
    [
        ("1 CHIL @I3@", "", (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@", "2 PEDI birth", (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@", "2 PEDI adopted", (Pedigree.ADOPTIVE, Pedigree.ADOPTIVE)),
        ("1 CHIL @I3@", "2 PEDI FOSTER", (Pedigree.FOSTER, Pedigree.FOSTER)),
        ("1 CHIL @I3@", "2 PEDI sealing", (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@\n2 _FREL Step\n2 _MREL Natural", "", (Pedigree.STEP, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@\n2 _FREL Natural", "2 PEDI adopted", (Pedigree.BIOLOGICAL, Pedigree.ADOPTIVE)),
        ("1 CHIL @I3@\n2 NOTE x", "2 PEDI adopted\n2 NOTE y", (Pedigree.ADOPTIVE, Pedigree.ADOPTIVE)),
    ],
)
def test_a_child_is_to_each_partner_what_its_links_say(said, child, kinds):
    tree = family_of("1 HUSB @I1@", "1 WIFE @I2@", said, child=child)
    notes = ("y", "y") if "NOTE" in child else ("", "")
    assert tree.families[0].children == (GedChild("I3", *kinds, "", "", *notes),)
    for version in Version:
        content = written(tree, version)
        assert tree_of(content) == tree
        assert said in content
        assert child.casefold() in content.casefold()


def test_what_a_child_is_can_be_changed_and_notes_on_it_stay():
    tree = family_of("1 HUSB @I1@", "1 CHIL @I3@\n2 NOTE x", child="2 PEDI adopted\n2 NOTE y")
    step = replace(tree.families[0].children[0], husband_pedigree=Pedigree.STEP, wife_pedigree=Pedigree.STEP)
    content = written(replace(tree, families=(replace(tree.families[0], children=(step,)),)))
    assert "1 CHIL @I3@\n2 _FREL Step\n2 _MREL Step\n2 NOTE x\n" in content
    assert "1 FAMC @F1@\n2 NOTE y\n" in content


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ([], Status.UNKNOWN),
        (["1 MARR Y"], Status.MARRIED),
        (["1 MARR", "2 DATE 1900", "1 DIV N"], Status.MARRIED),
        (["1 MARR", "2 DATE 1900", "1 DIV Y"], Status.DIVORCED),
        (["1 DIV", "2 DATE 1910", "2 PLAC Reno"], Status.DIVORCED),
        (["1 MARR Y", "1 EVEN", "2 TYPE Separation"], Status.SEPARATED),
        (["1 MARR Y", "1 _STAT WIDOWED"], Status.WIDOWED),
        (["1 _STAT Partners", "1 MARR Y"], Status.MARRIED),
        (["1 MARR N", "2 DATE 1900"], Status.UNKNOWN),
    ],
)
def test_a_couple_is_what_its_events_say(said, status):
    tree = family_of("1 HUSB @I1@", "1 WIFE @I2@", *said)
    assert tree.families[0].status is status
    assert "\n".join(["1 CHIL @I3@", *said, "0 TRLR"]) in written(tree)


def test_two_husbands_are_a_couple_and_a_third_is_refused():
    tree = family_of("1 HUSB @I1@", "1 HUSB @I2@", "2 AGE 30y")
    assert (tree.families[0].husband, tree.families[0].wife) == ("I1", "I2")
    assert "1 HUSB @I1@\n1 WIFE @I2@\n2 AGE 30y\n" in written(tree)
    reason = "The partner is there already, or two others are."
    content = "0 HEAD\n0 @A@ INDI\n0 @B@ INDI\n0 @C@ INDI\n0 @F@ FAM\n1 HUSB @A@\n1 WIFE @B@\n1 WIFE @C@\n0 TRLR"
    assert report_of(content).refused == [Remark(8, "WIFE", reason, "@C@")]


def test_a_link_that_only_a_person_has_counts():
    content = "0 HEAD\n0 @I1@ INDI\n1 FAMS @F1@\n0 @I2@ INDI\n1 FAMC @F1@\n0 @F1@ FAM\n0 TRLR"
    assert tree_of(content).families == (GedFamily("F1", husband="I1", children=(GedChild("I2"),)),)
    assert [(remark.line, remark.tag) for remark in report_of(content).repaired] == [(3, "FAMS"), (5, "FAMC")]


def test_what_is_said_of_partners_is_kept_whoever_comes_first():
    tree = family_of("1 WIFE @I2@", "2 AGE 20", "1 HUSB @I1@", "2 AGE 30")
    assert tree.families[0].kept == "1 HUSB @I1@\n2 AGE 30\n1 WIFE @I2@\n2 AGE 20"
    assert tree_of(written(tree)) == tree


def test_families_of_a_person_stay_in_their_order():
    content = "0 HEAD\n0 @I1@ INDI\n1 FAMS @F2@\n1 FAMS @F1@\n0 @F1@ FAM\n1 HUSB @I1@\n0 @F2@ FAM\n1 HUSB @I1@\n0 TRLR"
    tree = tree_of(content)
    assert "0 @I1@ INDI\n1 FAMS @F2@\n1 FAMS @F1@\n" in written(tree)
    assert "0 @I1@ INDI\n1 FAMS @F1@\n0 @F1@" in written(replace(tree, families=tree.families[:1]))


@both_versions
def test_a_partner_who_is_void_stays(version):
    tree = family_of("1 HUSB @VOID@", "2 PHRASE not known", "1 WIFE @I2@")
    assert (tree.families[0].husband, tree.families[0].wife) == ("", "I2")
    assert "1 HUSB @VOID@\n2 PHRASE not known\n" in written(tree, version)


def test_records_that_share_an_xref_are_told_apart():
    content = "0 HEAD\n0 @I1@ INDI\n1 NAME Ann\n0 @I1@ INDI\n1 NAME Bob\n0 INDI\n1 NAME Cal\n0 TRLR"
    assert [(person.xref, person.first_name) for person in tree_of(content).persons] == [
        ("I1", "Ann"),
        ("X1", "Bob"),
        ("X2", "Cal"),
    ]
    assert report_of(content).repaired == [
        Remark(4, "INDI", "@I1@ is there already: it is @X1@ now."),
        Remark(6, "INDI", "The record has no xref: it is @X2@ now."),
    ]


def test_xrefs_that_a_version_does_not_allow_are_made_anew():
    tree = GedTree(
        persons=(GedPerson("a b", kept="1 ASSO @I1@"), GedPerson("I1", kept="1 ASSO @a b@"), GedPerson("x-1")),
        families=(GedFamily("f@", husband="a b", wife="I1"),),
    )
    assert "\n0 @I2@ INDI\n1 ASSO @I1@\n1 FAMS @F1@\n0 @I1@ INDI\n1 ASSO @I2@\n1 FAMS @F1@\n" in written(tree)
    assert "\n0 @x-1@ INDI\n0 @F1@ FAM\n1 HUSB @I2@\n1 WIFE @I1@\n" in written(tree)
    assert "\n0 @I3@ INDI\n" in written(tree, Version.V7)


def test_an_empty_tree_is_a_file():
    assert written(GedTree(), Version.V5) == (
        "0 HEAD\n1 GEDC\n2 VERS 5.5.1\n2 FORM LINEAGE-LINKED\n1 CHAR UTF-8\n1 SOUR HEARTWOOD\n"
        "1 SUBM @HEARTWOOD@\n0 @HEARTWOOD@ SUBM\n1 NAME Heartwood\n0 TRLR\n"
    )
    assert written(GedTree(), Version.V7) == (
        "0 HEAD\n1 GEDC\n2 VERS 7.0\n1 SOUR HEARTWOOD\n1 SUBM @HEARTWOOD@\n"
        "0 @HEARTWOOD@ SUBM\n1 NAME Heartwood\n0 TRLR\n"
    )
    assert tree_of(written(GedTree())) == GedTree()


def test_long_lines_are_folded_in_5_5_1_beside_no_space():
    text = "word " * 200 + "word\n" + "x" * 600 + " " * 400 + "@" * 300
    found = written_person(GedPerson("I1", notes=(text,)))
    assert max(map(len, found)) <= 255
    assert [line for line in found if "word" in line and (line != line.strip() or "CONC  " in line)] == []
    assert tree_of(written(GedTree(persons=(GedPerson("I1", notes=(text,)),)))).persons[0].biography == text


def test_lines_are_not_folded_in_7_0():
    text = "word " * 200
    assert f"1 NOTE {text}\n" in written(GedTree(persons=(GedPerson("I1", notes=(text,)),)), Version.V7)


@both_versions
def test_what_a_user_typed_cannot_add_lines(version):
    text = "a\r\n0 @I9@ INDI\r1 NAME x\x00\x1b\ud800\n@I1@\n@@"
    tree = tree_of(written(GedTree(persons=(GedPerson("I1", last_name=text, notes=(text,)),)), version))
    assert [person.xref for person in tree.persons] == ["I1"]
    assert tree.persons[0].biography == "a\n0 @I9@ INDI\n1 NAME x\n@I1@\n@@"


def test_a_fingerprint_is_of_what_a_file_tells():
    tree = tree_of(BACH)
    same = [
        tree_of(BACH.encode("utf-16")),
        tree_of(BACH.replace("\n", "\r\n")),
        tree_of(written(tree, Version.V7)),
        replace(tree, persons=tree.persons[::-1], header="1 SOUR OTHER"),
    ]
    other = [tree_of(BACH.replace("1750", "1751")), tree_of(BACH.replace("PAGE 12", "PAGE 13"))]
    assert {fingerprint(each) for each in same} == {fingerprint(tree)}
    assert fingerprint(tree) not in {fingerprint(each) for each in other}


def test_a_fingerprint_does_not_tell_composed_letters_from_others():
    assert fingerprint(tree_of(BACH.replace("Eisenach", "Ko\u0308ln"))) == fingerprint(
        tree_of(BACH.replace("Eisenach", "Köln"))
    )


def test_a_fingerprint_does_not_tell_spellings_of_a_date_from_each_other():
    spelt = tree_of(BACH.replace("28 JUL 1750", "28 July 1750").replace("17 OCT 1707", "17 oct 1707"))
    assert fingerprint(spelt) == fingerprint(tree_of(BACH))


@pytest.mark.parametrize(
    ("said", "in_5", "in_7"),
    [
        ("INT 1800 (about)", "2 DATE INT 1800 (about)", "2 DATE 1800\n3 PHRASE about"),
        ("(in winter)", "2 DATE (in winter)", "2 DATE\n3 PHRASE in winter"),
        ("11 FEB 1731/32", "2 DATE 11 FEB 1731/32", "2 DATE 11 FEB 1732\n3 PHRASE 11 FEB 1731/32"),
        ("44 B.C.", "2 DATE 44 B.C.", "2 DATE 44 BCE"),
        ("BET 1900 AND 1902", "2 DATE BET 1900 AND 1902", "2 DATE BET 1900 AND 1902"),
    ],
)
def test_a_date_with_words_is_written_as_the_version_has_it(said, in_5, in_7):
    tree = tree_of(BACH.replace("28 JUL 1750", said))
    for version, expected in ((Version.V5, in_5), (Version.V7, in_7)):
        content = written(tree, version)
        assert f"1 DEAT\n{expected}\n" in content
        assert tree_of(content).persons == tree.persons


def test_a_phrase_on_dates_that_5_5_1_has_no_words_for_stays_below_them():
    tree = person_of("1 BIRT", "2 DATE BET 1900 AND 1902", "3 PHRASE or so")
    assert (tree.birth_date, tree.kept) == ("BET 1900 AND 1902", "1 BIRT\n2 DATE\n3 PHRASE or so")


def test_a_note_that_is_pointed_to_again_and_again_is_told_once():
    tree = tree_of(
        "\n".join(["0 HEAD", "0 @I1@ INDI", *["1 NOTE @N@"] * 3, "1 NOTE own", "0 @N@ NOTE shared", "0 TRLR"])
    )
    assert tree.persons[0].notes == ("shared", "own")
    assert written(tree).count("1 NOTE @N@") == 3


def test_a_biography_has_an_end_and_what_is_behind_it_is_written_again():
    long = "x" * 30_000
    tree = tree_of("\n".join(["0 HEAD", "0 @I1@ INDI", f"1 NOTE {long}", f"1 NOTE {long}", "0 TRLR"]))
    assert tree.persons[0].biography == f"{long}\n\n{long[:19_998]}"
    stored = replace(tree, persons=(replace(tree.persons[0], notes=(tree.persons[0].biography,)),))
    assert tree_of(written(stored)) == tree


@pytest.mark.parametrize(
    ("said", "line", "tag"),
    [
        (["1 NAME " + "x" * 700], 3, "NAME"),
        (["1 NAME Ann", "2 GIVN " + "x" * 201], 4, "GIVN"),
        (["1 BIRT", "2 PLAC " + "x" * 301], 4, "PLAC"),
        (["1 DEAT", "2 DATE " + "x" * 241], 4, "DATE"),
    ],
)
def test_what_is_too_long_for_a_field_is_told_and_kept(said, line, tag):
    content = "\n".join(["0 HEAD", "0 @I1@ INDI", *said, "0 TRLR"])
    tree = tree_of(content)
    person = tree.persons[0]
    assert (person.birth_place, person.death_date) == ("", "")
    assert max(map(len, (person.first_name, person.last_name))) < 200
    assert [(remark.line, remark.tag) for remark in report_of(content).repaired] == [(line, tag)]
    assert tree_of(written(tree)) == tree


ADOPTED = "2 PEDI adopted\n1 ADOP\n2 DATE 5 MAY 1900\n2 FAMC @F1@"


@pytest.mark.parametrize(
    ("event", "dates"),
    [
        ("", ("5 MAY 1900", "5 MAY 1900")),
        ("3 ADOP BOTH", ("5 MAY 1900", "5 MAY 1900")),
        ("3 ADOP HUSB", ("5 MAY 1900", "")),
        ("3 ADOP WIFE", ("", "5 MAY 1900")),
        ("3 ADOP HUSB\n1 ADOP\n2 DATE 1901\n2 FAMC @F1@\n3 ADOP WIFE", ("5 MAY 1900", "1901")),
        ("1 ADOP\n2 DATE 1901\n2 FAMC @F1@", ("", "")),
    ],
)
def test_an_adoption_has_a_date_where_it_is_clear_whose(event, dates):
    tree = family_of("1 HUSB @I1@", "1 WIFE @I2@", "1 CHIL @I3@", child="\n".join(filter(None, [ADOPTED, event])))
    (child,) = tree.families[0].children
    assert (child.husband_adoption_date, child.wife_adoption_date) == dates
    for version in Version:
        content = written(tree, version)
        assert tree_of(content) == tree
        assert content.count("5 MAY 1900") == 1


def test_an_adoption_of_no_adopted_child_is_kept_as_it_is():
    tree = family_of("1 HUSB @I1@", "1 CHIL @I3@", child="1 ADOP\n2 DATE 1900\n2 FAMC @F1@")
    assert tree.families[0].children == (GedChild("I3"),)
    assert tree.persons[2].kept == "1 ADOP\n2 DATE 1900\n2 FAMC @F1@"


def test_dates_of_adoptions_that_were_typed_are_written_as_events():
    child = GedChild("I3", Pedigree.ADOPTIVE, Pedigree.ADOPTIVE, "1900", "1901")
    family = GedFamily("F1", husband="I1", wife="I2", children=(child,))
    tree = GedTree(persons=(GedPerson("I1"), GedPerson("I2"), GedPerson("I3")), families=(family,))
    content = written(tree)
    assert "1 ADOP\n2 DATE 1900\n2 FAMC @F1@\n3 ADOP HUSB\n1 ADOP\n2 DATE 1901\n2 FAMC @F1@\n3 ADOP WIFE\n" in content
    assert tree_of(content).families == tree.families


@pytest.mark.parametrize(
    ("notes", "lines"),
    [
        (("both", "both"), "2 NOTE both"),
        (("his", ""), "2 NOTE his\n3 _PARENT HUSB"),
        (("his", "hers"), "2 NOTE his\n3 _PARENT HUSB\n2 NOTE hers\n3 _PARENT WIFE"),
    ],
)
def test_notes_on_parents_are_below_the_link_of_the_child(notes, lines):
    child = GedChild("I3", husband_notes=notes[0], wife_notes=notes[1])
    family = GedFamily("F1", husband="I1", wife="I2", children=(child,), notes="of the couple")
    tree = GedTree(persons=(GedPerson("I1"), GedPerson("I2"), GedPerson("I3")), families=(family,))
    content = written(tree)
    assert f"1 FAMC @F1@\n{lines}\n" in content
    assert "1 NOTE of the couple\n" in content
    assert tree_of(content).families == tree.families


@pytest.mark.parametrize("said", ["2 NOTE a\n2 NOTE b", "2 NOTE a\n3 SOUR x", "2 NOTE " + "x" * 2_001])
def test_notes_of_which_it_is_not_clear_what_they_are_about_are_kept(said):
    tree = family_of("1 HUSB @I1@", "1 CHIL @I3@", child=said)
    assert tree.families[0].children == (GedChild("I3"),)
    assert tree.persons[2].kept == f"1 FAMC @F1@\n{said}"
    assert tree_of(written(tree)) == tree


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.just("\n"))
record_tags = st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True).filter(lambda tag: tag not in ("CONT", "CONC"))
xrefs = st.from_regex(r"[A-Z0-9]{1,5}", fullmatch=True)
leaves = st.builds(Record, record_tags, value=texts) | st.builds(Record, record_tags, pointer=xrefs)
trees_of_records = st.recursive(
    leaves, lambda below: st.builds(Record, record_tags, texts, children=st.lists(below, max_size=4).map(tuple))
)


@both_versions
@unhurried
@given(some=st.lists(trees_of_records, max_size=3))
def test_records_are_read_as_they_were_written(version, some):
    header = Record("HEAD", children=(Record("GEDC", children=(Record("VERS", version),)),))
    said = [record for record in some if record.tag not in ("NOTE", "SNOTE", "DATE", "PEDI", "NAME", "HEAD")]
    content = b"".join(write_records([header, *said], version))
    assert records_of(content) == [header, *said]


@unhurried
@given(some=st.lists(trees_of_records, max_size=3))
def test_what_is_kept_is_read_as_it_was_written(some):
    assert kept_records(kept_text(some)) == tuple(some)


words = st.text(
    st.characters(categories=["L", "N", "M", "S"]) | st.sampled_from("@#&-'.\u2028"), min_size=1, max_size=6
)
phrases = st.lists(words, max_size=3).map(" ".join).map(str.strip)
names = phrases.map(lambda name: " ".join(name.replace("/", "").split()))


@st.composite
def typed_trees(draw: st.DrawFn) -> GedTree:
    """As users type them: nothing was kept, and there is a photo of nobody."""
    count = draw(st.integers(0, 4))
    persons = tuple(
        GedPerson(
            xref=f"I{number}",
            first_name=draw(names),
            middle_name=draw(names),
            last_name=draw(names),
            birth_name=draw(names),
            preferred_name=draw(names),
            suffix=draw(names),
            gender=draw(st.sampled_from(Gender)),
            birth_date=draw(names),
            death_place=draw(phrases),
            is_deceased=True,
            notes=draw(st.just(()) | st.tuples(texts.filter(bool))),
        )
        for number in range(count)
    )
    someone = st.sampled_from([person.xref for person in persons]) if persons else st.nothing()
    pedigrees = st.sampled_from(Pedigree)
    families = tuple(
        GedFamily(
            xref=f"F{number}",
            husband=draw(someone),
            children=tuple(
                GedChild(xref, draw(pedigrees), draw(pedigrees)) for xref in draw(st.lists(someone, unique=True))
            ),
            marriage_date=draw(names),
            marriage_place=draw(phrases),
            divorce_date=draw(names),
            status=draw(st.sampled_from(Status)),
        )
        for number in range(draw(st.integers(0, 3)) if persons else 0)
    )
    return GedTree(persons, families)


@both_versions
@unhurried
@given(tree=typed_trees())
def test_what_users_typed_is_read_as_it_was_written(version, tree):
    again, told = read_tree(io.BytesIO(b"".join(write_tree(tree, version))))
    assert again == tree
    assert (told.refused, told.repaired) == ([], [])


PERSON_TAGS = ["NAME", "SEX", "BIRT", "DEAT", "BURI", "NOTE", "OBJE", "SOUR", "FAMS", "FAMC", "CONT", "CONC"]
FAMILY_TAGS = ["HUSB", "WIFE", "CHIL", "MARR", "DIV", "EVEN", "_STAT", "NOTE"]
DETAIL_TAGS = ["DATE", "PLAC", "TYPE", "GIVN", "SURN", "NICK", "NPFX", "PEDI", "_FREL", "_MREL", "FILE", "CONT", "AGE"]
VALUES = ["", "Y", "N", "M", "Ann /Lee/", '/Lee/ Ann "A" Jr.', "Ann", "maiden", "adopted", "Step", "WIDOWED", "1900"]
VALUES += ["@#DJULIAN@ 1700", "https://example.org/a.png", "x@@y", "@@z", " x ", "@VOID@", "@N1@", "@O1@", "Separation"]
POINTERS = ["@I1@", "@I2@", "@F1@", "@F2@", "@X9@"]


def said_of(tags: list[str]) -> st.SearchStrategy[str]:
    line = st.builds("{} {} {}".format, st.just(1), st.sampled_from(tags), st.sampled_from(VALUES + POINTERS))
    detail = st.builds("{} {} {}".format, st.integers(2, 3), st.sampled_from(DETAIL_TAGS), st.sampled_from(VALUES))
    return st.lists(st.lists(detail, max_size=2).flatmap(lambda below: line.map(lambda own: [own, *below]))).map(
        lambda blocks: "\n".join(line for block in blocks for line in block)
    )


@unhurried
@given(st.tuples(said_of(PERSON_TAGS), said_of(PERSON_TAGS), said_of(FAMILY_TAGS), said_of(FAMILY_TAGS), texts))
def test_whatever_a_file_says_is_read_again_as_it_was_written(said):
    starts = ("0 @I1@ INDI", "0 @I2@ INDI", "0 @F1@ FAM", "0 @F2@ FAM", "0 @N1@ NOTE shared")
    shared = "0 @O1@ OBJE\n1 FILE https://example.org/b.png"
    content = "\n".join(["0 HEAD", *(part for pair in zip(starts, said, strict=True) for part in pair), shared])
    tree = tree_of(content)
    for version in Version:
        again, told = read_tree(io.BytesIO(b"".join(write_tree(tree, version))))
        assert again == tree
        assert told.refused == []


@pytest.mark.parametrize(
    ("death", "told"),
    [
        ("1 DEAT Y", True),
        ("1 DEAT", False),
        ("1 DEAT N", False),
        ("1 DEAT\n2 DATE LIVING", False),
        ("1 DEAT\n2 DATE 1950", True),
        ("1 DEAT\n2 DATE BEF 1950", True),
        ("1 DEAT\n2 PLAC Rome", True),
        ("1 DEAT\n2 CAUS fever", True),
        ("1 DEAT\n2 NOTE nobody knows", False),
        ("1 BURI\n2 PLAC Rome", True),
    ],
)
def test_somebody_has_died_where_the_file_says_so(death, told):
    file = f"0 HEAD\n0 @I1@ INDI\n1 NAME Ada\n{death}\n0 TRLR\n"

    tree, _ = read_tree(io.BytesIO(file.encode()))

    assert tree.persons[0].is_deceased is told
    again, _ = read_tree(io.BytesIO(b"".join(write_tree(tree))))
    assert again.persons == tree.persons
