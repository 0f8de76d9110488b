"""The five entities of the CMS catalog, and their queries and mutations."""

from typing import Any, NamedTuple

import pytest

from datastore import cms as stored
from datastore.cms import Asset, Product, Resource, Signal
from datastore.model.codec import camel
from datastore.model.entity import Entity
from loaders.viewer import Viewer
from resolvers.core.problems import noun_of
from tests.support.cms import EDITOR, command
from tests.support.graph import Graph

Input = dict[str, Any]

HEADER_MISSING = Viewer("id-ada", tenants=frozenset({("acme", "admin")}))
SYSTEM_ADMIN = Viewer("id-root", roles=frozenset({"admin"}), tenant_id="acme")


class Kind(NamedTuple):
    """An entity of the catalog: its names, a complete input, and a change for each field."""

    entity: type[Any]
    name: str
    full: Input
    other: Input
    defaults: Input
    public: bool = False

    @property
    def id_field(self) -> str:
        """The field of inputs that takes its ID."""
        return f"{self.name}Id"

    @property
    def stored_id(self) -> str:
        """The name of its ID in the audit log."""
        return camel(self.entity.key_holes[-1])

    @property
    def noun(self) -> str:
        return noun_of(self.entity)

    @property
    def fields(self) -> str:
        """Everything that can be given, selected."""
        return " ".join(["id databaseId", *(SELECTED.get(name, name) for name in self.full)])

    def stored(self, given: Input) -> Input:
        """Returns what the audit log says of an input."""
        price = given.get("price")
        parts = {"price": price["amount"], "currency": price["currency"]} if price else {}
        return {**given, **parts}

    def doing(self, verb: str) -> str:
        shown = f"deleted{self.entity.__name__}Id" if verb == "delete" else f"{self.name} {{ {self.fields} }}"
        return command(f"{verb}{self.entity.__name__}", shown)

    @property
    def one(self) -> str:
        return f"query ($id: String!) {{ thing: {self.name}(by: {{databaseId: $id}}) {{ {self.fields} }} }}"

    def all(self, fields: str = "title", arguments: str = "") -> str:
        page = "first: $first, after: $after, last: $last, before: $before"
        return f"""query ($first: Int, $after: String, $last: Int, $before: String) {{
            things: {self.name}s({page} {arguments}) {{ nodes {{ {fields} }}
                pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"""

    def own_id(self, record: Entity) -> str:
        return str(getattr(record, self.entity.key_holes[-1]))


SELECTED = {"price": "price { amount currency }"}
DATA = {"deep": [{"er": 1.5}, None, "ü"]}
KINDS = [
    Kind(
        Product,
        "product",
        {
            "title": "A chair",
            "status": "PUBLISHED",
            "sku": "C-1",
            "price": {"amount": 12_900, "currency": "EUR"},
            "description": "To sit on.",
            "data": DATA,
        },
        {
            "title": "A stool",
            "status": "ARCHIVED",
            "sku": "S-1",
            "price": {"amount": 0, "currency": "CHF"},
            "description": "To stand on.",
            "data": {},
        },
        {"status": "DRAFT"},
        public=True,
    ),
    Kind(
        Asset,
        "asset",
        {
            "title": "Logo",
            "url": "https://example.org/logo.png",
            "mediaType": "image/png",
            "size": 3_000_000_000,
            "alt": "A tree.",
        },
        {
            "title": "Mark",
            "url": "https://example.org/mark.svg",
            "mediaType": "image/svg+xml",
            "size": 0,
            "alt": "A leaf.",
        },
        {},
        public=True,
    ),
    Kind(
        Resource,
        "resource",
        {"title": "Checklist", "kind": "check-list", "url": "https://example.org/list", "data": DATA},
        {"title": "Guide", "kind": "guide", "url": "https://example.org/guide", "data": {"pages": 3}},
        {},
    ),
    Kind(
        stored.EditorialContext,
        "editorialContext",
        {"title": "Voice", "data": DATA},
        {"title": "Audience", "data": {"age": "30-40"}},
        {},
    ),
    Kind(
        Signal,
        "signal",
        {"title": "A link is dead", "kind": "dead-link", "status": "ACKNOWLEDGED", "data": DATA},
        {"title": "Two links are dead", "kind": "dead-links", "status": "CLOSED", "data": {"links": 2}},
        {"status": "OPEN"},
    ),
]


def named(value: Any) -> str:
    return value.name if isinstance(value, Kind) else str(value)


every_kind = pytest.mark.parametrize("kind", KINDS, ids=named)


async def make(graph: Graph, kind: Kind, /, **given: Any) -> Input:
    """Creates one with its mutation."""
    payload = await graph.command(kind.doing("create"), EDITOR, **{**kind.full, **given})
    assert payload["problems"] == []
    made: Input = payload[kind.name]
    return made


def titles(asked: Any) -> list[str]:
    return [node["title"] for node in asked.data["things"]["nodes"]]
