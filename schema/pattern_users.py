"""Finds what uses each access pattern, in the code of the functions that edges, jobs and mutations are made of."""

import dis
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import unwrap
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from graphql import GraphQLObjectType

import resolvers
from datastore.model.entity import REGISTRY, Entity
from resolvers.background.jobs import WORK
from schema.build import build
from schema.declare.appended import Appended
from schema.declare.commands import Command
from schema.declare.edges import EDGE, Edge
from schema.execution.compiler import DECLARED

Access = tuple[type[Entity], str]
"""An entity and the name of one of its patterns, `key` or `within`."""


def pattern_users() -> Mapping[Access, list[str]]:
    """Returns the edges that use a pattern, such as `User.posts`; else the jobs, else the mutations, else the files."""
    # A subscription reads what its list reads.
    fields = {f"{on.name}.{name}": edge for on, name, edge in _fields() if not isinstance(edge, Appended)}
    edges = _users({name: _functions(edge) for name, edge in fields.items() if not isinstance(edge, Command)})
    jobs = _users({name: [work] for name, work in WORK.items() if _is_resolver(work)})
    mutations = _users({name: _functions(edge) for name, edge in fields.items() if isinstance(edge, Command)})
    return {**_files(), **mutations, **jobs, **edges}


def _fields() -> Iterator[tuple[GraphQLObjectType, str, Edge]]:
    for on in build()._schema.type_map.values():
        if isinstance(on, GraphQLObjectType):
            for name, field in on.fields.items():
                declared = field.extensions.get(DECLARED)
                edge = getattr(declared, "metadata", {}).get(EDGE)
                if edge is not None:
                    yield on, name, edge


def _functions(edge: Edge) -> Iterable[Callable[..., Any]]:
    """The edge's own function, and those it leads on or counts with."""
    return [edge.signature.function, *(value for value in vars(edge).values() if isinstance(value, FunctionType))]


def _users(functions: Mapping[str, Iterable[Callable[..., Any]]]) -> Mapping[Access, list[str]]:
    users: dict[Access, list[str]] = defaultdict(list)
    for name in sorted(functions):
        seen: set[Any] = set()
        for access in dict.fromkeys(access for function in functions[name] for access in _uses(function, seen)):
            users[access].append(name)
    return users


def _files() -> Mapping[Access, list[str]]:
    """For what functions reach only through an object that they are given."""
    users: dict[Access, list[str]] = defaultdict(list)
    for root in map(Path, resolvers.__path__):
        for path in sorted(root.rglob("*.py")):
            found = re.findall(r"\b([A-Z]\w+)\.(\w+)\(", path.read_text())
            for name, method in sorted({*found}):
                if name in REGISTRY:
                    users[REGISTRY[name], method].append(path.relative_to(root.parent).as_posix())
    return users


def _uses(function: Any, seen: set[Any]) -> Iterator[Access]:
    """Finds `Entity.pattern` in the code, or in that of a resolver function it refers to."""
    function = unwrap(function)
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    for code in _codes(function.__code__):
        for one, other in pairwise(dis.get_instructions(code)):
            value = function.__globals__.get(one.argval) if one.opname == "LOAD_GLOBAL" else None
            if isinstance(value, type) and issubclass(value, Entity):
                if other.argval in ("key", "within") or other.argval in value.patterns:
                    yield value, other.argval
            elif value is not None and _is_resolver(value):
                for each in vars(value).values() if isinstance(value, type) else [value]:
                    yield from _uses(each, seen)
    for cell in function.__closure__ or ():
        yield from _uses(cell.cell_contents, seen)


def _is_resolver(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("resolvers.")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
