"""Scalars and enums."""

from collections.abc import Callable
from functools import cache
from typing import Any

import strawberry
from graphql import GraphQLError, ValueNode, value_from_ast_untyped

from datastore.model.codec import BIG_INT_LIMIT, JSON, BigInt
from datastore.model.dates import HistoricDate, parse_date
from datastore.model.enums import Choice
from datastore.model.times import Day, Time, is_time, parse_day, parse_time


@cache
def choice_type(choice: type[Choice]) -> Any:
    """The GraphQL enum of a Choice, with the descriptions of its values."""
    made: Any = strawberry.enum(choice, description=choice.__doc__)
    for value in made.__strawberry_definition__.values:
        value.description = choice[value.name].description
    return made


def scalar_type(hint: Any) -> Any:
    """The hint as Strawberry takes it: the enum of a Choice, all else unchanged."""
    return choice_type(hint) if isinstance(hint, type) and issubclass(hint, Choice) else hint


def _serialize_time(value: Any) -> str:
    if isinstance(value, str) and is_time(value):
        return value
    raise GraphQLError(f"{value!r} is not a stored time")


def _text(parse: Callable[[str], Any], what_to_write: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            raise GraphQLError(what_to_write)
        try:
            return parse(value)
        except ValueError as error:
            raise GraphQLError(str(error)) from None

    return read


def _readers(read: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns the readers of a variable and of a value in the query, whose errors have their place in it."""

    def read_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> Any:
        try:
            return read(value_from_ast_untyped(node, variables))
        except GraphQLError as error:
            raise GraphQLError(error.message, node) from None

    return {"parse_value": read, "parse_literal": read_literal}


def _big_int(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < BIG_INT_LIMIT:
        return value
    raise GraphQLError("a BigInt is a whole number of at most 9007199254740991 (2⁵³ - 1)")


SCALARS: dict[object, Any] = {
    Time: strawberry.scalar(
        name="DateTime",
        description="A time in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. Input may have any offset.",
        specified_by_url="https://scalars.graphql.org/andimarek/date-time.html",
        serialize=_serialize_time,
        **_readers(_text(parse_time, "a DateTime is text; write it like 2026-01-31T12:00:00Z")),
    ),
    Day: strawberry.scalar(
        name="Date",
        description="A calendar day: `2026-01-31`.",
        specified_by_url="https://scalars.graphql.org/andimarek/local-date.html",
        serialize=str,
        **_readers(_text(parse_day, "a Date is text; write it like 2026-01-31")),
    ),
    HistoricDate: strawberry.scalar(
        name="HistoricDate",
        description="A date of genealogy, exact or not: `1950-05-15`, `1950-05`, `1950`, `ABT 1950`, `BEF 1950`, "
        "`AFT 1950`, `BET 1950 AND 1952`, `FROM 1950 TO 1952`, `44 BCE`, `JULIAN 5 OCT 1700`, `5 FEB 1699/00`, or a "
        "phrase in brackets. Input may use GEDCOM notation too.",
        serialize=str,
        **_readers(_text(parse_date, "a HistoricDate is text; write it like 1950-05-15 or ABT 1950")),
    ),
    BigInt: strawberry.scalar(
        name="BigInt",
        description="A whole number that may be too large for Int: up to 9007199254740991 (2⁵³ - 1), a JSON number.",
        serialize=_big_int,
        **_readers(_big_int),
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON value.",
        specified_by_url="https://ecma-international.org/publications-and-standards/standards/ecma-404/",
        serialize=lambda value: value,
        parse_value=lambda value: value,
    ),
}
