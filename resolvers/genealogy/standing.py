"""The viewer's standing in a tree, and which people may be living."""

from enum import IntEnum
from functools import partial
from typing import Any

from datastore.accounts import User
from datastore.genealogy import (
    Marriage,
    Parentage,
    Person,
    Tree,
    TreeRole,
    TreeShare,
)
from datastore.model.keys import Key
from loaders.needs import Once, Step
from loaders.viewer import Viewer
from loaders.visibility import readable_at
from resolvers.accounts.visibility import visible as account_visible

LIVING = "Living"


Link = Parentage | Marriage


class Standing(IntEnum):
    """The viewer's standing in a tree. A higher one includes the rights of the lower ones."""

    NOBODY = 0
    STRANGER = 1
    READER = 2
    EDITOR = 3
    OWNER = 4


ROLES = {TreeRole.READER: Standing.READER, TreeRole.EDITOR: Standing.EDITOR}


def standing(record: Tree | Person | Link, viewer: Viewer) -> Step[Standing]:
    """Returns the viewer's standing in the record's tree."""
    step = partial(_standing, record.user_id, record.tree_id, viewer)
    found: Standing = yield Once(("standing", record.user_id, record.tree_id), step)
    return found


def _standing(user_id: str, tree_id: str, viewer: Viewer) -> Step[Standing]:
    keys: list[Key[Any] | None] = [
        Tree.key(user_id=user_id, tree_id=tree_id),
        User.key(user_id=user_id),
        TreeShare.key(shared_with_id=viewer.user_id, tree_id=tree_id) if viewer.user_id else None,
    ]
    tree, owner, share = yield from readable_at(keys)
    return stands(tree, owner, share, viewer)


def stands(tree: Tree | None, owner: User | None, share: TreeShare | None, viewer: Viewer) -> Standing:
    if tree is None or tree.deleted_at is not None or owner is None or not account_visible(owner, viewer):
        return Standing.NOBODY
    if viewer.is_user(tree.user_id):
        return Standing.OWNER
    if share is not None and share.user_id == tree.user_id:
        return ROLES[share.role]
    return Standing.STRANGER if tree.is_public else Standing.NOBODY
