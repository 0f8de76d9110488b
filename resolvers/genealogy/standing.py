"""The viewer's standing in a tree, and which people may be living."""

from datetime import UTC, datetime
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
from datastore.model.dates import earliest, latest
from datastore.model.keys import Key
from loaders.needs import Once, Step
from loaders.viewer import Viewer
from loaders.visibility import readable_at
from resolvers.accounts.visibility import visible as account_visible

LIVES_AT_MOST = 110


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


def may_be_living(person: Person) -> bool:
    """Returns True unless a death is recorded or the person was born at least 110 years ago."""
    if is_dead(person):
        return False
    born = latest(person.birth_date) if person.birth_date else None
    if born is None:
        return True
    today = datetime.now(UTC)
    return (born[0] + LIVES_AT_MOST, *born[1:]) > (today.year, today.month, today.day)


def is_dead(person: Person) -> bool:
    """True if a death is recorded. A free-text date does not count: it may even say that the person is alive."""
    died = person.death_date
    return person.is_deceased or (died is not None and (earliest(died) or latest(died)) is not None)
