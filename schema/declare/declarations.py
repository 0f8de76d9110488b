"""Checks declarations when the schema is assembled: a wrong one stops the start, and the message says how to fix it."""

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Union, get_type_hints

from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key, Range
from datastore.model.suggestions import suggestion
from loaders import appends
from loaders.copied import Copied
from loaders.filtered import Filtered
from loaders.linked import Linked
from loaders.merge import Merge
from loaders.numbered import Numbered
from loaders.ranked import Ranked
from loaders.searched import Searched
from loaders.sharded_counts import Total
from loaders.visibility import NEVER_SHOWN, RULES
from schema.declare.appended import QUERY, Appended
from schema.declare.commands import Command
from schema.declare.connections import SEARCH
from schema.declare.edges import Absent, Computed, Count, Derived, Edge, Exists, Heavy, Listed, One
from schema.declare.hints import Types, argument_of, generic, is_step, may_be_none, members, named, result_of
from schema.declare.lookups import Lookup
from schema.declare.parameters import parameter_mistakes, parent_mistakes
from schema.declare.signatures import Signature

ROOTS = ("Query", "Mutation", "Subscription")
LISTS = (Range, Merge, Copied, Numbered, Ranked, Searched, Filtered, Linked)

Mistakes = Iterator[str]


class WrongDeclarations(TypeError):
    """Lists every mistake, so that one start shows all of them."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(["these declarations of the schema are wrong:", *mistakes]))


def check(types: Types, exposed: Mapping[type[Entity], type], domains: Iterable[ModuleType]) -> None:
    """Raises WrongDeclarations unless all types, roots and visibility rules of the schema are right."""
    mistakes: list[str] = []
    shown: set[type[Entity]] = set(exposed)
    declared = [(cls, entity) for entity, cls in exposed.items()]
    roots = [vars(module)[name] for module in domains for name in ROOTS if name in vars(module)]
    lists: dict[Edge, tuple[type, str, Any]] = {}
    for cls, entity in [*declared, *((root, None) for root in roots)]:
        for name, hint in get_type_hints(cls, include_extras=True).items():
            edge = vars(cls).get(name)
            if isinstance(edge, Appended):
                found = appended_mistakes(types, lists, name, hint, edge)
                mistakes += (f"{cls.__name__}.{name} {mistake}" for mistake in found)
            elif isinstance(edge, Edge):
                lists[edge] = cls, name, hint
                mistakes += (f"{cls.__name__}.{name} {mistake}" for mistake in edge_mistakes(types, entity, hint, edge))
                shown |= _read_by(edge)
    stored = {entity for entity in REGISTRY.values() if entity.__module__.startswith("datastore.")}
    for entity in sorted(shown | stored, key=lambda entity: entity.__name__):
        mistakes += (f"{entity.__name__} {mistake}" for mistake in entity_mistakes(entity, shown=entity in shown))
    if mistakes:
        raise WrongDeclarations(mistakes)


def entity_mistakes(entity: type[Entity], *, shown: bool) -> Mistakes:
    """Checks an entity; `shown` if an edge or `node` reads it."""
    name, domain = entity.__name__, entity.__module__.rpartition(".")[2]
    if entity not in RULES and (shown or entity not in NEVER_SHOWN):
        other = "" if shown else f", or why it needs none with never_shown({name}, because=…)"
        yield f"has no visibility rule: declare it with @visibility({name}) in resolvers/{domain}/visibility.py{other}"


def edge_mistakes(types: Types, entity: type[Entity] | None, hint: Any, edge: Edge) -> Mistakes:
    """Checks an edge that is declared with the type `hint`, on an entity or, without one, on Query or Mutation."""
    if not isinstance(edge, Command) and edge.access.only and not may_be_none(hint):
        yield f"is null for viewers other than those it declares: declare {named(hint)} | None"
    if isinstance(edge, Derived) and edge.access.requires:
        yield "requires a role, but is part of its record, which its error would hide: declare `only` instead"
    if isinstance(edge, Lookup):
        for way in edge.all_ways:
            yield from edge_mistakes(types, entity, hint, way)
    elif isinstance(edge, Heavy):
        if entity is None or edge.name not in entity.fields:
            known = entity.fields if entity else ()
            yield f"reads {edge.name}, which is no stored field: {suggestion(edge.name, known)}"
    else:
        yield from _function_mistakes(types, entity, hint, edge)


def appended_mistakes(
    types: Types, lists: Mapping[Edge, tuple[type, str, Any]], name: str, hint: Any, edge: Appended
) -> Mistakes:
    """Checks a subscription. `lists` has the fields of all types, with their classes, names and types."""
    if not isinstance(edge.listed, Listed) or edge.listed not in lists:
        yield "follows no list: write appended(Post.comments), with a field that is declared with many or linked"
        return
    cls, listed_name, listed_hint = lists[edge.listed]
    shown, node = f"{cls.__name__}.{listed_name}", argument_of(listed_hint)
    # A subscription does not take the argument that leads to a Searched.
    followed = (*appends.LISTS, Searched) if SEARCH in edge.signature.arguments else appends.LISTS
    entities = generic(edge.signature.returns, *followed)
    if entities is None:
        known = "a Range, a Merge, a Copied, a Filtered or a Linked"
        yield f"follows {shown}, of which no change tells what is added: choose a list that returns {known}"
    if argument_of(hint) is not node:
        yield f"is declared as {named(hint)}, but {shown} lists {named(node)}: declare Addition[{named(node)}]"
    if not name.endswith("_added"):
        yield f"sends what is added to {shown}: name it {name}_added"
    if edge.of_viewer and cls.__name__ != "User":
        yield f"is of the viewer, but {shown} is no list of User: leave of_viewer out"
    if cls.__name__ != QUERY and not types.has_ids(cls):
        yield f"follows {shown}, but a {cls.__name__} has no ID to subscribe by: choose a list of a Node"
    # A list may be one of ranks in another order.
    if entities and not any(entity.logged for entity in entities):
        unlogged = " and ".join(map(named, entities))
        yield f"follows {shown}, but changes of {unlogged} are not logged: choose a list of a logged entity"
    for entity in entities or ():
        if edge.at not in entity.fields:
            fix = suggestion(edge.at, entity.fields)
            yield f"takes the time of an addition from {edge.at}, which is no stored field: {fix}"


def _function_mistakes(types: Types, entity: type[Entity] | None, hint: Any, edge: Edge) -> Mistakes:
    yield from parameter_mistakes(edge.signature, entity, is_command=isinstance(edge, Command))
    if edge.signature.returns is None:
        yield f"calls {edge.signature.name}, which has no return annotation: add it"
        return
    match edge:
        case Command():
            yield from _command_mistakes(types, hint, edge.signature)
        case One():
            yield from _one_mistakes(types, entity, hint, edge)
        case Listed():
            yield from _list_mistakes(types, entity, hint, edge)
        case Exists() | Absent():
            yield from _needs("a Key", generic(edge.signature.returns, Key) is not None, edge.signature)
            yield from _value_mistakes(types, hint, bool, "a bool")
        case Count():
            yield from _count_mistakes(edge.signature)
            yield from _value_mistakes(types, hint, int, "an int")
        case Computed():
            yield from _needs("a Step", is_step(edge.signature.returns), edge.signature)
            yield from _returned_mistakes(types, hint, edge.signature)
        case Derived():
            yield from _returned_mistakes(types, hint, edge.signature)


def _one_mistakes(types: Types, entity: type[Entity] | None, hint: Any, edge: One) -> Mistakes:
    targets = generic(edge.signature.returns, Key, Range)
    yield from _needs("a Key or a Range", targets is not None, edge.signature)
    yield from _target_mistakes(types, hint, targets, edge.signature, "Key")
    if not may_be_none(hint):
        yield f"is declared as {named(hint)}, but a record may be missing or hidden: declare {named(hint)} | None"
    if edge.only is not None:
        for target in targets or ():
            yield from parent_mistakes(Signature(edge.only), target)


def _list_mistakes(types: Types, entity: type[Entity] | None, hint: Any, edge: Listed) -> Mistakes:
    node = argument_of(hint)
    listed = generic(edge.signature.returns, *LISTS)
    yield from _needs(
        "a Range, a Merge, a Copied, a Numbered, a Ranked, a Searched or a Filtered", listed is not None, edge.signature
    )
    if not edge.signature.unindexed and generic(edge.signature.returns, Filtered, partly=True):
        yield f"calls {edge.signature.name}, which may return a Filtered: mark the argument that filters with UNINDEXED"
    if may_be_none(result_of(edge.signature.returns)) and not may_be_none(hint):
        yield f"is declared as {named(hint)}, but {edge.signature.name} may return None: declare {named(hint)} | None"
    if edge.to is not None:
        to = Signature(edge.to)
        for link in listed or ():
            yield from parent_mistakes(to, link)
        targets = generic(to.returns, Key)
        yield from _needs("a Key", targets is not None, to)
        yield from _target_mistakes(types, node, targets, to, "Key")
    elif not edge.links:
        yield from _target_mistakes(types, node, listed, edge.signature, "Range")
    for name, (carried, attribute, _) in edge.carried.items():
        for link in listed or ():
            yield from _carried_mistakes(types, name, carried, link, attribute)
    if isinstance(edge.count, str):
        if entity is None or edge.count not in entity.fields:
            known = entity.fields if entity else ()
            yield f"counts {edge.count}, which is no stored field: {suggestion(edge.count, known)}"
    elif edge.count is not None:
        yield from parent_mistakes(Signature(edge.count), entity)
        yield from _count_mistakes(Signature(edge.count))


def _carried_mistakes(types: Types, name: str, hint: Any, link: type[Entity], attribute: str) -> Mistakes:
    field = link.fields.get(attribute)
    if field is None:
        fix = suggestion(attribute, link.fields)
        yield f"carries {link.__name__}.{attribute} as {name}, which does not exist: {fix}"
        return
    stored = Union[field.hint, None] if field.optional else field.hint  # noqa: UP007
    if not types.fits(hint, stored):
        yield (
            f"carries {link.__name__}.{attribute} as {name}: {named(hint)}, but it is stored as {named(stored)}: "
            f"write Carried({named(stored)}, …)"
        )


def _command_mistakes(types: Types, payload: Any, signature: Signature) -> Mistakes:
    results = get_type_hints(payload)
    results.pop("problems", None)
    returned = signature.returns
    if hasattr(returned, "_fields"):
        given: dict[str, Any] = get_type_hints(returned)
    else:
        given = dict.fromkeys(results, returned) if len(results) == 1 else {}
    if results.keys() != given.keys():
        wanted, found = (", ".join(names) or named(returned) for names in (results, given))
        yield f"is declared as {payload.__name__} with {wanted}, but {signature.name} returns {found}: let them match"
        return
    for name, hint in results.items():
        one_record = name.endswith("_id") and isinstance(given[name], type) and issubclass(given[name], Entity)
        if not one_record and not types.fits(hint, given[name]):
            yield (
                f"returns {payload.__name__}.{name}, declared as {named(hint)}, but {signature.name} returns "
                f"{named(given[name])}: change the declaration or the annotation"
            )


def _target_mistakes(types: Types, hint: Any, targets: list[Any] | None, signature: Signature, kind: str) -> Mistakes:
    for target in targets or ():
        if not types.shows(hint, target):
            wanted = " | ".join(map(named, members(hint)))
            yield (
                f"is declared as {wanted}, but {signature.name} returns {named(signature.returns)}: "
                f"declare {named(target)}, or return {kind}[{wanted}]"
            )


def _returned_mistakes(types: Types, hint: Any, signature: Signature) -> Mistakes:
    returned = result_of(signature.returns)
    if not types.fits(hint, returned):
        yield (
            f"is declared as {named(hint)}, but {signature.name} returns {named(returned)}: "
            f"declare {named(returned)}, or change the annotation"
        )


def _count_mistakes(signature: Signature) -> Mistakes:
    counts = all(each in (int, Total) for each in members(signature.returns))
    yield from _needs("an int or a Total", counts and not may_be_none(signature.returns), signature)


def _value_mistakes(types: Types, hint: Any, value: type, called: str) -> Mistakes:
    if not types.fits(hint, value):
        yield f"is declared as {named(hint)}, but is {called}: declare {value.__name__}"


def _needs(what: str, right: bool, signature: Signature) -> Mistakes:
    if not right:
        yield f"needs {what}, but {signature.name} returns {named(signature.returns)}"


def _read_by(edge: Edge) -> set[type[Entity]]:
    """The entities whose records an edge shows."""
    if isinstance(edge, Lookup):
        return {edge.entity}
    functions = [edge.signature] if isinstance(edge, One | Listed) else []
    if isinstance(edge, Listed) and edge.to is not None:
        functions.append(Signature(edge.to))
    found = (generic(function.returns, Key, *LISTS) or () for function in functions)
    every = {entity for entities in found for entity in entities if isinstance(entity, type)}
    return every - {Entity, Any}
