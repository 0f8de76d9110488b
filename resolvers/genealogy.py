"""Family trees: where each field leads, and who may see what."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import IntEnum
from functools import partial
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.dates import latest, sort_key
from datastore.genealogy import Marriage, Parentage, Person, Tree, TreeRole, TreeShare
from datastore.keys import Key, Range
from datastore.kin import Gender
from datastore.users import User
from loaders.pages import whole
from loaders.ranked import Ranked
from loaders.steps import Items, Once, Step, Together
from loaders.viewer import Viewer
from loaders.visibility import seen, visibility
from resolvers.kinship import Family, Member
from resolvers.kinship import Parentage as ParentageLink
from resolvers.users import visible as account_visible

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
    if isinstance(link, Parentage):
        return link.changed(adoption_date=None, notes=None, updated_at=link.created_at)
    return link.changed(
        marriage_date=None, marriage_place=None, divorce_date=None, notes=None, updated_at=link.created_at
    )


def may_be_living(person: Person) -> bool:
    """Nothing says that they died, and they were not born 110 years ago or earlier, as far as that is known."""
    if person.death_date is not None or person.is_deceased:
        return False
    born = latest(person.birth_date) if person.birth_date else None
    if born is None:
        return True
    today = datetime.now(UTC)
    return (born[0] + LIVES_AT_MOST, *born[1:]) > (today.year, today.month, today.day)


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
    return Tree.within("gsi1", tree_id=tree_id)


def person(*, id: Annotated[Key[Person], Doc("The `id` of a person.")]) -> Key[Person]:
    """The person with this id."""
    return id


def person_by_person_id(*, person_id: Annotated[str, Doc("The `personId` of a person.")]) -> Range[Person]:
    """The person with this identifier."""
    return Person.within("gsi1", person_id=person_id)


def trees(user: User) -> Range[Tree]:
    """The trees of this person that one may see, newest first."""
    return Tree.within("gsi3", user_id=user.user_id).newest_first()


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
    return TreeShare.within("gsi2", tree_id=tree.tree_id) if viewer.is_user(tree.user_id) else None


def shared_user(share: TreeShare) -> Key[User]:
    return User.key(user_id=share.shared_with_id)


def viewer_role(tree: Tree, viewer: Viewer) -> Step[str]:
    """What the one who asks is to it: STRANGER, READER, EDITOR or OWNER."""
    own = yield from standing(tree, viewer)
    return own.name


def persons(tree: Tree) -> Range[Person]:
    """Everybody in it, in the order they were added."""
    return Person.within("gsi2", tree_id=tree.tree_id)


def relationships(tree: Tree) -> Range[Parentage]:
    """Who is whose parent."""
    return Parentage.within("gsi2", tree_id=tree.tree_id)


def marriages(tree: Tree) -> Range[Marriage]:
    """Who are or were couples."""
    return Marriage.within("gsi2", tree_id=tree.tree_id)


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


def parents(person: Person) -> Range[Parentage]:
    """Their parents, and how they are that."""
    return Parentage.within("gsi1", child_id=person.person_id)


def children(person: Person) -> Range[Parentage]:
    """Their children, and how they are that."""
    return Parentage.within(user_id=person.user_id, parent_id=person.person_id)


def spouses(person: Person) -> Step[Ranked[Marriage]]:
    """Whom they married or lived with, and what became of it, the first one first."""
    ranges: list[Range[Marriage]] = [
        Marriage.within(user_id=person.user_id, person1_id=person.person_id),
        Marriage.within("gsi1", person2_id=person.person_id),
    ]
    found: list[list[Marriage]] = yield Together([whole(within) for within in ranges])
    links = sorted((link for some in found for link in some), key=_begun, reverse=True)
    ranks = {link.own_key: f"{place:04d}" for place, link in enumerate(links)}
    at_hand = {link.own_key: link for link in links}
    return Ranked(ranks, at_hand, person.person_id, partial(_other, person_id=person.person_id))


def _begun(link: Marriage) -> tuple[str, str]:
    return sort_key(link.marriage_date) if link.marriage_date else LAST, link.own_key.sk


def _other(link: Marriage, person_id: str) -> Key[Person]:
    return person2(link) if link.person1_id == person_id else person1(link)


def siblings(person: Person, viewer: Viewer) -> Step[list[Person]]:
    """Who has the same parents, by birth or by adoption, the eldest first."""
    return (yield from _with_common_parents(person, viewer, Family.siblings))


def half_siblings(person: Person, viewer: Viewer) -> Step[list[Person]]:
    """Who shares a parent by birth or adoption, and has another one besides, the eldest first."""
    return (yield from _with_common_parents(person, viewer, Family.half_siblings))


def _with_common_parents(person: Person, viewer: Viewer, which: Any) -> Step[list[Person]]:
    """Up to the parents and down to their children, and up once more: the others may have other parents."""
    above: list[Parentage] = yield from whole(parents(person))
    below: list[list[Parentage]] = yield Together(
        [whole(Parentage.within(user_id=person.user_id, parent_id=link.parent_id)) for link in above]
    )
    near = {link.child_id for links in below for link in links} - {person.person_id}
    others: list[list[Parentage]] = yield Together(
        [whole(Parentage.within("gsi1", child_id=child_id)) for child_id in sorted(near)]
    )
    links = [*above, *(link for some in (*below, *others) for link in some)]
    keys = [person_key(person, each) for each in {*near, *(link.parent_id for link in links), person.person_id}]
    stored: list[Person | None] = yield Items(keys)
    people = {each.person_id: each for each in stored if each is not None and each.deleted_at is None}
    is_stranger = (yield from standing(person, viewer)) is Standing.STRANGER
    family = Family(
        [as_member(each, hidden=is_stranger and may_be_living(each)) for each in people.values()],
        [ParentageLink(link.parent_id, link.child_id, link.kind) for link in links],
        [],
    )
    found = yield from seen([people[each] for each in which(family, person.person_id)], viewer)
    return [each for each in found if each is not None]


def as_member(person: Person, *, hidden: bool = False) -> Member:
    """What kinship has to know of somebody; less of one who may be living, for those whose business that is not."""
    if hidden:
        return Member(person.person_id, Gender.UNKNOWN)
    deceased = person.death_date is not None or person.is_deceased
    return Member(person.person_id, person.gender, born_at(person), deceased)


def born_at(person: Person) -> str | None:
    return sort_key(person.birth_date) if person.birth_date else None
