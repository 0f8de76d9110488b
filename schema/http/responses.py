"""Responses that several routes share."""

from typing import Any

import orjson
from starlette.responses import Response


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)
