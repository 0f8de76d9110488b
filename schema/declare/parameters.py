"""Checks the parameters of resolver functions: the parent, those filled in, and the arguments of clients."""

import inspect
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any, TypeVar

from datastore.model.entity import Entity
from resolvers.core.context import Context
from schema.declare.hints import members, named
from schema.declare.signatures import FILLED_IN, Signature


def parameter_mistakes(signature: Signature, entity: type[Entity] | None, *, is_command: bool) -> Iterator[str]:
    """A command takes the context, an edge its parent; clients give keyword-only arguments."""
    known: dict[str, Any] = {"context": Context} if is_command else FILLED_IN
    unknown = []
    for parameter in signature.positional:
        hint = signature.hints.get(parameter.name)
        if parameter.name not in known:
            unknown.append(parameter)
        elif hint is not known[parameter.name]:
            wanted = known[parameter.name].__name__
            yield f"calls {signature.name}, whose {parameter.name} is annotated {named(hint)}: annotate {wanted}"
    free = known.keys() - {parameter.name for parameter in signature.positional}
    if entity is not None and not is_command:
        parents = [each for each in unknown if _accepts(signature.hints.get(each.name), entity)]
        if parents:
            unknown.remove(parents[0])
        elif len(unknown) == 1 and not _close(unknown[0], free):
            yield from parent_mistakes(signature, entity)
            return
    for parameter in unknown:
        close = _close(parameter, free)
        fix = f"did you mean {close}?" if close else "make it keyword-only if clients give it"
        *others, last = [*([] if entity is None else ["the parent"]), *known]
        expected = f"neither {', '.join(others)} nor {last}" if others else f"not {last}"
        yield f"calls {signature.name}, whose parameter {parameter.name} is {expected}: {fix}"


def parent_mistakes(signature: Signature, entity: type[Entity] | None) -> Iterator[str]:
    """The first parameter takes a record of the entity."""
    first = next(iter(signature.positional), None)
    hint = signature.hints.get(first.name) if first else None
    if entity is not None and first is not None and not _accepts(hint, entity):
        yield (
            f"calls {signature.name} with a {entity.__name__}, but its {first.name} is annotated {named(hint)}: "
            f"annotate {entity.__name__}, or choose another function"
        )


def _accepts(hint: Any, entity: type[Entity]) -> bool:
    for member in members(hint):
        for each in _types_of(member) if isinstance(member, TypeVar) else (member,):
            if each is Any or (isinstance(each, type) and issubclass(entity, each)):
                return True
    return False


def _types_of(variable: TypeVar) -> tuple[Any, ...]:
    return variable.__constraints__ or (variable.__bound__ or Any,)


def _close(parameter: inspect.Parameter, names: Collection[str]) -> str | None:
    return next(iter(get_close_matches(parameter.name, names, n=1)), None)
