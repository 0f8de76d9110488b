"""Family trees: where each field leads, and who may see what."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import IntEnum
from functools import partial
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.genealogy import (
    Gender,
    Marriage,
    MarriageStatus,
    Parentage,
    ParentageKind,
    Person,
    Tree,
    TreeRole,
    TreeShare,
)
from datastore.model.dates import earliest, latest, sort_key
from datastore.model.enums import Choice
from datastore.model.keys import Key, Range
from loaders.needs import Items, Once, Step, Together
from loaders.pages import whole
from loaders.ranked import Ranked
from loaders.viewer import Viewer
from loaders.visibility import seen, visibility
from resolvers.accounts.edges import visible as account_visible
from resolvers.genealogy.kinship.family import Member

LIVES_AT_MOST = 110
LIVING = "Living"
# After every date.
LAST = "~"

Link = Parentage | Marriage


class Standing(IntEnum):
    """What somebody is to a tree; whoever is more may do all that those may who are less."""

    NOBODY = 0
    STRANGER = 1
    READER = 2
    EDITOR = 3
    OWNER = 4


class ViewerRole(Choice):
    """What somebody is to a tree."""

    STRANGER = "STRANGER", "One of those who may see it because it is public."
    READER = "READER", "Somebody it is shared with, to look at."
    EDITOR = "EDITOR", "Somebody it is shared with, to change people and links too."
    OWNER = "OWNER", "Whose it is."


ROLES = {TreeRole.READER: Standing.READER, TreeRole.EDITOR: Standing.EDITOR}


def standing(record: Tree | Person | Link, viewer: Viewer) -> Step[Standing]:
    """What the viewer is to the tree that this is, or is in."""
    step = partial(_standing, record.user_id, record.tree_id, viewer)
    found: Standing = yield Once(("standing", record.user_id, record.tree_id), step)
    return found


def _standing(user_id: str, tree_id: str, viewer: Viewer) -> Step[Standing]:
    keys: list[Key[Any] | None] = [
        Tree.key(user_id=user_id, tree_id=tree_id),
        User.key(user_id=user_id),
        TreeShare.key(shared_with_id=viewer.user_id, tree_id=tree_id) if viewer.user_id else None,
    ]
    tree, owner, share = yield Items(keys)
    return stands(tree, owner, share, viewer)


def stands(tree: Tree | None, owner: User | None, share: TreeShare | None, viewer: Viewer) -> Standing:
    if tree is None or tree.deleted_at is not None or owner is None or not account_visible(owner, viewer):
        return Standing.NOBODY
    if viewer.is_user(tree.user_id):
        return Standing.OWNER
    if share is not None and share.user_id == tree.user_id:
        return ROLES[share.role]
    return Standing.STRANGER if tree.is_public else Standing.NOBODY


@visibility(Tree)
def tree_visible(tree: Tree, viewer: Viewer) -> Step[bool]:
    own = yield from standing(tree, viewer)
    return own > Standing.NOBODY


@visibility(TreeShare)
def share_visible(share: TreeShare, viewer: Viewer) -> bool:
    """To both sides."""
    return viewer.is_user(share.user_id) or viewer.is_user(share.shared_with_id)


@visibility(Person)
def person_visible(person: Person, viewer: Viewer) -> Step[bool | Person]:
    """Who may be living is nobody's business but of those the tree is shared with."""
    own = yield from standing(person, viewer)
    if person.deleted_at is not None or own is Standing.NOBODY:
        return False
    return _living(person) if own is Standing.STRANGER and may_be_living(person) else True


@visibility(Parentage)
@visibility(Marriage)
def link_visible(link: Link, viewer: Viewer) -> Step[bool | Link]:
    own = yield from standing(link, viewer)
    people: list[Person | None] = yield Items(ends(link) if own > Standing.NOBODY else [])
    return link_as_seen(link, people, own)


def ends(link: Link) -> list[Key[Person]]:
    if isinstance(link, Parentage):
        return [parent(link), child(link)]
    return [person1(link), person2(link)]


def link_as_seen(link: Link, people: Sequence[Person | None], own: Standing) -> bool | Link:
    """With both its people, or not at all; where one of them may be living, strangers see that it is there."""
    if own is Standing.NOBODY or any(person is None or person.deleted_at is not None for person in people):
        return False
    if own is not Standing.STRANGER or not any(person is not None and may_be_living(person) for person in people):
        return True
    return _bare(link)


def _bare(link: Link) -> Link:
    """That it is there, and nothing about it: neither that a child was adopted nor that a couple divorced."""
    if isinstance(link, Parentage):
        nothing = {"kind": None, "adoption_date": None, "notes": None}
    else:
        nothing = dict.fromkeys(("status", "marriage_date", "marriage_place", "divorce_date", "notes"))
    return link.changed(**nothing, updated_at=link.created_at)


def may_be_living(person: Person) -> bool:
    """Nothing says that they died, and they were not born 110 years ago or earlier, as far as that is known."""
    if is_dead(person):
        return False
    born = latest(person.birth_date) if person.birth_date else None
    if born is None:
        return True
    today = datetime.now(UTC)
    return (born[0] + LIVES_AT_MOST, *born[1:]) > (today.year, today.month, today.day)


def is_dead(person: Person) -> bool:
    """Words in the place of a date may say anything, even that somebody lives."""
    died = person.death_date
    return person.is_deceased or (died is not None and (earliest(died) or latest(died)) is not None)


def _living(person: Person) -> Person:
    """That there is somebody, and nothing about them."""
    hidden = Person(
        user_id=person.user_id,
        person_id=person.person_id,
        tree_id=person.tree_id,
        first_name=LIVING,
        created_at=person.created_at,
        updated_at=person.created_at,
    )
    hidden.__dict__["own_key"] = person.own_key
    return hidden


def tree(*, id: Annotated[Key[Tree], Doc("The `id` of a tree.")]) -> Key[Tree]:
    """The tree with this id."""
    return id


def tree_by_tree_id(*, tree_id: Annotated[str, Doc("The `treeId` of a tree.")]) -> Range[Tree]:
    """The tree with this identifier."""
    return Tree.by_id(tree_id=tree_id)


def person(*, id: Annotated[Key[Person], Doc("The `id` of a person.")]) -> Key[Person]:
    """The person with this id."""
    return id


def person_by_person_id(*, person_id: Annotated[str, Doc("The `personId` of a person.")]) -> Range[Person]:
    """The person with this identifier."""
    return Person.by_id(person_id=person_id)


def trees(user: User) -> Range[Tree]:
    """The trees of this person that one may see, newest first."""
    return Tree.by_owner(user_id=user.user_id).newest_first()


def trees_shared_with(user: User, viewer: Viewer) -> Range[TreeShare] | None:
    """Others' trees that are shared with this person; null for anybody but oneself."""
    return TreeShare.within(shared_with_id=user.user_id) if viewer.is_user(user.user_id) else None


def shared_tree(share: TreeShare) -> Key[Tree]:
    return Tree.key(user_id=share.user_id, tree_id=share.tree_id)


def owner(tree: Tree) -> Key[User]:
    """Whose it is."""
    return User.key(user_id=tree.user_id)


def root_person(tree: Tree) -> Key[Person] | None:
    """The person it begins with."""
    return person_key(tree, tree.root_person_id) if tree.root_person_id else None


def shared_with(tree: Tree, viewer: Viewer) -> Range[TreeShare] | None:
    """Who else may look, and do what; null for anybody but its owner."""
    return TreeShare.of_tree(tree_id=tree.tree_id) if viewer.is_user(tree.user_id) else None


def shared_user(share: TreeShare) -> Key[User]:
    return User.key(user_id=share.shared_with_id)


def viewer_role(tree: Tree, viewer: Viewer) -> Step[ViewerRole | None]:
    """What the one who asks is to it."""
    own = yield from standing(tree, viewer)
    return ViewerRole[own.name] if own else None


def persons(tree: Tree) -> Range[Person]:
    """Everybody in it, in the order of their ids."""
    return Person.of_tree(tree_id=tree.tree_id)


def relationships(tree: Tree) -> Range[Parentage]:
    """Who is whose parent."""
    return Parentage.of_tree(tree_id=tree.tree_id)


def marriages(tree: Tree) -> Range[Marriage]:
    """Who are or were couples."""
    return Marriage.of_tree(tree_id=tree.tree_id)


def tree_of(record: Person | Link) -> Key[Tree]:
    """The tree it is in."""
    return Tree.key(user_id=record.user_id, tree_id=record.tree_id)


def person_key(record: Tree | Person | Link, person_id: str) -> Key[Person]:
    return Person.key(user_id=record.user_id, person_id=person_id)


def parent(link: Parentage) -> Key[Person]:
    """The parent."""
    return person_key(link, link.parent_id)


def child(link: Parentage) -> Key[Person]:
    """The child."""
    return person_key(link, link.child_id)


def person1(link: Marriage) -> Key[Person]:
    """One of them."""
    return person_key(link, link.person1_id)


def person2(link: Marriage) -> Key[Person]:
    """The other one."""
    return person_key(link, link.person2_id)


def kind(link: Parentage) -> ParentageKind | None:
    """How they are the child's parent; null where one of them may be living, and it is not one's business."""
    return link.kind


def status(link: Marriage) -> MarriageStatus | None:
    """What became of it; null where one of them may be living, and it is not one's business."""
    return link.status


def parents(person: Person) -> Range[Parentage]:
    """Their parents, and how they are that."""
    return Parentage.parents_of(child_id=person.person_id)


def children(person: Person) -> Range[Parentage]:
    """Their children, and how they are that."""
    return Parentage.within(user_id=person.user_id, parent_id=person.person_id)


def spouses(person: Person, viewer: Viewer) -> Step[Ranked[Marriage]]:
    """Whom they married or lived with, and what became of it, the first one first."""
    ranges: list[Range[Marriage]] = [
        Marriage.within(user_id=person.user_id, person1_id=person.person_id),
        Marriage.by_second_person(person2_id=person.person_id),
    ]
    found: list[list[Marriage]] = yield Together([whole(within) for within in ranges])
    # As they are seen: the order tells nothing of a date that is not.
    shown: list[Marriage | None] = yield from seen([link for some in found for link in some], viewer)
    links = sorted((link for link in shown if link is not None), key=_begun, reverse=True)
    ranks = {link.own_key: f"{place:04d}" for place, link in enumerate(links)}
    at_hand = {link.own_key: link for link in links}
    return Ranked(ranks, at_hand, person.person_id, partial(_other, person_id=person.person_id))


def _begun(link: Marriage) -> tuple[str, str]:
    return sort_key(link.marriage_date) if link.marriage_date else LAST, link.own_key.sk


def _other(link: Marriage, person_id: str) -> Key[Person]:
    return person2(link) if link.person1_id == person_id else person1(link)


def as_member(person: Person, *, hidden: bool = False) -> Member:
    """What kinship has to know of somebody; less of one who may be living, for those whose business that is not."""
    if hidden:
        return Member(person.person_id, Gender.UNKNOWN)
    return Member(person.person_id, person.gender, born_at(person), is_dead(person))


def born_at(person: Person) -> str | None:
    return sort_key(person.birth_date) if person.birth_date else None
