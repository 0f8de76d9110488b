"""Test data for family trees: people, parentages and marriages, with exact counts."""

from typing import Any

from datastore.accounts import User
from datastore.genealogy import Marriage, Parentage, ParentageKind, Person, Tree, TreeRole, TreeShare
from datastore.model.entity import Entity
from resolvers.genealogy.link_records import couple, parentage, with_parent
from tests.support.graph import Graph
from tests.support.social import minute

LONG_AGO = "1850"


class Kindred:
    """Writes records directly to the table, as the commands would store them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made = 0

    def _times(self) -> dict[str, Any]:
        self.made += 1
        moment = minute(self.made)
        return {"created_at": moment, "updated_at": moment}

    async def user(self, name: str, **fields: Any) -> User:
        return await self.graph.add_user(name, **{**self._times(), **fields})

    async def tree(self, owner: User, *, public: bool = False, **fields: Any) -> Tree:
        given = {"user_id": owner.user_id, "tree_id": f"tree{self.made:05d}", "name": f"Tree {self.made}"}
        tree = Tree(**{**given, "is_public": public, **self._times(), **fields})
        await self._put(tree)
        return tree

    async def share(self, tree: Tree, somebody: User, role: TreeRole = TreeRole.READER) -> TreeShare:
        share = TreeShare(
            shared_with_id=somebody.user_id, tree_id=tree.tree_id, user_id=tree.user_id, role=role, **self._times()
        )
        await self._put(share)
        return share

    async def person(self, tree: Tree, name: str, *parents: Person, **fields: Any) -> Person:
        """Adds a person, deceased by default, and updates the tree's count in the record and in the table."""
        given = {
            "user_id": tree.user_id,
            "tree_id": tree.tree_id,
            "person_id": f"person{self.made:05d}",
            "first_name": name,
            "birth_date": LONG_AGO,
            "biography": f"The life of {name}.",
        }
        person = Person(**{**given, **self._times(), **fields})
        tree.person_count += 1
        await self._put(person, tree)
        for parent in parents:
            await self.parent(tree, parent, person)
        return person

    async def parent(
        self, tree: Tree, parent: Person, child: Person, kind: ParentageKind = ParentageKind.BIOLOGICAL, **fields: Any
    ) -> Parentage:
        """Adds a parentage, and updates `parent_ids` of the child in the record and in the table."""
        link = parentage(tree, parent, child, kind=kind, **{**self._times(), **fields})
        vars(child).update(vars(with_parent(child, link)))
        await self._put(link, child)
        return link

    async def married(self, tree: Tree, one: Person, other: Person, **fields: Any) -> Marriage:
        marriage = couple(tree, one.person_id, other.person_id, **{**self._times(), **fields})
        await self._put(marriage)
        return marriage

    async def _put(self, *records: Entity) -> None:
        await self.graph.table.batch_write(puts=records)
