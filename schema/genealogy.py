"""Family trees in the graph."""

from typing import Any

import strawberry

from datastore import genealogy as stored
from datastore.genealogy import MarriageStatus, ParentageKind, TreeRole
from datastore.model.dates import HistoricDate
from datastore.model.times import Time
from resolvers.genealogy import edges, link_commands, person_commands, relatives, tree_commands
from resolvers.genealogy.exporting import exporter
from resolvers.genealogy.importing import importer
from resolvers.genealogy.kinship import paths
from schema.accounts import User
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.edges import computed, derived, linked, many, one
from schema.declare.problems import Payload, result
from schema.declare.scalars import choice_type
from schema.declare.types import Node, expose, extend
from schema.execution.limits import WEIGHTS

choice_type(edges.ViewerRole)

KINDS: dict[str, Any] = {
    "kind": Carried(ParentageKind | None, "kind", "How they are the child's parent; null where that is not told."),
    "adoption_date": Carried(HistoricDate | None, "adoption_date", "When the child was adopted."),
    "notes": Carried(str | None, "notes", "What else there is to say."),
}


@expose(stored.Tree)
class Tree(Node):
    owner: User | None = one(edges.owner)
    root_person: "Person | None" = one(edges.root_person)
    viewer_role: edges.ViewerRole | None = computed(edges.viewer_role)
    shared_with: Connection[User] | None = linked(
        edges.shared_with,
        to=edges.shared_user,
        role=Carried(TreeRole, "role", "What they may do."),
        shared_at=Carried(Time, "created_at", "Since when."),
    )
    persons: Connection["Person"] = many(edges.persons, count=lambda tree: tree.person_count)
    relationships: Connection["Parentage"] = many(edges.relationships)
    marriages: Connection["Marriage"] = many(edges.marriages)
    family_graph: "NearFamily | None" = computed(relatives.family_graph, weight=1_000)


@expose(stored.Person)
class Person(Node):
    tree: Tree | None = one(edges.tree_of)
    parents: Connection["Person"] = linked(edges.parents, to=edges.parent, **KINDS)
    children: Connection["Person"] = linked(edges.children, to=edges.child, **KINDS)
    spouses: Connection["Person"] = linked(
        edges.spouses,
        to=None,
        status=Carried(MarriageStatus | None, "status", "What became of it; null where that is not told."),
        marriage_date=Carried(HistoricDate | None, "marriage_date", "When they married."),
        marriage_place=Carried(str | None, "marriage_place", "Where they married."),
        divorce_date=Carried(HistoricDate | None, "divorce_date", "When they divorced."),
        notes=Carried(str | None, "notes", "What else there is to say."),
    )
    siblings: list["Person"] | None = computed(relatives.siblings, weight=relatives.MOST_SIBLINGS)
    half_siblings: list["Person"] | None = computed(relatives.half_siblings, weight=relatives.MOST_SIBLINGS)
    ancestors: list["Kin"] | None = computed(relatives.ancestors, weight=1_000)
    descendants: list["Kin"] | None = computed(relatives.descendants, weight=1_000)
    common_ancestors: list["SharedAncestor"] | None = computed(relatives.common_ancestors, weight=1_000)
    relationship: "Kinship | None" = computed(relatives.kinship, weight=1_000)


@expose(stored.Parentage)
class Parentage(Node):
    kind: ParentageKind | None = derived(edges.kind)
    parent: Person | None = one(edges.parent)
    child: Person | None = one(edges.child)


@expose(stored.Marriage)
class Marriage(Node):
    status: MarriageStatus | None = derived(edges.status)
    person1: Person | None = one(edges.person1)
    person2: Person | None = one(edges.person2)


def shown(graphql_type: Any, description: str) -> Any:
    return strawberry.field(graphql_type=graphql_type, description=description)


@strawberry.type(description="Somebody, and how many generations away they are.")
class Kin:
    person = shown(Person, "The person.")
    generation = shown(int, "How many generations away: ancestors and descendants count from 1.")


@strawberry.type(description="Somebody from whom two people descend.")
class SharedAncestor:
    person = shown(Person, "The ancestor.")
    generations = shown(int, "How many generations the one who was asked about is away.")
    other_generations = shown(int, "How many generations the other one is away.")


@strawberry.type(description="Somebody on the way from one person to another.")
class KinStep:
    person = shown(Person, "The person.")
    link = shown(choice_type(paths.Link) | None, "What they are to the one before; null for the first.")
    kind = shown(choice_type(ParentageKind) | None, "How, if it is a parent or a child.")
    status = shown(choice_type(MarriageStatus) | None, "What became of it, if it is a spouse.")


@strawberry.type(description="What somebody is to somebody.")
class Kinship:
    name = shown(str, "In English, such as second cousin once removed.")
    generations_up = shown(int, "How many generations the way goes up.")
    generations_down = shown(int, "How many generations the way goes down.")
    marriages = shown(int, "How many couples the way goes through.")
    cousin_degree = shown(int | None, "1 for first cousins, 2 for second ones, and so on; null for others.")
    removal = shown(int | None, "How often removed a cousin is; null for others.")
    half = shown(bool, "Whether it is by one common ancestor only where there could be two.")
    path = shown(list[KinStep], "The people on the shortest way, from the one to the other; empty without a way.")


@strawberry.type(description="People and the links between them, to be drawn.")
class NearFamily:
    people = shown(
        list[Kin], "Everybody, the nearest first; generations of ancestors are below 0, those of descendants above."
    )
    parentages = shown(list[Parentage], "Who of them is whose parent.")
    marriages = shown(list[Marriage], "Who of them are or were couples.")
    left_out = shown(int, "How many more there are than could be shown.")


# What is asked of each person in them is asked that often.
WEIGHTS["Kinship", "path"] = 100
WEIGHTS.update({("NearFamily", name): relatives.MOST_PEOPLE for name in ("people", "parentages", "marriages")})


@extend(User)
class GenealogyUser:
    trees: Connection[Tree] = many(edges.trees)
    trees_shared_with_me: Connection[Tree] | None = linked(
        edges.trees_shared_with,
        to=edges.shared_tree,
        role=Carried(TreeRole, "role", "What one may do."),
        shared_at=Carried(Time, "created_at", "Since when."),
    )


class Query:
    tree: Tree | None = one(edges.tree)
    tree_by_tree_id: Tree | None = one(edges.tree_by_tree_id)
    person: Person | None = one(edges.person)
    person_by_person_id: Person | None = one(edges.person_by_person_id)
    export_gedcom: str | None = computed(exporter.export_gedcom, weight=1_000)


@strawberry.type(description="What there is to say about a line of a file.")
class Remark:
    line = shown(int, "The number of the line, from 1.")
    tag = shown(str, "The tag it has.")
    reason = shown(str, "What is wrong with it.")
    text = shown(str, "The beginning of what it says.")


@strawberry.type(description="What became of a file.")
class ImportReport:
    version = shown(str, "The version of GEDCOM it says it is.")
    encoding = shown(str, "How it is encoded.")
    line_count = shown(int, "How many lines were read.")
    person_count = shown(int, "How many people are in it.")
    family_count = shown(int, "How many families are in it.")
    other_record_count = shown(int, "How many records are in it of anything else, such as sources.")
    mapped_count = shown(int, "How many of its structures became people, links and what is said of them.")
    kept_count = shown(int, "How many of its structures are kept as they are, for the next export.")
    refused_count = shown(int, "How many were refused: what they say is lost.")
    repaired_count = shown(int, "How many were read other than they are written.")
    refused = shown(list[Remark], "The first 1,000 of those refused.")
    repaired = shown(list[Remark], "The first 1,000 of those repaired.")


class ImportGedcomPayload(Payload):
    tree: Tree | None = result("The tree as it is now.")
    report: ImportReport | None = result("What became of the file.")


class TreePayload(Payload):
    tree: Tree | None = result("The tree as it is now.")


class DeleteTreePayload(Payload):
    deleted_tree_id: strawberry.ID | None = result("The `id` of what is gone.")


class PersonPayload(Payload):
    person: Person | None = result("The person as they are now.")


class DeletePersonPayload(Payload):
    deleted_person_id: strawberry.ID | None = result("The `id` of who is gone.")
    tree: Tree | None = result("The tree they were in.")


class ParentagePayload(Payload):
    parentage: Parentage | None = result("The link as it is now.")


class UnlinkParentPayload(Payload):
    deleted_parentage_id: strawberry.ID | None = result("The `id` of what is gone.")
    child: Person | None = result("The child.")


class MarriagePayload(Payload):
    marriage: Marriage | None = result("The link as it is now.")


class UnlinkSpousesPayload(Payload):
    deleted_marriage_id: strawberry.ID | None = result("The `id` of what is gone.")


class Mutation:
    create_tree: TreePayload = command(tree_commands.create_tree)
    update_tree: TreePayload = command(tree_commands.update_tree)
    delete_tree: DeleteTreePayload = command(tree_commands.delete_tree)
    share_tree: TreePayload = command(tree_commands.share_tree)
    unshare_tree: TreePayload = command(tree_commands.unshare_tree)
    add_person: PersonPayload = command(person_commands.add_person)
    update_person: PersonPayload = command(person_commands.update_person)
    delete_person: DeletePersonPayload = command(person_commands.delete_person)
    add_child: PersonPayload = command(person_commands.add_child)
    link_parent: ParentagePayload = command(link_commands.link_parent)
    unlink_parent: UnlinkParentPayload = command(link_commands.unlink_parent)
    link_spouses: MarriagePayload = command(link_commands.link_spouses)
    update_marriage: MarriagePayload = command(link_commands.update_marriage)
    unlink_spouses: UnlinkSpousesPayload = command(link_commands.unlink_spouses)
    import_gedcom: ImportGedcomPayload = command(importer.import_gedcom)
