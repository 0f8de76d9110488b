"""Amounts of money, as commands take them and as records store them."""

import pytest

from resolvers.core.money import Money, Price, money, parts_of
from resolvers.core.unset import UNSET


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [(5, "EUR", Money(5, "EUR")), (0, "EUR", Money(0, "EUR")), (5, None, Money(5, "XXX")), (None, "EUR", None)],
)
def test_an_amount_that_was_stored_without_a_currency_has_none(amount, currency, shown):
    assert money(amount, currency) == shown


@pytest.mark.parametrize("given", [None, UNSET])
def test_price_and_currency_are_removed_or_kept_together(given):
    assert parts_of(given) == (given, given)


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        (Money(2**53 - 1, "EUR"), []),
        (Money(-1, "EUR"), ["this is -1; it cannot be less than 0"]),
        (Money(1, "eur"), ["a currency is three letters A-Z, such as EUR"]),
        (Money(1, "EUR\n"), ["a currency is three letters A-Z, such as EUR"]),
    ],
)
def test_a_price_is_an_amount_from_zero_with_a_currency(given, problems):
    found: list[str] = []

    Price().check(given, found.append)

    assert found == problems
