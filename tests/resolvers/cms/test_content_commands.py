"""Writing content: versions by copy on write, conflicts, transitions and what may be written."""

import asyncio
from base64 import b64encode
from random import Random

import pytest

from datastore.cms import Content, ContentStatus, ContentVersion, Route
from datastore.model.times import Time
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR, staff
from tests.support.fault_proxy import cut_after
from tests.support.graph import Graph, id_of, problem

FIELDS = "content { id databaseId version title slug status contentType blocks message authorDatabaseId }"
PROBLEMS = "problems { code message path currentVersion }"


def writing(name: str, fields: str = FIELDS) -> str:
    kind = name[0].upper() + name[1:]
    return f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {fields} {PROBLEMS} }} }}"


CREATE, UPDATE, RESTORE = map(writing, ("createContent", "updateContent", "restoreVersion"))


def stale(version: int) -> dict:
    message = f"the current version is {version}; read it again"
    return {**problem("CONFLICT", message, "input", "expectedVersion"), "currentVersion": version}


def told(payload) -> list[tuple]:
    return [(entry["code"], *entry["path"][1:]) for entry in payload["problems"]]


async def kept_versions(graph: Graph, content: Content) -> list[tuple[int, str]]:
    within = ContentVersion.within(tenant_id=content.tenant_id, node_id=content.node_id)
    page = await graph.table.query(within, limit=1_000, consistent=True)
    return sorted((record.version, record.title) for record in page.records)


async def test_content_and_its_route_are_made_together(graph, website):
    await website.tenant()

    asked = await graph.ask(
        CREATE, EDITOR, input={"title": "About us!", "blocks": [{"type": "text", "text": "We."}], "message": "First."}
    )

    made = asked.data["createContent"]["content"]
    assert asked.data["createContent"]["problems"] == []
    assert {**made, "id": "", "databaseId": ""} == {
        "id": "",
        "databaseId": "",
        "version": 1,
        "title": "About us!",
        "slug": "/about-us",
        "status": "DRAFT",
        "contentType": "page",
        "blocks": [{"type": "text", "text": "We."}],
        "message": "First.",
        "authorDatabaseId": "id-ada",
    }
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    route = await graph.table.get(Route.key(tenant_id="acme", slug="/about-us"))
    assert (route.node_id, route.is_redirect) == (made["databaseId"], False)


@pytest.mark.engine_contract
async def test_a_slug_is_taken_once(graph, website):
    await website.tenant()
    await website.tenant("other")

    payloads = await asyncio.gather(
        *(graph.command(CREATE, EDITOR, title=f"Page {number}", slug="/Same/") for number in range(10))
    )
    elsewhere = await graph.command(CREATE, staff("editor", "other"), title="Page", slug="/same")

    taken = problem("TAKEN", "the path /same is taken; choose another slug", "input", "slug")
    problems = sorted((payload["problems"] for payload in payloads), key=len)
    assert problems == [[], *[[{**taken, "currentVersion": None}]] * 9]
    assert elsewhere["problems"] == []
    contents = await graph.table.query(Content.of_tenant(tenant_id="acme"), limit=50)
    assert len(contents.records) == 1


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"title": ""}, [("INVALID", "title")]),
        (
            {"title": "x" * 301, "type": "a b", "slug": "/a#b"},
            [("INVALID", "title"), ("INVALID", "slug"), ("INVALID", "type")],
        ),
        ({"title": "x", "slug": ""}, [("INVALID", "slug")]),
        ({"title": "x", "slug": "/.."}, [("INVALID", "slug")]),
        ({"title": "x", "slug": "/" + "x" * 501}, [("INVALID", "slug")]),
        ({"title": "x", "slug": "/a\u0000b"}, [("INVALID", "slug")]),
        ({"title": "x", "blocks": {}}, [("INVALID", "blocks")]),
        ({"title": "x", "blocks": "text"}, [("INVALID", "blocks")]),
        ({"title": "x", "blocks": ["x" * 250_000]}, [("INVALID", "blocks")]),
        ({"title": "x", "message": "x" * 501}, [("INVALID", "message")]),
    ],
)  # fmt: skip
async def test_what_cannot_be_written(graph, website, given, problems):
    await website.tenant()

    payload = await graph.command(CREATE, EDITOR, **given)

    assert told(payload) == problems
    assert (await graph.table.query(Content.of_tenant(tenant_id="acme"), limit=5)).records == []


async def test_the_largest_content_fits_an_item(graph, website):
    await website.tenant()
    text = b64encode(Random(3).randbytes(187_000)).decode()

    made = await graph.command(CREATE, EDITOR, title="Large", blocks=[text])
    changed = await graph.command(
        UPDATE, EDITOR, contentId=made["content"]["id"], expectedVersion=1, blocks=[text[::-1]]
    )

    assert made["problems"] == changed["problems"] == []
    assert changed["content"]["blocks"] == [text[::-1]]


async def test_a_change_is_a_new_version_and_keeps_the_old_one(graph, website):
    await website.tenant()
    page = await website.content(versions=2)

    asked = await graph.ask(
        UPDATE,
        staff("editor", name="bob"),
        input={"contentId": id_of(page), "expectedVersion": 2, "title": "New", "message": "Why not."},
    )

    payload = asked.data["updateContent"]
    assert payload["problems"] == []
    assert payload["content"] == {
        "id": id_of(page),
        "databaseId": page.node_id,
        "version": 3,
        "title": "New",
        "slug": page.slug,
        "status": "PUBLISHED",
        "contentType": "page",
        "blocks": page.blocks,
        "message": "Why not.",
        "authorDatabaseId": "id-bob",
    }
    # The current content; both items in one batch.
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    kept = await graph.table.get(ContentVersion.key(tenant_id="acme", node_id=page.node_id, version=2))
    assert (kept.title, kept.blocks, kept.author_id, kept.updated_at) == (
        page.title,
        page.blocks,
        "id-ada",
        page.updated_at,
    )


async def test_a_lost_race_is_told_the_version_there_is(graph, website):
    await website.tenant()
    page = await website.content()

    payloads = await asyncio.gather(
        *(
            graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=1, title=f"By {number}")
            for number in range(10)
        )
    )

    won = [payload["content"] for payload in payloads if payload["content"]]
    assert len(won) == 1
    assert [payload["problems"] for payload in payloads if not payload["content"]] == [[stale(2)]] * 9
    stored = await graph.table.get(page.own_key, consistent=True)
    assert (stored.version, stored.title) == (2, won[0]["title"])
    assert await kept_versions(graph, page) == [(1, page.title)]


async def test_writers_who_read_again_lose_nothing(graph, website, engine_name):
    """Several writers append blocks repeatedly; in the end all blocks are there."""
    await website.tenant()
    page = await website.content(blocks=[])
    writers, turns = (8, 3) if engine_name != "moto" else (4, 2)

    async def append(name: str) -> None:
        version, blocks = 1, []
        while True:
            given = {"contentId": id_of(page), "expectedVersion": version, "blocks": [*blocks, name]}
            payload = await graph.command(UPDATE, EDITOR, **given)
            if payload["content"]:
                return
            asked = await graph.ask(
                "query ($id: String!) { content(by: {databaseId: $id}) { version blocks } }", EDITOR, id=page.node_id
            )
            version, blocks = asked.data["content"]["version"], asked.data["content"]["blocks"]

    async def write(writer: int) -> None:
        for turn in range(turns):
            await append(f"{writer}-{turn}")

    await asyncio.gather(*map(write, range(writers)))

    stored = await graph.table.get(page.own_key, consistent=True)
    names = {f"{writer}-{turn}" for writer in range(writers) for turn in range(turns)}
    assert stored.version == 1 + writers * turns
    assert (set(stored.blocks), len(stored.blocks)) == (names, len(names))
    assert [number for number, _ in await kept_versions(graph, page)] == list(range(1, stored.version))


ALLOWED = {
    "DRAFT": {"DRAFT", "IN_REVIEW", "PUBLISHED", "ARCHIVED"},
    "IN_REVIEW": {"DRAFT", "IN_REVIEW", "PUBLISHED", "ARCHIVED"},
    "PUBLISHED": {"PUBLISHED", "DRAFT", "ARCHIVED"},
    "ARCHIVED": {"ARCHIVED", "DRAFT"},
}


@pytest.mark.parametrize("before", list(ContentStatus))
@pytest.mark.parametrize("after", list(ContentStatus))
async def test_what_may_become_what(graph, website, before, after):
    await website.tenant()
    page = await website.content(status=before)

    payload = await graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=1, status=after.name)

    if after.name in ALLOWED[before.name]:
        assert (payload["problems"], payload["content"]["status"]) == ([], after.name)
        listed = await graph.ask(f"{{ contents(status: {after.name}) {{ nodes {{ databaseId }} }} }}", EDITOR)
        assert listed.data["contents"]["nodes"] == [{"databaseId": page.node_id}]
    else:
        assert told(payload) == [("INVALID", "status")]
        assert (await graph.table.get(page.own_key)).version == 1


async def test_a_version_is_restored_as_a_new_one(graph, website):
    await website.tenant()
    page = await website.content(versions=3)

    asked = await graph.ask(RESTORE, EDITOR, input={"contentId": id_of(page), "expectedVersion": 3, "number": 1})
    twice = await graph.command(RESTORE, EDITOR, contentId=id_of(page), expectedVersion=3, number=1)

    content = asked.data["restoreVersion"]["content"]
    assert (content["version"], content["title"], content["blocks"], content["message"]) == (
        4,
        "Page 2 v1",
        [{"text": "Version 1."}],
        "Version 1 restored.",
    )
    assert asked.calls == {"GetItem": 2, "TransactWriteItems": 1}
    assert twice["problems"] == [stale(4)]
    assert await kept_versions(graph, page) == [(1, "Page 2 v1"), (2, "Page 2 v2"), (3, "Page 2")]


@pytest.mark.parametrize("number", [0, 3, 4, -1])
async def test_only_earlier_versions_are_restored(graph, website, number):
    await website.tenant()
    page = await website.content(versions=3)

    payload = await graph.command(RESTORE, EDITOR, contentId=id_of(page), expectedVersion=3, number=number)

    assert told(payload) == [("NOT_FOUND", "number")]


@pytest.mark.parametrize(
    ("viewer", "code"),
    [(VISITOR, "UNAUTHENTICATED"), (READER, "FORBIDDEN"), (STRANGER, "FORBIDDEN"), (EDITOR, None), (ADMIN, None)],
)
async def test_who_may_write(graph, website, viewer, code):
    await website.tenant()
    page = await website.content(versions=2)

    payloads = [
        await graph.command(CREATE, viewer, title="New"),
        await graph.command(UPDATE, viewer, contentId=id_of(page), expectedVersion=2, title="New"),
        await graph.command(RESTORE, viewer, contentId=id_of(page), expectedVersion=3, number=1),
    ]

    assert [told(payload) for payload in payloads] == [[(code,)] if code else []] * 3


async def test_a_tenant_that_is_not_there_has_nothing_written(graph):
    payload = await graph.command(CREATE, EDITOR, title="New")

    assert payload["problems"] == [
        {"code": "NOT_FOUND", "message": "there is no tenant acme", "path": [], "currentVersion": None}
    ]


async def test_an_answer_that_is_lost_makes_no_conflict_with_itself(website, faulty_graph, proxy, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken")
    await website.tenant()
    page = await website.content()
    proxy.will("TransactWriteItems", cut_after, 1)

    payload = await faulty_graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=1, title="New")

    assert (payload["problems"], payload["content"]["version"]) == ([], 2)


async def test_times_go_up_with_versions_whatever_the_clock_says(graph, website):
    """Another server's clock may be ahead, and two changes may come in one millisecond."""
    await website.tenant()
    page = await website.content(updated_at=Time("2099-01-01T00:00:00.000Z"))

    for version in (1, 2):
        await graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=version, title=f"After {version}")

    kept = await graph.table.get(ContentVersion.key(tenant_id="acme", node_id=page.node_id, version=2))
    stored = await graph.table.get(page.own_key)
    assert (kept.updated_at, stored.updated_at) == ("2099-01-01T00:00:00.001Z", "2099-01-01T00:00:00.002Z")
    as_of = "query ($id: String!, $at: DateTime!) { content(by: {databaseId: $id}) { asOf(time: $at) { version } } }"
    asked = await graph.ask(as_of, EDITOR, id=page.node_id, at="2099-01-01T00:00:00.001Z")
    assert asked.data["content"] == {"asOf": {"version": 2}}
