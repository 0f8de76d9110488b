"""An HTTP service that answers as a test tells it, and keeps what it was asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple


class Asked(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


class ScriptedService:
    """Answers with the status and the JSON that `answer` returns; with None, never."""

    def __init__(self, answer: Callable[[Asked], tuple[int, Any] | None]) -> None:
        self._answer = answer
        self.asked: list[Asked] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                first, *rest = head.strip().split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
                method, path, _ = first.split(" ")
                asked = Asked(method, path, headers, await reader.readexactly(int(headers["content-length"])))
                self.asked.append(asked)
                answer = self._answer(asked)
                if answer is None:
                    await reader.read()
                    return
                body = json.dumps(answer[1]).encode()
                writer.write(f"HTTP/1.1 {answer[0]} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class EmptyNode:
    """The answers of a node of OpenSearch that accepts all updates and keeps only the state of an index."""

    def __init__(self) -> None:
        self._state: dict[str, Any] | None = None
        self._sequence = 0

    def __call__(self, asked: Asked) -> tuple[int, Any]:
        if asked.path.endswith("/_bulk"):
            return 200, {
                "items": [{"index": {"status": 201}} for line in asked.lines if {"index", "delete"} & line.keys()]
            }
        if asked.path.endswith("/_mget"):
            return 200, {"docs": []}
        if "/_doc/state" in asked.path:
            return self._answer_state(asked)
        is_unknown = asked.method == "GET"
        return (404, {"found": False}) if is_unknown else (200, {})

    def _answer_state(self, asked: Asked) -> tuple[int, Any]:
        if asked.method == "PUT":
            self._state = json.loads(asked.body)
            self._sequence += 1
        place = {"_seq_no": self._sequence, "_primary_term": 1}
        if self._state is None:
            return 404, {"found": False}
        return 200, {"found": True, "_source": self._state, **place}


@asynccontextmanager
async def scripted_service(answer: Callable[[Asked], tuple[int, Any] | None]) -> AsyncIterator[ScriptedService]:
    service = ScriptedService(answer)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
