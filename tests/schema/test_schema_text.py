"""The schema over HTTP as text: caching, admission and errors."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from schema.build import sdl
from schema.declare.errors import BUSY, DAMAGED
from tests.schema.test_front import full
from tests.schema.test_tree_chart import get
from tests.support.fault_proxy import FOR_EVER, error_500
from tests.support.serving import Served

PATH = "/schema.graphql"


def test_a_client_that_has_the_schema_gets_no_text(server: Served) -> None:
    first = server.http.get(PATH)
    etag = first.headers["etag"]

    assert (first.text, first.headers["cache-control"]) == (sdl(), "private, no-cache")
    for known in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        again = server.http.get(PATH, headers={"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    for unknown in ("", '"other"', etag[:-2], ",".join(etag)):
        assert server.http.get(PATH, headers={"if-none-match": unknown}).status_code == 200


async def test_under_overload_the_schema_is_refused(graph: Any) -> None:
    async with full(graph.services) as client:
        answer = await client.get(PATH)

    assert answer.status_code == 503
    assert answer.headers["retry-after"] in ("1", "2", "3")


async def test_a_damaged_account_is_said_to_be_damaged(graph: Any, kindred: Any) -> None:
    user = await kindred.user("ada")
    await graph.table.update(Update(User.key(user_id=user.user_id), raw={"createdAt": {"S": "yesterday"}}))

    answer = await get(graph, PATH, user)

    assert (answer.status_code, answer.text) == (500, DAMAGED)


async def test_a_database_that_is_out_of_reach_is_told(
    faulty_graph: Any, kindred: Any, proxy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = await kindred.user("ada")
    monkeypatch.setattr(faulty_graph.services.settings, "request_timeout", 4)
    proxy.will("GetItem", error_500, FOR_EVER)

    answer = await get(faulty_graph, PATH, user)

    assert (answer.status_code, answer.text) == (503, f"{BUSY} Try again.")
    assert answer.headers["retry-after"] == "5"
