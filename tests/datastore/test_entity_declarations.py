"""Declarations of entities that are rejected."""

import re

import pytest

from datastore.accounts import User
from datastore.model.entity import Entity, Value, field
from datastore.model.ownership import nobody
from datastore.model.patterns import gsi1, gsi3
from tests.datastore.things import OURS, thing

pytestmark = pytest.mark.usefixtures("things_registered")


def declare(pk, sk, name="TestDeclared"):
    holes = sorted(set(re.findall(r"\{(\w+)", pk + sk)))
    body = {hole: field("A hole.") for hole in holes}
    body |= {"__annotations__": dict.fromkeys(holes, str), "__doc__": "Declared by a test.", "__module__": __name__}
    return type(Entity)(name, (Entity,), body, pk=pk, sk=sk, owner=OURS)


def test_a_hole_must_be_a_field(registry):
    with pytest.raises(TypeError, match=r"^Astray's key TESTASTRAY#\{other_id\} has a hole other_id that is not a"):

        class Astray(Entity, pk="TESTASTRAY#{other_id}", sk="X", owner=OURS):
            """Its key needs a value that it does not have."""

            thing_id: str = field("Its id.")

    assert "Astray" not in registry


def test_a_hole_of_an_index_must_be_a_field(registry):
    with pytest.raises(TypeError, match=r"^Astray's key X#\{nonsense\} has a hole nonsense that is not a field$"):

        class Astray(Entity, pk="TESTASTRAY#{thing_id}", sk="X", owner=OURS):
            """Its index needs a value that it does not have."""

            astray = gsi3("Y", "X#{nonsense}")

            thing_id: str = field("Its id.")

    assert "Astray" not in registry


def test_two_patterns_may_not_share_an_index(registry):
    with pytest.raises(TypeError, match=r"^Twofold\.by_size is not alone in GSI1: each pattern needs an index$"):

        class Twofold(Entity, pk="TESTTWOFOLD#{thing_id}", sk="X", owner=OURS):
            """It has two positions in one index."""

            by_size = gsi1("TESTSIZE", "{thing_id}")
            by_color = gsi1("TESTCOLOR", "{thing_id}")

            thing_id: str = field("Its id.")

    assert "Twofold" not in registry


def test_a_field_does_not_hide_what_every_entity_has(registry):
    with pytest.raises(
        TypeError, match=r"^Hiding\.accounts: every entity has an attribute of this name; choose another"
    ):

        class Hiding(Entity, pk="TESTHIDING#{accounts}", sk="X", owner=nobody("a test")):
            """A record."""

            accounts: str = field("Names.")

    assert "Hiding" not in registry


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("TESTA#{a}", "METADATA"), ("TESTA#{b}", "METADATA")),
        (("TESTA#{a}", "METADATA"), ("TESTA#{b}", "{c}")),
        (("TESTA#{a}", "X"), ("{kind}#{b}", "X")),
        (("TESTA", "CONTENT#{a}#LATEST"), ("TESTA", "CONTENT#{a}#{version}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#{n}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#vv{n}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#v1")),
        (("TESTA", "SCORE#{score:>8}"), ("TESTA", "SCORE#{b}")),
        (("TESTA", "FIXED"), ("TESTA", "FIXED")),
    ],
    ids=lambda shape: " / ".join(shape),
)
def test_entities_may_not_share_a_key_shape(registry, one, other):
    declare(*one, name="TestFirst")
    with pytest.raises(TypeError) as refused:
        declare(*other, name="TestSecond")
    assert str(refused.value) == (
        f"TestSecond and TestFirst share a key shape: {other[0]} / {other[1]} could be {one[0]} / {one[1]}"
    )
    assert "TestSecond" not in registry


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("TESTA#{a}", "METADATA"), ("TESTB#{a}", "METADATA")),
        (("TESTA#{a}", "METADATA"), ("TESTA#{a}", "OTHER")),
        (("TESTA#{a}", "LIKE#{b}"), ("TESTA#{a}", "COMMENT#{b}")),
        (("TESTA", "CONTENT#{a}#LATEST"), ("TESTA", "CONTENT#{a}#v{n}")),
        (("TESTA", "PERSON#{a}"), ("TESTA", "PERSON#{a}#CHILD#{b}")),
        (("TESTA", "PERSON#{a}#SPOUSE#{b}"), ("TESTA", "PERSON#{a}#CHILD#{b}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#v")),
        (("TESTA", "V#v"), ("TESTA", "V#v{n}")),
        (("TESTA", "V#v{n}"), ("TESTA", "V#w{n}")),
        (("TESTA#{a}", "{b}"), ("TESTA#{a}#{b}", "{c}")),
        (("TESTAB#{a}", "X"), ("TESTA#{a}", "X")),
    ],
    ids=lambda shape: " / ".join(shape),
)
def test_entities_with_different_key_shapes_live_side_by_side(registry, one, other):
    first, second = declare(*one, name="TestFirst"), declare(*other, name="TestSecond")
    assert (registry["TestFirst"], registry["TestSecond"]) == (first, second)


def test_an_entity_needs_a_docstring(registry):
    with pytest.raises(
        TypeError, match=r"^Mute needs a docstring: it describes the type in the schema and in the docs"
    ):

        class Mute(Entity, pk="TESTMUTE#{thing_id}", sk="X", owner=OURS):
            thing_id: str = field("Its id.")


def test_a_docstring_of_several_lines_has_no_indentation():
    class Described(Value):
        """A value.

        It has two paragraphs.
        """

    assert Described.__doc__ == "A value.\n\nIt has two paragraphs."


def test_a_nested_value_needs_a_docstring():
    with pytest.raises(TypeError, match=r"^Mute needs a docstring"):

        class Mute(Value):
            name: str = field("Its name.")


@pytest.mark.parametrize("described", [{}, {"thing_id": field("")}], ids=["no field()", "empty description"])
def test_a_field_needs_a_description(registry, described):
    body = {"__annotations__": {"thing_id": str}, "__doc__": "x", "__module__": __name__, **described}
    with pytest.raises(TypeError, match=r"^Vague\.thing_id needs a description: use field\(\.\.\.\)$"):
        type(Entity)("Vague", (Entity,), body, pk="TESTVAGUE#{thing_id}", sk="X", owner=OURS)
    assert "Vague" not in registry


def test_a_name_is_given_once(registry):
    with pytest.raises(TypeError, match=r"^the entity User already exists in datastore\.accounts$"):
        declare("TESTUSER#{a}", "X", name="User")
    assert registry["User"] is User


@pytest.mark.parametrize("hint", [bytes, set[str], object, str | int], ids=str)
def test_a_field_of_a_type_that_cannot_be_stored_is_refused(registry, hint):
    body = {"__annotations__": {"thing_id": hint}, "__doc__": "x", "__module__": __name__, "thing_id": field("Its id.")}
    with pytest.raises(TypeError, match=f"^a stored field cannot be a {re.escape(str(hint))}$"):
        type(Entity)("Odd", (Entity,), body, pk="TESTODD", sk="X", owner=OURS)


def test_a_key_with_two_holes_side_by_side_is_refused(registry):
    """With `{a}{b}`, ab + c and a + bc would be the same key."""
    with pytest.raises(TypeError):
        declare("TESTSIDE", "{a}{b}")


@pytest.mark.parametrize("value", [{1, 2}, object()], ids=["set", "object"])
def test_what_is_not_json_cannot_be_stored_as_json(value):
    with pytest.raises(TypeError, match=r"cannot be stored in a DynamoDB item$"):
        thing(anything={"a": value}).encode()
