"""Declares object and input types for Strawberry without making dataclasses of them.

`strawberry.type` generates three functions for each class, which takes more than half of the time to build the schema.
They would hardly be called: the values of object types are records and pages of our own.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

C = TypeVar("C", bound=type)


class GivenInput:
    """The value of an input type: each field in the order of its declaration, or its default."""

    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **given: Any) -> None:
        vars(self).update({**self.defaults, **given})


def input_type(name: str, fields: Mapping[str, StrawberryField], description: str) -> type:
    """Makes an input type with these fields."""
    # Required fields have places, too: they are always given.
    defaults = {name: field.default for name, field in fields.items()}
    return object_type(type(name, (GivenInput,), {"defaults": defaults}), fields, description, is_input=True)


def object_type(cls: C, fields: Mapping[str, StrawberryField], description: str | None, *, is_input: bool = False) -> C:
    """Makes the class an object type with these fields and those of the types it inherits from."""
    bases: list[StrawberryObjectDefinition] = [
        vars(base)["__strawberry_definition__"] for base in cls.__mro__[1:] if "__strawberry_definition__" in vars(base)
    ]
    all_fields = {field.python_name: field for base in bases for field in base.fields}
    for name, field in fields.items():
        field.python_name = name
        field.origin = field.origin or cls
        all_fields[name] = field
    made: Any = cls
    made.__strawberry_definition__ = StrawberryObjectDefinition(
        name=cls.__name__,
        is_input=is_input,
        is_interface=False,
        origin=cls,
        description=description,
        interfaces=[base for base in bases if base.is_interface],
        extend=False,
        directives=(),
        is_type_of=getattr(cls, "is_type_of", None),
        resolve_type=getattr(cls, "resolve_type", None),
        fields=list(all_fields.values()),
    )
    return cls
