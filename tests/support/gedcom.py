"""GEDCOM text for tests, and helpers to read and write it."""

import io

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from resolvers.genealogy.gedcom.model import GedPerson, GedTree
from resolvers.genealogy.gedcom.parser import read_records
from resolvers.genealogy.gedcom.reader import read_tree
from resolvers.genealogy.gedcom.records import Record, Version
from resolvers.genealogy.gedcom.report import Report
from resolvers.genealogy.gedcom.writer import write_tree

both_versions = pytest.mark.parametrize("version", Version)


# Some examples are large files, and the machine may be slow.
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
    """Returns the lines below the only person of a file."""
    found = written(GedTree(persons=(person,))).split("\n0 ")
    return next(part for part in found if part.endswith(" INDI") or " INDI\n" in part).split("\n")[1:]


def family_of(*said: str, child: str = "") -> GedTree:
    people = ["0 @I1@ INDI", "0 @I2@ INDI", "0 @I3@ INDI", "1 FAMC @F1@", child]
    return tree_of("\n".join(["0 HEAD", *people, "0 @F1@ FAM", *said, "0 TRLR"]))


words = st.text(
    st.characters(categories=["L", "N", "M", "S"]) | st.sampled_from("@#&-'.\u2028"), min_size=1, max_size=6
)


phrases = st.lists(words, max_size=3).map(" ".join).map(str.strip)


names = phrases.map(lambda name: " ".join(name.replace("/", "").split()))
