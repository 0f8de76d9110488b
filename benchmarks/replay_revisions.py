"""Replays all revisions of a website through the commands, and verifies every version.

The file has one JSON object per line: path, version, op, ts, author, message, body. The server's own executor runs the
commands, without HTTP.
"""

import argparse
import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from datastore.client.budget import Usage
from datastore.cms import Tenant
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from loaders.viewer import Viewer
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings

USUAL_PLACES = (Path("data/cms"), Path("../shared/data/cms"))
FILE = "revisions-public-domain-recipes.jsonl"
TENANT = "recipes"
AT_ONCE = 8
SECRET = "a secret that only this script uses"
STATUS = {"create": "PUBLISHED", "update": "PUBLISHED", "delete": "ARCHIVED"}

PAYLOAD = "{ content { id databaseId version } problems { code message path } }"
CREATE = f"mutation ($input: CreateContentInput!) {{ createContent(input: $input) {PAYLOAD} }}"
UPDATE = f"mutation ($input: UpdateContentInput!) {{ updateContent(input: $input) {PAYLOAD} }}"
PAGE = """query ($id: String!, $after: String) { content(by: {databaseId: $id}) { versions(first: 100, after: $after) {
    nodes { version title status message blocks } pageInfo { hasNextPage endCursor } } } }"""


@dataclass(frozen=True)
class Revision:
    """The expected version."""

    version: int
    title: str
    status: str
    message: str
    blocks: list[Any]
    author: str


def revisions(lines: Iterable[bytes]) -> dict[str, list[Revision]]:
    """Returns the revisions by page, in order. A deleted page is archived and keeps its content."""
    pages: dict[str, list[Revision]] = defaultdict(list)
    for line in lines:
        row = orjson.loads(line)
        before = pages[row["path"]]
        blocks = before[-1].blocks if row["body"] is None else [{"type": "markdown", "text": row["body"]}]
        title = Path(row["path"]).stem
        # An archived page becomes a draft first.
        status = "DRAFT" if before and before[-1].status == "ARCHIVED" else STATUS[row["op"]]
        message = row["message"][:500].strip()
        before.append(Revision(len(before) + 1, title, status, message, blocks, row["author"]))
    return pages


class Client:
    """Runs operations like an HTTP request."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def ask(self, query: str, author: str, **variables: Any) -> Any:
        viewer = Viewer(author, tenant_id=TENANT, tenants=frozenset({(TENANT, "editor")}))
        services = self._services
        context = services.context_of(viewer)
        answer = await services.executor.run(GraphQLRequest(query, variables), context, may_mutate=True)
        if "errors" in answer.body:
            raise SystemExit(f"{answer.body['errors']}")
        return answer.body["data"]

    async def command(self, query: str, author: str, **given: Any) -> Any:
        ((_, payload),) = (await self.ask(query, author, input=given)).items()
        if payload["problems"]:
            raise SystemExit(f"{payload['problems']} for {given}")
        return payload["content"]


async def replay(client: Client, path: str, history: list[Revision]) -> str:
    """Replays a page and returns its nodeId."""
    first, *others = history
    common = {"title": first.title, "blocks": first.blocks, "message": first.message, "status": first.status}
    content = await client.command(CREATE, first.author, slug=path, **common)
    for revision in others:
        content = await client.command(
            UPDATE,
            revision.author,
            contentId=content["id"],
            expectedVersion=revision.version - 1,
            blocks=revision.blocks,
            message=revision.message,
            status=revision.status,
        )
    node_id: str = content["databaseId"]
    return node_id


async def read_back(client: Client, node_id: str) -> list[dict[str, Any]]:
    """Returns all versions, oldest first."""
    nodes: list[dict[str, Any]] = []
    after = None
    while True:
        asked = await client.ask(PAGE, "reader", id=node_id, after=after)
        page = asked["content"]["versions"]
        nodes += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            return nodes[::-1]
        after = page["pageInfo"]["endCursor"]


def differences(history: list[Revision], found: list[dict[str, Any]]) -> list[str]:
    wanted = [
        {
            "version": each.version,
            "title": each.title,
            "status": each.status,
            "message": each.message or None,
            "blocks": each.blocks,
        }
        for each in history
    ]
    return [
        f"version {place + 1}: {one!r} is not {other!r}"
        for place, (one, other) in enumerate(zip(found, wanted, strict=False))
        if one != other
    ] + ([f"{len(found)} versions, not {len(wanted)}"] if len(found) != len(wanted) else [])


async def run(services: Services, pages: dict[str, list[Revision]]) -> int:
    client, several = Client(services), asyncio.Semaphore(AT_ONCE)
    await services.table.using(Usage.lasting(30)).put(Tenant(tenant_id=TENANT, name="Recipes"))

    async def one(path: str, history: list[Revision]) -> tuple[str, str]:
        async with several:
            return path, await replay(client, path, history)

    started, cpu = time.perf_counter(), time.process_time()
    nodes = dict(await asyncio.gather(*(one(path, history) for path, history in pages.items())))
    took, used = time.perf_counter() - started, time.process_time() - cpu
    count = sum(map(len, pages.values()))
    print(f"{count} revisions of {len(pages)} pages in {took:.1f} s, {1000 * used / count:.2f} ms of CPU each")
    wrong = 0
    for path, history in pages.items():
        for difference in differences(history, await read_back(client, nodes[path])):
            print(f"{path}, {difference[:300]}", file=sys.stderr)
            wrong += 1
    print(f"{count - wrong} of {count} versions are equal")
    await services.table.transport.close()
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.replay_revisions", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="the revisions; defaults to the usual locations")
    arguments = parser.parse_args()
    files = [arguments.file] if arguments.file else [place / FILE for place in USUAL_PLACES]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise SystemExit(f"{' or '.join(map(str, files))} not found; pass a file")
    with found.open("rb") as lines:
        pages = revisions(lines)
    with engine.in_memory(moto=engine.dynoxide() is None) as running:
        settings = Settings(dynamodb_endpoint=running.endpoint, table_name="replay", auth_secret=SECRET)
        where = Place(running.endpoint, LOCAL_REGION, keeps_data=False)
        where.ensure_table(settings.table_name)
        services = Services.at(where, settings, SECRET)
        return asyncio.run(run(services, pages))


if __name__ == "__main__":
    sys.exit(main())
