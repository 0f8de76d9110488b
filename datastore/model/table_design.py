"""docs/table-design.md, written from the entities themselves."""

from enum import Enum
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args, get_origin

import datastore
from datastore.model.codec import base_type
from datastore.model.entity import REGISTRY, Entity
from datastore.model.patterns import INDEXES

HEAD = """# The table

Written by `make docs` from the entities in datastore/; a test keeps it current.

One table, string keys `PK` and `SK`, five overloaded indexes `GSI1` to `GSI5` with all attributes projected. TTL
attribute `expiresAt`, on-demand billing; in AWS also a stream of new and old images and point-in-time recovery. Every
item also has `entityType` and `schemaVersion`. A value in a key holds no `#`, so no two entities can share a key.

Every entity says who owns it. What a user owns is hidden, restored and purged with their account; what is part of
another record goes with that.
"""


def render() -> str:
    for module in iter_modules(datastore.__path__):
        if not module.name.startswith("_"):
            import_module(f"datastore.{module.name}")
    # By module, and within one as declared there: who imported what first must not matter.
    stored = [entity for entity in REGISTRY.values() if entity.__module__.startswith("datastore.")]
    entities = sorted(stored, key=lambda entity: entity.__module__)
    return "\n".join([HEAD, _keys(entities), *map(_entity, entities)])


def _keys(entities: list[type[Entity]]) -> str:
    columns = ["entity", "PK", "SK", *INDEXES]
    lines = [_row(columns), _row(["---"] * len(columns))]
    for entity in entities:
        table = entity.indexes[None]
        cells = [f"[{entity.__name__}](#{entity.__name__.lower()})", _code(table.pk.text), _code(table.sk.text)]
        for name in INDEXES:
            index = entity.indexes.get(name)
            cells.append(f"{_code(index.pk.text)} / {_code(index.sk.text)}" if index else "—")
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def _entity(entity: type[Entity]) -> str:
    lines = [f"## {entity.__name__}", "", f"{entity.__doc__} In `{entity.__module__.replace('.', '/')}.py`"]
    lines[-1] += f", schema version {entity.schema_version}.\n"
    lines.append(f"Owner: {_owners(entity)}.\n")
    lines += [_row(["attribute", "type", "what it is"]), _row(["---"] * 3)]
    for field in entity.fields.values():
        marks = [name for name in ("heavy", "private") if getattr(field, name)]
        note = f" *({', '.join(marks)})*" if marks else ""
        kind = _kind(field.hint) + ("" if not field.optional else ", optional")
        lines.append(_row([_code(field.attribute), kind, field.description + note]))
    return "\n".join(lines) + "\n"


def _owners(entity: type[Entity]) -> str:
    others = [account for account in entity.accounts if account is not entity.owner]
    return "; also goes with ".join(map(str, (entity.owner, *others)))


def _kind(hint: Any) -> str:
    name = getattr(hint, "__name__", str(hint))
    inner = base_type(hint)
    if get_origin(inner) in (list, dict):
        return f"{get_origin(inner).__name__} of {_kind(get_args(inner)[-1])}"
    if isinstance(inner, type) and issubclass(inner, Enum):
        return f"{name}: {', '.join(str(member.value) for member in inner)}"
    return name


def _code(text: str) -> str:
    return f"`{text}`"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(render(), end="")
