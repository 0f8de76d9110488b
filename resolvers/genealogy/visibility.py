"""Visibility rules of trees: strangers learn nothing about people who may be living."""

from collections.abc import Sequence

from datastore.genealogy import (
    GedcomPart,
    Marriage,
    Parentage,
    Person,
    Tree,
    TreeShare,
    may_be_living,
)
from datastore.model.keys import Key
from loaders.needs import Step
from loaders.viewer import Viewer
from loaders.visibility import never_shown, readable_at, visibility
from resolvers.genealogy.edges import child, parent, person1, person2
from resolvers.genealogy.standing import LIVING, Link, Standing, standing

never_shown(GedcomPart, because="imports and exports read the preserved parts of files")


@visibility(Tree)
def tree_visible(tree: Tree, viewer: Viewer) -> Step[bool]:
    own = yield from standing(tree, viewer)
    return own > Standing.NOBODY


@visibility(TreeShare)
def share_visible(share: TreeShare, viewer: Viewer) -> bool:
    """Visible to both sides."""
    return viewer.is_user(share.user_id) or viewer.is_user(share.shared_with_id)


@visibility(Person)
def person_visible(person: Person, viewer: Viewer) -> Step[bool | Person]:
    """Strangers see people who may be living without any details."""
    own = yield from standing(person, viewer)
    if person.deleted_at is not None or own is Standing.NOBODY:
        return False
    return _living(person) if own is Standing.STRANGER and may_be_living(person) else True


@visibility(Parentage)
@visibility(Marriage)
def link_visible(link: Link, viewer: Viewer) -> Step[bool | Link]:
    own = yield from standing(link, viewer)
    people: list[Person | None] = yield from readable_at(ends(link) if own > Standing.NOBODY else [])
    return link_as_seen(link, people, own)


def ends(link: Link) -> list[Key[Person]]:
    if isinstance(link, Parentage):
        return [parent(link), child(link)]
    return [person1(link), person2(link)]


def link_as_seen(link: Link, people: Sequence[Person | None], own: Standing) -> bool | Link:
    """A link is visible if both people are. If either may be living, strangers see only that it exists."""
    if own is Standing.NOBODY or any(person is None or person.deleted_at is not None for person in people):
        return False
    if own is not Standing.STRANGER or not any(person is not None and may_be_living(person) for person in people):
        return True
    return _bare(link)


def _bare(link: Link) -> Link:
    """Removes all details: neither an adoption nor a divorce shows."""
    if isinstance(link, Parentage):
        nothing = {"kind": None, "adoption_date": None, "notes": None}
    else:
        nothing = dict.fromkeys(("status", "marriage_date", "marriage_place", "divorce_date", "notes"))
    return link.changed(**nothing, updated_at=link.created_at)


def _living(person: Person) -> Person:
    """Removes all details of a person."""
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
