"""Amounts of money, with their currency."""

from typing import Any, NamedTuple

from datastore.model.codec import BigInt
from resolvers.core.constraints import Constraint, Matching, Report

NO_CURRENCY = "XXX"
"""ISO 4217: no currency. Records from before currencies were stored have it."""


class Money(NamedTuple):
    """An amount of money."""

    amount: BigInt
    currency: str


Currency = Matching("[A-Z]{3}", "a currency is three letters A-Z, such as EUR")


class Amount(Constraint):
    """A whole number from 0."""

    def check(self, value: BigInt, report: Report) -> BigInt:
        if value < 0:
            report(f"this is {value}; it cannot be less than 0")
        return value


class Price(Constraint):
    """Money, from 0, in a currency of three letters."""

    def check(self, value: Money, report: Report) -> Money:
        return Money(Amount().check(value.amount, report), Currency.check(value.currency, report))


def money(amount: BigInt | None, currency: str | None) -> Money | None:
    """Returns a stored amount. Null if there is none."""
    return None if amount is None else Money(amount, currency or NO_CURRENCY)


def parts_of(given: Any) -> tuple[Any, Any]:
    """Returns the amount and the currency to store of an argument, which may be None or UNSET."""
    return (given.amount, given.currency) if isinstance(given, Money) else (given, given)
