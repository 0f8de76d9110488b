"""Live queries: what changes them, what they read again, and who shares one."""

import asyncio

import pytest

from datastore.cards import VoteDirection
from datastore.client.writes import Update
from resolvers.accounts.tokens import BadToken
from resolvers.core.error_codes import ErrorCode
from schema.http.protocol import GraphQLRequest
from schema.live.follower import Follower
from tests.conftest import services_at
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT, RESTORE_ACCOUNT
from tests.support.fault_proxy import error_500
from tests.support.graph import Graph, id_of, mutation, viewer_of
from tests.support.live import follow
from tests.support.social import COMMENT, DELETE, DELETE_COMMENT, LIKE, UNLIKE, UPDATE_COMMENT

POST = """query ($id: ID!) @live(throttle: 50) {
  post(by: {id: $id}) { caption likeCount commentCount author { displayName }
    comments(first: 2) { totalCount nodes { content author { username } } pageInfo { hasNextPage } } } }"""
OWN = "query ($id: ID!) @live(throttle: 50) { post(by: {id: $id}) { likeCount viewerHasLiked } }"


@pytest.fixture
async def scene(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Rain.")
    for content in ("One.", "Two."):
        await society.comment(bob, post, content)
    await graph.settle()
    return ada, bob, post


async def current(graph, viewer, query, **variables):
    return (await graph.ask(query, viewer, **variables)).data


async def test_the_first_answer_comes_at_once(graph, scene):
    ada, _bob, post = scene

    live = await follow(graph, POST, id=id_of(post))

    assert await live.take() == {"data": await current(graph, viewer_of(ada), POST, id=id_of(post))}


async def test_a_like_is_one_read_of_the_post(graph, scene):
    _ada, bob, post = scene
    live = await follow(graph, POST, id=id_of(post))
    await live.settle()
    await live.take()
    live.query.calls.clear()

    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await live.settle()

    assert (await live.take())["data"]["post"]["likeCount"] == 1
    assert live.query.calls == {"GetItem": 1}


async def test_a_comment_in_the_window_is_applied_without_reading_the_list(graph, society, scene):
    ada, bob, post = scene
    query = POST.replace("first: 2", "first: 5")
    live = await follow(graph, query, id=id_of(post))
    await live.settle()
    live.query.calls.clear()

    await graph.command(COMMENT, viewer_of(bob), postId=id_of(post), content="Three.")
    await live.settle()

    assert [node["content"] for node in live.latest["post"]["comments"]["nodes"]] == ["One.", "Two.", "Three."]
    assert live.latest == await current(graph, viewer_of(ada), query, id=id_of(post))
    assert live.query.calls == {"BatchGetItem": 1}


async def test_a_change_outside_of_what_was_read_runs_nothing(graph, society, scene):
    ada, bob, post = scene
    other = await society.post(ada)
    await graph.settle()
    live = await follow(graph, POST, id=id_of(post))
    await live.settle()
    runs = live.query.runs

    await graph.command(COMMENT, viewer_of(bob), postId=id_of(other), content="Elsewhere.")
    await graph.command(LIKE, viewer_of(bob), postId=id_of(other))
    await live.settle()

    assert live.query.runs == runs


async def test_an_answer_that_did_not_change_is_not_sent(graph, scene):
    _ada, bob, post = scene
    live = await follow(graph, POST, id=id_of(post))
    await live.settle()
    await live.take()

    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.command(UNLIKE, viewer_of(bob), postId=id_of(post))
    await live.settle()

    assert not live.has_news


async def test_removals_and_edits_reach_the_answer(graph, society, scene):
    ada, bob, _post = scene
    four = await society.post(ada)
    one, two = [await society.comment(bob, four, content) for content in ("One.", "Two.")]
    await graph.settle()
    live = await follow(graph, POST, id=id_of(four))

    def shown():
        return [node["content"] for node in live.latest["post"]["comments"]["nodes"]]

    await graph.command(COMMENT, viewer_of(bob), postId=id_of(four), content="Three.")
    await graph.command(UPDATE_COMMENT, viewer_of(bob), commentId=id_of(two), content="Second.")
    await live.settle()
    assert shown() == ["One.", "Second."]
    assert live.latest["post"]["comments"]["pageInfo"]["hasNextPage"]

    await graph.command(DELETE_COMMENT, viewer_of(bob), commentId=id_of(one))
    await live.settle()
    assert shown() == ["Second.", "Three."]
    assert live.latest == await current(graph, viewer_of(ada), POST, id=id_of(four))

    await graph.command(DELETE, viewer_of(ada), postId=id_of(four))
    await live.settle()
    assert live.latest == {"post": None}


async def test_what_does_not_exist_yet_appears(graph, society):
    ada = await society.person("ada")
    query = "query @live(throttle: 50) { feed(first: 3) { nodes { caption author { username } } } }"
    live = await follow(graph, query)
    assert live.latest == {"feed": {"nodes": []}}

    await society.post(ada, caption="First.")
    await society.post(ada, caption="Second.")
    await live.settle()

    assert [node["caption"] for node in live.latest["feed"]["nodes"]] == ["Second.", "First."]


async def test_viewers_share_an_answer_that_depends_on_none_of_them(graph, scene):
    ada, bob, post = scene

    one = await follow(graph, POST, viewer_of(ada), id=id_of(post))
    other = await follow(graph, POST, viewer_of(bob), id=id_of(post))
    anonymous = await follow(graph, POST, id=id_of(post))

    assert one.query is other.query is anonymous.query
    assert one.query.runs == 1
    one.stream.close()
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await other.settle()
    assert other.latest["post"]["likeCount"] == 1


async def test_an_answer_that_depends_on_the_viewer_is_not_shared(graph, scene):
    ada, bob, post = scene
    one = await follow(graph, OWN, viewer_of(ada), id=id_of(post))
    other = await follow(graph, OWN, viewer_of(bob), id=id_of(post))

    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await one.settle()

    assert one.query is not other.query
    assert one.latest == {"post": {"likeCount": 1, "viewerHasLiked": False}}
    assert other.latest == {"post": {"likeCount": 1, "viewerHasLiked": True}}


async def test_patches_say_what_changed(graph, scene):
    _ada, bob, post = scene
    query = POST.replace("throttle: 50", "throttle: 50, patch: true")
    live = await follow(graph, query, id=id_of(post))
    first = await live.take()
    await live.settle()

    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await live.settle()

    assert first["revision"] == 1
    assert await live.take() == {
        "patch": [{"op": "replace", "path": "/post/likeCount", "value": 1}],
        "revision": 2,
    }


async def test_a_slow_reader_gets_the_newest_answer(graph, scene):
    ada, bob, post = scene
    query = POST.replace("throttle: 50", "throttle: 50, patch: true")
    live = await follow(graph, query, id=id_of(post))
    await live.take()
    await live.settle()

    for viewer in (ada, bob):
        await graph.command(LIKE, viewer_of(viewer), postId=id_of(post))
        await live.settle()

    latest = await live.take()
    assert latest["data"]["post"]["likeCount"] == 2
    assert latest["revision"] == 3
    assert not live.has_news


async def test_nothing_is_kept_of_a_closed_query(graph, scene):
    ada, _bob, post = scene
    live = graph.services.operations.live
    streams = [await follow(graph, query, viewer_of(ada), id=id_of(post)) for query in (POST, OWN)]

    for each in streams:
        each.stream.close()

    watching = live.watching
    kept = (watching, watching._places, watching._windows, watching._partitions, live._shared)
    assert [len(each) for each in kept] == [0, 0, 0, 0, 0]


async def test_a_wrong_throttle_is_refused(graph, scene):
    query = POST.replace("throttle: 50", "throttle: 5")

    with pytest.raises(AssertionError, match="`throttle` is 5; it goes from 50 to 3,600,000 milliseconds"):
        await follow(graph, query, id="x")


async def test_works_of_a_deleted_account_disappear_and_come_back(graph, scene):
    ada, bob, post = scene
    services = graph.services
    live = await follow(graph, POST, id=id_of(post))
    running = asyncio.create_task(services.operations.live.run())

    await graph.ask(DELETE_ACCOUNT, viewer_of(bob))
    while live.latest["post"]["comments"]["nodes"]:
        await live.take()
    assert live.latest["post"]["author"] is not None

    await graph.ask(RESTORE_ACCOUNT, viewer_of(bob))
    await graph.settle(jobs=True)
    while len(live.latest["post"]["comments"]["nodes"]) < 2:
        await live.take()
    running.cancel()
    assert live.latest == await current(graph, viewer_of(ada), POST, id=id_of(post))


async def test_a_write_of_another_server_reaches_this_one(graph, settings, endpoint, scene):
    _, bob, post = scene
    live = await follow(graph, POST, id=id_of(post))
    async with services_at(endpoint, settings) as others:
        await Graph(others).command(LIKE, viewer_of(bob), postId=id_of(post))
        # The other server moves its outbox, so this one finds the change only in the log.
        await Graph(others).settle()
    (tail,) = graph.services.changes.tails
    running = asyncio.create_task(tail.run())

    while live.latest["post"]["likeCount"] == 0:
        await live.take()

    running.cancel()
    assert live.latest["post"]["likeCount"] == 1


async def test_a_failed_read_is_repeated_and_loses_no_change(faulty_graph, proxy, scene, graph):
    ada, _, post = scene
    live = await follow(faulty_graph, POST, id=id_of(post))
    is_broken = True
    faulty_graph.services.operations.live.seconds_of_a_run = 0.2
    proxy.will("GetItem", error_500, when=lambda request: is_broken and post.post_id in str(request))
    (tail,) = faulty_graph.services.changes.tails
    running = asyncio.create_task(tail.run())

    await graph.command(LIKE, viewer_of(ada), postId=id_of(post))
    await graph.settle()
    while not live.query._failures:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    assert live.latest["post"]["likeCount"] == 0
    is_broken = False

    while live.latest["post"]["likeCount"] == 0:
        await live.take()
    running.cancel()


async def test_a_viewer_whose_tokens_were_ended_gets_no_more_answers(graph, scene):
    ada, _, post = scene
    ended = False

    async def contexts():
        if ended:
            raise BadToken("the token has ended", ErrorCode.TOKEN_EXPIRED)
        return graph.context(viewer_of(ada))

    stream = await graph.services.operations.start(GraphQLRequest(POST, {"id": id_of(post)}), contexts)
    assert isinstance(stream, Follower)
    await stream.next()

    ended = True
    await graph.table.update(Update(ada.own_key, set={"bio": "Changed."}))
    await graph.settle()

    with pytest.raises(BadToken):
        await stream.next()
    stream.close()


async def test_a_shared_query_that_begins_to_depend_on_the_viewer_is_split(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    card = await workshop.card(ada, await workshop.category("wood"), title="A chair")
    query = "query ($id: ID!) @live(throttle: 50) { card(by: {id: $id}) { title } }"
    own = await follow(graph, query, viewer_of(ada), id=id_of(card))
    other = await follow(graph, query, viewer_of(bob), id=id_of(card))
    assert own.query is other.query

    await graph.command(mutation("archiveCard", "card { id }"), viewer_of(ada), cardId=id_of(card))
    await graph.settle()
    while other.latest["card"] is not None:
        await other.take()

    assert own.query is not other.query
    assert own.latest == {"card": {"title": "A chair"}}
    own.stream.close()
    other.stream.close()
    assert len(graph.services.operations.live.watching) == 0


async def test_a_ranking_is_read_again_after_a_while(graph, workshop):
    ada, bob = await workshop.person("ada"), await workshop.person("bob")
    wood = await workshop.category("wood")
    chair, table = [await workshop.card(ada, wood, title=title) for title in ("A chair", "A table")]
    await workshop.vote(bob, chair, VoteDirection.UP)
    graph.services.operations.live.refresh_every = 0.01
    live = await follow(graph, "query @live(throttle: 50) { topCards { nodes { title } } }", viewer_of(ada))
    assert live.latest == {"topCards": {"nodes": [{"title": "A chair"}, {"title": "A table"}]}}

    for voter in (ada, bob):
        vote = {"targetId": id_of(table), "ballot": "UP"}
        await graph.command(mutation("vote", "problems { code }"), viewer_of(voter), **vote)
    await graph.settle()

    while live.latest != {"topCards": {"nodes": [{"title": "A table"}, {"title": "A chair"}]}}:
        await live.take()
    live.stream.close()


async def test_a_query_without_rankings_is_never_read_again(graph, scene):
    *_, post = scene
    graph.services.operations.live.refresh_every = 0.0
    live = await follow(graph, POST, id=id_of(post))

    assert live.query._refreshing is None
    live.stream.close()
