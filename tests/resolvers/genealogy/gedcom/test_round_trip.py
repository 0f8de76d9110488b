"""Round trips: imported and edited trees are written and read again unchanged."""

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedPerson, GedTree, Gender, Pedigree, Status
from resolvers.genealogy.gedcom.parser import kept_records
from resolvers.genealogy.gedcom.reader import read_tree
from resolvers.genealogy.gedcom.records import Record, Version
from resolvers.genealogy.gedcom.serializer import kept_text, write_records
from resolvers.genealogy.gedcom.writer import write_tree
from tests.support.gedcom import both_versions, names, phrases, records_of, tree_of, unhurried

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


@st.composite
def typed_trees(draw: st.DrawFn) -> GedTree:
    """Trees as users enter them: without preserved content and photos."""
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
@example(tree=GedTree(persons=(GedPerson("I1", birth_place="\ufffd"),)))
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
