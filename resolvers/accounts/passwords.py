"""Password hashing with bcrypt, off the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import bcrypt

MAX_BYTES = 72
T = TypeVar("T")


class Passwords:
    """One per process, with a few threads of its own: a burst of sign-ins must not use up the CPU or the pool."""

    def __init__(self, rounds: int = 10, threads: int = 2) -> None:
        self._rounds = rounds
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="bcrypt")
        self._nobody = bcrypt.hashpw(b"nobody's password", bcrypt.gensalt(rounds))

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
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function, password.encode(errors="replace"), argument)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
