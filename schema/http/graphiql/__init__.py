"""GraphiQL, as bundled from npm's packages by bundle.mjs or, if npm is missing, an older one from a CDN."""

import re
from functools import cache
from pathlib import Path
from string import Template

import orjson

from schema.http.responses import Document

HERE = Path(__file__).parent
BUNDLE = HERE.parents[2] / "node_modules/.graphiql"
BUNDLED = ("graphiql.css", "graphiql.js", "editor.worker.js", "graphql.worker.js", "json.worker.js")
CDN = "https://cdn.jsdelivr.net/npm"
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
OWN = ("fetcher.js", "start.js", "page.css", "icon.svg")

# What the page loads from the CDN without npm, with its digest: the last GraphiQL that needs no bundle.
LIBRARIES = (
    (
        "react@18.3.1/umd/react.production.min.js",
        "sha384-DGyLxAyjq0f9SPpVevD6IgztCFlnMF6oW/XQGmfe+IsZ8TqEiDrcHkMLKI6fiB/Z",
    ),
    (
        "react-dom@18.3.1/umd/react-dom.production.min.js",
        "sha384-gTGxhz21lVGYNMcdJOyq01Edg0jhn/c22nsx0kyqP0TxaV5WVdsSH1fSDUf5YJj1",
    ),
    (
        "graphiql@4.1.2/graphiql.min.js",
        "sha384-9XdHu7ajgGJziD4J1zNBKQ842Q/+zZfDv+ib1eMhZWBH6hPAs806x+Jbcf0yNO6B",
    ),
    (
        "graphiql@4.1.2/graphiql.min.css",
        "sha384-1el1QShFBnnXTx9x/Cprg82hZWKt0ry29OAYIXt05swbi0KcZDFoj0CWguMpopJr",
    ),
)


_documents: dict[tuple[Path, int], Document] = {}


def document(name: str) -> Document | None:
    """Returns what to serve under this name. A file that is replaced while the server runs is read again."""
    path = asset(name)
    if path is None:
        return None
    version = path, path.stat().st_mtime_ns
    if version not in _documents:
        _documents[version] = Document(path.read_bytes(), MEDIA_TYPES[path.suffix])
    return _documents[version]


def asset(name: str) -> Path | None:
    """Returns the file of this name."""
    if name in OWN:
        return HERE / name
    return BUNDLE / name if name in BUNDLED and is_bundled() else None


def is_bundled() -> bool:
    return all((BUNDLE / name).exists() for name in BUNDLED)


@cache
def headers() -> dict[str, str]:
    origin = "'self'" if is_bundled() else f"'self' {CDN.removesuffix('/npm')}"
    policy = (
        f"default-src 'none'; script-src {origin}; worker-src 'self'; style-src {origin} 'unsafe-inline'; "
        "img-src 'self' data: https:; font-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {"content-security-policy": policy, "cache-control": "no-store", "referrer-policy": "no-referrer"}


@cache
def page() -> str:
    template = Template((HERE / "page.html").read_text())
    tags = [_tag(f"/graphiql/{name}") for name in BUNDLED[:2]] if is_bundled() else _tags_of_the_cdn()
    return template.substitute(
        styles="\n    ".join(tag for tag in tags if tag.startswith("<link")),
        scripts="\n    ".join(tag for tag in tags if tag.startswith("<script")),
        examples=orjson.dumps(examples()).decode().replace("<", "\\u003c"),
    )


def examples() -> list[dict[str, str]]:
    """Returns the tabs: separated by `###`, each a query with its variables, if any, on the last line.

    A comment `# Headers: {…}` is what to send with it.
    """
    tabs = []
    for text in (HERE / "examples.graphql").read_text().split("\n###"):
        query, _, variables = text.strip().partition("\n{")
        query = query if query.startswith("#") else f"# {query}"
        headers = re.search(r"^# Headers: (.+)$", query, re.MULTILINE)
        tabs.append(
            {
                "query": f"{query}\n",
                "variables": "{" + variables if variables else "",
                "headers": headers[1] if headers else "",
            }
        )
    return tabs


def _tags_of_the_cdn() -> list[str]:
    return [_tag(f"{CDN}/{path}", f' integrity="{digest}" crossorigin="anonymous"') for path, digest in LIBRARIES]


def _tag(source: str, check: str = "") -> str:
    if source.endswith(".css"):
        return f'<link rel="stylesheet" href="{source}"{check} />'
    return f'<script src="{source}"{check}></script>'
