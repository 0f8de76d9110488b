"""Scenarios: a number of requests at a time, which may or may not read the same records."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """`concurrency` requests at a time. If `is_distinct`, no two of them read the same record."""

    name: str
    title: str
    concurrency: int
    is_distinct: bool = False


# Requests of the distinct scenario are in this many groups that share nothing; each client sends those of one group.
GROUPS = 8

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("1", "1 at a time", 1),
        Scenario("8", "8 at a time", 8),
        Scenario("64", "64 at a time", 64),
        Scenario("distinct", "8 at a time, no record in common", GROUPS, is_distinct=True),
    )
}
