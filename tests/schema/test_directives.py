"""The promises of the directives, for every field that has one."""

import re

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    get_named_type,
    is_composite_type,
    is_required_argument,
)

from datastore.model.times import now
from datastore.neighborhoods import SiteStatus
from loaders.viewer import Viewer
from resolvers.core.access import EVERYONE, Access, AccessRole
from schema.build import build
from schema.declare.directives import AccessDirective
from schema.execution.compiler import DECLARED
from tests.support.every_mutation import CASES, make_world, text_of
from tests.support.genealogy import Kindred
from tests.support.graph import id_of
from tests.support.neighborhoods import Town

SCHEMA = build()._schema
MUTATIONS = SCHEMA.mutation_type.fields
PERMISSION = re.compile(r"Requires|Only .+ may|Null unless|[Vv]isible only|role\b.*required")
VALUES = {"Int": "1", "String": '"x"', "DateTime": '"2026-01-01T00:00:00Z"', "ID": '"VXNlciNpZC1hZGE"'}


def access_of(field) -> Access:
    """The access that the directive of a field states."""
    declared = field.extensions.get(DECLARED)
    for directive in declared.directives if declared else ():
        if isinstance(directive, AccessDirective):
            return Access(directive.requires or None, tuple(directive.only or ()))
    return EVERYONE


def fields():
    """All fields and fields of inputs, by their coordinates."""
    for of_type in SCHEMA.type_map.values():
        if isinstance(of_type, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
            for name, field in of_type.fields.items():
                yield of_type, name, field


REQUIRING = [
    (of_type.name, name, access_of(field))
    for of_type, name, field in fields()
    if of_type not in (SCHEMA.mutation_type, SCHEMA.subscription_type) and access_of(field).requires
]


def codes(payload) -> list[str]:
    return [problem["code"] for problem in payload["problems"]]


async def refusals(graph, viewer_of_case) -> dict[str, list[str]]:
    """The codes of the problems of each mutation, all in one table: nothing that is refused changes it."""
    world = await make_world(graph)
    found = {}
    for name, case in CASES.items():
        _, given = case(world)
        asked = await graph.ask(text_of(SCHEMA, name), await viewer_of_case(name), input=given)
        found[name] = codes(asked.data[name])
    return found


async def test_an_anonymous_viewer_is_told_to_sign_in_by_exactly_the_mutations_that_require_it(graph):
    async def anonymous(name):
        return Viewer(tenant_id="acme")

    found = await refusals(graph, anonymous)

    requiring = {name for name, field in MUTATIONS.items() if access_of(field).requires}
    assert {name: found[name] for name in requiring} == {name: ["UNAUTHENTICATED"] for name in requiring}
    assert {name for name in found if "UNAUTHENTICATED" in found[name]} == requiring


async def test_a_stranger_is_refused_by_exactly_the_mutations_that_are_not_for_everyone(graph):
    async def stranger(name):
        user = await graph.add_user(f"stranger-{name.lower()}")
        return Viewer(user.user_id, tenant_id="acme")

    found = await refusals(graph, stranger)

    declared = {name: access_of(field) for name, field in MUTATIONS.items()}
    needs_role = {name for name, each in declared.items() if each.requires not in (None, AccessRole.SIGNED_IN)}
    restricted = {name for name, each in declared.items() if each.only} - needs_role
    assert {name: found[name] for name in needs_role} == {name: ["FORBIDDEN"] for name in needs_role}
    assert {name: found[name] for name in restricted if found[name] not in (["FORBIDDEN"], ["NOT_FOUND"])} == {}
    # A site can be created anywhere, but in a neighborhood only by its members.
    assert {name for name in found if "FORBIDDEN" in found[name]} - needs_role - restricted == {"createSite"}


async def records_for_everyone(graph) -> dict[str, str]:
    """The ID of a record of each type that an anonymous viewer sees."""
    world = await make_world(graph)
    ada = world.records["ada"]
    site = await Town(graph).site(ada, status=SiteStatus.PUBLISHED, built_at=now(), subdomain="public")
    tree = await Kindred(graph).tree(ada, public=True, tree_id="public")
    shown = {"User": ada, "Site": site, "Tree": tree}
    shown |= {"Neighborhood": world.records["neighborhood"], "Membership": world.records["membership"]}
    shown |= {"Content": world.records["content"], "Tenant": world.records["tenant"]}
    return {name: id_of(record) for name, record in shown.items()}


def selected(type_name: str, name: str) -> str:
    """The field with its required arguments, and a leaf of what it returns."""
    field = SCHEMA.type_map[type_name].fields[name]
    given = [f"{key}: {_value(argument)}" for key, argument in field.args.items() if is_required_argument(argument)]
    arguments = f"({', '.join(given)})" if given else ""
    return f"{name}{arguments}" + (" { __typename }" if is_composite_type(get_named_type(field.type)) else "")


def _value(argument) -> str:
    of_type = get_named_type(argument.type)
    if isinstance(of_type, GraphQLEnumType):
        return next(iter(of_type.values))
    if isinstance(of_type, GraphQLInputObjectType):
        return f"{{id: {VALUES['ID']}}}"
    return VALUES[of_type.name]


async def test_a_field_that_requires_a_role_is_an_error_at_its_path_and_leaves_its_neighbors(graph):
    ids = await records_for_everyone(graph)
    stranger = Viewer((await graph.add_user("stranger")).user_id, tenant_id="acme")
    wrong = {}
    for type_name, name, access in REQUIRING:
        if type_name == "Query":
            within, path = selected(type_name, name), name
        else:
            within = f'node(id: "{ids[type_name]}") {{ id ... on {type_name} {{ {selected(type_name, name)} }} }}'
            path = f"node.{name}"
        query = f"{{ {within} users(first: 1) {{ __typename }} }}"
        neighbors = {"users": {"__typename": "UserConnection"}}
        neighbors |= {name: None} if type_name == "Query" else {"node": {"id": ids[type_name], name: None}}
        is_role = access.requires is not AccessRole.SIGNED_IN

        anonymous = await graph.ask(query, Viewer(tenant_id="acme"))
        signed_in = await graph.ask(query, stranger)

        found = [(asked.shown, asked.errors) for asked in (anonymous, signed_in)]
        expected = [(path, "UNAUTHENTICATED")], [(path, "FORBIDDEN")] if is_role else []
        if found != [(neighbors, errors) for errors in expected]:
            wrong[type_name, name] = found

    assert wrong == {}
    assert {("User", "homeFeed"), ("Site", "builds"), ("Query", "builds")} < {each[:2] for each in REQUIRING}


def test_every_description_ends_with_what_its_directive_says():
    wrong = []
    for of_type, name, field in fields():
        said = access_of(field).describe(is_command=of_type is SCHEMA.mutation_type)
        if not (field.description or "").endswith(said):
            wrong.append(f"{of_type.name}.{name}")

    assert wrong == []
    assert len([name for name, field in MUTATIONS.items() if access_of(field) != EVERYONE]) > 60


def test_no_description_says_who_may_do_something_without_a_directive():
    hand_written = []
    for of_type, name, field in fields():
        where = f"{of_type.name}.{name}"
        said = access_of(field).describe(is_command=of_type is SCHEMA.mutation_type)
        texts = {where: (field.description or "").removesuffix(said)}
        texts |= {f"{where}({key}:)": each.description or "" for key, each in getattr(field, "args", {}).items()}
        hand_written += [place for place, text in texts.items() if PERMISSION.search(text)]

    assert hand_written == []
