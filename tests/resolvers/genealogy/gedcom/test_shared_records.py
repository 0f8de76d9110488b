"""Records that several others point to."""

from tests.support.gedcom import tree_of, written


def test_a_note_that_is_pointed_to_again_and_again_is_told_once():
    tree = tree_of(
        "\n".join(["0 HEAD", "0 @I1@ INDI", *["1 NOTE @N@"] * 3, "1 NOTE own", "0 @N@ NOTE shared", "0 TRLR"])
    )
    assert tree.persons[0].notes == ("shared", "own")
    assert written(tree).count("1 NOTE @N@") == 3
