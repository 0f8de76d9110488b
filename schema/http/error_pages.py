"""Answers to requests for a path or a method that does not exist: a page for browsers, JSON for other clients."""

from base64 import b64encode
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from resolvers.core.error_codes import ErrorCode
from schema.http.protocol import Answer, wants_page
from schema.http.responses import Json

STYLE = "body { font: 1.1rem/1.5 sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem; }"
PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>{title} · Heartwood</title>
    <style>{style}</style>
  </head>
  <body>
    <h1>{title}</h1>
    <p>{message}.</p>
    <ul>
      <li><a href="/graphql">/graphql</a>: the API, with an editor and the documentation of every field</li>
      <li><a href="/schema.graphql">/schema.graphql</a>: the schema as text</li>
    </ul>
  </body>
</html>
"""
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}

MESSAGES = {
    ErrorCode.NOT_FOUND: "There is nothing at this path; the API is at /graphql",
    ErrorCode.METHOD_NOT_ALLOWED: "This path does not take this HTTP method; use {allow}",
}
CODES = {code.status: code for code in MESSAGES}


def not_found() -> HTTPException:
    return HTTPException(ErrorCode.NOT_FOUND.status)


async def http_error(request: Request, error: Exception) -> Response:
    """Answers what the router refuses. The message holds nothing that the client sent."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    code = CODES[error.status_code]
    message = MESSAGES[code].format(allow=headers.get("Allow"))
    if wants_page(request.headers.get("accept")):
        title = HTTPStatus(code.status).phrase
        page = PAGE.format(title=title, message=message, style=STYLE)
        return HTMLResponse(page, code.status, headers | HEADERS)
    body: dict[str, Any] = Answer.refused(message, code).body
    return Json(body, code.status, headers)
