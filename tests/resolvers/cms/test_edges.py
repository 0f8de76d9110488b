"""The access patterns of tenants, content, versions and routes, each with its calls."""

import json
from dataclasses import replace

import pytest

from datastore.cms import Content, ContentStatus
from resolvers.cms.edges import snapshot_of
from resolvers.cms.json_diff import changes
from tests.support.cms import ADMIN, READER, STRANGER, VISITOR
from tests.support.fault_proxy import FOR_EVER, Answer, Call
from tests.support.graph import id_of
from tests.support.mixed.society import opaque
from tests.support.social import minute

VERSIONS = """query ($id: String!, $first: Int, $after: String, $last: Int, $before: String) {
    content(by: {databaseId: $id}) { versions(first: $first, after: $after, last: $last, before: $before) {
        nodes { version title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }"""


async def test_a_tenant_by_each_of_its_host_names(graph, website):
    await website.tenant("acme", "www.acme.example", "acme.example", config={"theme": "dark"})
    query = "query ($domain: String!) { tenant(by: {domain: $domain}) { databaseId name domains config } }"

    asked = [await graph.ask(query, domain=name) for name in ("WWW.Acme.example.", "acme.example", "other.example")]
    own = await graph.ask(query, READER, domain="acme.example")

    public = {
        "databaseId": "acme",
        "name": "Acme",
        "domains": ["www.acme.example", "acme.example"],
        "config": None,
    }
    assert [each.data["tenant"] for each in asked] == [public, public, None]
    assert [each.calls for each in asked] == [{"GetItem": 2}, {"GetItem": 2}, {"GetItem": 1}]
    assert own.data["tenant"]["config"] == {"theme": "dark"}


@pytest.mark.engine_contract
async def test_a_route_leads_to_content_in_one_level(graph, website):
    page = await website.content(slug="/about/team", title="The team")

    asked = await graph.ask(
        '{ route(by: {slug: "/About//Team/"}) { slug isRedirect target content { title blocks } } }', VISITOR
    )

    assert asked.data["route"] == {
        "slug": "/about/team",
        "isRedirect": False,
        "target": None,
        "content": {"title": "The team", "blocks": page.blocks},
    }
    assert asked.calls == {"GetItem": 2}


async def test_content_by_its_id(graph, website):
    page = await website.content(versions=3)
    query = (
        "query ($id: String!) { content(by: {databaseId: $id}) { id databaseId version status contentType slug "
        "title blocks } }"
    )

    asked = await graph.ask(query, VISITOR, id=page.node_id)

    assert asked.data["content"] == {
        "id": id_of(page),
        "databaseId": page.node_id,
        "version": 3,
        "status": "PUBLISHED",
        "contentType": "page",
        "slug": "/page-1",
        "title": "Page 1",
        "blocks": [{"text": "Version 3."}],
    }
    assert asked.calls == {"GetItem": 1}


async def many_contents(website) -> dict[tuple[str, str], Content]:
    return {
        (kind, status.name): await website.content(content_type=kind, status=status)
        for status in ContentStatus
        for kind in ("page", "article")
    }


@pytest.mark.parametrize(
    ("arguments", "wanted", "calls"),
    [
        ("", lambda kind, status: True, {"Query": 1}),
        ("(status: DRAFT)", lambda kind, status: status == "DRAFT", {"Query": 1}),
        ("(status: PUBLISHED)", lambda kind, status: status == "PUBLISHED", {"Query": 1}),
        (
            '(type: "article", status: ARCHIVED)',
            lambda kind, status: (kind, status) == ("article", "ARCHIVED"),
            {"Query": 1},
        ),
        ('(type: "article")', lambda kind, status: kind == "article", {"Query": 4}),
    ],
)  # fmt: skip
async def test_contents_by_type_and_status_last_changed_first(graph, website, arguments, wanted, calls):
    made = await many_contents(website)
    await website.content("other")

    asked = await graph.ask(f"{{ contents{arguments} {{ nodes {{ databaseId }} }} }}", READER)

    nodes = [content.node_id for key, content in reversed(made.items()) if wanted(*key)]
    assert asked.data["contents"]["nodes"] == [{"databaseId": node_id} for node_id in nodes]
    assert asked.calls == calls


@pytest.mark.parametrize("arguments", ["", "(status: PUBLISHED)"])
async def test_the_public_reads_nothing_but_what_is_published(graph, website, arguments):
    made = await many_contents(website)

    asked = await graph.ask(f"{{ contents{arguments} {{ nodes {{ databaseId }} }} }}", VISITOR)

    published = [content.node_id for (_, status), content in reversed(made.items()) if status == "PUBLISHED"]
    assert [node["databaseId"] for node in asked.data["contents"]["nodes"]] == published
    assert asked.calls == {"Query": 1}
    assert asked.usage.read_units <= 1


async def test_the_public_may_not_ask_for_drafts(graph):
    asked = [
        await graph.ask("{ contents(status: DRAFT) { nodes { databaseId } } }", viewer)
        for viewer in (VISITOR, STRANGER)
    ]

    assert [each.error["extensions"]["code"] for each in asked] == ["UNAUTHENTICATED", "FORBIDDEN"]
    assert [each.calls for each in asked] == [{}, {}]


async def test_lists_ask_for_no_blocks(website, faulty_graph, proxy):
    pages = [await website.content(versions=3) for _ in range(3)]
    sent: list[dict] = []

    async def heard(call: Call) -> Answer:
        sent.append(call.request)
        return Answer.of(*await call.forward())

    for operation in ("Query", "BatchGetItem", "GetItem"):
        proxy.will(operation, heard, FOR_EVER)
    await faulty_graph.ask("{ contents { nodes { title versions(first: 2) { nodes { title } } } } }", READER)
    with_blocks = await faulty_graph.ask("{ contents { nodes { title blocks } } }", READER)

    listed, versions, again, blocks = sent
    (asked_for,) = versions["RequestItems"].values()
    for request in (listed, asked_for, again):
        names = request["ExpressionAttributeNames"]
        projected = {names.get(name, name) for name in request["ProjectionExpression"].split(",")}
        assert "title" in projected
        assert "blocks" not in projected
    (asked_for,) = blocks["RequestItems"].values()
    assert "blocks" in asked_for["ExpressionAttributeNames"].values()
    assert with_blocks.data["contents"]["nodes"] == [
        {"title": page.title, "blocks": page.blocks} for page in reversed(pages)
    ]
    assert with_blocks.calls == {"Query": 1, "BatchGetItem": 1}


@pytest.mark.engine_contract
async def test_versions_newest_first_by_computed_keys(graph, website):
    page = await website.content(versions=12)

    first = await graph.ask(VERSIONS, READER, id=page.node_id, first=5)
    info = first.data["content"]["versions"]["pageInfo"]
    second = await graph.ask(VERSIONS, READER, id=page.node_id, first=5, after=info["endCursor"])
    rest_after = second.data["content"]["versions"]["pageInfo"]["endCursor"]
    third = await graph.ask(VERSIONS, READER, id=page.node_id, first=5, after=rest_after)

    numbers = [
        [node["version"] for node in each.data["content"]["versions"]["nodes"]] for each in (first, second, third)
    ]
    assert numbers == [[12, 11, 10, 9, 8], [7, 6, 5, 4, 3], [2, 1]]
    assert [each.data["content"]["versions"]["pageInfo"]["hasNextPage"] for each in (first, second, third)] == [
        True,
        True,
        False,
    ]
    assert [each.calls for each in (first, second)] == [{"GetItem": 1, "BatchGetItem": 1}] * 2


async def test_versions_from_the_end(graph, website):
    page = await website.content(versions=7)

    last = await graph.ask(VERSIONS, READER, id=page.node_id, last=3)
    info = last.data["content"]["versions"]["pageInfo"]
    before = await graph.ask(VERSIONS, READER, id=page.node_id, last=10, before=info["startCursor"])

    assert [node["version"] for node in last.data["content"]["versions"]["nodes"]] == [3, 2, 1]
    assert info["hasPreviousPage"] is True
    assert [node["version"] for node in before.data["content"]["versions"]["nodes"]] == [7, 6, 5, 4]
    assert before.data["content"]["versions"]["pageInfo"]["hasPreviousPage"] is False


async def test_blocks_of_versions_are_read_when_asked_for(graph, website):
    page = await website.content(versions=3)

    asked = await graph.ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { versions { nodes { version blocks } } } }",
        READER,
        id=page.node_id,
    )

    assert asked.data["content"]["versions"]["nodes"] == [
        {"version": number, "blocks": [{"text": f"Version {number}."}]} for number in (3, 2, 1)
    ]
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 2}


async def test_blocks_of_the_newest_version_of_listed_content_are_its_own(graph, website):
    page = await website.content(versions=2)

    asked = await graph.ask("{ contents { nodes { versions(first: 1) { nodes { version blocks } } } } }", READER)

    assert asked.data["contents"]["nodes"] == [{"versions": {"nodes": [{"version": 2, "blocks": page.blocks}]}}]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_one_version(graph, website, number):
    page = await website.content(versions=3)

    asked = await graph.ask(
        "query ($id: String!, $n: Int!) { content(by: {databaseId: $id}) { atVersion(number: $n) { version blocks } "
        "} }",
        READER,
        id=page.node_id,
        n=number,
    )

    assert asked.data["content"]["atVersion"] == {"version": number, "blocks": [{"text": f"Version {number}."}]}
    assert asked.calls == {"GetItem": 1 if number == 3 else 2}


@pytest.mark.parametrize("number", [0, -1, 4, 2**31 - 1])
async def test_a_version_that_is_not_there(graph, website, number):
    page = await website.content(versions=3)

    asked = await graph.ask(
        "query ($id: String!, $n: Int!) { content(by: {databaseId: $id}) { atVersion(number: $n) { version } } }",
        READER,
        id=page.node_id,
        n=number,
    )

    assert asked.data["content"] == {"atVersion": None}
    assert asked.calls == {"GetItem": 1}


@pytest.mark.parametrize("versions", [1, 2, 3, 99, 102, 250])
async def test_content_as_it_was_at_a_time(graph, website, versions):
    page = await website.content(versions=versions, created_at=minute(1), updated_at=minute(1_000 + versions))
    query = "query ($id: String!, $at: DateTime!) { content(by: {databaseId: $id}) { asOf(time: $at) { version } } }"
    asked_for = sorted({1, 2, versions // 2 + 1, versions - 1, versions} & set(range(1, versions + 1)))

    found = {}
    for number in asked_for:
        exactly = await graph.ask(query, READER, id=page.node_id, at=minute(1_000 + number))
        later = await graph.ask(query, READER, id=page.node_id, at=minute(1_000 + number + 0.5))
        assert exactly.data == later.data
        found[number] = exactly.data["content"]["asOf"]["version"]
        assert exactly.calls.get("BatchGetItem", 0) <= (1 if versions <= 101 else 2)
    before = await graph.ask(query, READER, id=page.node_id, at=minute(1_000.5))

    assert found == {number: number for number in asked_for}
    assert before.data["content"] == {"asOf": None}


async def test_what_changed_between_two_versions(graph, website):
    page = await website.content(versions=3)
    query = """query ($id: String!, $from: Int!, $to: Int!) { content(by: {databaseId: $id}) {
        diff(from: $from, to: $to) { kind path old new } } }"""

    asked = await graph.ask(query, READER, id=page.node_id, **{"from": 1, "to": 3})
    same = await graph.ask(query, READER, id=page.node_id, **{"from": 2, "to": 2})
    missing = await graph.ask(query, READER, id=page.node_id, **{"from": 2, "to": 9})

    assert asked.data["content"]["diff"] == [
        {"kind": "CHANGED", "path": ["title"], "old": "Page 1 v1", "new": "Page 1"},
        {"kind": "CHANGED", "path": ["blocks", "0", "text"], "old": "Version 1.", "new": "Version 3."},
    ]
    assert same.data["content"]["diff"] == []
    assert missing.data["content"]["diff"] is None


ADDED, REMOVED, CHANGED = ("ADDED", "REMOVED", "CHANGED")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": None}, {}, [(REMOVED, ["a"], None, None)]),
        ({}, {"a": None}, [(ADDED, ["a"], None, None)]),
        ({"a": [1, 2, 3]}, {"a": [0, 1, 3]}, [(ADDED, ["a", "0"], None, 0), (REMOVED, ["a", "1"], 2, None)]),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 3}, 2]}, [(CHANGED, ["a", "0", "b"], 1, 3)]),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, []),
        ({"a": [1]}, {"a": {"0": 1}}, [(CHANGED, ["a"], [1], {"0": 1})]),
        ({"a": [0] * 5_000}, {"a": [1, *[0] * 5_000]}, [(ADDED, ["a", "0"], None, 1)]),
    ],
)
def test_differences(old, new, found):
    assert [(each.kind.value, each.path, each.old, each.new) for each in changes(old, new)] == found


def test_too_many_differences_are_told_by_name():
    old, new = {"title": "A", "blocks": list(range(9_000))}, {"title": "B", "blocks": list(range(9_000, 0, -1))}

    assert [(each.path, len(str(each.new)) > 1_000) for each in changes(old, new)] == [
        (["title"], False),
        (["blocks"], True),
    ]


async def test_what_changes_while_a_list_is_read_is_judged_again(graph, website, faulty_graph, proxy):
    """The list says published; by the time the blocks are read it is a draft."""
    await website.tenant()
    page = await website.content(versions=2)

    async def then_draft(call: Call) -> Answer:
        found = await call.forward()
        draft = replace(page, version=3, status=ContentStatus.DRAFT, blocks=["SECRET"])
        await graph.table.batch_write(puts=[draft, snapshot_of(page)])
        return Answer.of(*found)

    proxy.will("Query", then_draft, 1)
    public = await faulty_graph.ask("{ contents { nodes { version } } }", VISITOR)
    await graph.table.put(page)
    proxy.will("Query", then_draft, 1)
    blocks = await faulty_graph.ask("{ contents { nodes { version blocks } } }", VISITOR)
    await graph.table.put(page)
    proxy.will("Query", then_draft, 1)
    versions = await faulty_graph.ask(
        "{ contents { nodes { versions(first: 1) { nodes { version blocks } } } } }", READER
    )

    assert public.data["contents"]["nodes"] == [{"version": 2}]
    assert "SECRET" not in str(blocks.body)
    assert versions.data["contents"]["nodes"] == [{"versions": {"nodes": [{"version": 2, "blocks": page.blocks}]}}]


async def test_a_version_that_is_not_everywhere_yet_is_found(graph, website, faulty_graph, proxy):
    page = await website.content(versions=6)

    async def without_5(call: Call) -> Answer:
        """As a replica that has not heard of it."""
        status, body = await call.forward()
        answer = json.loads(body)
        if "Responses" in answer and not next(iter(call.request["RequestItems"].values())).get("ConsistentRead"):
            for table, items in answer["Responses"].items():
                answer["Responses"][table] = [item for item in items if not item["SK"]["S"].endswith("#v5")]
        elif answer.get("Item", {}).get("SK", {}).get("S", "").endswith("#v5") and not call.request["ConsistentRead"]:
            answer = {}
        return Answer.of(status, json.dumps(answer).encode())

    for operation in ("BatchGetItem", "GetItem"):
        proxy.will(operation, without_5, FOR_EVER)
    listed = await faulty_graph.ask(VERSIONS, READER, id=page.node_id)
    one = await faulty_graph.ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { atVersion(number: 5) { version title } } }",
        READER,
        id=page.node_id,
    )
    as_of = await faulty_graph.ask(
        "query ($id: String!, $at: DateTime!) { content(by: {databaseId: $id}) { asOf(time: $at) { version } } }",
        READER,
        id=page.node_id,
        at=minute(1_005),
    )

    assert [node["version"] for node in listed.data["content"]["versions"]["nodes"]] == [6, 5, 4, 3, 2, 1]
    assert one.data["content"]["atVersion"]["version"] == 5
    assert as_of.data["content"]["asOf"] == {"version": 5}


async def test_all_addresses_of_a_website(graph, website):
    for slug in ("/b", "/", "/a"):
        await website.content(slug=slug)
    await website.content("other", slug="/theirs")

    asked = await graph.ask("{ routes { nodes { slug content { title } } } }", VISITOR)

    assert [node["slug"] for node in asked.data["routes"]["nodes"]] == ["/", "/a", "/b"]
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}


async def test_a_version_has_no_id_to_be_read_by(graph, website):
    await website.content(versions=2)
    forged = opaque("ContentVersion#acme#node00001#1")

    asked = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", ADMIN, id=forged)

    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.calls == {}
