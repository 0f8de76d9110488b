"""Password hashing: off the event loop, and bounded under a burst of sign-ins."""

import asyncio

import pytest

from loaders.threads import Busy
from resolvers.accounts.passwords import Passwords


async def test_a_password_matches_its_own_hash_only():
    passwords = Passwords(rounds=4)
    hashed = await passwords.hash("correct horse")

    assert await passwords.matches("correct horse", hashed)
    assert not await passwords.matches("wrong horse", hashed)
    assert not await passwords.matches("correct horse", None)
    passwords.close()


async def test_a_burst_waits_in_a_bounded_queue_and_the_rest_is_refused():
    passwords = Passwords(rounds=8, threads=1, waiting=3)
    hashed = await passwords.hash("correct horse")

    answers = await asyncio.gather(
        *(passwords.matches("correct horse", hashed) for _ in range(200)), return_exceptions=True
    )

    assert answers[:4] == [True] * 4
    assert {type(answer) for answer in answers} == {bool, Busy}
    assert await passwords.matches("correct horse", hashed)
    passwords.close()


async def test_hashing_leaves_the_event_loop_to_others():
    passwords = Passwords(rounds=10)
    hashing = asyncio.create_task(passwords.hash("correct horse"))
    turns = 0
    while not hashing.done():
        turns += 1
        await asyncio.sleep(0)

    assert turns > 10  # on the event loop, hashing would be done in the first turn
    passwords.close()


@pytest.mark.parametrize("password", ["x" * 73, "nul\0nul"])
async def test_a_password_that_bcrypt_cannot_hash_matches_nothing(password):
    passwords = Passwords(rounds=4)

    assert not await passwords.matches(password, await passwords.hash("correct horse"))
    passwords.close()
