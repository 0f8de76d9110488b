"""Ended tokens: with the password, with the account, and everywhere at once; for commands in their transactions."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.cms import Content
from datastore.social import Post
from loaders.viewer import TokenAge, Viewer
from resolvers.accounts.token_epoch import ENDED, has_ended
from resolvers.accounts.viewer_states import ViewerStates
from tests.resolvers.accounts.mutations import CHANGE_PASSWORD, DELETE, PROBLEMS, RESTORE, log_in, sign_up
from tests.support.cms import command
from tests.support.fault_proxy import Answer, Call
from tests.support.graph import Graph, id_of, mutation, problem
from tests.support.serving import Served, a_table, serving, until

PASSWORDS = {"currentPassword": "correct horse", "newPassword": "battery staple"}
SIGN_OUT = f"mutation {{ signOutEverywhere {{ user {{ username }} token {PROBLEMS} }} }}"
VIEWER = "{ viewer { username } }"
FOR_EVER = 1e9


async def viewer_with(graph: Graph, token: str) -> Viewer:
    return await graph.services.tokens.viewer(f"Bearer {token}")


async def end_tokens(graph: Graph, viewer: Viewer) -> None:
    payload = (await graph.ask(SIGN_OUT, viewer)).data["signOutEverywhere"]
    assert payload["problems"] == []


@pytest.mark.parametrize(
    ("token", "epoch", "ended"),
    [
        (TokenAge(0, 100), 0, False),
        (TokenAge(0, 100), 99_000, True),
        (TokenAge(99_000, 100), 99_000, False),
        (TokenAge(98_000, 100), 99_000, True),
        (TokenAge(0, 100), None, True),
        (TokenAge(None, 100), None, False),
        (TokenAge(None, 100), 0, False),
        (TokenAge(None, 0), 0, False),
        (TokenAge(None, 100), 99_999, False),
        (TokenAge(None, 100), 100_000, True),
        (TokenAge(None, 0), 1, True),
    ],
)
def test_a_token_ends_by_its_epoch_or_by_its_time(token, epoch, ended):
    assert has_ended(token, epoch) is ended


async def test_a_changed_password_ends_tokens_and_returns_a_new_one(graph):
    old = await sign_up(graph)
    change = CHANGE_PASSWORD.replace("user {", "token user {")

    asked = await graph.ask(change, old, input=PASSWORDS)
    new = await viewer_with(graph, asked.data["changePassword"]["token"])
    with_old = await graph.command(mutation("updateProfile", "user { bio }"), old, bio="Mine.")
    with_new = await graph.command(mutation("updateProfile", "user { bio }"), new, bio="Mine.")

    assert asked.data["changePassword"]["problems"] == []
    assert with_old == {"user": None, "problems": [problem("TOKEN_EXPIRED", ENDED)]}
    assert with_new == {"user": {"bio": "Mine."}, "problems": []}


async def test_signing_out_everywhere_goes_on_here(graph):
    old = await sign_up(graph)

    asked = await graph.ask(SIGN_OUT, old)
    again = await graph.ask(SIGN_OUT, old)
    new = await viewer_with(graph, asked.data["signOutEverywhere"]["token"])

    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert again.data["signOutEverywhere"]["problems"] == [problem("TOKEN_EXPIRED", ENDED)]
    assert (await graph.ask(SIGN_OUT, new)).data["signOutEverywhere"]["problems"] == []


async def test_a_deleted_account_is_restored_with_a_later_token_only(graph):
    old = await sign_up(graph)
    await graph.ask(DELETE, old)
    later = await log_in(graph)

    with_old = (await graph.ask(RESTORE, old)).data["restoreAccount"]
    with_later = (await graph.ask(RESTORE, later)).data["restoreAccount"]
    afterwards = await graph.command(mutation("updateProfile", "user { bio }"), later, bio="Back.")

    assert with_old["problems"] == [problem("TOKEN_EXPIRED", ENDED)]
    assert with_later == {"user": {"username": "ada", "deletedAt": None}, "problems": []}
    assert afterwards == {"user": {"bio": "Back."}, "problems": []}


async def test_epochs_grow_even_if_the_clock_does_not(graph, monkeypatch):
    viewer = await sign_up(graph)
    monkeypatch.setattr("resolvers.accounts.token_epoch.time.time", lambda: 1_000.0)
    epochs = []

    for _ in range(3):
        token = (await graph.ask(SIGN_OUT, viewer)).data["signOutEverywhere"]["token"]
        epochs.append((await graph.table.get(User.key(user_id=viewer.user_id), consistent=True)).token_epoch)
        viewer = Viewer(viewer.user_id, token=TokenAge(epochs[-1], 1_000))
        assert token is not None

    assert epochs == [1_000_000, 1_000_001, 1_000_002]


COMMANDS: dict[str, dict[str, Any]] = {
    "createPost": {"imageUrl": "https://example.org/a.jpg"},
    "createNeighborhood": {"name": "Alder Street"},
    "createTree": {"name": "The Holms"},
    "createCollection": {"name": "Tools"},
    "createContent": {"title": "About us"},
    "createProduct": {"title": "A lamp"},
    "createTenant": {"databaseId": "other", "name": "Other"},
    "changeUsername": {"username": "countess"},
    "updateProfile": {"bio": "Mine."},
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_every_kind_of_command_refuses_an_ended_token(graph, website, name):
    await website.tenant()
    signed_up = await sign_up(graph)
    staff = {"roles": frozenset({"admin"}), "tenant_id": "acme", "tenants": frozenset({("acme", "editor")})}
    viewer = Viewer(signed_up.user_id, token=signed_up.token, **staff)
    run = mutation(name, "__typename")
    await end_tokens(graph, signed_up)

    refused = await graph.command(run, viewer, **COMMANDS[name])
    accepted = await graph.command(run, Viewer(signed_up.user_id, **staff), **COMMANDS[name])

    assert [each["code"] for each in refused["problems"]] in (["TOKEN_EXPIRED"], ["NOT_FOUND"])
    assert accepted["problems"] == []


async def test_a_token_that_ends_during_a_command_stops_its_write(graph, society):
    signed_up = await sign_up(graph)
    other = await society.person("grace")
    follow = mutation("followUser", "user { username }")
    await graph.table.write(Update(User.key(user_id=signed_up.user_id), set={"token_epoch": 5}))

    payload = await graph.command(follow, signed_up, userId=id_of(other))
    (me, them) = [
        await graph.table.get(key, consistent=True) for key in (User.key(user_id=signed_up.user_id), other.own_key)
    ]

    assert payload["problems"] != []
    assert (me.following_count, them.follower_count) == (0, 0)


async def test_a_program_without_an_account_keeps_its_token(graph, website):
    await website.tenant()
    program = Viewer("editor-bot", tenant_id="acme", tenants=frozenset({("acme", "editor")}), token=TokenAge(None, 1))

    payload = await graph.ask(command("createContent", "content { title }"), program, input={"title": "By a program"})

    assert payload.data["createContent"] == {"content": {"title": "By a program"}, "problems": []}
    assert payload.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert len((await graph.table.query(Content.of_tenant(tenant_id="acme"), limit=9)).records) == 1


@pytest.mark.parametrize(("issued_at", "problems"), [(100, ["NOT_FOUND"]), (101, [])])
async def test_a_token_of_an_identity_provider_ends_by_its_time(graph, issued_at, problems):
    await graph.add_user("ada", token_epoch=100_500)
    viewer = Viewer("id-ada", token=TokenAge(None, issued_at))

    payload = await graph.command(mutation("createPost", "__typename"), viewer, imageUrl="https://example.org/a.jpg")
    posts = (await graph.table.query(Post.by_author(user_id="id-ada"), limit=9)).records

    assert [each["code"] for each in payload["problems"]] == problems
    assert len(posts) == (0 if problems else 1)


@pytest.fixture(scope="module")
def servers(endpoint: str) -> Iterator[tuple[Served, Served]]:
    """Two servers on one table. The second never reads an account again by itself."""
    with (
        a_table(endpoint) as table_name,
        serving(endpoint, table_name) as first,
        serving(endpoint, table_name) as second,
    ):
        second.services.viewer_states.max_age = FOR_EVER
        yield first, second


def token_of(server: Served, username: str) -> str:
    given = f'username: "{username}", email: "{username}@example.org", password: "correct horse"'
    return str(server.post(f"mutation {{ signUp(input: {{{given}}}) {{ token }} }}").json()["data"]["signUp"]["token"])


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_an_ended_token_is_401_on_every_server(servers: tuple[Served, Served]) -> None:
    first, second = servers
    token = token_of(first, "ada")
    assert second.post(VIEWER, bearer(token)).json() == {"data": {"viewer": {"username": "ada"}}}

    signed_out = first.post(SIGN_OUT, bearer(token)).json()["data"]["signOutEverywhere"]
    here = first.post(VIEWER, bearer(token))
    write = second.post('mutation { createTree(input: {name: "x"}) { problems { message } } }', bearer(token))
    new = second.post(VIEWER, bearer(signed_out["token"]))
    there = second.post(VIEWER, bearer(token))

    assert here.status_code == 401
    assert here.headers["www-authenticate"] == f'Bearer error="invalid_token", error_description="{ENDED}"'
    assert here.json() == {"errors": [{"message": ENDED, "extensions": {"code": "TOKEN_EXPIRED"}}]}
    # The second server has not read the account again, and its transaction finds out.
    assert write.json()["data"]["createTree"]["problems"] == [{"message": "there is no open account for this token"}]
    # A token of a later epoch makes it read again.
    assert new.json() == {"data": {"viewer": {"username": "ada"}}}
    assert there.status_code == 401


def test_a_signed_in_read_costs_no_call_more(servers: tuple[Served, Served]) -> None:
    first, second = servers
    token = token_of(first, "grace")
    states = second.services.viewer_states
    before = states.reads

    first_answer = second.post(VIEWER, bearer(token)).status_code
    read_for_it = states.reads - before

    def twenty_cost_no_read() -> bool:
        before = states.reads
        assert [second.post(VIEWER, bearer(token)).status_code for _ in range(20)] == [200] * 20
        return states.reads == before

    assert (first_answer, read_for_it) == (200, 1)
    # When the server hears that the account was created, it reads it once more.
    until(twenty_cost_no_read)


def test_what_is_known_is_read_again_when_it_is_old(servers: tuple[Served, Served]) -> None:
    first, _ = servers
    token = token_of(first, "joan")
    first.services.viewer_states.max_age = 0.0
    before = first.services.viewer_states.reads

    answers = [first.post(VIEWER, bearer(token)).status_code for _ in range(3)]

    assert answers == [200] * 3
    assert first.services.viewer_states.reads - before == 3


async def test_a_token_issued_during_a_read_of_its_account_is_valid(graph, faulty_graph, proxy):
    ada = await graph.add_user("ada")
    states, is_read, go_on = ViewerStates(faulty_graph.table), asyncio.Event(), asyncio.Event()

    async def slowly(call: Call) -> Answer:
        answer = Answer.of(*await call.forward())
        is_read.set()
        await go_on.wait()
        return answer

    proxy.will("GetItem", slowly, times=1)
    earlier = asyncio.create_task(states.check(Viewer(ada.user_id, token=TokenAge(0, 100))))
    await is_read.wait()
    await graph.table.put(ada.changed(token_epoch=99_000))
    later = asyncio.create_task(states.check(Viewer(ada.user_id, token=TokenAge(99_000, 100))))
    await asyncio.sleep(0)
    go_on.set()

    await asyncio.gather(earlier, later)
