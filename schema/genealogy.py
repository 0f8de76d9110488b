"""GraphQL types of family trees."""

from typing import Any

import strawberry

from datastore import genealogy as stored
from datastore.genealogy import MarriageStatus, ParentageKind, TreeRole
from datastore.model.dates import HistoricDate
from datastore.model.times import Time
from resolvers.genealogy import edges, link_commands, person_commands, person_lists, relatives, tree_commands
from resolvers.genealogy.exporting import exporter
from resolvers.genealogy.importing import importer
from resolvers.genealogy.kinship import paths
from schema.accounts import User
from schema.declare.appended import Addition, appended
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.edges import computed, derived, linked, many, one
from schema.declare.lookups import lookup
from schema.declare.problems import Payload, result
from schema.declare.scalars import choice_type
from schema.declare.types import Node, expose, extend
from schema.execution.weights import WEIGHTS

choice_type(edges.ViewerRole)

KINDS: dict[str, Any] = {
    "kind": Carried(ParentageKind | None, "kind", "Kind of relationship. Null if the viewer may not see it."),
    "adoption_date": Carried(HistoricDate | None, "adoption_date", "Date of adoption."),
    "notes": Carried(str | None, "notes", "Notes."),
}


@expose(stored.Tree)
class Tree(Node):
    owner: User | None = one(edges.owner)
    root_person: "Person | None" = one(edges.root_person)
    viewer_role: edges.ViewerRole | None = computed(edges.viewer_role)
    shared_with: Connection[User] | None = linked(
        edges.shared_with,
        to=edges.shared_user,
        role=Carried(TreeRole, "role", "Role granted."),
        shared_at=Carried(Time, "created_at", "Time the tree was shared."),
    )
    persons: Connection["Person"] = many(person_lists.persons, count="person_count")
    parentages: Connection["Parentage"] = many(edges.parentages)
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
        status=Carried(MarriageStatus | None, "status", "Status of the marriage. Null if the viewer may not see it."),
        marriage_date=Carried(HistoricDate | None, "marriage_date", "Date of marriage."),
        marriage_place=Carried(str | None, "marriage_place", "Place of marriage."),
        divorce_date=Carried(HistoricDate | None, "divorce_date", "Date of divorce."),
        notes=Carried(str | None, "notes", "Notes."),
    )
    siblings: list["Person"] | None = computed(relatives.siblings, weight=relatives.MOST_SIBLINGS)
    half_siblings: list["Person"] | None = computed(relatives.half_siblings, weight=relatives.MOST_SIBLINGS)
    ancestors: list["Kin"] | None = computed(relatives.ancestors, weight=1_000)
    descendants: list["Kin"] | None = computed(relatives.descendants, weight=1_000)
    common_ancestors: list["SharedAncestor"] | None = computed(relatives.common_ancestors, weight=1_000)
    kinship: "Kinship | None" = computed(relatives.kinship, weight=1_000)


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


@strawberry.type(description="A relative and their distance in generations.")
class Kin:
    person = shown(Person, "The person.")
    generation = shown(int, "Distance in generations. In a family graph, negative for ancestors.")


@strawberry.type(description="A common ancestor of two people.")
class SharedAncestor:
    person = shown(Person, "The ancestor.")
    generations = shown(int, "Generations from the person to the ancestor.")
    other_generations = shown(int, "Generations from the other person to the ancestor.")


@strawberry.type(description="A step on the path from one person to another.")
class KinStep:
    person = shown(Person, "The person.")
    link = shown(choice_type(paths.KinshipLink) | None, "Relationship to the previous person. Null for the first.")
    kind = shown(choice_type(ParentageKind) | None, "Kind of relationship, for a parent or child.")
    status = shown(choice_type(MarriageStatus) | None, "Status of the marriage, for a spouse.")


@strawberry.type(description="The relationship between two people.")
class Kinship:
    name = shown(str, "English term, such as second cousin once removed.")
    generations_up = shown(int, "Generations up along the path.")
    generations_down = shown(int, "Generations down along the path.")
    marriages = shown(int, "Marriages along the path.")
    cousin_degree = shown(int | None, "1 for first cousins, 2 for second cousins, and so on. Null for other relatives.")
    removal = shown(int | None, "Times removed, for cousins. Null for other relatives.")
    half = shown(bool, "True if they share only one ancestor where full relatives share two.")
    path = shown(list[KinStep], "People on the shortest path, in order. Empty if they are not related.")


@strawberry.type(description="A person's relatives and the links between them, for drawing a tree.")
class NearFamily:
    people = shown(
        list[Kin], "People, nearest first. Generations are negative for ancestors and positive for descendants."
    )
    parentages = shown(list[Parentage], "Parent-child relationships between them.")
    marriages = shown(list[Marriage], "Marriages between them.")
    left_out = shown(int, "Number of people omitted because of the limit.")


# Selections below these fields are executed once per person.
WEIGHTS["Kinship", "path"] = 100
WEIGHTS.update({("NearFamily", name): relatives.MOST_PEOPLE for name in ("people", "parentages", "marriages")})


@extend(User)
class GenealogyUser:
    trees: Connection[Tree] = many(edges.trees)
    trees_shared_with_me: Connection[Tree] | None = linked(
        edges.trees_shared_with,
        to=edges.shared_tree,
        role=Carried(TreeRole, "role", "Role granted to the viewer."),
        shared_at=Carried(Time, "created_at", "Time the tree was shared."),
    )


class Query:
    tree: Tree | None = lookup(edges.tree_by_database_id)
    person: Person | None = lookup(edges.person_by_database_id)
    export_gedcom: str | None = computed(exporter.export_gedcom, weight=1_000)


@strawberry.type(description="A remark about a line of an imported file.")
class GedcomRemark:
    line = shown(int, "Line number, starting at 1.")
    tag = shown(str, "GEDCOM tag.")
    reason = shown(str, "Reason for the remark.")
    text = shown(str, "Beginning of the line.")


@strawberry.type(description="Report of an import.")
class GedcomImportReport:
    version = shown(str, "GEDCOM version declared by the file.")
    encoding = shown(str, "Character encoding of the file.")
    line_count = shown(int, "Number of lines read.")
    person_count = shown(int, "Number of people in the file.")
    family_count = shown(int, "Number of families in the file.")
    other_record_count = shown(int, "Number of other records in the file, such as sources.")
    mapped_count = shown(int, "Number of structures mapped to people and links.")
    kept_count = shown(int, "Number of structures preserved verbatim for the next export.")
    refused_count = shown(int, "Number of lines rejected. Their content is lost.")
    repaired_count = shown(int, "Number of lines repaired while reading.")
    refused = shown(list[GedcomRemark], "The first 1,000 rejected lines.")
    repaired = shown(list[GedcomRemark], "The first 1,000 repaired lines.")


class ImportGedcomPayload(Payload):
    tree: Tree | None = result("The tree.")
    report: GedcomImportReport | None = result("Report of the import.")


class TreePayload(Payload):
    tree: Tree | None = result("The tree.")


class DeleteTreePayload(Payload):
    deleted_tree_id: strawberry.ID | None = result("ID of the deleted tree.")


class PersonPayload(Payload):
    person: Person | None = result("The person.")


class DeletePersonPayload(Payload):
    deleted_person_id: strawberry.ID | None = result("ID of the deleted person.")
    tree: Tree | None = result("The tree the person was in.")


class ParentagePayload(Payload):
    parentage: Parentage | None = result("The link.")


class UnlinkParentPayload(Payload):
    deleted_parentage_id: strawberry.ID | None = result("ID of the deleted parentage.")
    child: Person | None = result("The child.")


class MarriagePayload(Payload):
    marriage: Marriage | None = result("The link.")


class UnlinkSpousesPayload(Payload):
    deleted_marriage_id: strawberry.ID | None = result("ID of the deleted marriage.")


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
    import_gedcom: ImportGedcomPayload = command(importer.import_gedcom, replay=importer.imported_before)


class Subscription:
    person_added: Addition[Person] = appended(Tree.persons)
