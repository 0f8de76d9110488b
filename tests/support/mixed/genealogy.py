"""Families in the mixed data: a public and a private tree, with living people and some damage."""

from random import Random
from typing import TYPE_CHECKING, Any

from datastore.accounts import User
from datastore.genealogy import (
    GedcomPart,
    Gender,
    Marriage,
    MarriageStatus,
    Parentage,
    ParentageKind,
    Person,
    Tree,
    TreeRole,
    TreeShare,
)
from datastore.model.dates import HistoricDate
from tests.support.social import minute

if TYPE_CHECKING:
    from tests.support.mixed.society import MixedSociety

DATES = ["1950-05-15", "ABT 1890", "BET 1700 AND 1701", "JULIAN 5 OCT 1700", "(before the war)", "44 BCE"]
FILES = ["0 HEAD\n1 GEDC\n2 VERS 7.0\n0 @I1@ INDI\n1 NAME Ada /New/\n0 TRLR\n", "", "nonsense", "0 HEAD\n0 TRLR"]


def add_kindred(made: "MixedSociety", people: list[User], random: Random) -> None:
    for number, (public, deleted) in enumerate(((True, False), (False, False), (True, True))):
        _tree(made, people[number], number, people[3:6], random, is_public=public, is_deleted=deleted)
    persons = made.of(Person)
    made.damaged(persons[7], gender={"S": "KING"})
    made.damaged(made.of(Parentage)[5], kind={"S": "DISTANT"})
    made.damaged(made.of(Marriage)[1], status=None)


def _tree(
    made: "MixedSociety",
    owner: User,
    number: int,
    friends: list[User],
    random: Random,
    *,
    is_public: bool,
    is_deleted: bool,
) -> None:
    own: dict[str, Any] = {"user_id": owner.user_id, "tree_id": f"tree{number}"}
    tree: Tree = made.add(
        Tree,
        **own,
        name=f"Tree {number}",
        is_public=is_public,
        root_person_id=f"kin{number}-00",
        deleted_at=minute(99) if is_deleted else None,
    )
    for friend, role in zip(friends, TreeRole, strict=False):
        made.add(TreeShare, shared_with_id=friend.user_id, tree_id=tree.tree_id, user_id=owner.user_id, role=role)
    for place in range(12):
        _person(made, own, tree, number, place, random)
    for one in (0, 2, 4):
        made.add(
            Marriage,
            **own,
            person1_id=f"kin{number}-{one:02d}",
            person2_id=f"kin{number}-{one + 1:02d}",
            status=[*MarriageStatus][one],
            marriage_date=HistoricDate("1890-05"),
            notes="In May.",
        )
    made.add(GedcomPart, **own, part_id="OTHER-x-00000", text='[{"header": ""}]')


def _person(made: "MixedSociety", own: dict[str, Any], tree: Tree, number: int, place: int, random: Random) -> None:
    """Two people per generation, children of the one before; the second tree has a cycle."""
    parents = [] if place < 2 else [place - place % 2 - 2, place - place % 2 - 1]
    if number == 1 and place == 0:
        parents = [3]
    person_id = f"kin{number}-{place:02d}"
    person: Person = made.add(
        Person,
        **own,
        person_id=person_id,
        number=place,
        first_name=f"Person {place}",
        last_name="Mixed" if place % 2 else None,
        gender=[*Gender][place % 4],
        birth_date=HistoricDate(str(1800 + 20 * place)) if place != 9 else None,
        death_date=HistoricDate("1950") if place < 5 else None,
        biography="x" * 2_000 if place == 2 else None,
        parent_ids=[f"kin{number}-{parent:02d}" for parent in parents],
        biological_parents=len(parents),
        deleted_at=minute(99) if place == 11 else None,
    )
    tree.person_count += person.deleted_at is None  # type: ignore[misc]
    for parent in parents:
        kind = random.choice([*ParentageKind, ParentageKind.BIOLOGICAL])
        parent_id = f"kin{number}-{parent:02d}"
        made.add(Parentage, **own, parent_id=parent_id, child_id=person_id, kind=kind, notes="So they say.")
