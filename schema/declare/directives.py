"""Directives of the schema that tell clients more than its types do."""

from typing import Any

import strawberry
from strawberry.schema_directive import Location

from resolvers.core.access import Access, AccessRelation, AccessRole
from schema.declare.scalars import choice_type

choice_type(AccessRole)
choice_type(AccessRelation)


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name="semanticNonNull",
    description="The field is null only if there is an error at its path. A client that treats errors as exceptions "
    "may type it as non-null. `levels` are the levels of lists that this is true for, 0 for the field itself.",
)
class SemanticNonNull:
    levels: list[int] | None = strawberry.UNSET


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION, Location.INPUT_FIELD_DEFINITION],
    name="access",
    description="Access to the field. `requires`: without this role, the field is an error with the code "
    "`UNAUTHENTICATED` or `FORBIDDEN`, regardless of the record. `only`: for viewers without any of these relations to "
    "the record, the field is null. A mutation has a problem instead.",
)
class AccessDirective:
    requires: AccessRole | None = strawberry.UNSET
    only: list[AccessRelation] | None = strawberry.UNSET


def access_directives(access: Access) -> list[Any]:
    """The directive of a field, if anything is declared."""
    said: dict[str, Any] = {"requires": access.requires, "only": [*access.only]}
    said = {name: value for name, value in said.items() if value}
    return [AccessDirective(**said)] if said else []
