"""Idempotency keys: a request is applied once per key, even if answers are lost."""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.writes import Update
from datastore.idempotency import Idempotency
from datastore.model.keys import Key
from datastore.social import Post
from loaders.viewer import ANONYMOUS
from schema.declare.idempotency import HOW, key_in
from schema.http.settings import Settings
from tests.conftest import services_at
from tests.support.fault_proxy import FaultProxy, cut_after, cut_before, throttled
from tests.support.graph import PROBLEMS, Graph, id_of, mutation, problem, viewer_of
from tests.support.serving import Served
from tests.support.social import CREATE, LIKE, Society, counted

KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"
PICTURE = {"imageUrl": "https://example.org/1.jpg"}
SIGN_UP = mutation("signUp", "user { databaseId email } token")
ACCOUNT = {"username": "ada", "email": "ada@example.org", "password": "correct horse battery"}


async def records(graph: Graph) -> list[Idempotency]:
    items = await graph.items()
    keys = [Key(Idempotency, item["PK"]["S"], item["SK"]["S"]) for item in items if "inputDigest" in item]
    return [record for key in keys if (record := await graph.table.get(key, consistent=True))]


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([], None),
        ([KEY], KEY),
        ([f'"{KEY}"'], KEY),
        ([' "a b" '], "a b"),
        ([r'"say \"hi\" \\"'], r'say "hi" \ '.strip()),
        (["x" * 255], "x" * 255),
        (["~!#"], "~!#"),
    ],
)
def test_a_key_may_be_quoted_or_not(headers: list[str], key: str | None):
    assert key_in(headers) == key


@pytest.mark.parametrize(
    "headers", [[""], ['""'], ['"'], ['"a'], ['"a"b'], ['"a";b=c'], ["x" * 256], ["é"], ["a\tb"], ["a", "a"]]
)
def test_an_unfit_key_is_refused(headers: list[str]):
    with pytest.raises(ValueError, match="1 to 255 printable ASCII characters"):
        key_in(headers)


def test_an_unfit_header_is_a_bad_request_that_says_what_to_send(server: Served):
    answer = server.post("{ __typename }", {"idempotency-key": '"a'})

    assert answer.status_code == 400
    assert answer.json() == {"errors": [{"message": HOW, "extensions": {"code": "BAD_REQUEST"}}]}


def test_the_header_replays_a_payload_over_http(server: Served):
    sent = {"variables": {"input": ACCOUNT | {"username": "over.http", "email": "over.http@example.org"}}}

    first = server.post(SIGN_UP, {"idempotency-key": f'"{KEY}"'}, **sent).json()["data"]["signUp"]
    again = server.post(SIGN_UP, {"idempotency-key": KEY}, **sent).json()["data"]["signUp"]

    assert first["problems"] == []
    assert again["user"] == first["user"]


async def test_the_same_key_and_input_apply_once_and_return_the_same_payload(society: Society, graph: Graph):
    ada = viewer_of(await society.person("ada"))
    keyed = graph.with_key(KEY)

    first = await keyed.ask(CREATE, ada, input=PICTURE)
    again = await keyed.ask(CREATE, ada, input=PICTURE)

    assert first.data["createPost"]["problems"] == []
    assert again.data == first.data
    assert first.calls == {"GetItem": 2, "TransactWriteItems": 1}
    assert again.calls == {"GetItem": 3}
    assert (await counted(graph))["found"]["postCount"] == 1


async def test_without_a_key_there_is_no_further_call(society: Society, graph: Graph):
    ada = viewer_of(await society.person("ada"))

    asked = await graph.ask(CREATE, ada, input=PICTURE)

    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert await records(graph) == []


async def test_another_input_tenant_or_mutation_with_the_key_is_a_problem(society: Society, graph: Graph):
    ada = await society.person("ada")
    post = await society.post(ada)
    keyed = graph.with_key(KEY)
    await keyed.command(f"mutation ($input: CreatePostInput!) {{ done: createPost(input: $input) {{ {PROBLEMS} }} }}",
                        viewer_of(ada), **PICTURE)  # fmt: skip
    like = f'mutation {{ done: likePost(input: {{postId: "{id_of(post)}"}}) {{ {PROBLEMS} }} }}'
    create = 'mutation { done: createPost(input: {imageUrl: "https://example.org/%s.jpg"}) { %s } }'

    others = [
        await keyed.ask(create % (2, PROBLEMS), viewer_of(ada)),
        await keyed.ask(like, viewer_of(ada)),
        await keyed.ask(create % (1, PROBLEMS), replace(viewer_of(ada), tenant_id="garden")),
    ]
    same = await keyed.ask(create % (1, PROBLEMS), viewer_of(ada))

    message = "this Idempotency-Key was used for another `createPost`; send a new key with every new request"
    refusal = {"done": {"problems": [problem("IDEMPOTENCY_KEY_REUSED", message)]}}
    assert [other.data for other in others] == [refusal] * 3
    assert same.data == {"done": {"problems": []}}
    assert (await counted(graph))["found"]["postCount"] == 2


async def test_a_key_belongs_to_its_viewer(society: Society, graph: Graph):
    ada, bob = viewer_of(await society.person("ada")), viewer_of(await society.person("bob"))
    keyed = graph.with_key(KEY)

    one = await keyed.command(CREATE, ada, **PICTURE)
    other = await keyed.command(CREATE, bob, **PICTURE)

    assert one["post"]["id"] != other["post"]["id"]
    assert other["post"]["author"]["username"] == "bob"


async def test_fields_of_a_document_are_told_apart_by_their_response_keys(society: Society, graph: Graph):
    ada = viewer_of(await society.person("ada"))
    create = 'createPost(input: {imageUrl: "https://example.org/1.jpg"}) { post { id } }'
    document = f"mutation {{ one: {create} two: {create} }}"
    keyed = graph.with_key(KEY)

    first, again = await keyed.ask(document, ada), await keyed.ask(document, ada)

    assert first.data["one"] != first.data["two"]
    assert again.data == first.data
    assert (await counted(graph))["found"]["postCount"] == 2


async def test_an_expired_key_counts_as_absent_before_dynamodb_removes_it(society: Society, graph: Graph):
    ada = viewer_of(await society.person("ada"))
    keyed = graph.with_key(KEY)
    first = await keyed.command(CREATE, ada, **PICTURE)
    (record,) = await records(graph)
    in_seconds = (record.expires_at or 0) - time.time()
    await graph.table.update(Update(record.own_key, set={"expires_at": int(time.time()) - 1}))

    again = await keyed.command(CREATE, ada, **PICTURE)

    assert 86_000 < in_seconds <= 86_400
    assert again["post"]["id"] != first["post"]["id"]


async def test_anonymous_keys_are_bound_to_the_input(graph: Graph):
    keyed = graph.with_key(KEY)
    other = ACCOUNT | {"username": "bob", "email": "bob@example.org"}

    one, two = await keyed.command(SIGN_UP, **ACCOUNT), await keyed.command(SIGN_UP, **other)
    again = await keyed.command(SIGN_UP, **ACCOUNT)

    assert (one["problems"], two["problems"]) == ([], [])
    assert again["user"] == one["user"] == {"databaseId": one["user"]["databaseId"], "email": "ada@example.org"}
    assert two["user"]["databaseId"] != one["user"]["databaseId"]
    assert (await graph.services.tokens.viewer(f"Bearer {again['token']}")).user_id == one["user"]["databaseId"]


async def test_a_replayed_sign_up_gives_no_token_once_the_password_has_changed(graph: Graph):
    keyed = graph.with_key(KEY)
    user_id = (await keyed.command(SIGN_UP, **ACCOUNT))["user"]["databaseId"]
    changed = await graph.services.passwords.hash("another horse battery")
    await graph.table.update(Update(User.key(user_id=user_id), set={"password_hash": changed}))

    again = await keyed.command(SIGN_UP, **ACCOUNT)

    message = "this account was created, and has another password now; log in with that"
    assert again == {"user": None, "token": None, "problems": [problem("INVALID", message)]}


async def test_what_is_stored_holds_no_input(graph: Graph):
    await graph.with_key(KEY).command(SIGN_UP, **ACCOUNT)

    (record,) = await records(graph)

    text = str(record)
    assert not [secret for secret in (KEY, *ACCOUNT.values()) if secret in text]


async def test_refusals_are_decided_again(society: Society, graph: Graph):
    ada, keyed = await society.person("ada"), graph.with_key(KEY)
    post = Post(post_id="later", user_id=ada.user_id, image_url="https://example.org/1.jpg", feed_shard=0)

    before = await keyed.command(LIKE, viewer_of(ada), postId=id_of(post))
    await graph.table.put(post)
    after = await keyed.command(LIKE, viewer_of(ada), postId=id_of(post))

    assert before["problems"][0]["code"] == "NOT_FOUND"
    assert after == {"post": {"likeCount": 1, "viewerHasLiked": True}, "problems": []}


async def test_a_command_that_had_nothing_to_do_is_not_done_later(society: Society, graph: Graph):
    """Liked already, then unliked, then the first request again: it was answered, and does not like the post again."""
    ada = await society.person("ada")
    post = await society.post(ada)
    await society.like(ada, post)
    keyed = graph.with_key(KEY)
    await keyed.command(LIKE, viewer_of(ada), postId=id_of(post))
    await graph.command(mutation("unlikePost", "post { likeCount }"), viewer_of(ada), postId=id_of(post))

    again = await keyed.command(LIKE, viewer_of(ada), postId=id_of(post))

    assert again["post"] == {"likeCount": 0, "viewerHasLiked": False}


async def test_a_replay_shows_only_what_the_viewer_may_still_see(society: Society, graph: Graph):
    ada, keyed = viewer_of(await society.person("ada")), graph.with_key(KEY)
    made = await keyed.command(CREATE, ada, **PICTURE)
    await graph.command(mutation("deletePost", "deletedPostId"), ada, postId=made["post"]["id"])

    again = await keyed.command(CREATE, ada, **PICTURE)

    assert again == {"post": None, "problems": []}


async def test_an_alias_that_is_too_long_for_a_key_is_refused(society: Society, graph: Graph):
    ada = viewer_of(await society.person("ada"))
    alias = "a" * 256
    text = f'mutation {{ {alias}: createPost(input: {{imageUrl: "https://example.org/1.jpg"}}) {{ {PROBLEMS} }} }}'

    asked = await graph.with_key(KEY).ask(text, ada)

    message = "with an Idempotency-Key, the alias of a mutation has at most 255 characters"
    assert asked.data == {alias: {"problems": [problem("INVALID", message)]}}


async def test_two_servers_apply_one_key_once(endpoint: str, settings: Settings, society: Society, graph: Graph):
    ada = viewer_of(await society.person("ada"))
    async with AsyncExitStack() as stack:
        core = settings.model_copy(update={"compile_queries": False})
        other = Graph(await stack.enter_async_context(services_at(endpoint, core)))
        for number in range(10):
            servers = [graph.with_key(f"create {number}"), other.with_key(f"create {number}")] * 2
            made = await asyncio.gather(*(server.command(CREATE, ada, **PICTURE) for server in servers))
            assert made[0]["problems"] == []
            assert [payload["post"]["id"] for payload in made] == [made[0]["post"]["id"]] * 4
            servers = [each.with_key(f"delete {number}") for each in servers]
            delete, post = mutation("deletePost", "deletedPostId"), made[0]["post"]["id"]
            gone = await asyncio.gather(*(server.command(delete, ada, postId=post) for server in servers))
            assert gone == [{"deletedPostId": post, "problems": []}] * 4

    assert (await counted(graph))["says"]["postCount"] == 0


async def test_two_servers_apply_one_key_once_though_answers_are_lost(
    society: Society, graph: Graph, faulty_graph: Graph, proxy: FaultProxy
):
    ada = viewer_of(await society.person("ada"))
    for number in range(5):
        proxy.will("TransactWriteItems", cut_after, times=1)
        proxy.will("TransactWriteItems", cut_before, times=1)
        servers = [graph.with_key(str(number)), faulty_graph.with_key(str(number))]
        made = await asyncio.gather(*(server.command(CREATE, ada, **PICTURE) for server in servers))
        assert [payload["problems"] for payload in made] == [[], []]
        assert made[0]["post"]["id"] == made[1]["post"]["id"]
        proxy.recover()

    assert (await counted(graph))["found"]["postCount"] == 5


BUSY = "The database is busy or out of reach; nothing is wrong with the request."


@pytest.mark.parametrize(
    ("fault", "key", "advice", "extensions"),
    [
        (
            cut_after,
            KEY,
            "The change may have been applied. Repeat the request with the same Idempotency-Key: that applies it only "
            "once.",
            {"outcome": "UNKNOWN", "retryable": True},
        ),
        (
            cut_after,
            None,
            "The change may have been applied: check before you repeat it. Send an Idempotency-Key next time, "
            "then repeating is safe.",
            {"outcome": "UNKNOWN", "retryable": False},
        ),
        (throttled, KEY, "No change was made. Try again.", {"outcome": "NOT_APPLIED", "retryable": True}),
        (throttled, None, "No change was made. Try again.", {"outcome": "NOT_APPLIED", "retryable": True}),
    ],
)
async def test_an_error_tells_its_outcome(
    society: Society, faulty_graph: Graph, proxy: FaultProxy, fault, key, advice, extensions
):
    ada = viewer_of(await society.person("ada"))
    proxy.will("TransactWriteItems", fault)
    faulty_graph.usage = lambda: Usage.lasting(0.5)
    faulty_graph.key = key

    asked = await faulty_graph.ask(CREATE, ada, input=PICTURE)

    assert asked.body["data"] == {"createPost": None}
    assert asked.error["message"] == f"{BUSY} {advice}"
    assert asked.error["extensions"] == {"code": "UNAVAILABLE", **extensions}


async def test_an_error_in_the_payload_says_that_the_change_was_applied(
    society: Society, faulty_graph: Graph, proxy: FaultProxy
):
    ada = viewer_of(await society.person("ada"))
    proxy.will("GetItem", throttled)
    faulty_graph.usage = lambda: Usage.lasting(0.5)

    asked = await faulty_graph.ask(CREATE, ada, input=PICTURE)

    advice = (
        "The change was applied: check before you repeat it. Send an Idempotency-Key next time, then repeating is safe."
    )
    assert asked.error["path"] == ["createPost", "post", "author"]
    assert asked.error["message"] == f"{BUSY} {advice}"
    assert asked.error["extensions"] == {"code": "UNAVAILABLE", "outcome": "APPLIED", "retryable": False}


async def test_queries_have_no_outcome(faulty_graph: Graph, proxy: FaultProxy):
    proxy.will("Query", throttled)
    faulty_graph.usage = lambda: Usage.lasting(0.2)

    asked = await faulty_graph.with_key(KEY).ask("{ users { nodes { id } } }", ANONYMOUS)

    assert asked.error["message"] == f"{BUSY} Try again."
    assert asked.error["extensions"] == {"code": "UNAVAILABLE", "retryable": True}


@pytest.mark.parametrize("unreadable", ["IDEMPOTENCY#", "POST#"], ids=["the record", "the result"])
async def test_a_repetition_that_cannot_be_read_does_not_claim_that_nothing_was_applied(
    society: Society, graph: Graph, faulty_graph: Graph, proxy: FaultProxy, unreadable: str
):
    ada = viewer_of(await society.person("ada"))
    graph.key = faulty_graph.key = KEY
    assert (await graph.command(CREATE, ada, **PICTURE))["problems"] == []
    proxy.will("GetItem", throttled, when=lambda request: request["Key"]["PK"]["S"].startswith(unreadable))
    faulty_graph.usage = lambda: Usage.lasting(0.5)

    asked = await faulty_graph.ask(CREATE, ada, input=PICTURE)

    assert asked.error["path"] == ["createPost"]
    assert asked.error["extensions"] == {"code": "UNAVAILABLE", "outcome": "UNKNOWN", "retryable": True}
    assert "No change was made" not in asked.error["message"]
