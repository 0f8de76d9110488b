"""Trees, people and links that the viewer may act on, read consistently, and the conditions that keep it so."""

from typing import Any, TypeVar

from datastore.accounts import User
from datastore.client.writes import Check, Condition, Write, absent, equals, exists
from datastore.genealogy import Marriage, Parentage, Person, Tree, TreeRole, TreeShare
from datastore.model.keys import Key
from resolvers.accounts.guards import is_open
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, not_found, refused
from resolvers.genealogy.edges import tree_of
from resolvers.genealogy.standing import Standing, stands

L = TypeVar("L", Parentage, Marriage)

ONLY_EDITORS = "only its owner and its editors may do this"


async def tree_for(context: Context, key: Key[Tree], needed: Standing, named: Key[Any] | None = None) -> Tree:
    """Returns a tree in which the viewer has the needed standing.

    `named` is the record in the tree that the client named. A viewer who cannot see the tree gets the same answer as
    for a record that does not exist.
    """
    values = key.values
    keys: list[Key[Any]] = [
        key,
        User.key(user_id=values["user_id"]),
        TreeShare.key(shared_with_id=context.signed_in, tree_id=values["tree_id"]),
    ]
    tree, owner, share = await context.load.fresh(*keys)
    own = stands(tree, owner, share, context.viewer)
    if own is Standing.NOBODY:
        raise not_found(named or key)
    if own < needed:
        message = "only its owner may do this" if needed is Standing.OWNER else ONLY_EDITORS
        raise refused(ProblemCode.FORBIDDEN, message, at=named or key)
    assert isinstance(tree, Tree)
    return tree


async def people_for(context: Context, *keys: Key[Person]) -> tuple[list[Person], Tree]:
    """Returns people of one tree that the viewer may edit, and the tree."""
    found = await context.load.fresh(*keys)
    tree = await tree_for(context, tree_of(_there(found[0], keys[0])), Standing.EDITOR, keys[0])
    people = []
    for key, each in zip(keys, found, strict=True):
        person = _there(each, key)
        if tree_of(person) != tree.own_key:
            await tree_for(context, tree_of(person), Standing.STRANGER, key)
            raise refused(ProblemCode.INVALID, "these two people are in different trees", at=key)
        people.append(person)
    return people, tree


def _there(person: Person | None, key: Key[Person]) -> Person:
    if person is None or person.deleted_at is not None:
        raise not_found(key)
    return person


async def link_for(context: Context, key: Key[L]) -> tuple[L, Tree]:
    """Returns a link in a tree that the viewer may edit, and the tree."""
    (link,) = await context.load.fresh(key)
    if link is None:
        raise not_found(key)
    return link, await tree_for(context, tree_of(link), Standing.EDITOR, key)


def still_editing(context: Context, tree: Tree) -> list[Write]:
    """Returns checks that the viewer's account is open, first, and that the viewer may still edit the tree."""
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    if context.viewer.is_user(tree.user_id):
        return [account]
    share = TreeShare.key(shared_with_id=context.signed_in, tree_id=tree.tree_id)
    return [account, Check(share, when=equals("role", TreeRole.EDITOR))]


def in_tree(tree: Tree) -> Condition:
    """Returns the condition that a person exists, is not deleted, and is in this tree."""
    return exists() & absent("deleted_at") & equals("tree_id", tree.tree_id)
