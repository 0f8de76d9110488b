"""Messages about invalid values are in our words, for every argument and any value."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_required_argument,
    is_required_input_field,
)

from resolvers.core.error_codes import ErrorCode
from schema.build import build
from schema.declare.wording import in_our_words
from tests.support.cms import EDITOR
from tests.support.every_mutation import CASES, make_world, text_of
from tests.support.graph import Asked, Graph

SCHEMA: GraphQLSchema = build()._schema
ANOTHER_ID = "Q2FyZENvbW1lbnQjeCN5"
HOSTILE = [
    None,
    True,
    -1,
    2**40,
    [None],
    {"a": None},
    "",
    "a#b",
    "\x00",
    "x" * 5_000,
    ANOTHER_ID,
]
LIBRARY_WORDING = re.compile(
    r"\bNone\b|\bTrue\b|\bFalse\b|\{'|\{\}|\[\]|cannot represent|Expected|aborted"  # graphql-core and Python
    r"|[A-Z]{2,}#|\b[a-z]+_[a-z_]+\b|\bGSI|gsi\d|\bpk\b|\bsk\b"  # keys
    r"|Exception|Traceback|Error:|object at|<class|DynamoDB|boto|orjson|jwt|pydantic|strawberry"
)
LONGEST = 800
OURS_WITH_SUCH_WORDS = ("this must be a list, such as []", "this must be an object, such as {}")


@pytest.mark.parametrize(
    ("message", "ours"),
    [
        (
            "Variable '$n' has invalid value: Int cannot represent non-integer value: '1'",
            "Variable '$n' has an invalid value: Int is a whole number from -2147483648 to 2147483647",
        ),
        (
            "Variable '$in' has invalid value at .tags[0]: Expected value of non-null type 'String!' not to be None.",
            "Variable '$in' has an invalid value at .tags[0]: it cannot be null; it must be of type String!",
        ),
        (
            "Variable '$input' has invalid value: Expected value of type 'AInput' not to include unknown field 'tagz'. "
            "Did you mean 'tags'? Found: {'tagz': []}.",
            "Variable '$input' has an invalid value: AInput has no field 'tagz'. Did you mean 'tags'?",
        ),
        (
            "Expected value of type 'AInput' to include required field 'name', found: {'password': 'secret'}.",
            "AInput requires the field 'name'",
        ),
        (
            "Argument 'by' has invalid value: Within OneOf Input Object type 'UserBy', exactly one field must be "
            "specified, and the value for that field must be non-null.",
            "Argument 'by' has an invalid value: send exactly one field of UserBy, and not null",
        ),
        (
            "Argument 'by' has invalid value: Expected variable '$name' provided to field 'username' for OneOf Input "
            "Object type 'UserBy' not to be None.",
            "Argument 'by' has an invalid value: the variable $name has no value; send one for the field 'username' "
            "of UserBy",
        ),
        (
            "Value 'UPP' does not exist in 'Ballot' enum. Did you mean the enum value 'UP'?",
            "'UPP' is not a Ballot. Did you mean the enum value 'UP'?",
        ),
        ("Enum 'Ballot' cannot represent non-string value: {'a': 1}.", "it must be the name of a Ballot"),
        ("Expected value of type 'Time', but encountered error 'x: y'; found: 1.", "it is not a Time"),
        ("a Date is text; write it like 2026-01-31", "a Date is text; write it like 2026-01-31"),
        ("Cannot query field 'x' on type 'Query'.", "Cannot query field 'x' on type 'Query'."),
    ],
)
def test_messages_of_graphql_core_are_reworded(message: str, ours: str) -> None:
    assert in_our_words(message) == ours


async def test_no_argument_of_a_root_field_is_answered_in_the_words_of_a_library(graph: Graph) -> None:
    world = await make_world(graph)
    viewer = replace(world.viewer("ada", "admin"), tenant_id="acme", tenants=EDITOR.tenants)
    codes, leaks = Counter[str](), list[str]()

    for name, field in SCHEMA.query_type.fields.items():  # type: ignore[union-attr]
        for argument in field.args:
            for value in _hostile(field.args[argument].type):
                required = {key: made for key, made in field.args.items() if is_required_argument(made)}
                given = {key: _plausible(made.type) for key, made in required.items()} | {argument: value}
                declared = ", ".join(f"${key}: {field.args[key].type}" for key in given)
                used = ", ".join(f"{key}: ${key}" for key in given)
                selected = "" if is_leaf_type(get_named_type(field.type)) else "{ __typename }"
                query = f"query ({declared}) {{ {name}({used}) {selected} }}"
                _check(await graph.ask(query, viewer, **given), f"{name}({argument}: {value!r:.40})", codes, leaks)

    assert leaks == []
    assert codes.keys() <= {*ErrorCode}
    assert codes["INVALID"] > 200


async def test_no_input_of_a_mutation_is_answered_in_the_words_of_a_library(graph: Graph) -> None:
    world = await make_world(graph)
    codes, leaks = Counter[str](), list[str]()

    for name, case in CASES.items():
        field = SCHEMA.mutation_type.fields[name]  # type: ignore[union-attr]
        viewer, valid = case(world)
        inputs = get_nullable_type(field.args["input"].type).fields if field.args else {}
        for key in inputs:
            for value in HOSTILE:
                asked = await graph.ask(text_of(SCHEMA, name), viewer, input={**valid, key: value})
                _check(asked, f"{name}({key}: {value!r:.40})", codes, leaks)

    assert leaks == []
    assert codes.keys() <= {*ErrorCode}
    assert codes["INVALID"] > 1_000


def _hostile(of_type: Any) -> Iterator[Any]:
    """Yields hostile values, and for an input object also objects with one hostile field."""
    yield from HOSTILE
    inner = get_nullable_type(of_type)
    if isinstance(inner, GraphQLInputObjectType):
        for name in inner.fields:
            yield from ({name: value} for value in HOSTILE)


def _plausible(of_type: Any) -> Any:
    if isinstance(of_type, GraphQLNonNull):
        of_type = of_type.of_type
    if isinstance(of_type, GraphQLList):
        return [_plausible(of_type.of_type)]
    if isinstance(of_type, GraphQLInputObjectType):
        if of_type.is_one_of:
            name, field = next(iter(of_type.fields.items()))
            return {name: _plausible(field.type)}
        required = {name: field for name, field in of_type.fields.items() if is_required_input_field(field)}
        return {name: _plausible(field.type) for name, field in required.items()}
    if isinstance(of_type, GraphQLEnumType):
        return next(iter(of_type.values))
    return {"Int": 1, "Boolean": True, "Date": "2026-01-31", "DateTime": "2026-01-31T12:00:00Z"}.get(of_type.name, "x")


def _check(asked: Asked, what: str, codes: Counter[str], leaks: list[str]) -> None:
    """Counts the codes of all errors and problems, and adds the messages that are not in our words."""
    errors = [(error["extensions"]["code"], error["message"]) for error in asked.body.get("errors", ())]
    for payload in (asked.body.get("data") or {}).values():
        if isinstance(payload, dict):
            errors += [(problem["code"], problem["message"]) for problem in payload.get("problems", ())]
    for code, message in errors:
        codes[code] += 1
        leaked = LIBRARY_WORDING.search(message) and message not in OURS_WITH_SUCH_WORDS
        if leaked or code == ErrorCode.INTERNAL or len(message) > LONGEST:
            leaks.append(f"{what}: {message}")
