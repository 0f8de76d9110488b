"""The commands of trees, and of whom they are shared with."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Condition, Delete, Put, Update, Write, absent, equals, exists
from datastore.genealogy import Person, Tree, TreeRole, TreeShare
from datastore.model.keys import Key
from datastore.model.times import new_id, now, time_from_now
from resolvers.accounts.guards import is_open, no_account, write_for_account
from resolvers.background.jobs import queued
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import write_or_refuse
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.genealogy.edges import person_key
from resolvers.genealogy.jobs import SETTLED, purge_tree
from resolvers.genealogy.standing import Standing, stands

MAX_NAME = 200
MAX_DESCRIPTION = 5_000


async def create_tree(
    context: Context,
    *,
    name: Annotated[str, Doc("What to call it, up to 200 characters.")],
    description: Annotated[str | None, Doc("What there is to say about it, up to 5,000 characters.")] = None,
    is_public: Annotated[bool, Doc("Whether everybody sees it; of who may be living, only that they are.")] = False,
) -> Tree:
    """Begin a family tree."""
    checks = Checks()
    name = checks.required_text("name", name, at_most=MAX_NAME)
    description = checks.text("description", description, at_most=MAX_DESCRIPTION)
    checks.done()
    tree = Tree(user_id=context.signed_in, tree_id=new_id(), name=name, description=description, is_public=is_public)
    await write_for_account(context, Put(tree, when=absent()))
    return tree


async def update_tree(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("The `id` of the tree.")],
    name: Annotated[str | None, Doc("What to call it.")] = UNSET,
    description: Annotated[str | None, Doc("What there is to say about it; null removes it.")] = UNSET,
    is_public: Annotated[bool | None, Doc("Whether everybody sees it.")] = UNSET,
    root_person_id: Annotated[Key[Person] | None, Doc("The `id` of the person to begin with; null for none.")] = UNSET,
) -> Tree:
    """Change one's tree. What is left out stays as it is."""
    checks = Checks()
    changes: dict[str, Any] = {}
    if name is not UNSET:
        changes["name"] = checks.required_text("name", name or "", at_most=MAX_NAME)
    if description is not UNSET:
        changes["description"] = checks.text("description", description, at_most=MAX_DESCRIPTION)
    if is_public is not UNSET:
        changes["is_public"] = checks.given("isPublic", is_public)
    checks.done()
    tree = await tree_for(context, tree_id, Standing.OWNER)
    there: list[Check] = []
    if root_person_id is not UNSET:
        changes["root_person_id"] = root_person_id.values["person_id"] if root_person_id else None
        if root_person_id:
            there = [Check(person_key(tree, changes["root_person_id"]), when=in_tree(tree))]
    changed = tree.changed(**changes)
    account = Check(User.key(user_id=tree.user_id), when=is_open())
    change = Update.of(tree, changed, when=is_open())
    refusals: dict[Write, Refused] = {account: no_account(), change: no_such_tree()}
    refusals |= {check: no_such_person("rootPersonId") for check in there}
    await write_or_refuse(context.load, account, change, *there, refusals=refusals)
    return changed


async def delete_tree(context: Context, *, tree_id: Annotated[Key[Tree], Doc("The `id` of the tree.")]) -> Tree:
    """Delete one's tree with everybody in it. It is gone at once; what is in it is cleared away in the background."""
    tree = await tree_for(context, tree_id, Standing.OWNER)
    gone = Update.of(tree, tree.changed(deleted_at=now()), when=is_open())
    clearing = queued(purge_tree, due_at=time_from_now(SETTLED), user_id=tree.user_id, tree_id=tree.tree_id)
    account = Check(User.key(user_id=tree.user_id), when=is_open())
    refusals: dict[Write, Refused] = {account: no_account(), gone: no_such_tree()}
    await write_or_refuse(context.load, account, gone, clearing, refusals=refusals)
    return tree


async def share_tree(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("The `id` of one's tree.")],
    user_id: Annotated[Key[User], Doc("The `id` of the person to share it with.")],
    role: Annotated[TreeRole, Doc("What they may do; it takes the place of what they might before.")],
) -> Tree:
    """Let somebody look at one's tree, or change it too."""
    tree = await tree_for(context, tree_id, Standing.OWNER)
    somebody = await context.load.one(user_id)
    if somebody is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such person", "input", "userId")
    if somebody.user_id == tree.user_id:
        raise refused(ProblemCode.INVALID, "it is their own tree", "input", "userId")
    share = TreeShare(shared_with_id=somebody.user_id, tree_id=tree.tree_id, user_id=tree.user_id, role=role)
    await _write(context, tree, Put(share), Check(somebody.own_key, when=is_open()))
    return tree


async def unshare_tree(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("The `id` of the tree.")],
    user_id: Annotated[Key[User], Doc("The `id` of the person to share it with no more; it may be oneself.")],
) -> Tree | None:
    """Share one's tree with somebody no more, or leave another's. Where it was not shared, nothing changes."""
    themselves = user_id.values["user_id"] == context.signed_in
    tree = await tree_for(context, tree_id, Standing.STRANGER if themselves else Standing.OWNER)
    share = TreeShare.key(shared_with_id=user_id.values["user_id"], tree_id=tree.tree_id)
    await write_for_account(context, Delete(share))
    return await context.load.one(tree_id)


async def tree_for(context: Context, key: Key[Tree], needed: Standing) -> Tree:
    """A tree as it is now, in which the viewer may do what takes this standing."""
    user_id = context.signed_in
    values = key.values
    keys: list[Key[Any]] = [
        key,
        User.key(user_id=values["user_id"]),
        TreeShare.key(shared_with_id=user_id, tree_id=values["tree_id"]),
    ]
    tree, owner, share = await context.load.fresh(*keys)
    own = stands(tree, owner, share, context.viewer)
    if own is Standing.NOBODY:
        raise no_such_tree()
    if own < needed:
        who = "its owner" if needed is Standing.OWNER else "its owner and its editors"
        raise refused(ProblemCode.FORBIDDEN, f"only {who} may do this", "input", "treeId")
    assert isinstance(tree, Tree)
    return tree


def still_editing(context: Context, tree: Tree) -> list[Write]:
    """That the viewer may still change the tree when it is written to."""
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    if context.viewer.is_user(tree.user_id):
        return [account]
    share = TreeShare.key(shared_with_id=context.signed_in, tree_id=tree.tree_id)
    return [account, Check(share, when=equals("role", TreeRole.EDITOR))]


async def _write(context: Context, tree: Tree, *writes: Write) -> None:
    still_there = Check(tree.own_key, when=is_open())
    await write_for_account(context, still_there, *writes)


def in_tree(tree: Tree) -> Condition:
    """Of a person: that they are there, and in this tree."""
    return exists() & absent("deleted_at") & equals("tree_id", tree.tree_id)


def no_such_tree() -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such tree", "input", "treeId")


def no_such_person(path: str = "personId") -> Refused:
    return refused(ProblemCode.NOT_FOUND, "there is no such person in this tree", "input", path)
