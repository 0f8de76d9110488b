"""Counts of operations by names that clients choose."""

from schema.http.operation_counts import CANDIDATES, MOST_NAMES, OTHER, OWN_AFTER, UNUSED_FOR, OperationCounts

FIELDS = {"outcome": "ok", "cost": 7, "calls": {"Query": 2, "GetItem": 1}, "read_units": 1.5, "write_units": 0}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def use(counts: OperationCounts, name: str | None, times: int = OWN_AFTER) -> None:
    for _ in range(times):
        counts.add(name, 0.25, FIELDS)


def lines(counts: OperationCounts) -> list[str]:
    return [line for family in counts.families() for line in family if not line.startswith("#")]


def names(counts: OperationCounts) -> set[str]:
    return {line.partition('operation="')[2].partition('"')[0] for line in lines(counts)}


def test_a_name_has_counts_of_its_own_once_it_is_used_often() -> None:
    counts = OperationCounts()
    use(counts, "Feed", OWN_AFTER - 1)
    assert names(counts) == {OTHER}
    use(counts, "Feed", 2)
    use(counts, None, OWN_AFTER)
    assert names(counts) == {OTHER, "Feed", "anonymous"}
    assert 'heartwood_operations_total{operation="Feed",outcome="ok"} 2' in lines(counts)
    assert 'heartwood_operation_seconds_total{operation="Feed"} 0.5' in lines(counts)
    assert 'heartwood_operation_cost_total{operation="Feed"} 14' in lines(counts)
    assert 'heartwood_operation_dynamodb_calls_total{operation="Feed"} 6' in lines(counts)
    assert 'heartwood_operation_capacity_units_total{operation="Feed",kind="read"} 3.0' in lines(counts)
    assert f'heartwood_operations_total{{operation="other",outcome="ok"}} {2 * OWN_AFTER - 2}' in lines(counts)


def test_made_up_names_fill_neither_the_memory_nor_the_metrics() -> None:
    counts = OperationCounts()
    use(counts, "x" * 1_000)
    for number in range(3 * CANDIDATES):
        use(counts, f"Random{number}", 1)
    assert names(counts) == {OTHER}
    assert len(counts._candidates) <= CANDIDATES + 1
    for number in range(MOST_NAMES + 20):
        use(counts, f"Often{number}")
    assert len(names(counts)) == MOST_NAMES + 1


def test_a_name_that_is_no_longer_used_gives_way() -> None:
    clock = Clock()
    counts = OperationCounts(clock)
    for number in range(MOST_NAMES):
        use(counts, f"Old{number}")
    clock.now += UNUSED_FOR + 1
    for number in range(1, MOST_NAMES):
        use(counts, f"Old{number}", 1)
    use(counts, "New")
    assert "New" in names(counts)
    assert "Old0" not in names(counts)
