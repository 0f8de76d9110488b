"""Rules of consistency of family trees."""

from collections.abc import Sequence
from dataclasses import replace

from datastore.client.writes import Update, Write, exists, same
from datastore.genealogy import Marriage, Parentage, ParentageKind, Person, Tree
from datastore.model.keys import Key
from resolvers.genealogy.edges import child, parent, person1, person2, root_person, tree_of
from resolvers.genealogy.jobs import purge_person, purge_tree
from resolvers.genealogy.link_records import same_parents
from resolvers.maintenance.rules import Listed, counter, lists, needs, placed, purged_by

counter(
    "person_count",
    Tree,
    of=Person,
    at=tree_of,
    items=lambda tree: Person.of_tree(tree_id=tree.tree_id),
    weight=lambda person: person.deleted_at is None,
)

needs(Parentage, keys=lambda link: [parent(link), child(link)])
needs(Marriage, keys=lambda link: [person1(link), person2(link)])


def _without_root(tree: Tree, _: Key[Person]) -> list[Write]:
    return [Update(tree.own_key, remove=["root_person_id"], when=same("root_person_id", tree.root_person_id))]


needs(Tree, keys=root_person, mend=_without_root)


def _with_parents(person: Person, links: Sequence[Parentage]) -> list[Write]:
    """The links are right: they have the kinds and dates."""
    linked = [link.parent_id for link in links]
    kept = [parent_id for parent_id in dict.fromkeys(person.parent_ids) if parent_id in linked]
    added = [parent_id for parent_id in linked if parent_id not in kept]
    biological = sum(link.kind is ParentageKind.BIOLOGICAL for link in links)
    changed = person.changed(parent_ids=[*kept, *added], biological_parents=biological, updated_at=person.updated_at)
    return [Update.of(person, changed, when=exists() & same_parents(person))]


lists(
    Listed(
        "Person.parent_ids",
        Person,
        of=Parentage,
        at=child,
        items=lambda person: Parentage.parents_of(child_id=person.person_id),
        values=lambda person: person.parent_ids,
        value=lambda link: link.parent_id,
        mend=_with_parents,
    )
)
counter(
    "biological_parents",
    Person,
    of=Parentage,
    at=child,
    items=lambda person: Parentage.parents_of(child_id=person.person_id),
    weight=lambda link: link.kind is ParentageKind.BIOLOGICAL,
)


def _in_lists(person: Person) -> Person:
    """Everything follows from the fields, except that a person may have become old enough to be dead since."""
    fresh = replace(person)
    life = person.life if person.life is not None and fresh.life is not None else fresh.life
    # `changed` would derive it again.
    fresh.__dict__["life"] = life
    return fresh


placed(Person, _in_lists)
purged_by(Tree, purge_tree)
purged_by(Person, purge_person)
