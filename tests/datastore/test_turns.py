"""Sharing the event loop: turns come in order, and many reads begin few at a time."""

import asyncio

from datastore.client import turns


async def test_turns_come_in_order_one_per_iteration():
    came: list[int] = []
    for number in range(3):
        turns.later(lambda number=number: came.append(number))
    states = []
    for _ in range(4):
        await asyncio.sleep(0)
        states.append([*came])

    assert states == [[0], [0, 1], [0, 1, 2], [0, 1, 2]]


async def test_reads_in_parallel_are_answered_in_order_and_begin_few_at_a_time():
    running, most = 0, 0

    async def read(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number * 2

    assert await turns.in_parallel(read, range(1_000)) == [number * 2 for number in range(1_000)]
    assert most == turns.READS_AT_ONCE
