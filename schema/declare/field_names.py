"""Checks the field names that resolver modules spell in writes, conditions and `changed(...)`.

A server checks them when it starts, and stops if one does not exist: before a request reaches it.
Names that are computed at run time are checked there, by `datastore.client.writes`.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from datastore.client.writes import KEY_ATTRIBUTES
from datastore.model.entity import REGISTRY, Entity
from datastore.model.suggestions import suggestion

Entities = frozenset[type[Entity]]
"""What an expression may be a record or a key of; empty if the source does not tell."""

UNKNOWN: Entities = frozenset()
WRITES = {"Put", "Delete", "Check", "Update"}
CONDITIONS = {"equals", "differs", "below", "above", "at_least", "exists", "absent", "same"}
WORTH_PARSING = re.compile(r"datastore\.client\.writes|\.changed\(")
TAKES_ANY = re.compile(r"\bEntity\b|\[Any\b")
WRAPPERS = {"Key", "Annotated"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LEAVES = frozenset({str, int, bool, type(None), ast.Constant, ast.Load, ast.Store, ast.Del, ast.arg, ast.alias})
"""Parts of a syntax tree that hold no field names and no other parts."""


def check_field_names(packages: Iterable[str]) -> None:
    """Raises TypeError with all mistakes in the modules below these directories."""
    mistakes = [
        f"{path.relative_to(Path(package).parent)}:{line}: {text}"
        for package in packages
        for path in sorted(Path(package).rglob("*.py"))
        for line, text in _mistakes(path)
    ]
    if mistakes:
        raise TypeError("\n".join(mistakes))


@cache
def _mistakes(path: Path) -> list[tuple[int, str]]:
    source = path.read_text()
    return _Module(source).mistakes if WORTH_PARSING.search(source) else []


class _Module:
    """Follows which entity a variable is of, as far as annotations, constructors and keys tell."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self.mistakes: list[tuple[int, str]] = []
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        self._within_reach = frozenset(REGISTRY.values() if TAKES_ANY.search(source) else _entities_from(imports))
        self._imported = {
            alias.asname or alias.name: alias.name
            for node in imports
            if node.module == "datastore.client.writes"
            for alias in node.names
        }
        self._returns = {
            node.name: _annotated(node.returns) for node in tree.body if isinstance(node, FUNCTIONS) and node.returns
        }
        self._variables: dict[str, Entities] = {}
        self._about = UNKNOWN  # the entity of the write that surrounds a condition
        self._visitors: dict[type, Callable[[Any], None]] = {
            ast.FunctionDef: self._visit_function,
            ast.AsyncFunctionDef: self._visit_function,
            ast.Assign: self._visit_assignment,
            ast.AnnAssign: self._visit_annotation,
            ast.NamedExpr: self._visit_named_expression,
            ast.Name: self._visit_name,
            ast.Call: self._visit_call,
        }
        self._visit_parts(tree)

    def _visit_parts(self, node: ast.AST) -> None:
        """Visits everything in a node. `ast.NodeVisitor` takes three times as long at every start."""
        for value in node.__dict__.values():
            for part in value if value.__class__ is list else (value,):
                if part.__class__ not in LEAVES:
                    self._visitors.get(part.__class__, self._visit_parts)(part)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outside = self._variables
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self._variables = outside | {each.arg: _annotated(each.annotation) for each in parameters}
        self._visit_parts(node)
        self._variables = outside

    def _visit_assignment(self, node: ast.Assign) -> None:
        self._visit_parts(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._variables[target.id] = self._entity_of(node.value)

    def _visit_annotation(self, node: ast.AnnAssign) -> None:
        self._visit_parts(node)
        if isinstance(node.target, ast.Name):
            self._variables[node.target.id] = _annotated(node.annotation)

    def _visit_named_expression(self, node: ast.NamedExpr) -> None:
        self._visit_parts(node)
        self._variables[node.target.id] = self._entity_of(node.value)

    def _visit_name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._variables[node.id] = UNKNOWN

    def _visit_call(self, node: ast.Call) -> None:
        outside = self._about
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        called = self._imported.get(_last_name(owner), "")
        if called in WRITES and node.args:
            self._about = self._entity_of(node.args[0])
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "changed":
            self._about = self._entity_of(owner)
        for name in _names_in(node, called):
            self._check(node, name)
        self._visit_parts(node)
        self._about = outside

    def _check(self, node: ast.Call, name: str) -> None:
        among = self._about or self._within_reach
        if name in KEY_ATTRIBUTES or any(name in entity.fields for entity in among):
            return
        who = " and ".join(sorted(entity.__name__ for entity in among))
        has = "has" if len(among) == 1 else "have"
        fields = sorted({field for entity in among for field in entity.fields})
        advice = suggestion(name, fields) + ("" if self._about else " If it is of another entity, annotate it.")
        self.mistakes.append((node.lineno, f"{who} {has} no field {name}: {advice}"))

    def _entity_of(self, node: ast.expr) -> Entities:
        match node:
            case ast.Name(id=name):
                return self._variables.get(name, UNKNOWN)
            case ast.Await(value=inner) | ast.Attribute(value=inner, attr="own_key"):
                return self._entity_of(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="changed")):
                return self._entity_of(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="key")):
                return _named(inner)
            case ast.Call(func=ast.Name(id=name)):
                return _named(node.func) or self._returns.get(name, UNKNOWN)
            case ast.IfExp(body=one, orelse=other):
                return self._entity_of(one) | self._entity_of(other)
        return UNKNOWN


def _annotated(node: ast.expr | None) -> Entities:
    match node:
        case ast.BinOp(left=one, right=other):
            return _annotated(one) | _annotated(other)
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in WRAPPERS:
            return _annotated(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)
        case ast.Name() | ast.Attribute():
            return _named(node)
    return UNKNOWN


def _named(node: ast.expr) -> Entities:
    entity = REGISTRY.get(_last_name(node))
    return frozenset([entity]) if entity else UNKNOWN


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.IfExp(body=one):  # (absent if hidden else exists)("hidden_at")
            return _last_name(one)
    return ""


def _entities_from(imports: Iterable[ast.ImportFrom]) -> Iterator[type[Entity]]:
    """Those that are imported, and those that the imported resolver modules import."""
    for node in imports:
        if node.module and node.module.startswith("datastore."):
            yield from (REGISTRY[alias.name] for alias in node.names if alias.name in REGISTRY)
        elif node.module and node.module.startswith("resolvers."):
            imported = vars(import_module(node.module))
            yield from (entity for name, entity in REGISTRY.items() if imported.get(name) is entity)


def _names_in(node: ast.Call, called: str) -> Iterator[str]:
    """The literal field names among the arguments of a call."""
    if called in CONDITIONS:
        yield from _literals(node.args[0] if node.args else None)
    elif called == "Update":
        for argument in node.args[1:4]:
            yield from _literals(argument)
    for keyword in node.keywords:
        if _last_name(node.func) == "changed":
            yield from [keyword.arg] if keyword.arg else _literals(keyword.value)
        elif keyword.arg in {"set", "add"} or (keyword.arg == "remove" and called == "Update"):
            # Not only of an Update: some functions are given what to add in one.
            yield from _literals(keyword.value)


def _literals(node: ast.expr | None) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield from _literals(key or value)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            for element in elements:
                yield from _literals(element)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from _literals(one)
            yield from _literals(other)
