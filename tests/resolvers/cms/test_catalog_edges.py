"""Products, assets, resources, contexts and signals: who reads them, and what it costs."""

import pytest

from datastore import cms as stored
from datastore.client.writes import Update
from datastore.cms import Asset, Product, ProductStatus, SignalStatus
from loaders.viewer import ANONYMOUS
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR, staff
from tests.support.cms_catalog import HEADER_MISSING, KINDS, SYSTEM_ADMIN, Input, every_kind, make, named, titles
from tests.support.fault_proxy import FOR_EVER, Answer, Call
from tests.support.graph import id_of

FOR_STAFF = [kind for kind in KINDS if not kind.public]
HEAVY = [(kind, name) for kind in KINDS for name in ("description", "data") if name in kind.full]


@every_kind
async def test_one_by_its_id(graph, website, kind):
    await website.tenant()
    made = await make(graph, kind)

    asked = await graph.ask(kind.one, READER, id=made["databaseId"])

    assert asked.data["thing"] == made == {"id": made["id"], "databaseId": made["databaseId"], **kind.full}
    assert asked.calls == {"GetItem": 1}


@every_kind
async def test_one_that_is_not_there(graph, kind):
    missing = await graph.ask(kind.one, READER, id="nothing")
    hostile = [await graph.ask(kind.one, READER, id=text) for text in ("", "a#b", "a\x00", "x" * 2_000)]

    assert missing.data == {"thing": None}
    assert missing.calls == {"GetItem": 1}
    assert [each.error["extensions"]["code"] for each in hostile] == ["INVALID"] * 4
    assert [each.calls for each in hostile] == [{}] * 4


@every_kind
async def test_a_list_last_changed_first(graph, website, kind):
    await website.tenant()
    first, *_ = [await website.thing(kind.entity, title=f"Thing {number}") for number in range(3)]
    await website.thing(kind.entity, "other", title="Theirs")

    before = await graph.ask(kind.all(), READER)
    await graph.command(kind.doing("update"), EDITOR, **{kind.id_field: id_of(first)}, title="Changed")
    after = await graph.ask(kind.all(), READER)

    assert titles(before) == ["Thing 2", "Thing 1", "Thing 0"]
    assert titles(after) == ["Changed", "Thing 2", "Thing 1"]
    assert before.calls == after.calls == {"Query": 1}


@every_kind
async def test_a_list_in_pages(graph, website, kind):
    for number in range(5):
        await website.thing(kind.entity, title=f"Thing {number}")

    first = await graph.ask(kind.all(), READER, first=2)
    second = await graph.ask(kind.all(), READER, first=2, after=first.data["things"]["pageInfo"]["endCursor"])
    third = await graph.ask(kind.all(), READER, first=2, after=second.data["things"]["pageInfo"]["endCursor"])
    back = await graph.ask(kind.all(), READER, last=3, before=third.data["things"]["pageInfo"]["startCursor"])

    assert [titles(page) for page in (first, second, third)] == [
        ["Thing 4", "Thing 3"],
        ["Thing 2", "Thing 1"],
        ["Thing 0"],
    ]
    assert [page.data["things"]["pageInfo"]["hasNextPage"] for page in (first, second, third)] == [True, True, False]
    assert titles(back) == ["Thing 3", "Thing 2", "Thing 1"]
    assert back.data["things"]["pageInfo"]["hasPreviousPage"] is True
    assert [page.calls for page in (first, second, third, back)] == [{"Query": 1}] * 4


@every_kind
async def test_a_cursor_of_another_tenants_list_is_none_of_this_one(graph, website, kind):
    for tenant_id in ("acme", "other"):
        for _ in range(2):
            await website.thing(kind.entity, tenant_id)

    theirs = await graph.ask(kind.all(), staff("viewer", "other"), first=1)
    asked = await graph.ask(kind.all(), READER, first=1, after=theirs.data["things"]["pageInfo"]["endCursor"])

    assert asked.error["extensions"]["code"] == "INVALID"
    assert asked.calls == {}


@pytest.mark.parametrize(
    ("kind", "statuses"), [(KINDS[0], ProductStatus), (KINDS[4], SignalStatus)], ids=["product", "signal"]
)
async def test_a_list_by_status(graph, website, kind, statuses):
    for number in range(2):
        for status in statuses:
            await website.thing(kind.entity, title=f"{status.name} {number}", status=status)
        await website.content(status=stored.ContentStatus.PUBLISHED)
    await website.thing(kind.entity, "other", status=next(iter(statuses)))

    asked = {status: await graph.ask(kind.all(arguments=f", status: {status.name}"), READER) for status in statuses}

    assert {status: titles(each) for status, each in asked.items()} == {
        status: [f"{status.name} 1", f"{status.name} 0"] for status in statuses
    }
    assert [each.calls for each in asked.values()] == [{"Query": 1}] * 3


@pytest.mark.parametrize(("kind", "status"), [(KINDS[0], "ARCHIVED"), (KINDS[4], "CLOSED")], ids=["product", "signal"])
async def test_a_new_status_is_another_list(graph, website, kind, status):
    await website.tenant()
    made = await make(graph, kind)

    await graph.command(kind.doing("update"), EDITOR, **{kind.id_field: made["id"]}, status=status)
    old = await graph.ask(kind.all(arguments=f", status: {made['status']}"), READER)
    new = await graph.ask(kind.all(arguments=f", status: {status}"), READER)

    assert (titles(old), titles(new)) == ([], [made["title"]])


@pytest.mark.parametrize(("kind", "name"), HEAVY, ids=named)
async def test_what_is_heavy_is_read_only_when_asked_for(website, faulty_graph, proxy, kind, name):
    given = {"data": {"text": "x"}, "description": "To sit on."}
    for number in range(3):
        await website.thing(kind.entity, title=f"Thing {number}", **{name: given[name]})
    sent: list[Input] = []

    async def heard(call: Call) -> Answer:
        sent.append(call.request)
        return Answer.of(*await call.forward())

    for operation in ("Query", "BatchGetItem"):
        proxy.will(operation, heard, FOR_EVER)
    light = await faulty_graph.ask(kind.all("title"), READER)
    heavy = await faulty_graph.ask(kind.all(f"title {name}"), READER)

    assert light.calls == {"Query": 1}
    assert heavy.calls == {"Query": 1, "BatchGetItem": 1}
    assert heavy.data["things"]["nodes"] == [{"title": f"Thing {n}", name: given[name]} for n in (2, 1, 0)]
    for request in sent[:2]:
        names = request["ExpressionAttributeNames"]
        projected = {names.get(part, part) for part in request["ProjectionExpression"].split(",")}
        assert "title" in projected
        assert projected.isdisjoint({"data", "description"})


@every_kind
async def test_what_a_record_from_a_list_lacks_survives_its_change(graph, website, kind):
    await website.tenant()
    made = await make(graph, kind)

    await graph.command(kind.doing("update"), EDITOR, **{kind.id_field: made["id"]}, title="Renamed")
    listed = await graph.ask(kind.all(kind.fields), READER)

    assert listed.data["things"]["nodes"] == [{**made, "title": "Renamed"}]


@pytest.mark.parametrize("arguments", ["", ", status: PUBLISHED"])
@pytest.mark.parametrize("viewer", [VISITOR, STRANGER, SYSTEM_ADMIN], ids=["visitor", "stranger", "system admin"])
async def test_the_public_reads_nothing_but_what_is_on_offer(graph, website, viewer, arguments):
    kind = KINDS[0]
    for number in range(30):
        await website.thing(Product, status=ProductStatus.DRAFT, sku="x" * 2_000)
        if number % 10 == 0:
            await website.thing(Product, status=ProductStatus.PUBLISHED, title=f"On offer {number}")

    asked = await graph.ask(kind.all(arguments=arguments), viewer)

    assert titles(asked) == ["On offer 20", "On offer 10", "On offer 0"]
    assert asked.calls == {"Query": 1}
    assert asked.usage.read_units <= 1


@pytest.mark.parametrize("status", ["DRAFT", "ARCHIVED"])
async def test_the_public_may_not_ask_for_what_is_not_on_offer(graph, website, status):
    hidden = await website.thing(Product, status=ProductStatus[status])
    viewers = (VISITOR, STRANGER)

    listed = [await graph.ask(KINDS[0].all(arguments=f", status: {status}"), viewer) for viewer in viewers]
    single = [await graph.ask(KINDS[0].one, viewer, id=hidden.product_id) for viewer in viewers]

    assert [each.error["extensions"]["code"] for each in listed] == ["UNAUTHENTICATED", "FORBIDDEN"]
    assert [each.calls for each in listed] == [{}, {}]
    assert [each.data["thing"] for each in single] == [None, None]


@pytest.mark.parametrize("viewer", [VISITOR, STRANGER, READER, EDITOR, ADMIN])
async def test_the_public_sees_assets_and_products_on_offer(graph, website, viewer):
    asset = await website.thing(Asset)
    product = await website.thing(Product, status=ProductStatus.PUBLISHED)

    asked = await graph.ask(
        """query ($asset: String!, $product: String!) { asset(by: {databaseId: $asset}) { title } assets { nodes {
            title } }
            product(by: {databaseId: $product}) { title } }""",
        viewer,
        asset=asset.asset_id,
        product=product.product_id,
    )

    assert asked.data == {
        "asset": {"title": asset.title},
        "assets": {"nodes": [{"title": asset.title}]},
        "product": {"title": product.title},
    }
    # The asset is in the list already.
    assert asked.calls == {"Query": 1, "GetItem": 1}


@pytest.mark.parametrize("kind", FOR_STAFF, ids=named)
@pytest.mark.parametrize(
    ("viewer", "code"),
    [(VISITOR, "UNAUTHENTICATED"), (STRANGER, "FORBIDDEN"), (SYSTEM_ADMIN, "FORBIDDEN"), (HEADER_MISSING, "INVALID")],
    ids=["visitor", "stranger", "system admin", "no header"],
)
async def test_what_is_for_the_staff_is_clearly_refused(graph, website, kind, viewer, code):
    made = await website.thing(kind.entity)

    single = await graph.ask(kind.one, viewer, id=kind.own_id(made))
    listed = await graph.ask(kind.all(), viewer)
    node = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer, id=id_of(made))

    assert single.error["extensions"] == listed.error["extensions"] == {"code": code}
    assert single.calls == listed.calls == {}
    assert node.data == {"node": None}


@every_kind
async def test_nothing_can_be_asked_for_without_saying_whose(graph, website, kind):
    made = await website.thing(kind.entity, **({"status": ProductStatus.PUBLISHED} if kind.entity is Product else {}))

    viewer = ANONYMOUS if kind.public else HEADER_MISSING
    by_id = f"query ($id: ID!) {{ {kind.name}(by: {{id: $id}}) {{ id }} }}"

    asked = [await graph.ask(query, viewer, id=kind.own_id(made)) for query in (kind.one, kind.all())]
    asked.append(await graph.ask(by_id, viewer, id=id_of(made)))
    node = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", ANONYMOUS, id=id_of(made))

    assert [each.error["extensions"]["code"] for each in asked] == ["INVALID"] * 3
    assert {each.error["message"] for each in asked} == {"send the `x-tenant-id` header to select a tenant"}
    assert [each.calls for each in asked] == [{}] * 3
    assert node.data == {"node": None}


async def test_an_editorial_context_stored_as_a_context_is_still_one(graph, website):
    """The type had this name before; stored items keep it until they are changed."""
    await website.tenant()
    kind = KINDS[3]
    made = await make(graph, kind)
    key = kind.entity.key(tenant_id="acme", context_id=made["databaseId"])
    await graph.table.update(Update(key, raw={"entityType": {"S": "Context"}}))

    one = await graph.ask(kind.one, READER, id=made["databaseId"])
    listed = await graph.ask(kind.all(kind.fields), READER)
    node = await graph.ask("query ($id: ID!) { node(id: $id) { __typename id } }", READER, id=made["id"])
    changed = await graph.command(kind.doing("update"), EDITOR, editorialContextId=made["id"], title="Changed")

    assert one.data["thing"] == made
    assert listed.data["things"]["nodes"] == [made]
    assert node.data == {"node": {"__typename": "EditorialContext", "id": made["id"]}}
    assert changed == {"editorialContext": {**made, "title": "Changed"}, "problems": []}
    gone = await graph.command(kind.doing("delete"), EDITOR, editorialContextId=made["id"])
    assert gone == {"deletedEditorialContextId": made["id"], "problems": []}
