"""Subscriptions when a read fails, when a rate limit is used up, and when a token expires in a quiet hour."""

import asyncio

import pytest

from datastore.changes import tail as tails
from resolvers.accounts.tokens import BadToken
from resolvers.core.allowance import OverRate, Rates, RequestLimits
from resolvers.core.error_codes import ErrorCode
from schema.http.protocol import GraphQLRequest
from schema.live import subscriber
from tests.conftest import services_at
from tests.support.fault_proxy import error_500
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import COMMENT, Society
from tests.support.subscribing import Subscribed, subscribe

COMMENTS = """subscription ($post: ID!, $after: String) {
  commentAdded(postId: $post, after: $after) { cursor node { content author { username } } } }"""


@pytest.fixture
async def scene(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    await graph.settle()
    return ada, post


async def comment(graph, viewer, post, *contents):
    for content in contents:
        await graph.command(COMMENT, viewer_of(viewer), postId=id_of(post), content=content)
    await graph.settle()


async def test_a_read_that_fails_is_tried_again(graph, faulty_graph, proxy, scene):
    ada, post = scene
    one = await subscribe(faulty_graph, COMMENTS, post=id_of(post))
    is_broken, failures = True, 0
    faulty_graph.services.operations.subscriptions.seconds_of_a_run = 0.2

    def concerns_the_author(request):
        nonlocal is_broken, failures
        found = is_broken and ada.user_id in str(request)
        failures += found
        is_broken = failures < 2
        return found

    proxy.will("GetItem", error_500, when=concerns_the_author)
    running = asyncio.create_task(faulty_graph.services.changes.tails[0].run())
    await comment(graph, ada, post, "One.", "Two.")

    assert [(await one.take())["content"] for _ in range(2)] == ["One.", "Two."]
    assert failures
    running.cancel()


async def test_each_event_counts(graph, scene):
    ada, post = scene
    graph.services.request_limits = RequestLimits(Rates(1_000, 1_000, 1, 1), clock=lambda: 0.0)
    buckets = graph.services.request_limits.buckets[0]
    one = await subscribe(graph, COMMENTS, viewer_of(ada), post=id_of(post))
    started = buckets.debt(ada.user_id, 0.0)
    graph.services.request_limits = None
    await comment(graph, ada, post, "One.", "Two.", "Three.")

    await one.takes(3)

    # In seconds: 1,000 points a minute.
    assert buckets.debt(ada.user_id, 0.0) == pytest.approx(started + 3 * 0.06)


async def test_a_viewer_without_an_allowance_cannot_read_the_log(graph, scene):
    ada, post = scene
    one = await subscribe(graph, COMMENTS, viewer_of(ada), post=id_of(post))
    await comment(graph, ada, post, "One.", "Two.")
    await one.take()
    limits = graph.services.request_limits = RequestLimits(Rates(1_000, 1_000, 1, 1))

    again = await subscribe(graph, COMMENTS, viewer_of(ada), post=id_of(post), after=one.cursor)
    limits.allowance(viewer_of(ada), "").owe(5_000)

    with pytest.raises(OverRate, match="is used up"):
        await again.result()


async def test_an_expired_token_gets_no_more_events(graph, scene, monkeypatch):
    monkeypatch.setattr(subscriber, "CHECKED_EVERY", 0.0)
    ada, post = scene
    expired = False

    async def contexts():
        if expired:
            raise BadToken("the token has expired; sign in again", ErrorCode.TOKEN_EXPIRED)
        return graph.context(viewer_of(ada))

    request = GraphQLRequest(COMMENTS, {"post": id_of(post)})
    one = Subscribed(graph, await graph.services.operations.start(request, contexts))
    assert await one.is_silent()
    expired = True
    await comment(graph, ada, post, "Secret.")

    with pytest.raises(BadToken, match="sign in again"):
        await one.result()


async def test_the_log_is_followed_closely_while_there_are_subscribers(graph, scene):
    _ada, post = scene
    (tail,) = graph.services.changes.tails
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    assert (len(tail.followers), tails.PAUSE_IF_FOLLOWED) == (1, 0.05)

    one.close()

    assert not tail.followers


async def test_graphql_core_runs_subscriptions_too(endpoint, settings):
    """It takes over what a plan does not cover."""
    async with services_at(endpoint, settings.model_copy(update={"compile_queries": False})) as services:
        graph = Graph(services)
        ada = await graph.add_user("ada")
        post = await Society(graph).post(ada)
        one = await subscribe(graph, COMMENTS, post=id_of(post))
        await comment(graph, ada, post, "One.", "Two.")

        assert [(await one.take())["content"] for _ in range(2)] == ["One.", "Two."]
        assert await one.is_silent()
