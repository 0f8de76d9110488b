"""Every server knows the accounts that were deleted a moment ago, and hides their works without reading more."""

import asyncio

from datastore.accounts import HiddenAccount
from datastore.model.times import now
from resolvers.accounts import commands
from resolvers.accounts.hidden_accounts import HiddenAccounts
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.support.fault_proxy import Answer
from tests.support.graph import id_of, viewer_of
from tests.support.serving import serving

FEED = "{ feed { nodes { id } } }"


def hidden(user_id: str) -> HiddenAccount:
    return HiddenAccount(user_id=user_id, deleted_at=now())


async def test_the_set_is_what_is_in_the_table(graph):
    accounts = HiddenAccounts(graph.table)
    ids = accounts.ids
    await graph.table.batch_write(puts=[hidden(f"u{number:04d}") for number in range(1_200)])
    await accounts.load()
    everybody = len(ids)
    await graph.table.batch_write(deletes=[hidden(f"u{number:04d}").own_key for number in range(1_199)])
    await accounts.load()

    assert (everybody, ids) == (1_200, {"u1199"})


async def test_another_server_hides_and_shows_works_after_its_next_read(graph, faulty_graph, society):
    """`faulty_graph` is another server on the same table."""
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await society.post(bob)
    other = faulty_graph.services.hidden_accounts
    before = (await faulty_graph.ask(FEED)).data

    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    await other.load()
    without = await faulty_graph.ask(FEED)
    by_id = await faulty_graph.ask("query ($id: ID!) { node(id: $id) { id } }", id=id_of(post))
    await graph.ask(RESTORE_ACCOUNT, viewer_of(ada))
    await other.load()

    assert [len(before["feed"]["nodes"]), len(without.data["feed"]["nodes"])] == [2, 1]
    assert by_id.data == {"node": None}
    assert (await faulty_graph.ask(FEED)).data == before


async def test_hidden_accounts_cost_a_request_no_call(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    for author in (ada, bob):
        await society.post(author)
    calls = [(await graph.ask(FEED)).calls]
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    calls.append((await graph.ask(FEED)).calls)

    assert calls == [{"Query": 1}, {"Query": 1}]


async def test_the_server_that_deletes_an_account_hides_its_works_in_the_same_response(graph, society):
    ada = await society.person("ada")
    await society.post(ada)

    asked = await graph.ask(
        "mutation { deleteAccount { user { username posts { nodes { id } } } problems { code } } }", viewer_of(ada)
    )

    assert asked.data["deleteAccount"] == {"user": {"username": "ada", "posts": {"nodes": []}}, "problems": []}


async def test_a_read_that_began_before_a_deletion_does_not_undo_it(graph, faulty_graph, proxy, society):
    ada = await society.person("ada")
    accounts = faulty_graph.services.hidden_accounts

    async def delete_while_reading(call):
        answer = await call.forward()
        await faulty_graph.ask(DELETE_ACCOUNT, viewer_of(ada))
        return Answer.of(*answer)

    proxy.will("Query", delete_while_reading, 1)
    await accounts.load()

    assert accounts.ids == {ada.user_id}


async def test_while_the_table_is_out_of_reach_the_last_copy_stands(graph, faulty_graph, proxy, caplog):
    await graph.table.put(hidden("id-ada"))
    accounts = HiddenAccounts(faulty_graph.services.table, pause=0.01)
    await accounts.load()
    refused = asyncio.Event()

    async def out_of_reach(call):
        refused.set()
        return Answer.of(400, b'{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}')

    proxy.will("Query", out_of_reach, 3)
    running = asyncio.create_task(accounts.run())
    await refused.wait()
    await graph.table.put(hidden("id-bob"))
    while "id-bob" not in accounts.ids:
        assert "id-ada" in accounts.ids
        await asyncio.sleep(0.01)
    running.cancel()

    assert accounts.ids == {"id-ada", "id-bob"}
    assert caplog.messages.count("hidden accounts cannot be read: TableMissing('ResourceNotFoundException')") == 1


async def test_no_request_is_executed_before_the_set_was_read(graph, society, endpoint, table_name):
    ada, bob = await society.person("ada"), await society.person("bob")
    await society.post(ada)
    await society.post(bob)
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))

    with serving(endpoint, table_name) as server:
        answer = await asyncio.to_thread(server.post, FEED)

    assert len(answer.json()["data"]["feed"]["nodes"]) == 1


async def test_who_signs_in_does_not_see_hidden_works(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    await graph.ask(DELETE_ACCOUNT, viewer_of(ada))
    context = graph.context()
    context.command = "signUp"
    given = {"username": "eve", "email": "eve@example.org", "password": "correct horse"}

    await commands.sign_up(context, **given)

    assert context.viewer.user_id is not None
    assert await context.load.one(post.own_key) is None
