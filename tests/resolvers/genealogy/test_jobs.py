"""Jobs that purge trees and people completely, even after interruptions."""

import asyncio
from itertools import pairwise

from datastore.client.budget import Usage
from datastore.client.writes import Update
from datastore.genealogy import GedcomPart, Marriage, Parentage, Person, Tree
from resolvers.accounts import lifecycle
from resolvers.background import jobs
from resolvers.background.jobs import Worker
from resolvers.genealogy.jobs import purge_tree
from tests.resolvers.background.test_jobs import make_due
from tests.resolvers.genealogy.commands import DELETE, DELETE_TREE, LINK, a_tree, stored
from tests.resolvers.genealogy.test_command_races import agree, has_loop, links_of, people_of
from tests.resolvers.genealogy.test_visibility import items
from tests.resolvers.social.test_races import past_its_grace
from tests.support.cards import do_all_jobs
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, viewer_of


async def much_linked(kindred: Kindred, tree: Tree) -> tuple[Person, list[Person]]:
    """A person with two parents, five children (three with another parent), and two spouses."""
    parents = [await kindred.person(tree, f"Parent {number}") for number in range(2)]
    person = await kindred.person(tree, "Person", *parents)
    spouses = [await kindred.person(tree, f"Spouse {number}") for number in range(2)]
    children = [await kindred.person(tree, f"Child {n}", person, *spouses[: n % 2]) for n in range(5)]
    for spouse in spouses:
        await kindred.married(tree, person, spouse)
    return person, children


async def test_a_deleted_person_takes_all_links_along(graph, kindred):
    owner, tree = await a_tree(kindred)
    person, children = await much_linked(kindred, tree)
    await graph.command(DELETE, viewer_of(owner), personId=id_of(person))

    await do_all_jobs(graph)

    assert not any(person.person_id in repr(item) for item in (await items(graph)).values())
    assert await agree(graph, tree)
    after = [await stored(graph, child) for child in children]
    assert [child.biological_parents for child in after] == [0, 1, 0, 1, 0]
    new = await kindred.person(tree, "New")
    payload = await graph.command(LINK, viewer_of(owner), parentId=id_of(new), childId=id_of(children[1]))
    assert payload["problems"] == []


def time_for(number: int) -> type[Usage]:
    """Limits the number of calls, regardless of the time a call takes."""

    class TimeForCalls(Usage):
        @property
        def seconds_left(self) -> float:
            return 60.0 if self.calls.total() < number else 0.0

    return TimeForCalls


async def test_an_interrupted_purge_of_a_person_is_completed(graph, kindred, monkeypatch, engine_name):
    owner, tree = await a_tree(kindred)
    cuts = 0
    # With fewer calls, there is no time to look for due jobs.
    for calls in range(2, 100, 1 if engine_name != "moto" else 5):
        tree = await stored(graph, tree)
        person, _ = await much_linked(kindred, tree)
        await graph.command(DELETE, viewer_of(owner), personId=id_of(person))
        await make_due(graph)
        with monkeypatch.context() as limited:
            limited.setattr(jobs, "Usage", time_for(calls))
            done = await Worker(graph.table).do_what_is_due()
        cuts += not done
        assert not has_loop({each.person_id: each.parent_ids for each in (await people_of(graph, tree)).values()})
        await let_go(graph)
        await do_all_jobs(graph)
        assert not any(person.person_id in repr(item) for item in (await items(graph)).values())
        assert await agree(graph, tree)
        if done:
            break

    assert done
    assert cuts > (10 if engine_name != "moto" else 2)
    assert (await stored(graph, tree)).person_count == len(await people_of(graph, tree)) == 9 * (cuts + 1)


async def let_go(graph: Graph) -> None:
    """Expires the lease of an interrupted worker."""
    for job in await graph.jobs():
        await graph.table.update(Update(job.own_key, set={"leased_until": 0}))


async def test_a_link_to_somebody_who_is_being_deleted_is_none(graph, kindred):
    owner, tree = await a_tree(kindred)
    for turn in range(6):
        parent, child = await kindred.person(tree, f"Parent {turn}"), await kindred.person(tree, f"Child {turn}")

        await asyncio.gather(
            graph.command(LINK, viewer_of(owner), parentId=id_of(parent), childId=id_of(child)),
            graph.command(DELETE, viewer_of(owner), personId=id_of(parent if turn % 2 else child)),
        )
        await do_all_jobs(graph)

    assert await links_of(graph, tree) == []
    assert await agree(graph, tree)


async def a_full_tree(kindred: Kindred, tree: Tree, number: int) -> None:
    own = {"user_id": tree.user_id, "tree_id": tree.tree_id}
    ids = [f"p{place:04d}" for place in range(number)]
    people = [Person(**own, person_id=each, first_name=each) for each in ids]
    links = [Parentage(**own, parent_id=one, child_id=other) for one, other in pairwise(ids)]
    couples = [Marriage(**own, person1_id=one, person2_id=f"{one}x") for one in ids]
    parts = [GedcomPart(**own, part_id=f"FAM-x-{place:05d}", text="[]") for place in range(number // 10)]
    await kindred.graph.table.batch_write(puts=[*people, *links, *couples, *parts])
    for place in range(3):
        await kindred.share(tree, await kindred.user(f"reader{place}"))


async def test_a_deleted_tree_takes_everything_along_however_little_time_there_is(
    graph, kindred, monkeypatch, engine_name
):
    owner, tree = await a_tree(kindred)
    other = await kindred.tree(owner)
    await kindred.person(other, "Other")
    before = await items(graph)
    await a_full_tree(kindred, tree, 400 if engine_name != "moto" else 150)
    await graph.command(DELETE_TREE, viewer_of(owner), treeId=id_of(tree))

    rounds = 0
    monkeypatch.setattr(jobs, "Usage", time_for(12))
    while await graph.jobs():
        await let_go(graph)
        await make_due(graph)
        await Worker(graph.table).do_what_is_due()
        rounds += 1

    assert rounds > 2
    after = await items(graph)
    assert not any(tree.tree_id in repr(item) for item in after.values())
    assert {key: after.get(key) for key in before if tree.own_key.sk != key[1]} == {
        key: item for key, item in before.items() if tree.own_key.sk != key[1]
    }


async def test_clearing_a_tree_away_twice_is_no_harm(graph, kindred):
    _, tree = await a_tree(kindred)
    await kindred.person(tree, "Anna")

    for _ in range(2):
        await purge_tree(graph.context().load, user_id=tree.user_id, tree_id=tree.tree_id)

    assert not any(tree.tree_id in repr(item) for item in (await items(graph)).values())


async def test_an_account_past_its_grace_leaves_no_trees_and_no_shares(graph, kindred):
    owner, other = await kindred.user("owner"), await kindred.user("other")
    trees = [await kindred.tree(owner) for _ in range(2)]
    kept = await kindred.tree(other)
    for tree in trees:
        await much_linked(kindred, tree)
        await kindred.share(tree, other)
    await kindred.share(kept, owner)
    await kindred.person(kept, "Kept")
    await past_its_grace(graph, owner)
    await do_all_jobs_but(graph, "purge_account")

    await lifecycle.purge_account(graph.context().load, user_id=owner.user_id)

    left = {key: item for key, item in (await items(graph)).items() if not key[0].startswith("JOBS")}
    assert not any("id-owner" in repr(item) or tree.tree_id in repr(item) for item in left.values() for tree in trees)
    assert await stored(graph, kept) == kept
    assert len(await people_of(graph, kept)) == 1


async def do_all_jobs_but(graph: Graph, kind: str) -> None:
    for job in await graph.jobs():
        if job.kind != kind:
            await jobs.WORK[job.kind](graph.context().load, **job.subject)
