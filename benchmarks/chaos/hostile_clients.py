"""Scenarios in which clients attack: expensive queries, broken requests, and connections that hardly move."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from graphql import get_introspection_query

from benchmarks.chaos.client import Tally
from benchmarks.chaos.scenarios import Figures, Scale, at_least, at_most, scenario
from benchmarks.chaos.scene import Scene, person, scene
from schema.declare.ids import global_id

VICTIM = "query($id: ID!) { user(by: {id: $id}) { username displayName } }"
VICTIMS = 4
PAUSE = 0.05
JSON = "content-type: application/json"


@dataclass
class Victims:
    """Experience of ordinary clients, and the memory of the server meanwhile."""

    tally: Tally = field(default_factory=Tally)
    most_mb: float = 0.0

    def figures(self, normal: "Victims") -> Figures:
        return {
            "victims": len(self.tally.seconds),
            "victims_failed": len(self.tally.failures),
            "p50_ms": self.tally.percentile(50),
            "p99_ms": self.tally.percentile(99),
            "normal_p99_ms": normal.tally.percentile(99),
            "memory_growth_mb": self.most_mb - normal.most_mb,
        }


@asynccontextmanager
async def victims(on: Scene) -> AsyncIterator[Victims]:
    """Ordinary clients send a cheap query twenty times a second each, until the block ends."""
    found, over = Victims(), asyncio.Event()
    id = global_id(person(1))

    async def one() -> None:
        client = on.client()
        while not over.is_set():
            found.tally.add(await client.ask(VICTIM, id=id))
            found.most_mb = max(found.most_mb, on.server.resident_mb)
            await asyncio.sleep(PAUSE)
        await client.close()

    tasks = [asyncio.create_task(one()) for _ in range(VICTIMS)]
    try:
        yield found
    finally:
        over.set()
        await asyncio.gather(*tasks)


async def undisturbed(on: Scene, seconds: float) -> Victims:
    async with victims(on) as normal:
        await asyncio.sleep(seconds)
    return normal


def bombs(number: int) -> list[str]:
    """Documents that were expensive to answer, to validate or to refuse; `number` makes each of them unique."""
    aliases = " ".join(f"a{number}_{at}: caption" for at in range(150))
    wide = " ".join(f"f{number}_{at}: feed(first: 20) {{ nodes {{ {aliases} }} }}" for at in range(3))
    overlap = " ".join(f'user(by: {{id: "x"}}) {{ ...F{at} }}' for at in range(60))
    fragments = " ".join(
        f"fragment F{at} on User {{ n{number}: username posts {{ nodes {{ id }} }} }}" for at in range(60)
    )
    chain = " ".join(
        f"fragment C{at} on Query {{ ...C{at + 1} b{at}: viewer {{ id }} ...C{at + 1} }}" for at in range(24)
    )
    unknown = " ".join(f"unknwon{number}x{at}" for at in range(400))
    return [
        "{" + wide + "}",
        "{" + " ".join(f"s{number}_{at}: __schema {{ types {{ name fields {{ name }} }} }}" for at in range(60)) + "}",
        "{" + overlap + "}" + fragments,
        "{ ...C0 }" + chain + " fragment C24 on Query { viewer { id } }",
        "{" + unknown + "}",
        "{" + "a { " * 900 + "b" + "}" * 900 + "}",
        "{ feed(first: 100) { nodes { author { posts(first: 100) { nodes { author { posts(first: 100) "
        + "{ nodes { id } } } } } } } } }"
        + f" # {number}",
    ]


@scenario(
    "Query bombs beside ordinary clients",
    victims_failed=at_most(0),
    p99_ms=at_most(400),
    memory_growth_mb=at_most(150),
    still_running=at_least(1),
)
async def query_bombs(folder: Path, scale: Scale) -> Figures:
    seconds = scale.of(6, 20)
    sent = Tally()
    async with scene(folder) as on:
        normal = await undisturbed(on, seconds / 2)
        until = time.monotonic() + seconds

        async def attack(number: int) -> None:
            client = on.client()
            while time.monotonic() < until and on.server.is_running:
                for bomb in bombs(number):
                    sent.add(await client.ask(bomb))
                number += 1_000
            await client.close()

        async with victims(on) as found:
            await asyncio.gather(*map(attack, range(3)))
        running = on.server.is_running
    return {"bombs": len(sent.seconds), "still_running": float(running), **found.figures(normal)}


def broken_requests() -> list[tuple[str, bytes, set[int]]]:
    """Bytes that no honest client sends, each with the statuses that are right; 0 stands for a closed connection."""
    head = "POST /graphql HTTP/1.1\r\nhost: x\r\n"
    many = "".join(f"x-{at}: y\r\n" for at in range(5_000))
    chunk = b"fffff\r\n" + b"a" * 1_048_575 + b"\r\n"
    deep = b'{"query": "{ viewer { id } }", "variables": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}"
    return [
        ("header of 1 MB", f"{head}x-big: {'a' * 1_000_000}\r\n\r\n".encode(), {431, 400, 0}),
        ("5,000 headers", f"{head}{many}\r\n".encode(), {431, 400, 0}),
        ("URL of 1 MB", f"GET /?query={'a' * 1_000_000} HTTP/1.1\r\nhost: x\r\n\r\n".encode(), {414, 431, 400, 0}),
        ("negative length", f"{head}{JSON}\r\ncontent-length: -5\r\n\r\n".encode(), {400, 0}),
        ("length that is no number", f"{head}{JSON}\r\ncontent-length: ten\r\n\r\n".encode(), {400, 0}),
        ("length of 10 GB", f"{head}{JSON}\r\ncontent-length: 10000000000\r\n\r\n".encode(), {413, 0}),
        ("deep JSON", _post(head, deep), {400}),
        ("not JSON", _post(head, b"\xff\xfe" * 1_000), {400}),
        ("5 MB of JSON", _post(head, b'{"query": "' + b"a" * 5_000_000 + b'"}'), {413, 0}),
        ("chunks without end", f"{head}{JSON}\r\ntransfer-encoding: chunked\r\n\r\n".encode() + chunk * 3, {413, 0}),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" * 50, {400, 0}),
        ("pipelined requests", b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" * 500, {200, 0}),
    ]


def _post(head: str, body: bytes) -> bytes:
    return f"{head}{JSON}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@scenario(
    "Broken and oversized requests beside ordinary clients",
    wrong_answers=at_most(0),
    victims_failed=at_most(0),
    p99_ms=at_most(250),
    memory_growth_mb=at_most(100),
    still_running=at_least(1),
)
async def broken_requests_beside_others(folder: Path, scale: Scale) -> Figures:
    wrong: list[str] = []
    async with scene(folder) as on:
        normal = await undisturbed(on, 3)
        async with victims(on) as found:
            for _ in range(scale.of(2, 6)):
                for name, raw, right in broken_requests():
                    status = await _status_of(on.server.port, raw)
                    if status not in right:
                        wrong.append(f"{name}: {status}")
        running = on.server.is_running
    for line in sorted(set(wrong)):
        print("   ", line)
    return {"wrong_answers": len(wrong), "still_running": float(running), **found.figures(normal)}


async def _status_of(port: int, raw: bytes) -> int:
    """Returns the status of the response, or 0 if the connection was closed without one."""
    writer = None
    try:
        async with asyncio.timeout(15):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(raw)
            with suppress(ConnectionError):
                await writer.drain()
            line = await reader.readline()
            return int(line.split()[1]) if line.startswith(b"HTTP/") else 0
    except (TimeoutError, ConnectionError, ValueError):
        return 0
    finally:
        if writer:
            writer.transport.abort()


@scenario(
    "1,000 idle connections, 300 slow senders and 300 slow readers beside ordinary clients",
    victims_failed=at_most(0),
    p99_ms=at_most(250),
    memory_growth_mb=at_most(300),
    readers_held=at_most(0),
    still_running=at_least(1),
)
async def slow_clients(folder: Path, scale: Scale) -> Figures:
    seconds = scale.of(25, 45)
    async with scene(folder, MAX_CONNECTIONS_PER_ADDRESS="5000") as on:
        normal = await undisturbed(on, 4)
        async with victims(on) as found:
            idle = [await _open(on) for _ in range(1_000)]
            senders = [asyncio.create_task(_send_slowly(on, seconds)) for _ in range(300)]
            readers = [await _never_read(on) for _ in range(300)]
            await asyncio.sleep(seconds)
            held = sum([await _is_open(writer) for writer in readers])
            for task in senders:
                task.cancel()
            await asyncio.gather(*senders, return_exceptions=True)
        for writer in (*idle, *readers):
            writer.transport.abort()
        running = on.server.is_running
    return {"readers_held": held, "still_running": float(running), **found.figures(normal)}


async def _open(on: Scene) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", on.server.port)
    return writer


async def _send_slowly(on: Scene, seconds: float) -> None:
    """Sends a request a byte at a time."""
    with suppress(ConnectionError):
        writer = await _open(on)
        for (
            byte
        ) in b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(seconds / 60)


async def _never_read(on: Scene) -> asyncio.StreamWriter:
    """Asks for more than the buffers of a socket hold, and reads nothing. One client comes after the other."""
    await asyncio.sleep(0.05)
    _, writer = await asyncio.open_connection("127.0.0.1", on.server.port, limit=1)
    transport = writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()
    body = orjson.dumps({"query": get_introspection_query()})
    with suppress(ConnectionError):
        writer.write(_post("POST /graphql HTTP/1.1\r\nhost: x\r\n", body) * 8)
    return writer


async def _is_open(writer: asyncio.StreamWriter) -> bool:
    """True if the server has not closed the connection: a write to a closed one fails soon."""
    for _ in range(3):
        if writer.transport.is_closing():
            return False
        writer.write(b"\r\n")
        await asyncio.sleep(0.02)
    return not writer.transport.is_closing()
