"""The id model, over the whole schema: `id` on Nodes only, `databaseId` for table keys, IDs in inputs."""

import re

from graphql import GraphQLInputObjectType, GraphQLInterfaceType, GraphQLObjectType, get_named_type

from schema.build import build

SCHEMA = build()._schema
NODE = SCHEMA.type_map["Node"]
OUTPUTS = [
    each
    for each in SCHEMA.type_map.values()
    if isinstance(each, GraphQLObjectType | GraphQLInterfaceType) and not each.name.startswith("__")
]


def is_node(each):
    return each is NODE or NODE in each.interfaces


def named_ids(fields):
    """The names among these that say they are IDs."""
    return [name for name in fields if re.search(r"(^i|I)ds?$", name)]


def test_nodes_have_an_id_and_no_other_type_has_one():
    assert {each.name for each in OUTPUTS if "id" in each.fields} == {each.name for each in OUTPUTS if is_node(each)}


def test_table_keys_are_called_database_id_and_only_payloads_name_other_ids():
    found = {
        (each.name, name): str(field.type)
        for each in OUTPUTS
        for name, field in each.fields.items()
        if name in named_ids(each.fields) and name != "id" and not each.name.endswith("Payload")
    }

    assert {name for _, name in found} == {"databaseId", "authorDatabaseId", "tenantDatabaseId"}
    assert set(found.values()) == {"String!", "String"}
    assert {key for key, of_type in found.items() if of_type == "String"} == {
        ("AuditActor", "databaseId"),
        ("SecurityEvent", "tenantDatabaseId"),
    }


def test_ids_in_payloads_are_global():
    payloads = [each for each in OUTPUTS if each.name.endswith("Payload")]

    ids = {name: get_named_type(each.fields[name].type).name for each in payloads for name in named_ids(each.fields)}

    assert all(re.fullmatch(r"deleted\w+Id", name) for name in ids)
    assert set(ids.values()) == {"ID"}


def test_inputs_take_global_ids_and_say_so():
    taken = [
        (f"{each.name}.{name}", get_named_type(field.type).name, name)
        for each in SCHEMA.type_map.values()
        if isinstance(each, GraphQLInputObjectType)
        for name, field in each.fields.items()
    ]
    taken += [
        (f"{each.name}.{name}({argument})", get_named_type(given.type).name, argument)
        for each in OUTPUTS
        for name, field in each.fields.items()
        for argument, given in field.args.items()
    ]

    ids = {where for where, of_type, _ in taken if of_type == "ID"}
    called_so = {where for where, _, name in taken if named_ids([name]) and name != "databaseId"}
    strings = {where for where, of_type, name in taken if name == "databaseId" and of_type == "String"}

    assert ids == called_so
    # A new record may get a key that the caller chooses; everything else is a lookup.
    assert {where for where in strings if not re.match(r"\w+By\.", where)} == {
        "CreateTenantInput.databaseId",
        "CreateCategoryInput.databaseId",
    }
