"""Responses that several routes share."""

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from schema.http.compression import ONCE_WITHIN, SMALL, accepts_gzip, gzipped
from schema.http.etags import etag_of, is_known


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


class Document:
    """A text that does not change, with its version. It is compressed once."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self.content = content
        self._media_type = media_type
        self._etag: str | None = None
        self._gzipped: bytes | None = None

    async def is_known(self, request: Request) -> bool:
        """Returns True if the client has this version."""
        return is_known(await self.etag(), request.headers.get("if-none-match"))

    async def etag(self) -> str:
        if self._etag is None:
            self._etag = await etag_of(self.content)
        return self._etag

    async def response(self, request: Request, headers: dict[str, str]) -> Response:
        headers = {**headers, "etag": await self.etag()}
        if await self.is_known(request):
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request.headers) and (smaller := await self._compressed()):
            headers["content-encoding"] = "gzip"
            return Response(smaller, headers=headers, media_type=self._media_type)
        return Response(self.content, headers=headers, media_type=self._media_type)

    async def _compressed(self) -> bytes | None:
        if self._gzipped is None:
            self._gzipped = await gzipped(self.content, SMALL, ONCE_WITHIN)
        return self._gzipped
