"""The retry budget."""

import random

import pytest

from datastore.client.budget import RETRIES, RetryBudget


def calls_per_wanted_call(failing: float, wanted: int = 2_000) -> float:
    """Sends calls of which a share fails, each until it succeeds or the budget ends it."""
    chance, budget, calls = random.Random(1), RetryBudget(), 0
    for _ in range(wanted):
        while True:
            calls += 1
            if chance.random() >= failing:
                budget.earn()
                break
            if not budget.spend():
                break
    return calls / wanted


@pytest.mark.parametrize(("failing", "most"), [(0.0, 1.0), (0.1, 1.15), (0.5, 2.1), (0.9, 1.15), (1.0, 1.05)])
def test_few_calls_are_sent_per_wanted_call(failing: float, most: float) -> None:
    assert calls_per_wanted_call(failing) <= most


def test_it_starts_with_some_retries_and_counts_those_it_refuses() -> None:
    budget = RetryBudget()

    assert [budget.spend() for _ in range(RETRIES + 2)] == [True] * RETRIES + [False] * 2
    assert (budget.tokens, budget.refused) == (0, 2)


def test_a_success_earns_one_retry() -> None:
    budget = RetryBudget(most=1)
    budget.earn()
    assert [budget.spend(), budget.spend()] == [True, False]

    budget.earn()
    budget.earn()

    assert [budget.spend(), budget.spend()] == [True, False]
