"""Texts that are too long for a field: reported, and preserved."""

from dataclasses import replace

import pytest

from tests.support.gedcom import report_of, tree_of, written


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
