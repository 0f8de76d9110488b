"""A damaged item affects only itself: any attribute of any entity, damaged in any way and read by every path."""

import zlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from graphql import (
    GraphQLObjectType,
    get_named_type,
    is_leaf_type,
    is_non_null_type,
    is_object_type,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.model.codec import base_type
from datastore.model.entity import Entity
from datastore.model.times import Time
from loaders.viewer import Viewer
from schema.declare.ids import global_id
from schema.declare.types import has_ids
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from tests.support.both_executors import SCHEMA, Answered, World, a_world, assert_alike
from tests.support.operations import Operation

VIEWER = Viewer("id-ada", frozenset({"admin"}), tenant_id="acme", tenants=frozenset({("acme", "admin")}))
KEYS = ("PK", "SK", "GSI")
BOMB = b64encode(zlib.compress(b"[" + b" " * 40_000_000 + b"]")).decode()
SURROGATE = b64encode(zlib.compress(b'["\\ud800"]')).decode()
DEEP = b64encode(zlib.compress(b"[" * 300 + b"]" * 300)).decode()

WRONG_TYPES: list[Any] = [{"S": "many"}, {"L": []}, {"M": {}}, {"BOOL": True}, {"N": "1"}, {"L": [{"N": "1"}]}]
WRONG_TIMES = [{"S": text} for text in ("yesterday", "", "2026-02-30T00:00:00.000Z", "2026-01-01T00:00:00Z", "٢" * 24)]
WRONG_NUMBERS = [{"N": text} for text in ("1.5", "1" + "0" * 37, "99999999999", "-99999999999", "1E+100")]
WRONG_BYTES = [{"B": text} for text in ("AAAA", BOMB, SURROGATE, DEEP, "")]
WRONG_VERSIONS: list[Any] = [{"N": text} for text in ("0", "-1", "99", "1.5")] + [{"S": "two"}]
WRONG_NAMES: list[Any] = [{"S": "Unheard"}, {"N": "1"}, None]
"""None removes the attribute."""


@dataclass(frozen=True)
class Damage:
    """A record, the attribute of its item that is replaced, and its neighbor."""

    record: Entity
    attribute: str
    value: Any
    neighbor: Entity


def damages(records: list[Entity]) -> st.SearchStrategy[Damage]:
    """Every attribute of one record of each entity, damaged in every way that concerns its type.

    Not a record of the viewer: what the viewer sees depends on some of these, such as memberships.
    """
    by_entity: dict[type[Entity], list[Entity]] = {}
    for record in records:
        if VIEWER.user_id not in vars(record).values():
            by_entity.setdefault(type(record), []).append(record)
    return st.sampled_from(
        [
            Damage(some[0], attribute, value, some[1])
            for some in by_entity.values()
            if len(some) > 1
            for attribute, stored in some[0].encode().items()
            if not attribute.startswith(KEYS)
            for value in _wrong(type(some[0]), attribute, stored)
        ]
    )


def _wrong(entity: type[Entity], attribute: str, stored: Any) -> list[Any]:
    if attribute in ("entityType", "schemaVersion"):
        return WRONG_NAMES if attribute == "entityType" else WRONG_VERSIONS
    field = next(field for field in entity.fields.values() if field.attribute == attribute)
    wrong = [value for value in WRONG_TYPES if value.keys() != stored.keys()]
    if field.hint is Time:
        wrong += WRONG_TIMES
    if base_type(field.hint) is int:
        wrong += WRONG_NUMBERS
    if field.compressed:
        wrong += WRONG_BYTES
    return [*wrong, None] if field.required else wrong


@pytest.fixture(scope="module")
def healthy(endpoint: str) -> Iterator[World]:
    """The mixed data without its own damage."""
    with a_world(endpoint, 1) as world:
        for side in (world.reference, world.compiled):
            side.executor = Executor(SCHEMA, Limits(cost=10**7, tokens=10**5), compiled=side.executor.compiled)
        world.society.damage.clear()
        world.runner.run(world.reference.bring_back(world.society.items()))
        yield world


def leaves(of_type: GraphQLObjectType) -> str:
    return " ".join(
        name
        for name, field in of_type.fields.items()
        if is_leaf_type(get_named_type(field.type)) and not any(is_non_null_type(a.type) for a in field.args.values())
    )


def selection(of_type: GraphQLObjectType) -> str:
    """Everything that can be reached from an object in one step."""
    parts = [leaves(of_type)]
    for name, field in of_type.fields.items():
        target = get_named_type(field.type)
        if not is_object_type(target) or any(is_non_null_type(a.type) for a in field.args.values()):
            continue
        if "nodes" in target.fields:
            node = get_named_type(target.fields["nodes"].type)
            total = "totalCount" if "totalCount" in target.fields else ""
            parts.append(
                f"{name}(first: 9) {{ {total} pageInfo {{ endCursor }} nodes {{ __typename {leaves(node)} }} }}"
            )
        elif leaves(target):
            parts.append(f"{name} {{ {leaves(target)} }}")
    return " ".join(parts)


def reading(records: list[Entity]) -> Operation:
    """Reads these objects by their IDs, and all lists of the root that need no arguments."""
    objects = [
        f'n{place}: node(id: "{global_id(record)}") {{ id ... on {name} {{ {selection(SCHEMA.type_map[name])} }} }}'
        for place, record in enumerate(records)
        for name in [type(record).__name__]
    ]
    return Operation(f"{{ {' '.join(objects)} {selection(SCHEMA.query_type)} }}", {}, None)


def ids_of_lists(data: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], list[str]]:
    """Returns the IDs in every list of the response, by its path."""
    found = {}
    if isinstance(data, dict):
        for key, value in data.items():
            found |= ids_of_lists(value, (*path, key))
        nodes = data.get("nodes")
        if nodes and "id" in nodes[0]:
            found[path] = [node["id"] for node in nodes]
    return found


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        if data is None:
            return None
        data = data[step]
    return data


def check(world: World, damage: Damage, operation: Operation, before: Answered) -> None:
    """Damages one item, reads everything with both executors, and compares with what was read before."""
    table, stored = world.reference.graph.table, damage.record.encode()
    damaged = {name: value for name, value in {**stored, damage.attribute: damage.value}.items() if value is not None}
    world.runner.run(table._write_batch([{"PutRequest": {"Item": damaged}}]))
    try:
        (reference,), (compiled,) = world.both(operation, VIEWER)
    finally:
        world.runner.run(table._write_batch([{"PutRequest": {"Item": stored}}]))
    assert_alike(compiled, reference)
    new = {error["extensions"]["code"] for path, error in compiled.errors.items() if path not in before.errors}
    assert new <= {"DAMAGED"}, compiled.body["errors"]
    data, was, gone = compiled.body["data"], before.body["data"], global_id(damage.record)
    if has_ids(type(damage.record)):
        assert data["n0"] is None or data["n0"]["id"] == gone
        assert stored_fields(damage.neighbor, data["n1"]) == stored_fields(damage.neighbor, was["n1"])
    for path, ids in ids_of_lists(was).items():
        if path[0] != "n0":
            left = [node["id"] for node in at(data, path)["nodes"] if node["id"] != gone]
            kept = [id for id in ids if id != gone]
            assert left[: len(kept)] == kept, path


def stored_fields(record: Entity, shown: Any) -> dict[str, Any] | None:
    return shown and {
        field.attribute: shown[field.attribute] for field in record.fields.values() if field.attribute in shown
    }


def test_a_damaged_item_costs_only_itself(healthy):
    before: dict[type[Entity], tuple[Operation, Answered]] = {}

    @settings(deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
    @given(damages(healthy.society.records))
    def costs_only_itself(damage):
        entity = type(damage.record)
        if entity not in before:
            operation = reading([record for record in (damage.record, damage.neighbor) if has_ids(entity)])
            before[entity] = operation, healthy.runner.run(healthy.reference.answers(operation, VIEWER))[0]
        check(healthy, damage, *before[entity])

    costs_only_itself()
