"""Commands of trees and of sharing them."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Delete, Put, Update, Write, absent
from datastore.genealogy import Person, Tree, TreeRole, TreeShare
from datastore.model.keys import Key
from datastore.model.times import new_id, now, time_from_now
from resolvers.accounts.guards import is_open, no_account, write_for_account
from resolvers.background.jobs import SETTLED, queued
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused
from resolvers.core.retry import write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.genealogy.edges import person_key
from resolvers.genealogy.guards import in_tree, tree_for
from resolvers.genealogy.jobs import purge_tree
from resolvers.genealogy.standing import Standing

TreeId = Annotated[Key[Tree], Doc("ID of the tree.")]
Name = Annotated[str, Doc("Display name."), Text(at_most=200)]
Description = Text(at_most=5_000)
IsPublic = Annotated[bool, Doc("True if everyone can see the tree. Details of people who may be living stay hidden.")]


@access(requires=AccessRole.SIGNED_IN)
async def create_tree(
    context: Context,
    *,
    name: Name,
    description: Annotated[str | None, Doc("Description."), Description] = None,
    is_public: IsPublic = False,
) -> Tree:
    """Creates a family tree."""
    tree = Tree(user_id=context.signed_in, tree_id=new_id(), name=name, description=description, is_public=is_public)
    await write_for_account(context, Put(tree, when=absent()))
    return tree


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
async def update_tree(
    context: Context,
    *,
    tree_id: TreeId,
    name: Name = UNSET,
    description: Annotated[str | None, Doc("Description; null removes it."), Description] = UNSET,
    is_public: IsPublic = UNSET,
    root_person_id: Annotated[Key[Person] | None, Doc("ID of the root person; null removes it.")] = UNSET,
) -> Tree:
    """Edits a tree. Omitted fields keep their values."""
    changes = given(name=name, description=description, is_public=is_public)
    tree = await tree_for(context, tree_id, Standing.OWNER)
    there: list[Check] = []
    if root_person_id is not UNSET:
        changes["root_person_id"] = root_person_id.values["person_id"] if root_person_id else None
        if root_person_id:
            there = [Check(person_key(tree, changes["root_person_id"]), when=in_tree(tree))]
    changed = tree.changed(**changes)
    account = Check(User.key(user_id=tree.user_id), when=is_open())
    change = Update.of(tree, changed, when=is_open())
    no_root = refused(ProblemCode.NOT_FOUND, "there is no such person in this tree", at="root_person_id")
    refusals: dict[Write, Refused] = {account: no_account(), change: not_found(tree_id)}
    refusals |= dict.fromkeys(there, no_root)
    await write_or_refuse(context.load, account, change, *there, refusals=refusals)
    return changed


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
async def delete_tree(context: Context, *, tree_id: TreeId) -> Tree:
    """Deletes a tree immediately. A job purges the people and links in it."""
    tree = await tree_for(context, tree_id, Standing.OWNER)
    deleted = Update.of(tree, tree.changed(deleted_at=now()), when=is_open())
    purge = queued(purge_tree, due_at=time_from_now(SETTLED), user_id=tree.user_id, tree_id=tree.tree_id)
    account = Check(User.key(user_id=tree.user_id), when=is_open())
    refusals: dict[Write, Refused] = {account: no_account(), deleted: not_found(tree_id)}
    await write_or_refuse(context.load, account, deleted, purge, refusals=refusals)
    return tree


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
async def share_tree(
    context: Context,
    *,
    tree_id: TreeId,
    user_id: Annotated[Key[User], Doc("ID of the user to share the tree with.")],
    role: Annotated[TreeRole, Doc("Role to grant. Replaces a role granted before.")],
) -> Tree:
    """Shares a tree with another user."""
    tree = await tree_for(context, tree_id, Standing.OWNER)
    user = await context.load.one(user_id)
    if user is None:
        raise not_found(user_id)
    if user.user_id == tree.user_id:
        raise refused(ProblemCode.INVALID, "this user owns the tree", at=user_id)
    share = TreeShare(shared_with_id=user.user_id, tree_id=tree.tree_id, user_id=tree.user_id, role=role)
    still_there = Check(tree.own_key, when=is_open())
    await write_for_account(context, still_there, Put(share), Check(user.own_key, when=is_open()))
    return tree


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.SHARED_WITH))
async def unshare_tree(
    context: Context,
    *,
    tree_id: TreeId,
    user_id: Annotated[Key[User], Doc("ID of the user whose access ends.")],
) -> Tree | None:
    """Ends the access of a user to a tree. Does nothing if the tree is not shared with the user."""
    is_own_access = user_id.values["user_id"] == context.signed_in
    tree = await tree_for(context, tree_id, Standing.STRANGER if is_own_access else Standing.OWNER)
    share = TreeShare.key(shared_with_id=user_id.values["user_id"], tree_id=tree.tree_id)
    await write_for_account(context, Delete(share))
    return await context.load.one(tree_id)
