"""One rule per entity says who may see a record; the loaders apply it to everything on its way out."""

import time
from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Any, TypeVar, cast

from datastore.entity import Entity
from datastore.keys import Key
from loaders.steps import Items, Step, Together
from loaders.viewer import Viewer

Verdict = bool | Key[Any] | Step[bool]
Rule = Callable[[Any, Viewer], Verdict]
F = TypeVar("F", bound=Rule)

RULES: dict[type[Entity], Rule] = {}
_AT_ONCE = {bool}


def visibility(entity: type[Entity]) -> Callable[[F], F]:
    """Declare the rule of an entity: yes, no, a key (whoever sees what is there), or a step where it has to read."""

    def declare(rule: F) -> F:
        if entity in RULES:
            raise TypeError(f"{entity.__name__} has a visibility rule already")
        RULES[entity] = rule
        return rule

    return declare


def seen(records: Sequence[Entity | None], viewer: Viewer) -> Step[list[Any]]:
    """Each record, or None in its place where the viewer may not see it."""
    now = time.time()
    # DynamoDB takes up to days to remove what has expired; here it is gone on time.
    verdicts: Sequence[Verdict] = [
        record is not None
        and (record.expires_at is None or record.expires_at > now)
        and RULES[record.__class__](record, viewer)
        for record in records
    ]
    if not {verdict.__class__ for verdict in verdicts} <= _AT_ONCE:
        verdicts = yield from _decided(verdicts, viewer)
    return [record if verdict else None for record, verdict in zip(records, verdicts, strict=True)]


def _decided(verdicts: Sequence[Verdict], viewer: Viewer) -> Step[list[bool]]:
    keys = list(dict.fromkeys(verdict for verdict in verdicts if isinstance(verdict, Key)))
    at_keys = dict(zip(keys, (yield from seen_at(keys, viewer)), strict=True))
    steps = [cast(Step[bool], verdict) for verdict in verdicts if isinstance(verdict, GeneratorType)]
    answers = iter((yield Together(steps)) if steps else ())
    return [
        at_keys[verdict] is not None
        if isinstance(verdict, Key)
        else next(answers)
        if isinstance(verdict, GeneratorType)
        else bool(verdict)
        for verdict in verdicts
    ]


def seen_at(keys: Sequence[Key[Any] | None], viewer: Viewer) -> Step[list[Any]]:
    """The records at these keys. What the viewer may not see looks like what is not there."""
    return (yield from seen((yield Items(keys)), viewer))
