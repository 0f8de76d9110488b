"""Deleting and restoring an account: hidden at once, restored within the grace period."""

import time

import pytest

from datastore.accounts import Unique, User
from datastore.model.times import now
from tests.resolvers.accounts.mutations import DELETE, GOOD, RESTORE, SIGN_UP, UPDATE, log_in, sign_up
from tests.support.graph import problem, viewer_of


async def test_a_deleted_account_is_hidden_at_once_and_expires_after_thirty_days(graph):
    viewer = await sign_up(graph)

    payload = await graph.ask(DELETE, viewer)

    assert payload.data["deleteAccount"]["problems"] == []
    assert payload.data["deleteAccount"]["user"]["deletedAt"] is not None
    assert payload.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert (await graph.ask('{ user(by: {username: "ada"}) { username } }')).data == {"user": None}
    thirty_days = time.time() + 30 * 24 * 3600
    for key in (
        User.key(user_id=viewer.user_id),
        Unique.key(kind="username", value="ada"),
        Unique.key(kind="email", value="ada@example.org"),
    ):
        assert abs((await graph.table.get(key)).expires_at - thirty_days) < 60


async def test_the_name_of_a_deleted_account_stays_taken_for_its_grace(graph):
    viewer = await sign_up(graph)
    await graph.ask(DELETE, viewer)

    assert (await graph.command(SIGN_UP, **GOOD))["problems"][0]["code"] == "TAKEN"


async def test_the_name_is_free_once_the_grace_is_over_even_before_ttl_takes_the_guard(graph):
    await graph.table.batch_write(
        puts=[Unique(kind=kind, value=GOOD[kind], owner_id="gone", expires_at=1) for kind in ("username", "email")]
    )

    assert (await graph.command(SIGN_UP, **GOOD))["problems"] == []


async def test_one_can_log_in_to_a_deleted_account_and_restore_it(graph):
    await graph.ask(DELETE, await sign_up(graph))

    viewer = await log_in(graph)
    payload = (await graph.ask(RESTORE, viewer)).data["restoreAccount"]

    assert payload == {"user": {"username": "ada", "deletedAt": None}, "problems": []}
    assert (await graph.ask('{ user(by: {username: "ada"}) { username } }')).data["user"] is not None
    assert (await graph.table.get(User.key(user_id=viewer.user_id))).expires_at is None
    assert (await graph.table.get(Unique.key(kind="username", value="ada"))).expires_at is None


async def test_a_deleted_account_can_only_be_restored(graph):
    await graph.ask(DELETE, await sign_up(graph))
    viewer = await log_in(graph)

    payload = await graph.command(UPDATE, viewer, bio="Still here?")

    assert payload["problems"] == [problem("NOT_FOUND", "this account is deleted; use restoreAccount to bring it back")]


@pytest.mark.engine_contract
async def test_deleting_and_restoring_twice_changes_nothing(graph):
    first = (await graph.ask(DELETE, await sign_up(graph))).data["deleteAccount"]
    viewer = await log_in(graph)
    second = (await graph.ask(DELETE, viewer)).data["deleteAccount"]
    back, again = [(await graph.ask(RESTORE, viewer)).data["restoreAccount"] for _ in range(2)]

    assert first == second
    assert back == again == {"user": {"username": "ada", "deletedAt": None}, "problems": []}


async def test_an_account_past_its_grace_cannot_be_restored(graph):
    gone = await graph.add_user("gone", deleted_at=now(), expires_at=1)

    payload = (await graph.ask(RESTORE, viewer_of(gone))).data["restoreAccount"]

    assert payload["problems"] == [problem("NOT_FOUND", "there is no account for this token; use signUp to create one")]
