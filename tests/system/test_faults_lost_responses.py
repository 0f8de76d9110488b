"""Writes that DynamoDB made but whose response was lost, over real sockets."""

import pytest

from datastore.accounts import Unique, User
from datastore.client.table import Table
from datastore.client.writes import Put, Update, absent
from tests.support.fault_proxy import FaultProxy, cut_after
from tests.support.graph import Graph
from tests.system.faults import SIGN_UP, add_users, numbered, user_named


@pytest.fixture
def tokens_count(engine_name: str) -> None:
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken")


@pytest.mark.usefixtures("tokens_count")
async def test_a_transaction_whose_answer_is_lost_neither_fails_nor_applies_twice(
    proxy: FaultProxy, faulty: Table, table: Table, ada: User
) -> None:
    proxy.will("TransactWriteItems", cut_after, times=1)
    bob = user_named("bob")

    await faulty.transact(Put(bob, when=absent()), Update(ada.own_key, add={"follower_count": 1}))

    assert proxy.forwarded == {"TransactWriteItems": 2}
    assert await table.get(bob.own_key, consistent=True) == bob
    found = await table.get(ada.own_key, consistent=True)
    assert found is not None
    assert found.follower_count == 1


@pytest.mark.usefixtures("tokens_count")
async def test_a_conditional_put_whose_answer_is_lost_does_not_conflict_with_itself(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    proxy.will("TransactWriteItems", cut_after, times=1)
    ada = user_named("ada")

    await faulty.put(ada, when=absent())

    assert await table.get(ada.own_key, consistent=True) == ada


@pytest.mark.usefixtures("tokens_count")
async def test_signing_up_gives_one_account_though_the_answer_is_lost(
    proxy: FaultProxy, faulty_graph: Graph, table: Table
) -> None:
    proxy.will("TransactWriteItems", cut_after, times=1)

    signed_up = await faulty_graph.command(
        SIGN_UP, username="ada", email="ada@example.org", password="correct horse battery"
    )

    assert signed_up["problems"] == []
    assert proxy.forwarded == {"TransactWriteItems": 2}
    users = (await table.query(User.by_time(), limit=10)).records
    assert [user.user_id for user in users] == [signed_up["user"]["databaseId"]]
    guard = await table.get(Unique.key(kind="username", value="ada"), consistent=True)
    assert guard is not None
    assert guard.owner_id == signed_up["user"]["databaseId"]


async def test_a_put_whose_answer_is_lost_is_repeated_without_harm(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    proxy.will("PutItem", cut_after, times=1)
    ada = user_named("ada")

    await faulty.put(ada)

    assert proxy.forwarded == {"PutItem": 2}
    assert await table.get(ada.own_key, consistent=True) == ada


async def test_a_delete_whose_answer_is_lost_is_repeated_without_harm(
    proxy: FaultProxy, faulty: Table, table: Table, ada: User
) -> None:
    proxy.will("DeleteItem", cut_after, times=1)

    await faulty.delete(ada.own_key)

    assert proxy.forwarded == {"DeleteItem": 2}
    assert await table.get(ada.own_key, consistent=True) is None


async def test_an_update_whose_answer_is_lost_is_repeated_without_harm(
    proxy: FaultProxy, faulty: Table, table: Table, ada: User
) -> None:
    proxy.will("UpdateItem", cut_after, times=1)
    changed = ada.changed(bio="Wrote the first program.", display_name="Ada")

    await faulty.update(Update.of(ada, changed))

    assert proxy.forwarded == {"UpdateItem": 2}
    assert await table.get(ada.own_key, consistent=True) == changed


async def test_a_batch_of_writes_whose_answer_is_lost_is_repeated_without_harm(
    proxy: FaultProxy, faulty: Table, table: Table
) -> None:
    proxy.will("BatchWriteItem", cut_after, times=1)

    users = await add_users(faulty, *numbered(3))

    assert proxy.forwarded == {"BatchWriteItem": 2}
    assert await table.get_many([user.own_key for user in users], consistent=True) == {
        user.own_key: user for user in users
    }
