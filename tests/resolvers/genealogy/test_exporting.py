"""Exports of trees: imported, edited after the import, never imported, and as strangers see them."""

import asyncio
from collections import Counter
from threading import Event
from typing import Any

from datastore.accounts import User
from datastore.genealogy import Gender, Marriage, MarriageStatus, Parentage, ParentageKind, Tree
from loaders.needs import FEW
from loaders.threads import FILES
from tests.resolvers.genealogy.commands import (
    ADD,
    ADD_CHILD,
    CHANGE_MARRIAGE,
    DELETE,
    DIVORCE,
    LINK,
    MARRY,
    UNLINK,
    UPDATE,
    a_tree,
)
from tests.resolvers.genealogy.gedcom_files import (
    EXPORT,
    FILE,
    VERSIONS,
    both_versions,
    export,
    family_in,
    import_text,
    imported,
    many_people,
)
from tests.support.cards import do_all_jobs
from tests.support.gedcom import tree_of
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, viewer_of


async def comes_back(graph: Graph, kindred: Kindred, user: User, tree: Tree) -> dict[str, Any]:
    """Returns the tree that importing an export creates, the same for both versions and exported as the same text."""
    found = []
    for version in VERSIONS:
        text = await export(graph, user, tree, version)
        other = await kindred.tree(user)
        payload = await import_text(graph, user, other, text)
        assert (payload["problems"], payload["report"]["refused"], payload["report"]["repaired"]) == ([], [], [])
        assert await export(graph, user, other, version) == text
        found.append(await family_in(graph, other))
    assert found[0] == found[1]
    return found[0]


async def done(graph: Graph, user: User, command: str, **given: Any) -> dict[str, Any]:
    payload = await graph.command(command, viewer_of(user), **given)
    assert payload["problems"] == []
    return payload


async def link_between(graph: Graph, tree: Tree, parent_id: str, child_id: str) -> Parentage:
    key = Parentage.key(user_id=tree.user_id, parent_id=parent_id, child_id=child_id)
    link = await graph.table.get(key)
    assert link is not None
    return link


async def couple_of(graph: Graph, tree: Tree, *person_ids: str) -> Marriage:
    one, other = sorted(person_ids)
    couple = await graph.table.get(Marriage.key(user_id=tree.user_id, person1_id=one, person2_id=other))
    assert couple is not None
    return couple


async def test_a_changed_name_and_date_show_and_keep_their_sources(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    said = {"firstName": "Hans", "birthDate": "1684", "deathPlace": None, "biography": "Kurz."}
    await done(graph, owner, UPDATE, personId=id_of(people["Johann Sebastian"]), expectedVersion=1, **said)

    text = await export(graph, owner, tree)

    record = text[text.index("0 @I1@ INDI") : text.index("0 @I2@ INDI")]
    assert "1 NAME Hans Sebastian /Bach/\n" in record
    assert "1 BIRT\n2 DATE 1684\n2 PLAC Eisenach\n2 SOUR @S1@\n" in record
    assert "1 DEAT\n2 DATE 28 JUL 1750\n1" in record
    assert "1 NOTE Kurz.\n" in record
    assert "2 SOUR @S1@\n3 PAGE 12\n" in record
    for gone in ("Johann Sebastian", "1685", "Leipzig", "Er schrieb viel"):
        assert gone not in text
    assert await comes_back(graph, kindred, owner, tree) == await family_in(graph, tree)


async def test_a_new_child_joins_the_family_of_its_parents(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    parents = {"parentId": id_of(people["Johann Sebastian"]), "otherParentId": id_of(people["Maria Barbara"])}
    await done(graph, owner, ADD_CHILD, **parents, firstName="Catharina", lastName="Bach", gender="FEMALE")

    text = await export(graph, owner, tree)

    (family,) = [family for family in tree_of(text).families if family.xref == "F1"]
    assert len(tree_of(text).families) == 2
    assert len(family.children) == 2
    assert await comes_back(graph, kindred, owner, tree) == await family_in(graph, tree)


async def test_a_deleted_person_is_gone_before_the_jobs_and_after(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    await done(graph, owner, DELETE, personId=id_of(people["Maria Barbara"]))

    at_once = await export(graph, owner, tree)
    await do_all_jobs(graph)
    later = await export(graph, owner, tree)

    assert at_once == later
    assert "Maria" not in later
    assert "@I2@" not in later
    (family,) = [family for family in tree_of(later).families if family.xref == "F1"]
    assert (family.husband, family.wife, [child.xref for child in family.children]) == ("I1", "", ["I4"])
    assert await comes_back(graph, kindred, owner, tree) == await family_in(graph, tree)


async def test_of_a_family_of_which_everybody_was_deleted_nothing_is_left(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    for name in ("Johann Sebastian", "Maria Barbara", "Wilhelm Friedemann"):
        await done(graph, owner, DELETE, personId=id_of(people[name]))

    text = await export(graph, owner, tree)

    assert "0 @F1@ FAM" not in text
    assert "Dornheim" not in text


async def test_a_child_that_was_unlinked_from_one_parent_is_the_other_s(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    link = await link_between(graph, tree, people["Maria Barbara"].person_id, people["Wilhelm Friedemann"].person_id)
    await done(graph, owner, UNLINK, parentageId=id_of(link))

    found = await comes_back(graph, kindred, owner, tree)

    assert found == await family_in(graph, tree)
    assert [pair for pair in found["parents"] if pair[1] == "Wilhelm Friedemann"] == [
        ("Johann Sebastian", "Wilhelm Friedemann")
    ]


async def test_a_couple_that_was_unlinked_is_none_even_if_they_have_children(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    couple = await couple_of(graph, tree, people["Anna Magdalena"].person_id, people["Johann Sebastian"].person_id)
    await done(graph, owner, DIVORCE, marriageId=id_of(couple))

    found = await comes_back(graph, kindred, owner, tree)

    assert found == await family_in(graph, tree)
    assert [*found["couples"]] == [frozenset(("Johann Sebastian", "Maria Barbara"))]


async def test_a_new_couple_and_what_was_changed_of_another_show(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    new = (await done(graph, owner, ADD, treeId=id_of(tree), firstName="Dorothea", gender="FEMALE"))["person"]["id"]
    said = {"status": "WIDOWED", "marriageDate": "1751", "marriagePlace": "Dresden", "notes": "Späte Liebe."}
    await done(graph, owner, MARRY, person1Id=new, person2Id=id_of(people["Wilhelm Friedemann"]), **said)
    old = await couple_of(graph, tree, people["Maria Barbara"].person_id, people["Johann Sebastian"].person_id)
    await done(graph, owner, CHANGE_MARRIAGE, marriageId=id_of(old), status="SEPARATED", marriageDate="1708")

    found = await comes_back(graph, kindred, owner, tree)

    assert found == await family_in(graph, tree)
    assert found["couples"][frozenset(("Dorothea", "Wilhelm Friedemann"))] == [
        MarriageStatus.WIDOWED,
        "1751",
        "Dresden",
        None,
        "Späte Liebe.",
    ]
    assert found["couples"][frozenset(("Johann Sebastian", "Maria Barbara"))][:2] == [MarriageStatus.SEPARATED, "1708"]


async def test_another_kind_of_parent_shows(graph, kindred):
    owner, tree, people = await imported(graph, kindred)
    given = {"kind": "FOSTER", "notes": "In London.", "ignoreWarnings": True}
    await done(
        graph,
        owner,
        LINK,
        parentId=id_of(people["Wilhelm Friedemann"]),
        childId=id_of(people["Johann Christian"]),
        **given,
    )

    found = await comes_back(graph, kindred, owner, tree)

    assert found == await family_in(graph, tree)
    assert found["parents"]["Wilhelm Friedemann", "Johann Christian"] == (ParentageKind.FOSTER, None, "In London.")


async def never_imported(kindred: Kindred) -> tuple[User, Tree]:
    """People with all details, and links of every kind."""
    owner, tree = await a_tree(kindred)
    said = {"middle_name": "Maria", "last_name": "Berg", "birth_name": "Dahl", "preferred_name": "Mia"}
    said |= {
        "suffix": "II",
        "birth_date": "JULIAN 5 OCT 1700",
        "birth_place": "Lund",
        "death_date": "BET 1750 AND 1752",
    }
    said |= {"death_place": "Malmö", "is_deceased": True, "photo_url": "https://example.org/mia.jpg"}
    mother = await kindred.person(tree, "Anna", **said, gender=Gender.FEMALE, biography="One line.\n\nAnd another.")
    father = await kindred.person(tree, "Bert", gender=Gender.MALE, birth_date="44 BCE", biography=None)
    other = await kindred.person(tree, "Cleo", gender=Gender.OTHER, birth_date="(in winter)")
    nobody = await kindred.person(tree, "?", birth_date=None)
    child = await kindred.person(tree, "Dora", mother, father, birth_date="AFT 1720")
    adopted = {"adoption_date": "1725-05", "notes": "By the court."}
    await kindred.parent(tree, other, child, ParentageKind.ADOPTIVE, **adopted)
    await kindred.parent(tree, nobody, child, ParentageKind.FOSTER)
    alone = await kindred.person(tree, "Egon", mother)
    await kindred.parent(tree, father, alone, ParentageKind.STEP, notes="Kind.")
    await kindred.person(tree, "Fanny", mother)
    await kindred.married(tree, other, nobody, status=MarriageStatus.PARTNERS)
    for number, status in enumerate(MarriageStatus):
        one, two = await kindred.person(tree, f"G{number}"), await kindred.person(tree, f"H{number}")
        await kindred.married(tree, one, two, status=status, notes=f"As {status.name}." if number % 2 else None)
    wed = {"marriage_date": "BEF 1720", "marriage_place": "Lund", "divorce_date": "1730"}
    await kindred.married(tree, mother, father, status=MarriageStatus.DIVORCED, **wed)
    return owner, tree


async def test_a_tree_that_was_never_imported_comes_back_as_it_is(graph, kindred):
    owner, tree = await never_imported(kindred)

    assert await comes_back(graph, kindred, owner, tree) == await family_in(graph, tree)


@both_versions
async def test_an_empty_tree_is_a_file_without_people(graph, kindred, version):
    owner, tree = await a_tree(kindred)

    text = await export(graph, owner, tree, version)

    assert text.startswith("0 HEAD\n")
    assert text.endswith("0 TRLR\n")
    assert tree_of(text).persons == ()


@both_versions
async def test_to_strangers_nothing_is_told_that_a_file_said_besides(graph, kindred, version):
    """Preserved content may be about people who are living."""
    owner, tree = await a_tree(kindred, public=True)
    secret = FILE
    for word in ("Kirchenbuch von Örtlich", "Das Archiv", "Aus dem Dachboden.", "Änne Müller", "Kantor", "Reise"):
        secret = secret.replace(word, f"Zanzibar {word}")
    secret = secret.replace("1 _STAT Ended", "1 _STAT Zanzibar").replace("PAGE 12", "PAGE Zanzibar")
    await import_text(graph, owner, tree, secret)

    ours = await export(graph, owner, tree, version)
    theirs = await export(graph, None, tree, version)

    assert ours.count("Zanzibar") == 8
    assert "Zanzibar" not in theirs
    # All details of the dead; not even a name of people who may be living.
    assert "Er schrieb viel." in theirs
    assert "Dornheim" in theirs
    assert [person.first_name for person in tree_of(theirs).persons].count("Living") == 1
    assert "Christian" not in theirs
    # There are no pointers to missing records.
    found = tree_of(theirs)
    assert found.others == ()
    assert "@S1@" not in theirs


async def test_an_export_reads_the_tree_once_and_its_people_by_key(graph, kindred):
    owner, tree, _ = await imported(graph, kindred)
    query = """query ($id: ID!) { one: exportGedcom(treeId: $id) two: exportGedcom(treeId: $id)
        five: exportGedcom(treeId: $id, version: V5_5_1) }"""

    asked = await graph.ask(query, viewer_of(owner), id=id_of(tree))

    assert asked.data["one"] == asked.data["two"]
    # The tree, its visibility rule, and the people with long texts; then the tree's page and the preserved content.
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 2, "Query": 2}


async def test_preserved_content_is_exported(graph, kindred):
    owner, tree, _ = await imported(graph, kindred)

    text = await export(graph, owner, tree)

    # Names are also written in parts.
    added = Counter(text.splitlines()) - Counter(FILE.splitlines())
    assert Counter(FILE.splitlines()) - Counter(text.splitlines()) == {}
    assert {line.split()[1] for line in added} == {"GIVN", "SURN"}
    assert "2 _WEG nach London" in await export(graph, owner, tree, "V7_0")


@both_versions
async def test_an_export_is_imported_and_exported_as_the_same_text(graph, kindred, version):
    owner, tree, _ = await imported(graph, kindred)
    second, third = await kindred.tree(owner), await kindred.tree(owner)

    text = await export(graph, owner, tree, version)
    payload = await import_text(graph, owner, second, text)
    await import_text(graph, owner, third, await export(graph, owner, second, "V7_0"))

    assert (payload["report"]["refused"], payload["report"]["repaired"]) == ([], [])
    assert await export(graph, owner, second, version) == text
    assert await export(graph, owner, third, version) == text
    assert await family_in(graph, second) == await family_in(graph, third) == await family_in(graph, tree)


async def test_an_export_waits_for_its_turn_while_other_queries_are_answered(graph, kindred):
    owner, tree, _ = await imported(graph, kindred, many_people(FEW // 2))
    alone = await export(graph, owner, tree)
    other_file = Event()
    reading = asyncio.create_task(FILES.run(lambda: other_file.wait(60), seconds=60))

    waiting = asyncio.create_task(export(graph, owner, tree))
    for _ in range(20):
        assert (await graph.ask("{ __typename }")).data == {"__typename": "Query"}
    assert not waiting.done()
    other_file.set()

    assert await waiting == alone
    assert alone.count(" INDI") == FEW
    assert await reading is True


async def test_an_export_that_finds_too_many_others_is_refused(graph, kindred):
    owner, tree, _ = await imported(graph, kindred, many_people(FEW // 2))
    others = Event()
    running = [asyncio.create_task(FILES.run(lambda: others.wait(60), seconds=60)) for _ in range(FILES.places)]
    await asyncio.sleep(0)

    error = (await graph.ask(EXPORT, viewer_of(owner), id=id_of(tree), version="V7_0")).error
    others.set()
    await asyncio.gather(*running)

    assert error["message"] == "The server is busy with other imports and exports. Try again in a moment."
    assert error["extensions"] == {"code": "UNAVAILABLE", "retryable": True}
