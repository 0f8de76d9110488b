"""The security log by actor, action and target: one index for each, and the rest is dropped."""

import pytest

from datastore.cms import Tenant
from datastore.security import SHARDS, AuditActor, AuditTarget, SecurityEvent
from loaders.viewer import ANONYMOUS, Viewer
from tests.resolvers.cms.test_audit_edges import user
from tests.support.cms import ADMIN as TENANT_ADMIN
from tests.support.graph import Graph, id_of
from tests.support.social import minute

ROOT = Viewer("root", roles=frozenset({"admin"}))
LOG = """query (
    $actor: ID, $action: String, $target: ID, $after: DateTime, $before: DateTime, $first: Int, $from: String
) { securityLog(actorId: $actor, action: $action, targetId: $target, createdAfter: $after, createdBefore: $before,
        first: $first, after: $from) { nodes { databaseId } pageInfo { endCursor hasNextPage } } }"""


async def add_events(graph: Graph) -> list[SecurityEvent]:
    """Three actors, two actions and two targets in turn, oldest first."""
    events = []
    for number in range(12):
        name, action = ("ada", "bob", None)[number % 3], ("logIn", "roleUsed")[number // 3 % 2]
        target = ("User", "id-ada") if number < 6 else ("Tenant", "acme")
        events.append(
            SecurityEvent(
                event_id=f"e{number:02d}",
                actor=AuditActor(user_id=f"id-{name}" if name else None),
                action=action,
                target=AuditTarget(type=target[0], id=target[1], title="Title"),
                created_at=minute(number),
            )
        )
    await graph.table.batch_write(puts=events)
    return events


FILTERS = {
    "actor": (id_of(user("ada")), lambda event: event.actor.user_id == "id-ada"),
    "action": ("roleUsed", lambda event: event.action == "roleUsed"),
    "target": (id_of(Tenant(tenant_id="acme", name="Acme")), lambda event: event.target.type == "Tenant"),
}


@pytest.mark.parametrize(
    ("names", "queries"),
    [
        ((), SHARDS),
        (("actor",), 1),
        (("action",), SHARDS),
        (("target",), 1),
        (("actor", "action"), 1),
        (("actor", "target"), 1),
        (("action", "target"), 1),
        (("actor", "action", "target"), 1),
    ],
)
async def test_every_combination_of_filters_reads_one_index(graph, names, queries):
    events = await add_events(graph)
    expected = [event.event_id for event in reversed(events) if all(FILTERS[name][1](event) for name in names)]

    asked = await graph.ask(LOG, ROOT, **{name: FILTERS[name][0] for name in names})

    assert [node["databaseId"] for node in asked.data["securityLog"]["nodes"]] == expected
    assert asked.calls == {"Query": queries}


@pytest.mark.parametrize("name", [None, "actor", "action", "target"])
async def test_each_filter_within_a_time(graph, name):
    events = await add_events(graph)
    given, keeps = FILTERS[name] if name else (None, lambda _: True)
    within = {"after": minute(4), "before": minute(9)}

    asked = await graph.ask(LOG, ROOT, **({name: given} if name else {}), **within)

    found = [node["databaseId"] for node in asked.data["securityLog"]["nodes"]]
    assert found == [event.event_id for event in reversed(events[4:9]) if keeps(event)]


async def test_pages_follow_each_other(graph):
    events = await add_events(graph)
    found: list[str] = []
    page = {"endCursor": None, "hasNextPage": True}
    while page["hasNextPage"]:
        log = (await graph.ask(LOG, ROOT, first=5, **{"from": page["endCursor"]})).data["securityLog"]
        found += [node["databaseId"] for node in log["nodes"]]
        page = log["pageInfo"]

    assert found == [event.event_id for event in reversed(events)]


@pytest.mark.parametrize(
    ("viewer", "code"),
    [
        (ANONYMOUS, "UNAUTHENTICATED"),
        (Viewer("id-ada"), "FORBIDDEN"),
        (TENANT_ADMIN, "FORBIDDEN"),
        (Viewer("id-ada", roles=frozenset({"builder"})), "FORBIDDEN"),
    ],
)
async def test_the_log_is_for_administrators(graph, viewer, code):
    asked = await graph.ask(LOG, viewer)

    assert asked.error["extensions"] == {"code": code}
    assert asked.calls == {}


async def test_an_event_is_read_by_its_id_by_administrators_only(graph):
    (event, *_) = await add_events(graph)
    query = "query ($id: ID!) { node(id: $id) { id ... on SecurityEvent { action actor { databaseId } count } } }"

    asked = [await graph.ask(query, viewer, id=id_of(event)) for viewer in (ROOT, Viewer("id-ada"), ANONYMOUS)]

    node = {"id": id_of(event), "action": "logIn", "actor": {"databaseId": "id-ada"}, "count": 1}
    assert [each.data["node"] for each in asked] == [node, None, None]
