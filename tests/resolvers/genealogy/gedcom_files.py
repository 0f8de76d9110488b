"""A GEDCOM file with all kinds of records, and helpers to import, export and compare trees."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.genealogy import Marriage, Parentage, Person, Tree
from loaders.viewer import ANONYMOUS
from tests.resolvers.genealogy.commands import a_tree, stored
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of

IMPORT = mutation(
    "importGedcom",
    """tree { personCount rootPerson { firstName } } report {
        version encoding lineCount personCount familyCount otherRecordCount mappedCount keptCount refusedCount
        repairedCount refused { line tag reason } repaired { line tag reason } }""",
)
EXPORT = "query ($id: ID!, $version: GedcomVersion!) { exportGedcom(treeId: $id, version: $version) }"
VERSIONS = ["V5_5_1", "V7_0"]
both_versions = pytest.mark.parametrize("version", VERSIONS)
FILE = """\
0 HEAD
1 SOUR Stammbaum
2 VERS 3.1
1 SUBM @U1@
1 GEDC
2 VERS 5.5.1
2 FORM LINEAGE-LINKED
1 CHAR UTF-8
1 NOTE Aus dem Dachboden.
0 @U1@ SUBM
1 NAME Änne Müller
0 @I1@ INDI
1 NAME Johann Sebastian /Bach/
2 SOUR @S1@
3 PAGE 12
1 SEX M
1 BIRT
2 DATE @#DJULIAN@ 21 MAR 1685
2 PLAC Eisenach
2 SOUR @S1@
1 DEAT
2 DATE 28 JUL 1750
2 PLAC Leipzig
1 OCCU Kantor
2 DATE FROM 1723 TO 1750
1 NOTE Er schrieb viel.
2 CONT Sehr viel.
1 _UID 0815-ÄÖÜ
1 FAMS @F1@
1 FAMS @F2@
0 @I2@ INDI
1 NAME Maria Barbara /Bach/
1 SEX F
1 DEAT Y
1 FAMS @F1@
0 @I3@ INDI
1 NAME Anna Magdalena /Wilcke/
1 SEX F
1 BIRT
2 DATE ABT 1701
1 FAMS @F2@
0 @I4@ INDI
1 NAME Wilhelm Friedemann /Bach/
1 SEX M
1 BIRT
2 DATE 22 NOV 1710
1 FAMC @F1@
0 @I5@ INDI
1 NAME Johann Christian /Bach/
1 SEX M
1 FAMC @F2@
2 PEDI adopted
1 EVEN Reise
2 TYPE Travel
2 _WEG nach London
0 @F1@ FAM
1 HUSB @I1@
1 WIFE @I2@
1 CHIL @I4@
1 MARR
2 DATE 17 OCT 1707
2 PLAC Dornheim
2 SOUR @S1@
1 _STAT Ended
0 @F2@ FAM
1 HUSB @I1@
1 WIFE @I3@
1 CHIL @I5@
1 DIV Y
0 @S1@ SOUR
1 TITL Kirchenbuch von Örtlich
1 REPO @R1@
0 @R1@ REPO
1 NAME Das Archiv
0 TRLR
"""


async def import_text(graph: Graph, user: User, tree: Tree, text: str = FILE, **given: Any) -> dict[str, Any]:
    return await graph.command(IMPORT, viewer_of(user), treeId=id_of(tree), content=text, **given)


async def imported(graph: Graph, kindred: Kindred, text: str = FILE) -> tuple[User, Tree, dict[str, Person]]:
    """Returns an owner, a tree with the file imported, and the people by name."""
    owner, tree = await a_tree(kindred)
    payload = await import_text(graph, owner, tree, text)
    assert payload["problems"] == []
    return owner, tree, await by_name(graph, tree)


async def by_name(graph: Graph, tree: Tree) -> dict[str, Person]:
    page = await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=1_000)
    return {name_of(person): person for person in page.records if person.deleted_at is None}


def name_of(person: Person) -> str:
    return " ".join(filter(None, (person.first_name, person.middle_name)))


async def export(graph: Graph, user: User | None, tree: Tree, version: str = "V5_5_1") -> str:
    viewer = viewer_of(user) if user else ANONYMOUS
    text: str = (await graph.ask(EXPORT, viewer, id=id_of(tree), version=version)).data["exportGedcom"]
    return text


async def family_in(graph: Graph, tree: Tree) -> dict[str, Any]:
    """Returns all details of people and links by name, so that trees can be compared."""
    page = await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=1_000)
    full = [await stored(graph, person) for person in page.records]
    names = {person.person_id: name_of(person) for person in full}
    links = await graph.table.query(Parentage.of_tree(tree_id=tree.tree_id), limit=1_000)
    couples = await graph.table.query(Marriage.of_tree(tree_id=tree.tree_id), limit=1_000)
    return {
        "people": {names[person.person_id]: [getattr(person, name) for name in PERSON_FIELDS] for person in full},
        "parents": {
            (names[link.parent_id], names[link.child_id]): (link.kind, link.adoption_date, link.notes)
            for link in links.records
        },
        "couples": {
            frozenset((names[link.person1_id], names[link.person2_id])): [getattr(link, name) for name in COUPLE_FIELDS]
            for link in couples.records
        },
        "knows": {
            names[person.person_id]: (sorted(names[each] for each in person.parent_ids), person.biological_parents)
            for person in full
        },
    }


PERSON_FIELDS = ["first_name", "middle_name", "last_name", "birth_name", "preferred_name", "suffix", "gender"]
PERSON_FIELDS += ["birth_date", "birth_place", "death_date", "death_place", "is_deceased", "biography", "photo_url"]
COUPLE_FIELDS = ["status", "marriage_date", "marriage_place", "divorce_date", "notes"]
IMPORTED_BEFORE = problem("TAKEN", "this file is already imported into this tree", "input", "content")


def many_people(number: int) -> str:
    """Returns a file with a line of descent, in which each person has a spouse."""
    lines = ["0 HEAD", "1 GEDC", "2 VERS 5.5.1"]
    for place in range(number):
        lines += [f"0 @I{place}@ INDI", f"1 NAME P{place} /Line/", f"1 NOTE Life of {place}."]
        lines += [f"0 @S{place}@ INDI", f"1 NAME S{place} /Spouse/"]
    for place in range(number):
        lines += [f"0 @F{place}@ FAM", f"1 HUSB @I{place}@", f"1 WIFE @S{place}@"]
        lines += [f"1 CHIL @I{place + 1}@"] if place + 1 < number else []
    return "\n".join([*lines, "0 TRLR", ""])
