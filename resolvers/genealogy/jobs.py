"""Jobs that purge deleted trees and people."""

from typing import Any

from datastore.client.writes import Put, Update, exists
from datastore.genealogy import GedcomPart, Marriage, Parentage, Person, Tree, TreeShare
from datastore.model.keys import Key, Range
from datastore.model.times import now, time_from_now
from loaders.request import Loaders
from resolvers.accounts.visibility_sync import Works, works
from resolvers.background.jobs import BATCH, SETTLED, attempt, delete_all, job, queued
from resolvers.core.retry import retries_on_conflict
from resolvers.genealogy.edges import child
from resolvers.genealogy.link_records import unlinked


@job
async def purge_tree(load: Loaders, *, user_id: str, tree_id: str) -> None:
    """Purges a deleted tree and everything in it. The tree goes last, so that a retry finds it."""
    ranges: list[Range[Any]] = [
        TreeShare.of_tree(tree_id=tree_id),
        Parentage.of_tree(tree_id=tree_id),
        Marriage.of_tree(tree_id=tree_id),
        Person.of_tree(tree_id=tree_id),
        GedcomPart.within(user_id=user_id, tree_id=tree_id),
    ]
    for within in ranges:
        await delete_all(load, within)
    await load.table.batch_write(deletes=[Tree.key(user_id=user_id, tree_id=tree_id)])


def purging(person: Person) -> Put:
    return queued(purge_person, due_at=time_from_now(SETTLED), user_id=person.user_id, person_id=person.person_id)


@job
async def purge_person(load: Loaders, *, user_id: str, person_id: str) -> None:
    """Purges a deleted person with their links, and removes them from the parents of their children."""
    own = {"user_id": user_id}
    async for links in load.pages(Parentage.within(**own, parent_id=person_id), BATCH):
        for link in links:
            await _unlink(load, link)
    ranges: list[Range[Any]] = [
        Parentage.parents_of(child_id=person_id),
        Marriage.within(**own, person1_id=person_id),
        Marriage.by_second_person(person2_id=person_id),
    ]
    for within in ranges:
        await delete_all(load, within)
    await load.table.batch_write(deletes=[Person.key(user_id=user_id, person_id=person_id)])


@retries_on_conflict
async def _unlink(load: Loaders, found: Parentage) -> None:
    keys: list[Key[Any]] = [found.own_key, child(found)]
    link, person = await load.fresh(*keys)
    if link is not None:
        await load.write(*unlinked(link, person))


async def _empty_tree(load: Loaders, tree: Tree) -> None:
    """Closes a tree, so that nothing is added to it, and purges its contents."""
    await attempt(load.write(Update(tree.own_key, set={"deleted_at": now()}, when=exists())))
    await purge_tree(load, user_id=tree.user_id, tree_id=tree.tree_id)


works(Tree, Works(empty=_empty_tree))
