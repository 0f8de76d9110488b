"""Edges of family trees: the key or range each field reads."""

from functools import partial
from typing import Annotated

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
    TreeShare,
    is_dead,
)
from datastore.model.dates import sort_key
from datastore.model.enums import Choice
from datastore.model.keys import Key, Range
from loaders.needs import Step, Together
from loaders.pages import whole
from loaders.ranked import Ranked
from loaders.viewer import Viewer
from loaders.visibility import seen
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.genealogy.kinship.family import Member
from resolvers.genealogy.standing import Link, standing

# Sorts after every date.
LAST = "~"


class ViewerRole(Choice):
    """The viewer's role in a tree."""

    STRANGER = "STRANGER", "Sees the tree because it is public."
    READER = "READER", "May read the tree, which is shared with them."
    EDITOR = "EDITOR", "May also edit people and links."
    OWNER = "OWNER", "Owns the tree."


def tree_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Range[Tree]:
    """The tree with this permanent identifier."""
    return Tree.by_id(tree_id=database_id)


def person_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Range[Person]:
    """The person with this permanent identifier."""
    return Person.by_id(person_id=database_id)


def trees(user: User) -> Range[Tree]:
    """Trees of the user visible to the viewer, newest first."""
    return Tree.by_owner(user_id=user.user_id).newest_first()


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.SELF,))
def trees_shared_with(user: User, viewer: Viewer) -> Range[TreeShare] | None:
    """Trees shared with the user."""
    return TreeShare.within(shared_with_id=user.user_id) if viewer.is_user(user.user_id) else None


def shared_tree(share: TreeShare) -> Key[Tree]:
    return Tree.key(user_id=share.user_id, tree_id=share.tree_id)


def owner(tree: Tree) -> Key[User]:
    """The owner."""
    return User.key(user_id=tree.user_id)


def root_person(tree: Tree) -> Key[Person] | None:
    """The root person."""
    return person_key(tree, tree.root_person_id) if tree.root_person_id else None


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
def shared_with(tree: Tree, viewer: Viewer) -> Range[TreeShare] | None:
    """Users the tree is shared with."""
    return TreeShare.of_tree(tree_id=tree.tree_id) if viewer.is_user(tree.user_id) else None


def shared_user(share: TreeShare) -> Key[User]:
    return User.key(user_id=share.shared_with_id)


def viewer_role(tree: Tree, viewer: Viewer) -> Step[ViewerRole | None]:
    """The viewer's role in the tree."""
    own = yield from standing(tree, viewer)
    return ViewerRole[own.name] if own else None


def parentages(tree: Tree) -> Range[Parentage]:
    """Parent-child relationships."""
    return Parentage.of_tree(tree_id=tree.tree_id)


def marriages(tree: Tree) -> Range[Marriage]:
    """Marriages and partnerships."""
    return Marriage.of_tree(tree_id=tree.tree_id)


def tree_of(record: Person | Link) -> Key[Tree]:
    """The tree."""
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
    """The first spouse."""
    return person_key(link, link.person1_id)


def person2(link: Marriage) -> Key[Person]:
    """The second spouse."""
    return person_key(link, link.person2_id)


def kind(link: Parentage) -> ParentageKind | None:
    """Kind of relationship. Null if either person may be living and the viewer may not see details."""
    return link.kind


def status(link: Marriage) -> MarriageStatus | None:
    """Status of the marriage. Null if either person may be living and the viewer may not see details."""
    return link.status


def parents(person: Person) -> Range[Parentage]:
    """Parents, with the kind of relationship."""
    return Parentage.parents_of(child_id=person.person_id)


def children(person: Person) -> Range[Parentage]:
    """Children, with the kind of relationship."""
    return Parentage.within(user_id=person.user_id, parent_id=person.person_id)


def spouses(person: Person, viewer: Viewer) -> Step[Ranked[Marriage]]:
    """Spouses and partners with the status of the marriage, earliest first."""
    ranges: list[Range[Marriage]] = [
        Marriage.within(user_id=person.user_id, person1_id=person.person_id),
        Marriage.by_second_person(person2_id=person.person_id),
    ]
    found: list[list[Marriage]] = yield Together([whole(within) for within in ranges])
    # Sorted as the viewer sees them, so that the order reveals no hidden date.
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
    """Returns a person as kinship sees them. `hidden` removes the details of a person who may be living."""
    if hidden:
        return Member(person.person_id, Gender.UNKNOWN)
    return Member(person.person_id, person.gender, born_at(person), is_dead(person))


def born_at(person: Person) -> str | None:
    return sort_key(person.birth_date) if person.birth_date else None
