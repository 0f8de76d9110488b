"""Password hashing with bcrypt, off the event loop."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import bcrypt

from loaders.threads import Lane

MAX_BYTES = 72
# A hash takes about 50 ms, so these are three seconds of two threads.
WAITING = 100
PATIENCE = 8.0
T = TypeVar("T")


class Passwords:
    """One per process, with a lane of its own: a burst of sign-ins must not use up the CPU, or wait forever."""

    def __init__(self, rounds: int = 10, threads: int = 2, waiting: int = WAITING) -> None:
        self._rounds = rounds
        self._lane = Lane("sign-ins", threads=threads, waiting=waiting)
        # A salt with an invented hash: comparing with it takes as long as with any other.
        self._nobody = bcrypt.gensalt(rounds) + b"." * 31

    async def hash(self, password: str) -> str:
        salt = bcrypt.gensalt(self._rounds)
        return (await self._run(bcrypt.hashpw, password, salt)).decode()

    async def matches(self, password: str, hashed: str | None) -> bool:
        """Takes the same time when there is no such account, so that timing does not reveal which accounts exist."""
        if len(password.encode(errors="replace")) > MAX_BYTES or "\0" in password:
            password, hashed = "", None
        answer = await self._run(bcrypt.checkpw, password, hashed.encode() if hashed else self._nobody)
        return bool(answer) and hashed is not None

    async def _run(self, function: Callable[[bytes, bytes], T], password: str, argument: bytes) -> T:
        return await self._lane.run(partial(function, password.encode(errors="replace"), argument), seconds=PATIENCE)

    def close(self) -> None:
        self._lane.close()
