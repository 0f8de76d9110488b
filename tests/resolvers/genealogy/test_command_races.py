"""Concurrent commands: counts stay exact, and links never form a cycle."""

import asyncio
import random
from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Delete, Put, Update
from datastore.genealogy import Parentage, Person, Tree, TreeRole
from datastore.model.times import now
from resolvers.genealogy import guards, person_commands
from tests.resolvers.genealogy.commands import (
    ADD,
    ADD_CHILD,
    DELETE,
    LINK,
    MARRY,
    OWN_ANCESTOR,
    TOO_MANY,
    UNLINK,
    UPDATE,
    a_tree,
    stored,
)
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT
from tests.resolvers.social.test_faults import in_conflict
from tests.support.cards import do_all_jobs
from tests.support.fault_proxy import FOR_EVER, cut_after, cut_before, error_500, throttled
from tests.support.graph import Graph, id_of, problem, viewer_of


async def links_of(graph: Graph, tree: Tree) -> list[Parentage]:
    page = await graph.table.query(Parentage.of_tree(tree_id=tree.tree_id), limit=1_000)
    return list(page.records)


async def people_of(graph: Graph, tree: Tree) -> dict[str, Person]:
    page = await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=1_000)
    return {person.person_id: person for person in page.records if person.deleted_at is None}


async def agree(graph: Graph, tree: Tree) -> bool:
    """Returns True if the parents stored with each child match the links, and no links form a cycle."""
    links, people = await links_of(graph, tree), await people_of(graph, tree)
    known = {person_id: person.parent_ids for person_id, person in people.items()}
    found: dict[str, list[str]] = {person_id: [] for person_id in people}
    for link in links:
        found[link.child_id].append(link.parent_id)
    counts_agree = all(
        sum(link.child_id == person_id and link.kind.name == "BIOLOGICAL" for link in links)
        == person.biological_parents
        <= 2
        for person_id, person in people.items()
    )
    return (
        {key: sorted(value) for key, value in known.items()} == {key: sorted(value) for key, value in found.items()}
        and counts_agree
        and not has_loop(found)
    )


def has_loop(parents: dict[str, list[str]]) -> bool:
    left = dict(parents)
    while free := [person for person, above in left.items() if not any(parent in left for parent in above)]:
        for person in free:
            del left[person]
    return bool(left)


def test_has_loop_finds_a_cycle():
    assert has_loop({"a": ["b"], "b": ["c"], "c": ["a"], "d": []})
    assert not has_loop({"a": ["b", "c"], "b": ["c"], "c": []})


async def test_people_who_come_and_go_at_once_are_counted_to_the_last(graph, kindred, engine_name):
    owner, tree = await a_tree(kindred)
    number = 25 if engine_name != "moto" else 6
    there = [await kindred.person(tree, f"Old {place}") for place in range(number)]

    async def add(place: int) -> Any:
        return await graph.command(ADD, viewer_of(owner), treeId=id_of(tree), firstName=f"New {place}")

    async def add_child(person: Person) -> Any:
        return await graph.command(ADD_CHILD, viewer_of(owner), parentId=id_of(person), firstName="Child")

    async def delete(person: Person) -> Any:
        return await graph.command(DELETE, viewer_of(owner), personId=id_of(person))

    gone, stay = there[: number // 2], there[number // 2 :]
    payloads = await asyncio.gather(*map(add, range(number)), *map(delete, gone), *map(add_child, stay))

    assert [payload["problems"] for payload in payloads] == [[]] * len(payloads)
    found = await people_of(graph, tree)
    assert (await stored(graph, tree)).person_count == len(found) == 2 * number + len(stay) - len(gone)
    await do_all_jobs(graph)
    assert await agree(graph, tree)


async def test_somebody_who_is_deleted_many_times_at_once_is_counted_once(graph, kindred):
    owner, tree = await a_tree(kindred)
    person, _ = await kindred.person(tree, "Anna"), await kindred.person(tree, "Bert")

    payloads = await asyncio.gather(
        *(graph.command(DELETE, viewer_of(owner), personId=id_of(person)) for _ in range(5))
    )

    assert sum(payload["problems"] == [] for payload in payloads) == 1
    assert (await stored(graph, tree)).person_count == 1


async def test_people_are_counted_while_the_database_throttles_and_loses_answers(
    graph, faulty_graph, proxy, kindred, engine_name
):
    owner, tree = await a_tree(kindred)
    chance = random.Random(3)
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.1)
    proxy.will("BatchGetItem", throttled, FOR_EVER, when=lambda _: chance.random() < 0.2)

    async def come_and_go(place: int) -> None:
        added = await faulty_graph.command(ADD, viewer_of(owner), treeId=id_of(tree), firstName=f"P{place}")
        assert added["problems"] == []
        if place % 2:
            deleted = await faulty_graph.command(DELETE, viewer_of(owner), personId=added["person"]["id"])
            assert deleted["problems"] == []

    number = 20 if engine_name != "moto" else 6
    await asyncio.gather(*map(come_and_go, range(number)))

    assert (await stored(graph, tree)).person_count == len(await people_of(graph, tree)) == number // 2


async def test_two_opposite_links_at_once_never_make_a_loop(graph, kindred):
    owner, tree = await a_tree(kindred)
    for turn in range(6):
        one, other = await kindred.person(tree, f"One {turn}"), await kindred.person(tree, f"Other {turn}")

        payloads = await asyncio.gather(
            graph.command(LINK, viewer_of(owner), parentId=id_of(one), childId=id_of(other)),
            graph.command(LINK, viewer_of(owner), parentId=id_of(other), childId=id_of(one)),
        )

        refusals = [payload["problems"] for payload in payloads if payload["problems"]]
        assert refusals == [[OWN_ANCESTOR]]
    assert await agree(graph, tree)


async def test_a_concurrent_opposite_link_is_detected(graph, kindred, monkeypatch):
    owner, tree = await a_tree(kindred)
    one, other = await kindred.person(tree, "One"), await kindred.person(tree, "Other")
    read = guards.tree_for

    async def late(*arguments: Any) -> Tree:
        monkeypatch.setattr(guards, "tree_for", read)
        first = await graph.command(LINK, viewer_of(owner), parentId=id_of(one), childId=id_of(other))
        assert first["problems"] == []
        return await read(*arguments)

    monkeypatch.setattr(guards, "tree_for", late)
    payload = await graph.command(LINK, viewer_of(owner), parentId=id_of(other), childId=id_of(one))

    assert payload == {"parentage": None, "problems": [OWN_ANCESTOR]}
    assert await agree(graph, tree)


async def test_many_links_at_once_never_make_a_loop(graph, kindred, engine_name):
    owner, tree = await a_tree(kindred)
    people = [await kindred.person(tree, f"P{number}") for number in range(8)]
    chance = random.Random(11)
    pairs = [chance.sample(people, 2) for _ in range(48 if engine_name != "moto" else 12)]
    kinds = ["BIOLOGICAL", "ADOPTIVE", "STEP"]

    async def link(parent: Person, child: Person) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        kind = chance.choice(kinds)
        ids = {"parentId": id_of(parent), "childId": id_of(child)}
        payload = await graph.command(LINK, viewer_of(owner), **ids, kind=kind)
        if payload["parentage"] and chance.random() < 0.3:
            await graph.command(UNLINK, viewer_of(owner), parentageId=payload["parentage"]["id"])
        return list(payload["problems"])

    for some in range(0, len(pairs), 12):
        found = await asyncio.gather(*(link(*pair) for pair in pairs[some : some + 12]))
        assert {each["code"] for problems in found for each in problems} <= {"INVALID", "TAKEN", "CONFLICT"}
        assert await agree(graph, tree)
    assert await links_of(graph, tree)


async def test_three_parents_at_once_are_two(graph, kindred):
    owner, tree = await a_tree(kindred)
    parents = [await kindred.person(tree, f"Parent {number}") for number in range(4)]
    child = await kindred.person(tree, "Child")

    payloads = await asyncio.gather(
        *(graph.command(LINK, viewer_of(owner), parentId=id_of(each), childId=id_of(child)) for each in parents)
    )

    refusals = [payload["problems"] for payload in payloads if payload["problems"]]
    assert refusals == [[TOO_MANY]] * 2
    assert await agree(graph, tree)


async def test_a_couple_that_is_made_twice_at_once_is_made_once(graph, kindred):
    owner, tree = await a_tree(kindred)
    one, other = await kindred.person(tree, "One"), await kindred.person(tree, "Other")

    payloads = await asyncio.gather(
        *(
            graph.command(MARRY, viewer_of(owner), person1Id=id_of(first), person2Id=id_of(second))
            for first, second in ((one, other), (other, one)) * 2
        )
    )

    codes = sorted(each["code"] for payload in payloads for each in payload["problems"])
    assert codes == ["TAKEN"] * 3


async def test_concurrent_edits_conflict(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna")
    given = {"personId": id_of(person), "expectedVersion": 1}

    payloads = await asyncio.gather(
        *(graph.command(UPDATE, viewer_of(owner), **given, lastName=name) for name in ("Berg", "Dahl", "Ek"))
    )

    refusals = [payload["problems"] for payload in payloads if payload["problems"]]
    message = "the current version is 2; read it again"
    outdated = {**problem("CONFLICT", message, "input", "expectedVersion"), "currentVersion": 2}
    assert refusals == [[outdated]] * 2
    (done,) = [payload["person"] for payload in payloads if payload["person"]]
    after = await stored(graph, person)
    assert (after.last_name, after.version) == (done["lastName"], 2)


@pytest.mark.parametrize("what", ["unshared", "made a reader", "tree deleted", "account closed"])
async def test_a_command_checks_access_when_it_writes(graph, kindred, monkeypatch, what):
    owner, tree = await a_tree(kindred)
    editor: User = await kindred.user("editor")
    share = await kindred.share(tree, editor, TreeRole.EDITOR)
    parent, child = await kindred.person(tree, "Parent"), await kindred.person(tree, "Child")
    changes = {
        "unshared": Delete(share.own_key),
        "made a reader": Put(share.changed(role=TreeRole.READER)),
        "tree deleted": Update(tree.own_key, set={"deleted_at": now()}),
        "account closed": Update(editor.own_key, set={"deleted_at": now()}),
    }

    def late(module: Any) -> None:
        read = module.tree_for

        async def then_changed(*arguments: Any) -> Tree:
            found: Tree = await read(*arguments)
            await graph.table.write(changes[what])
            return found

        monkeypatch.setattr(module, "tree_for", then_changed)

    late(person_commands)
    late(guards)
    ids = {"parentId": id_of(parent), "childId": id_of(child)}
    added = await graph.command(ADD, viewer_of(editor), treeId=id_of(tree), firstName="New")
    await graph.table.batch_write(puts=[share, tree, editor])
    linked = await graph.command(LINK, viewer_of(editor), **ids)

    codes = [[each["code"] for each in payload["problems"]] for payload in (added, linked)]
    expected = {
        "unshared": [["CONFLICT"], ["NOT_FOUND"]],
        "made a reader": [["CONFLICT"], ["FORBIDDEN"]],
        "tree deleted": [["NOT_FOUND"], ["NOT_FOUND"]],
        "account closed": [["NOT_FOUND"], ["NOT_FOUND"]],
    }
    assert codes == expected[what]
    if what == "account closed":
        assert added["problems"] == linked["problems"] == [NO_ACCOUNT]
    assert len(await people_of(graph, tree)) == 2
    assert await links_of(graph, tree) == []
    assert owner.deleted_at is None
