"""Declares object types for Strawberry without making dataclasses of them.

`strawberry.type` generates three functions for each class, in half of the time that the schema takes to build. They
would never be called: the values of these types are records and pages of our own.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

C = TypeVar("C", bound=type)


def object_type(cls: C, fields: Mapping[str, StrawberryField], description: str | None) -> C:
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
        is_input=False,
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
