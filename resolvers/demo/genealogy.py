"""Maya's family: five generations, with an adoption, a divorce and a second marriage."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from datastore.genealogy import (
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
from datastore.model.entity import Entity
from resolvers.demo.people import IDS, at, identifier

MALE, FEMALE, _, _ = Gender
TREE = identifier("TREE", 1)


class Relative(NamedTuple):
    """A person, with the numbers of their parents."""

    first: str
    last: str
    gender: Gender
    born: str | None
    died: str | None = None
    place: str | None = None
    birth_name: str | None = None
    biography: str | None = None
    parents: tuple[int, ...] = ()
    kind: ParentageKind = ParentageKind.BIOLOGICAL
    adopted: str | None = None


PEOPLE = (
    Relative("Anders", "Lindqvist", MALE, "1868-03-02", "1941-11", "Uppsala, Sweden",
             biography="Joiner. Said to have built every staircase of his street."),
    Relative("Ingrid", "Lindqvist", FEMALE, "ABT 1872", "BEF 1950", "Gävle, Sweden", birth_name="Holm"),
    Relative("Karl", "Lindqvist", MALE, "1899-06-21", "1969-01-30", "Uppsala, Sweden", parents=(0, 1)),
    Relative("Elsa", "Brandt", FEMALE, "1903", "1988-09-12", "Hamburg, Germany", birth_name="Brandt"),
    Relative("Maj", "Sund", FEMALE, "1908-05-01", "1991", "Falun, Sweden",
             biography="Karl's second wife, and the better cook."),
    Relative("Gösta", "Lindqvist", MALE, "1927-02-14", "2004-08-03", "Uppsala, Sweden", parents=(2, 3)),
    Relative("Birgit", "Lindqvist", FEMALE, "1936-12-24", "2015-04-07", "Falun, Sweden", parents=(2, 4)),
    Relative("Tomas", "Lindqvist", MALE, "1938", "1999-10-10", "Kiruna, Sweden", parents=(2, 4),
             kind=ParentageKind.ADOPTIVE, adopted="1941-06", biography="Came by train, with a label around his neck."),
    Relative("Ruth", "Lindqvist", FEMALE, "1931-07-07", "2010-02-02", "Malmö, Sweden", birth_name="Ek"),
    Relative("Henrik", "Lindqvist", MALE, "1958-01-19", None, "Uppsala, Sweden", parents=(5, 8)),
    Relative("Maya", "Lindqvist", FEMALE, "1987-09-30", None, "Uppsala, Sweden", parents=(9,)),
)  # fmt: skip

COUPLES = (
    (0, 1, MarriageStatus.WIDOWED, "1895", "Uppsala, Sweden", None),
    (2, 3, MarriageStatus.DIVORCED, "1925-08-15", "Hamburg, Germany", "1934"),
    (2, 4, MarriageStatus.WIDOWED, "1935-05-05", "Falun, Sweden", None),
    (5, 8, MarriageStatus.WIDOWED, "1955", None, None),
)


def genealogy() -> list[Entity]:
    owner = IDS["maya"]
    tree = Tree(
        user_id=owner,
        tree_id=TREE,
        name="The Lindqvists of Uppsala",
        description="Five generations of people who repaired things, and one who took them apart.",
        root_person_id=_person_id(10),
        is_public=True,
        person_count=len(PEOPLE),
    )
    share = TreeShare(shared_with_id=IDS["winnie"], tree_id=TREE, user_id=owner, role=TreeRole.EDITOR)
    return [at(29, tree), at(30, share), *_people(owner), *_couples(owner)]


def _person_id(number: int) -> str:
    return identifier("REL", number)


def _date(text: str | None) -> HistoricDate | None:
    return HistoricDate(text) if text else None


def _people(owner: str) -> Iterator[Entity]:
    own: dict[str, Any] = {"user_id": owner, "tree_id": TREE}
    for number, relative in enumerate(PEOPLE):
        person = Person(
            **own,
            person_id=_person_id(number),
            number=number + 1,
            first_name=relative.first,
            last_name=relative.last,
            birth_name=relative.birth_name,
            gender=relative.gender,
            birth_date=_date(relative.born),
            birth_place=relative.place,
            death_date=_date(relative.died),
            biography=relative.biography,
            parent_ids=[_person_id(parent) for parent in relative.parents],
            biological_parents=len(relative.parents) if relative.kind is ParentageKind.BIOLOGICAL else 0,
        )
        yield at(29, person)
        for parent in relative.parents:
            link = Parentage(
                **own,
                parent_id=_person_id(parent),
                child_id=_person_id(number),
                kind=relative.kind,
                adoption_date=_date(relative.adopted),
            )
            yield at(29, link)


def _couples(owner: str) -> Iterator[Entity]:
    for one, other, status, married, place, divorced in COUPLES:
        couple = Marriage(
            user_id=owner,
            tree_id=TREE,
            person1_id=_person_id(one),
            person2_id=_person_id(other),
            status=status,
            marriage_date=_date(married),
            marriage_place=place,
            divorce_date=_date(divorced),
        )
        yield at(29, couple)
