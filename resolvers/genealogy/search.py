"""Documents of trees and people. Strangers find people in public trees only if they are dead."""

from typing import Any

from datastore.accounts import User
from datastore.genealogy import Person, Tree, may_be_living
from datastore.model.keys import Key, Range
from resolvers.search.documents import (
    EVERYONE,
    Audience,
    Document,
    Related,
    Searchable,
    Under,
    Weight,
    document_key,
    searchable,
    some_texts,
)


def tree_document(tree: Tree, related: Related) -> Document | None:
    if tree.deleted_at is not None or not _is_open(tree.user_id, related):
        return None
    texts = some_texts(
        ("name", tree.name, Weight.TITLE),
        ("description", tree.description, Weight.BODY),
    )
    return Document(
        document_key(tree.own_key),
        "Tree",
        texts,
        _audiences(tree, is_public=tree.is_public),
        owner_id=tree.user_id,
        within=tree.tree_id,
        created_at=tree.created_at,
        depends="public" if tree.is_public else "private",
    )


def person_document(person: Person, related: Related) -> Document | None:
    tree: Tree | None = related.get(Tree.key(user_id=person.user_id, tree_id=person.tree_id))
    is_hidden = person.deleted_at is not None or tree is None or tree.deleted_at is not None
    if is_hidden or tree is None or not _is_open(person.user_id, related):
        return None
    names = (person.first_name, person.middle_name, person.last_name, person.suffix)
    texts = some_texts(
        ("name", " ".join(name for name in names if name), Weight.TITLE),
        ("birthName", person.birth_name, Weight.TITLE),
        ("preferredName", person.preferred_name, Weight.TITLE),
        ("birthPlace", person.birth_place, Weight.TAGS),
        ("deathPlace", person.death_place, Weight.TAGS),
        ("biography", person.biography, Weight.BODY),
    )
    return Document(
        document_key(person.own_key),
        "Person",
        texts,
        _audiences(tree, is_public=tree.is_public and not may_be_living(person)),
        owner_id=person.user_id,
        within=person.tree_id,
        created_at=person.created_at,
    )


def _audiences(tree: Tree, *, is_public: bool) -> list[Audience]:
    own = [Audience.user(tree.user_id), Audience.tree(tree.tree_id)]
    return [EVERYONE, *own] if is_public else own


def _is_open(user_id: str, related: Related) -> bool:
    owner: User | None = related.get(User.key(user_id=user_id))
    return owner is not None and owner.deleted_at is None


def owner_of_tree(tree: Tree) -> list[Key[Any]]:
    return [User.key(user_id=tree.user_id)]


def tree_of_person(person: Person) -> list[Key[Any]]:
    return [User.key(user_id=person.user_id), Tree.key(user_id=person.user_id, tree_id=person.tree_id)]


def trees_of(user: User) -> list[Range[Tree]]:
    return [Tree.by_owner(user_id=user.user_id)]


def people_of(tree: Tree) -> list[Range[Person]]:
    return [Person.of_tree(tree_id=tree.tree_id)]


searchable(Searchable(Tree, tree_document, under=Under(User, trees_of), reads=owner_of_tree, dependents=people_of))
searchable(Searchable(Person, person_document, under=Under(Tree, people_of), reads=tree_of_person))
