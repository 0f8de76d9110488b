"""`heartwood gedcom`: files from and to the table."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.genealogy import GedcomPart, Marriage, Parentage, Tree
from datastore.local.endpoint import LOCAL_REGION
from datastore.model.keys import Key
from datastore.model.times import now
from tests.resolvers.genealogy.commands import a_tree, stored
from tests.resolvers.genealogy.gedcom_files import FILE, by_name, export, family_in, import_text, many_people
from tests.resolvers.genealogy.test_visibility import items
from tests.support.command_line import Done, heartwood
from tests.support.gedcom import tree_of
from tests.support.graph import Graph
from tests.support.serving import free_port

KINDS: dict[str, Any] = {"Marriage": Marriage, "GedcomPart": GedcomPart, "Parentage": Parentage}


class Command:
    """Runs `heartwood gedcom` at the test's table."""

    def __init__(self, endpoint: str, table_name: str) -> None:
        self.variables = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": table_name, "AWS_REGION": LOCAL_REGION}

    async def __call__(self, *arguments: str | Path, **variables: str) -> Done:
        return await asyncio.to_thread(heartwood, "gedcom", *arguments, **{**self.variables, **variables})


@pytest.fixture
def gedcom(endpoint: str, table_name: str) -> Command:
    return Command(endpoint, table_name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bach.ged"
    path.write_text(FILE)
    return path


def said(done: Done) -> str:
    """Returns the output on one line, regardless of the terminal's width."""
    return " ".join(done.stderr.split())


async def trees_of(graph: Graph, user: User) -> list[Tree]:
    page = await graph.table.query(Tree.by_owner(user_id=user.user_id), limit=50)
    return list(page.records)


async def test_a_file_becomes_a_new_tree(graph, kindred, gedcom, file):
    ada = await kindred.user("ada")

    done = await gedcom("import", file, "--user", "ada")

    (tree,) = await trees_of(graph, ada)
    assert (done.returncode, done.stdout) == (0, "")
    assert "GEDCOM 5.5.1 in UTF-8: 75 lines, 5 people, 2 families, 3 other records;" in said(done)
    assert said(done).endswith(f"5 people and 6 links are in the tree {tree.tree_id}.")
    assert (tree.name, tree.person_count, tree.is_public) == ("bach", 5, False)


async def test_a_file_into_a_tree_that_is_there(graph, kindred, gedcom, file):
    owner, tree = await a_tree(kindred)
    await kindred.person(tree, "There")
    await import_text(graph, owner, await kindred.tree(owner, name="By API"), FILE.replace("Kantor", "Organist"))

    done = await gedcom("import", file, "--user", "owner", "--tree", tree.tree_id)

    assert done.returncode == 0, said(done)
    assert (await stored(graph, tree)).person_count == len(await by_name(graph, tree)) == 6


async def test_a_new_tree_has_the_name_that_is_told(graph, kindred, gedcom, file):
    ada = await kindred.user("ada")

    assert (await gedcom("import", file, "--user", "ADA", "--name", "The Bachs")).returncode == 0
    assert [tree.name for tree in await trees_of(graph, ada)] == ["The Bachs"]


async def test_a_dry_run_writes_nothing(graph, kindred, gedcom, file):
    await kindred.user("ada")
    before = await items(graph)

    done = await gedcom("import", file, "--user", "ada", "--dry-run")

    assert done.returncode == 0
    assert said(done).endswith("This was a dry run: nothing was written.")
    assert await items(graph) == before


async def test_importing_twice_is_recognized_in_any_tree_of_the_same_person(graph, kindred, gedcom, file, tmp_path):
    ada = await kindred.user("ada")
    await kindred.user("bob")
    await gedcom("import", file, "--user", "ada")
    (tree,) = await trees_of(graph, ada)
    other = await kindred.tree(ada)
    # The same file in another encoding and version.
    again = tmp_path / "again.ged"
    again.write_bytes(FILE.replace("CHAR UTF-8", "CHAR ANSI").encode("latin-1"))
    seven = tmp_path / "seven.ged"
    seven.write_text(await export(graph, ada, tree, "V7_0"))
    before = await items(graph)

    refused = [
        await gedcom("import", path, "--user", "ada", *more)
        for path, more in ((file, ("--dry-run",)), (again, ()), (seven, ("--tree", other.tree_id)))
    ]

    message = f"this file was already imported as bach ({tree.tree_id}); pass --again to repeat it"
    assert [(done.returncode, said(done).endswith(message)) for done in refused] == [(1, True)] * 3
    assert await items(graph) == before
    assert (await gedcom("import", again, "--user", "ada", "--again")).returncode == 0
    assert (await gedcom("import", file, "--user", "bob")).returncode == 0
    assert sorted(each.person_count for each in await trees_of(graph, ada)) == [0, 5, 5]


async def test_refused_and_repaired_lines_are_told(kindred, gedcom, tmp_path):
    await kindred.user("ada")
    path = tmp_path / "odd.ged"
    path.write_text(FILE.replace("1 HUSB @I1@\n1 WIFE @I3@", "1 HUSB @I1@\n1 WIFE @I77@").replace("0 TRLR\n", ""))

    done = await gedcom("import", path, "--user", "ada")

    assert done.returncode == 0
    assert "WIFE refused: There is no such person. @I77@" in said(done)
    assert "TRLR repaired: The file has no TRLR record. The end of the file may be missing." in said(done)


@pytest.mark.parametrize("word", ["[/b]", "[bold]", "[link=x]"])
async def test_what_a_file_says_is_not_taken_for_markup(kindred, gedcom, tmp_path, word):
    await kindred.user("ada")
    path = tmp_path / "odd.ged"
    odd = FILE.replace("VERS 5.5.1", f"VERS {word}").replace("1 SEX F", f"SEX {word}")
    path.write_text(odd)

    done = await gedcom("import", path, "--user", "ada")

    assert done.returncode == 0, said(done)
    assert f"GEDCOM {word} in UTF-8" in said(done)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "nobody"], "there is no user nobody"),
        (["--user", "closed"], "there is no user closed"),
        (["--user", "ada", "--tree", "nothing"], "there is no tree nothing"),
        (["--user", "ada", "--tree", "{deleted}"], "there is no tree {deleted}"),
        (["--user", "ada", "--tree", "{other}"], "the tree {other} does not belong to ada"),
        (["--user", "a#b"], "'a#b'"),
    ],
)
async def test_where_it_cannot_go(graph, kindred, gedcom, file, arguments, message):
    owner, other = await a_tree(kindred)
    ada = await kindred.user("ada")
    await kindred.user("closed", deleted_at=now())
    deleted = await kindred.tree(ada, deleted_at=now())
    ids = {"deleted": deleted.tree_id, "other": other.tree_id}
    before = await items(graph)

    done = await gedcom("import", file, *(each.format(**ids) for each in arguments))

    assert done.returncode == 1
    assert message.format(**ids) in said(done)
    assert "Traceback" not in said(done)
    assert await items(graph) == before
    assert owner.deleted_at is None


async def test_files_that_are_none(kindred, gedcom, tmp_path):
    await kindred.user("ada")
    empty = tmp_path / "empty.ged"
    empty.write_text("0 HEAD\n0 TRLR\n")

    nobody = await gedcom("import", empty, "--user", "ada")
    missing = await gedcom("import", tmp_path / "missing.ged", "--user", "ada")
    folder = await gedcom("import", tmp_path, "--user", "ada")

    assert [done.returncode for done in (nobody, missing, folder)] == [1, 1, 1]
    assert said(nobody).endswith("the file has no people: a GEDCOM file has INDI records")
    assert "No such file or directory" in said(missing)
    assert "Is a directory" in said(folder)
    assert not any("Traceback" in said(done) for done in (nobody, missing, folder))


async def test_an_export_is_what_the_api_exports(graph, kindred, gedcom, file, tmp_path):
    owner, tree = await a_tree(kindred)
    await gedcom("import", file, "--user", "owner", "--tree", tree.tree_id)
    out = tmp_path / "out.ged"

    printed = await gedcom("export", tree.tree_id)
    five = await gedcom("export", tree.tree_id, "--version", "5.5.1", "--out", out)

    assert (printed.returncode, five.returncode, five.stdout) == (0, 0, "")
    assert printed.stdout == await export(graph, owner, tree, "V7_0")
    assert out.read_text() == await export(graph, owner, tree, "V5_5_1")
    assert said(printed) == said(five) == "5 people and 2 families."


async def test_an_export_is_whole_even_if_its_owner_has_left(graph, kindred, gedcom):
    owner, tree = await a_tree(kindred)
    await import_text(graph, owner, tree)
    await graph.table.update(Update(owner.own_key, set={"deleted_at": now()}))

    done = await gedcom("export", tree.tree_id, "--version", "5.5.1")

    assert (done.returncode, len(tree_of(done.stdout.encode()).persons)) == (0, 5)


async def test_exports_that_cannot_be(kindred, gedcom, tmp_path):
    _, tree = await a_tree(kindred)

    no_tree = await gedcom("export", "nothing")
    no_place = await gedcom("export", tree.tree_id, "--out", tmp_path / "missing" / "out.ged")
    no_version = await gedcom("export", tree.tree_id, "--version", "6.0")
    nothing = await gedcom()

    assert [done.returncode for done in (no_tree, no_place, no_version, nothing)] == [1, 1, 2, 2]
    assert said(no_tree) == "there is no tree nothing"
    assert "No such file or directory" in said(no_place)
    assert "invalid choice: '6.0'" in said(no_version)
    assert not any("Traceback" in said(done) for done in (no_tree, no_place, no_version, nothing))


async def test_messages_are_not_wrapped_to_the_width_of_a_terminal(kindred, gedcom, file):
    await kindred.user("ada")

    done = await gedcom("import", file, "--user", "ada", "--dry-run", COLUMNS="40")

    assert "75 lines, 5 people, 2 families, 3 other records;" in done.stderr
    assert done.stderr.endswith("\nThis was a dry run: nothing was written.\n")


async def test_a_table_that_is_not_there_is_told(gedcom, file):
    missing = await gedcom("import", file, "--user", "ada", TABLE_NAME="no-such-table")

    assert (missing.returncode, said(missing)) == (1, "there is no table no-such-table")


async def test_a_long_file_that_was_begun_is_finished(graph, kindred, gedcom, tmp_path, engine_name):
    """Writes part of the file, as if the command had been stopped."""
    ada: Any = await kindred.user("ada")
    number = 60 if engine_name != "moto" else 10
    path = tmp_path / "long.ged"
    path.write_text(many_people(number))
    whole = await kindred.tree(ada)
    await import_text(graph, ada, whole, many_people(number))
    assert (await gedcom("import", path, "--user", "ada", "--again")).returncode == 0
    tree = next(each for each in await trees_of(graph, ada) if each.name == "long")
    await forget_half(graph, tree, number // 2)

    done = await gedcom("import", path, "--user", "ada", "--again")

    assert done.returncode == 0, said(done)
    assert len(await trees_of(graph, ada)) == 2
    assert (await stored(graph, tree)).person_count == 2 * number
    assert await family_in(graph, tree) == await family_in(graph, whole)


async def forget_half(graph: Graph, tree: Tree, half: int) -> None:
    """Returns a tree in the middle of an import: parents before their children, no couples, and no fingerprint."""
    people = [*(await by_name(graph, tree)).values()]
    gone = {person.person_id for person in people if person.first_name and int(person.first_name[1:]) >= half}
    keys = [person.own_key for person in people if person.person_id in gone]
    for key, item in (await items(graph)).items():
        if item.get("treeId", {}).get("S") == tree.tree_id:
            kind = item["entityType"]["S"]
            if kind in ("Marriage", "GedcomPart") or (kind == "Parentage" and item["childId"]["S"] in gone):
                keys.append(Key(KINDS[kind], *key))
    await graph.table.batch_write(deletes=keys)
    begun = {"person_count": len(people) - len(gone), "imports": []}
    await graph.table.update(Update(tree.own_key, set=begun, remove=["root_person_id"]))


async def test_a_database_out_of_reach_is_told(gedcom, file, monkeypatch):
    monkeypatch.setattr("resolvers.genealogy.gedcom_command.TIME_FOR_AN_ANSWER", 0.3)

    done = await gedcom("import", file, "--user", "ada", DYNAMODB_ENDPOINT=f"http://127.0.0.1:{free_port()}")

    assert done.returncode == 1
    assert said(done).startswith("DescribeTable")
