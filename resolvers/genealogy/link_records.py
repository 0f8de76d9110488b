"""Builds link records. A child stores its parent IDs, so that walking up needs no index."""

from typing import Any

from datastore.client.writes import Condition, Delete, Update, Write, equals, exists
from datastore.genealogy import Marriage, Parentage, ParentageKind, Person, Tree
from datastore.model.dates import earliest, latest
from resolvers.core.problems import ProblemCode, refused

BIOLOGICAL_PARENTS = 2


def parentage(tree: Tree, parent: Person, child: Person, **details: Any) -> Parentage:
    return Parentage(
        user_id=tree.user_id, tree_id=tree.tree_id, parent_id=parent.person_id, child_id=child.person_id, **details
    )


def couple(tree: Tree, one_id: str, other_id: str, **details: Any) -> Marriage:
    """Orders two IDs, so that a couple is one record regardless of who is named first."""
    first, second = sorted((one_id, other_id))
    return Marriage(user_id=tree.user_id, tree_id=tree.tree_id, person1_id=first, person2_id=second, **details)


def with_parent(child: Person, link: Parentage) -> Person:
    """Adds a parent to a child. Refuses a third biological parent."""
    is_biological = link.kind is ParentageKind.BIOLOGICAL
    if is_biological and child.biological_parents >= BIOLOGICAL_PARENTS and link.parent_id not in child.parent_ids:
        message = "a child has at most two biological parents; choose another kind for this one"
        raise refused(ProblemCode.INVALID, message, at="kind")
    return child.changed(
        parent_ids=[*child.parent_ids, link.parent_id],
        biological_parents=child.biological_parents + is_biological,
        updated_at=child.updated_at,
    )


def unlinked(link: Parentage, child: Person | None) -> list[Write]:
    """Removes a parentage, and the parent from the child."""
    removal = Delete(link.own_key, when=exists())
    if child is None:
        return [removal]
    without = child.changed(
        parent_ids=[each for each in child.parent_ids if each != link.parent_id],
        biological_parents=child.biological_parents - (link.kind is ParentageKind.BIOLOGICAL),
        updated_at=child.updated_at,
    )
    return [removal, Update.of(child, without, when=exists() & same_parents(child))]


def same_parents(child: Person) -> Condition:
    return equals("parent_ids", child.parent_ids) & equals("biological_parents", child.biological_parents)


def warn_of_births(parent: Person, child: Person) -> None:
    """Refuses a child older than the parent. Clients can override it, because the recorded dates may be wrong."""
    born = latest(child.birth_date) if child.birth_date else None
    parent_born = earliest(parent.birth_date) if parent.birth_date else None
    if born is not None and parent_born is not None and born < parent_born:
        message = "the child was born before the parent; send `ignoreWarnings: true` if that is correct"
        raise refused(ProblemCode.WARNING, message, at=parent.own_key)
