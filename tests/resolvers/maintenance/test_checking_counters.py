"""Every counter that is wrong is found and corrected."""

import pytest

from resolvers.maintenance.all_checks import all_checks
from resolvers.maintenance.rules import COUNTERS
from tests.resolvers.maintenance.corruption import whole_world

assert all_checks()


async def holders(vandal, rule):
    subjects = [subject for subject in await vandal.all(rule.subject) if rule.when(subject)]
    keys = [key for subject in subjects for key in rule.part_keys(subject)[:1]]
    assert keys, f"the demo has no {rule.subject.__name__}"
    return [await vandal.table.get(key, consistent=True) for key in keys]


@pytest.mark.parametrize("rule", COUNTERS, ids=lambda rule: rule.label)
async def test_a_wrong_counter_is_found_and_corrected(graph, check, rule):
    vandal = await whole_world(graph)
    (part, *_) = await holders(vandal, rule)
    was = getattr(part, rule.name)
    await vandal.put(part.changed(**{rule.name: was + 3}, updated_at=part.updated_at))
    (found, *others) = [each for each in await check(repair=True) if each["kind"] == "counter"]
    assert others == []
    assert found["what"].startswith(f"{rule.label} is ")
    assert found["state"] == "repaired"
    assert getattr(await vandal.table.get(part.own_key, consistent=True), rule.name) == was
    await graph.settle(jobs=True)
    assert await check() == []
