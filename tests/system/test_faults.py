"""Responses to clients when DynamoDB throttles, fails or hangs, over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from datastore.accounts import Unique, User
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError, Retryable, Throttled, Unavailable
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import absent
from datastore.local.endpoint import LOCAL_REGION
from loaders.request import Loaders
from loaders.shared_reads import SharedReads
from loaders.viewer import ANONYMOUS
from tests.support.fault_proxy import (
    Fault,
    FaultProxy,
    all_unprocessed,
    cut_after,
    cut_before,
    cut_in_the_middle,
    error_500,
    error_503,
    garbled,
    half_unprocessed,
    hang,
    slow,
    throttled,
)
from tests.support.graph import Graph, id_of
from tests.system.faults import LONG, SIGN_UP, add_users, numbered, user_named

SHORT = 1.5
USER = "query($id: ID!) { user(by: {id: $id}) { username } }"
NODES = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on User { username } } }"


@pytest.fixture
async def hasty(proxy: FaultProxy, table_name: str) -> AsyncIterator[Table]:
    """A transport behind the proxy that retries after 0.2 s without a response."""
    transport = Transport(region=LOCAL_REGION, endpoint=proxy.endpoint, attempt_timeout=0.2)
    yield Table(transport, table_name, Usage.lasting(LONG))
    await transport.close()


@pytest.fixture
def short_graph(faulty_graph: Graph) -> Graph:
    """Short request deadlines, but long enough for moto to read a hundred items on a slow machine."""
    faulty_graph.services.settings.request_timeout = 2 * SHORT
    return faulty_graph


def asks_for(user: User) -> Callable[[dict[str, Any]], bool]:
    """Returns True if this user is among the keys of a BatchGetItem."""

    def is_asked(request: dict[str, Any]) -> bool:
        ((_, wanted),) = request["RequestItems"].items()
        return any(key["PK"]["S"] == user.own_key.pk for key in wanted["Keys"])

    return is_asked


def assert_unavailable(error: dict[str, Any], path: list[str | int], **outcome: str) -> None:
    assert error["path"] == path
    assert error["extensions"] == {"code": "UNAVAILABLE", "retryable": True, **outcome}
    assert error["message"].endswith("Try again.")


async def test_a_read_that_is_throttled_a_few_times_is_answered(proxy: FaultProxy, faulty: Table, ada: User) -> None:
    proxy.will("GetItem", throttled, times=3)

    assert await faulty.get(ada.own_key) == ada
    assert faulty.usage.calls == {"GetItem": 4}
    assert faulty.usage.retries == 3


async def test_a_write_that_is_throttled_a_few_times_is_done_once(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    proxy.will("TransactWriteItems", throttled, times=2)
    ada = user_named("ada")

    await faulty.put(ada, when=absent())

    assert await table.get(ada.own_key, consistent=True) == ada
    assert proxy.forwarded == {"TransactWriteItems": 1}
    assert faulty.usage.retries == 2


async def test_the_graph_answers_though_it_is_throttled_a_few_times(
    proxy: FaultProxy, faulty_graph: Graph, ada: User
) -> None:
    proxy.will("GetItem", throttled, times=3)

    asked = await faulty_graph.ask(USER, id=id_of(ada))

    assert asked.data == {"user": {"username": "ada"}}
    assert asked.calls == {"GetItem": 4}
    assert asked.usage.retries == 3


async def test_throttled_for_ever_is_an_error_at_the_deadline_and_over_with_the_throttling(
    proxy: FaultProxy, faulty: Table, ada: User
) -> None:
    proxy.will("GetItem", throttled)
    with pytest.raises(Throttled):
        await faulty.using(Usage.lasting(SHORT)).get(ada.own_key)
    assert proxy.forwarded == {}

    proxy.recover()
    assert await faulty.get(ada.own_key) == ada
    assert faulty.usage.retries == 0


async def test_the_graph_says_that_it_is_unavailable_and_recovers(
    proxy: FaultProxy, short_graph: Graph, ada: User
) -> None:
    proxy.will("GetItem", throttled)
    asked = await short_graph.ask(USER, id=id_of(ada))
    assert asked.body["data"] == {"user": None}
    assert_unavailable(asked.error, ["user"])

    proxy.recover()
    assert (await short_graph.ask(USER, id=id_of(ada))).data == {"user": {"username": "ada"}}


async def test_a_command_that_is_throttled_for_ever_is_an_error_and_no_problem(
    proxy: FaultProxy, short_graph: Graph, table: Table
) -> None:
    proxy.will("TransactWriteItems", throttled)
    input = {"username": "ada", "email": "ada@example.org", "password": "correct horse"}

    asked = await short_graph.ask(SIGN_UP, input=input)

    assert asked.body["data"] == {"signUp": None}
    assert_unavailable(asked.error, ["signUp"], outcome="NOT_APPLIED")
    assert await table.get(Unique.key(kind="username", value="ada"), consistent=True) is None


async def test_what_a_batch_leaves_unprocessed_is_asked_for_again(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    users = await add_users(table, *numbered(50))
    proxy.will("BatchGetItem", half_unprocessed, times=3)

    found = await faulty.get_many([user.own_key for user in users])

    assert found == {user.own_key: user for user in users}
    assert faulty.usage.calls == {"BatchGetItem": 4}
    assert faulty.usage.retries == 3


async def test_the_graph_has_no_nulls_for_what_was_unprocessed(
    proxy: FaultProxy, faulty_graph: Graph, table: Table
) -> None:
    users = await add_users(table, *numbered(50))
    proxy.will("BatchGetItem", half_unprocessed, times=3)

    asked = await faulty_graph.ask(NODES, ids=[id_of(user) for user in users])

    assert asked.data == {"nodes": [{"username": user.username} for user in users]}
    assert asked.calls == {"BatchGetItem": 4}


async def test_a_batch_that_stays_unprocessed_fails_its_own_keys_only(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    users = await add_users(table, *numbered(150))
    proxy.will("BatchGetItem", all_unprocessed, when=asks_for(users[149]))
    loaders = Loaders(faulty.using(Usage.lasting(2 * SHORT)), ANONYMOUS)

    found = await asyncio.gather(*(loaders.one(user.own_key) for user in users), return_exceptions=True)

    assert found[:100] == users[:100]
    assert [isinstance(error, Retryable) for error in found[100:]] == [True] * 50


async def test_a_batch_that_is_processed_in_part_fails_the_rest_only(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    users = await add_users(table, *numbered(10))
    proxy.will("BatchGetItem", half_unprocessed, times=1)
    proxy.will("BatchGetItem", all_unprocessed)

    found = await faulty.using(Usage.lasting(SHORT)).get_many([user.own_key for user in users])

    answers = list(found.values())
    assert answers[:5] == users[:5]
    assert [isinstance(error, DatastoreError) for error in answers[5:]] == [True] * 5


async def test_the_graph_answers_the_nodes_of_the_batch_that_worked(
    proxy: FaultProxy, short_graph: Graph, table: Table
) -> None:
    users = await add_users(table, *numbered(150))
    proxy.will("BatchGetItem", all_unprocessed, when=asks_for(users[149]))
    ids = [id_of(user) for user in users]
    query = "query($a: [ID!]!, $b: [ID!]!) { a: nodes(ids: $a) { id } b: nodes(ids: $b) { id } }"

    body = (await short_graph.ask(query, a=ids[:75], b=ids[75:])).body

    # Keys 75 to 99 of the second field are in the first batch.
    assert body["data"] == {
        "a": [{"id": id} for id in ids[:75]],
        "b": [{"id": id} for id in ids[75:100]] + [None] * 50,
    }
    assert len(body["errors"]) == 50
    for place, error in enumerate(sorted(body["errors"], key=lambda error: error["path"]), 25):
        assert_unavailable(error, ["b", place])


async def test_an_attempt_without_an_answer_is_given_up_and_made_again(
    proxy: FaultProxy, hasty: Table, ada: User
) -> None:
    proxy.will("GetItem", hang, times=2)

    assert await hasty.get(ada.own_key) == ada
    assert hasty.usage.calls["GetItem"] == hasty.usage.retries + 1 >= 3


async def test_the_graph_answers_though_attempts_hang(
    proxy: FaultProxy, faulty_graph: Graph, hasty: Table, ada: User
) -> None:
    graph = Graph(replace(faulty_graph.services, table=hasty, shared_reads=SharedReads(hasty)))
    proxy.will("GetItem", hang, times=1)

    assert (await graph.ask(USER, id=id_of(ada))).data == {"user": {"username": "ada"}}


async def test_no_answer_for_ever_is_unavailable_at_the_deadline(
    proxy: FaultProxy, hasty: Table, short_graph: Graph, ada: User
) -> None:
    proxy.will("GetItem", hang)

    with pytest.raises(Unavailable):
        await hasty.using(Usage.lasting(SHORT)).get(ada.own_key)
    asked = await short_graph.ask(USER, id=id_of(ada))
    assert asked.body["data"] == {"user": None}
    assert_unavailable(asked.error, ["user"])

    proxy.recover()
    assert await hasty.get(ada.own_key) == ada


@pytest.mark.parametrize("fault", [cut_before, cut_after, cut_in_the_middle, error_500, error_503, garbled])
async def test_a_failure_that_passes_is_retried(
    fault: Fault, proxy: FaultProxy, faulty: Table, faulty_graph: Graph, ada: User
) -> None:
    proxy.will("GetItem", fault, times=2)
    assert await faulty.get(ada.own_key) == ada
    assert faulty.usage.calls == {"GetItem": 3}
    assert faulty.usage.retries == 2

    proxy.will("GetItem", fault, times=2)
    asked = await faulty_graph.ask(USER, id=id_of(ada))
    assert asked.data == {"user": {"username": "ada"}}
    assert asked.calls == {"GetItem": 3}


@pytest.mark.parametrize("fault", [cut_before, cut_in_the_middle, error_500, error_503, garbled])
async def test_a_failure_that_stays_is_unavailable(fault: Fault, proxy: FaultProxy, faulty: Table, ada: User) -> None:
    proxy.will("GetItem", fault)

    with pytest.raises(Unavailable):
        await faulty.using(Usage.lasting(0.3)).get(ada.own_key)


async def test_no_more_calls_are_open_at_once_than_allowed(proxy: FaultProxy, table: Table) -> None:
    users = await add_users(table, *numbered(40))
    proxy.will("GetItem", slow)
    transport = Transport(region=LOCAL_REGION, endpoint=proxy.endpoint, max_in_flight=4)
    bounded = Table(transport, table.name, Usage.lasting(LONG))

    assert await asyncio.gather(*(bounded.get(user.own_key) for user in users)) == users
    await transport.close()

    assert proxy.most_open == 4
    assert bounded.usage.calls == {"GetItem": 40}


async def test_a_failing_range_leaves_the_other_fields_alone(proxy: FaultProxy, short_graph: Graph, ada: User) -> None:
    proxy.will("Query", throttled)
    query = 'query($id: ID!) { user(by: {username: "ada"}) { username } byId: user(by: {id: $id}) { username } }'

    asked = await short_graph.ask(query, id=id_of(ada))

    assert asked.body["data"] == {"user": None, "byId": {"username": "ada"}}
    assert_unavailable(asked.error, ["user"])


@pytest.mark.parametrize("fault", [throttled, hang])
async def test_a_failing_connection_leaves_the_other_fields_alone(
    proxy: FaultProxy, short_graph: Graph, ada: User, fault: Fault
) -> None:
    """Even if it uses up the whole deadline."""
    proxy.will("Query", fault)
    query = "query($id: ID!) { users { nodes { username } } user(by: {id: $id}) { username } }"

    asked = await short_graph.ask(query, id=id_of(ada))

    assert asked.body["data"] == {"users": None, "user": {"username": "ada"}}
    assert_unavailable(asked.error, ["users"])


async def test_waiting_for_ones_turn_is_no_attempt(proxy: FaultProxy, table: Table) -> None:
    users = await add_users(table, *numbered(40))
    proxy.will("GetItem", slow)
    transport = Transport(region=LOCAL_REGION, endpoint=proxy.endpoint, max_in_flight=1, attempt_timeout=0.5)
    queued = Table(transport, table.name, Usage.lasting(LONG))

    assert await asyncio.gather(*(queued.get(user.own_key) for user in users)) == users
    await transport.close()

    assert proxy.seen == {"GetItem": 40}
    assert queued.usage.retries == 0
