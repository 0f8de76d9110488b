"""Subscriptions of many viewers: what they share, what each of them may see, and what ends a subscription."""

import asyncio

import pytest

from datastore.client.writes import Update
from datastore.neighborhoods import Membership
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.accounts.tokens import BadToken
from resolvers.core.error_codes import ErrorCode
from schema.http.protocol import GraphQLRequest
from schema.live import channel
from tests.resolvers.background.test_jobs import DELETE_ACCOUNT
from tests.schema.test_subscriptions_lists import JOIN
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.social import COMMENT, CREATE, DELETE, FOLLOW, UNFOLLOW
from tests.support.subscribing import Subscribed, refusal, started, subscribe

COMMENTS = """subscription ($post: ID!, $after: String) {
  commentAdded(postId: $post, after: $after) { cursor node { content author { username } } } }"""
OWN = """subscription ($post: ID!) {
  commentAdded(postId: $post) { cursor node { content post { viewerHasLiked } } } }"""
HOME = "subscription ($after: String) { homeFeedPostAdded(after: $after) { cursor node { caption } } }"
MEMBERS = """subscription ($id: ID!) {
  memberAdded(neighborhoodId: $id) { cursor node { user { username } } } }"""
LEAVE = mutation("leaveNeighborhood", "neighborhood { id }")
PICTURE = "https://example.org/rain.jpg"


@pytest.fixture(autouse=True)
def looks_soon(monkeypatch):
    monkeypatch.setattr(channel, "LOOKS_AGAIN_AFTER", 0.01)


@pytest.fixture
async def scene(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Rain.")
    await graph.settle()
    return ada, bob, post


async def comment(graph, viewer, post, content):
    await graph.command(COMMENT, viewer_of(viewer), postId=id_of(post), content=content)
    await graph.settle()


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.slow)])
async def test_many_subscribers_share_one_run(graph, scene, count):
    ada, bob, post = scene
    viewers = [ANONYMOUS, viewer_of(ada), viewer_of(bob)]
    crowd = [await subscribe(graph, COMMENTS, viewers[place % 3], post=id_of(post)) for place in range(count)]
    shared = crowd[0].stream.channel

    await comment(graph, bob, post, "Hello.")
    results = await asyncio.gather(*(each.take() for each in crowd))

    assert {each.stream.channel for each in crowd} == {shared}
    assert results == [{"content": "Hello.", "author": {"username": "bob"}}] * count
    assert {each.cursor for each in crowd} == {crowd[0].cursor}
    assert shared.runs == 1
    assert shared.calls == {"BatchGetItem": 1, "GetItem": 1}


async def test_clients_that_come_back_share_with_those_who_stayed(graph, scene):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "One.")
    await one.take()

    again = await subscribe(graph, COMMENTS, post=id_of(post), after=one.cursor)

    assert again.stream.channel is one.stream.channel
    again.close()
    one.close()
    assert len(graph.services.operations.subscriptions.watching) == 0


async def test_a_result_that_depends_on_the_viewer_is_not_shared(graph, scene):
    ada, bob, post = scene
    like = mutation("likePost", "post { id }")
    await graph.command(like, viewer_of(bob), postId=id_of(post))
    one = await subscribe(graph, OWN, viewer_of(ada), post=id_of(post))
    other = await subscribe(graph, OWN, viewer_of(bob), post=id_of(post))
    assert one.stream.channel is other.stream.channel

    await comment(graph, bob, post, "Hello.")

    assert await one.take() == {"content": "Hello.", "post": {"viewerHasLiked": False}}
    assert await other.take() == {"content": "Hello.", "post": {"viewerHasLiked": True}}
    assert one.stream.channel is not other.stream.channel
    third = await subscribe(graph, OWN, viewer_of(ada), post=id_of(post))
    assert third.stream.channel.name is None


async def test_works_of_deleted_accounts_are_not_sent(graph, scene):
    _ada, bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await graph.command(COMMENT, viewer_of(bob), postId=id_of(post), content="Gone.")
    await graph.ask(DELETE_ACCOUNT, viewer_of(bob))

    assert await one.is_silent()


async def test_a_post_that_is_deleted_ends_its_subscription(graph, scene):
    ada, _bob, post = scene
    one = await subscribe(graph, COMMENTS, post=id_of(post))

    await graph.command(DELETE, viewer_of(ada), postId=id_of(post))
    await graph.settle()
    last = await one.result()

    assert last["data"] == {"commentAdded": None}
    assert [(error["message"], error["extensions"]["code"]) for error in last["errors"]] == [
        ("there is no such post", "NOT_FOUND")
    ]
    assert await one.result() is None


async def test_a_private_neighborhood_is_for_its_members(graph, town):
    ada, bob, cyd = [await town.person(name) for name in ("ada", "bob", "cyd")]
    place = await town.neighborhood(ada, private=True)
    await town.member(bob, place)
    await graph.settle()

    assert (await refusal(graph, MEMBERS, id=id_of(place)))[0] in ("NOT_FOUND", "FORBIDDEN")
    one = await subscribe(graph, MEMBERS, viewer_of(bob), id=id_of(place))
    await town.member(cyd, place)
    membership = Membership.key(neighborhood_id=place.neighborhood_id, user_id=bob.user_id)
    found = await graph.table.get(membership)
    await graph.table.delete(found.own_key)
    await graph.settle()

    last = await one.result()
    assert last["errors"][0]["extensions"]["code"] in ("NOT_FOUND", "FORBIDDEN")
    assert await one.result() is None


async def test_a_member_who_was_invited_is_added_by_joining(graph, town):
    ada, bob = [await town.person(name) for name in ("ada", "bob")]
    place = await town.neighborhood(ada)
    await graph.settle()
    one = await subscribe(graph, MEMBERS, viewer_of(ada), id=id_of(place))

    await graph.command(JOIN, viewer_of(bob), neighborhoodId=id_of(place))
    await graph.settle()

    assert await one.take() == {"user": {"username": "bob"}}


async def test_a_token_that_ends_ends_the_subscription(graph, scene):
    ada, _bob, post = scene
    ended = False

    async def contexts():
        if ended:
            raise BadToken("the token has ended; sign in again", ErrorCode.TOKEN_EXPIRED)
        return graph.context(viewer_of(ada))

    request = GraphQLRequest(COMMENTS, {"post": id_of(post)})
    one = Subscribed(graph, await graph.services.operations.start(request, contexts))
    assert await one.is_silent()
    ended = True
    await graph.table.update(Update(ada.own_key, set={"display_name": "Ada"}))
    await graph.settle()

    with pytest.raises(BadToken, match="sign in again"):
        await one.result()


async def test_a_home_feed_follows_the_follows(graph, society):
    ada, bob, cyd = [await society.person(name) for name in ("ada", "bob", "cyd")]
    await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))
    await graph.settle()
    one = await subscribe(graph, HOME, viewer_of(ada))

    async def post(author, caption):
        await graph.command(CREATE, viewer_of(author), imageUrl=PICTURE, caption=caption)
        await graph.settle()

    await post(cyd, "Before the follow.")
    assert await one.is_silent()
    await post(bob, "One.")
    assert await one.take() == {"caption": "One."}
    await graph.command(FOLLOW, viewer_of(ada), userId=id_of(cyd))
    await graph.settle(jobs=True)
    # It is in the list now.
    assert await one.take() == {"caption": "Before the follow."}
    await post(cyd, "Two.")
    assert await one.take() == {"caption": "Two."}
    await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob))
    await graph.settle(jobs=True)
    await post(bob, "After the follow.")
    assert await one.is_silent()
    await post(cyd, "Three.")
    assert await one.take() == {"caption": "Three."}
    assert await one.is_silent()


async def test_a_home_feed_has_posts_of_authors_who_are_merged(graph, society):
    ada, star = await society.person("ada"), await society.person("star")
    await graph.command(FOLLOW, viewer_of(ada), userId=id_of(star))
    await graph.table.update(Update(star.own_key, set={"follower_count": 5_001}))
    await graph.settle(jobs=True)
    one = await subscribe(graph, HOME, viewer_of(ada))

    for caption in ("One.", "Two."):
        await graph.command(CREATE, viewer_of(star), imageUrl=PICTURE, caption=caption)
        await graph.settle(jobs=True)

    assert [(await one.take())["caption"] for _ in range(2)] == ["One.", "Two."]
    assert await one.is_silent()


async def test_the_cursor_of_another_list_is_refused(graph, society, scene):
    ada, bob, post = scene
    other = await society.post(ada)
    one = await subscribe(graph, COMMENTS, post=id_of(post))
    await comment(graph, bob, post, "Hello.")
    await one.take()

    code, message = await refusal(graph, COMMENTS, post=id_of(other), after=one.cursor)
    assert code == "INVALID"
    assert "is not a cursor of this list" in message


async def test_the_cursor_of_another_viewers_list_is_refused(graph, society):
    ada, bob, cyd = [await society.person(name) for name in ("ada", "bob", "cyd")]
    for reader in (ada, bob):
        await graph.command(FOLLOW, viewer_of(reader), userId=id_of(cyd))
    await graph.settle()
    one = await subscribe(graph, HOME, viewer_of(ada))
    await graph.command(CREATE, viewer_of(cyd), imageUrl=PICTURE, caption="Hello.")
    await graph.settle()
    await one.take()

    assert (await refusal(graph, HOME, viewer_of(bob), after=one.cursor))[0] == "INVALID"


@pytest.mark.parametrize("after", ["", "x", "AAAA" * 20, "né", "=" * 100])
async def test_nonsense_is_no_cursor(graph, scene, after):
    _ada, _bob, post = scene
    if not after:
        one = await subscribe(graph, COMMENTS, post=id_of(post), after=after)
        assert await one.is_silent()
        return
    assert (await refusal(graph, COMMENTS, post=id_of(post), after=after))[0] == "INVALID"


HOSTILE = [
    ("subscription { postAdded { cursor } other: postAdded { cursor } }", "INVALID_QUERY"),
    ("subscription { __typename }", "INVALID_QUERY"),
    ("subscription { postAdded @skip(if: true) { cursor } }", "INVALID_QUERY"),
    ("subscription @live { postAdded { cursor } }", "INVALID_QUERY"),
    ("subscription { nothingAdded { cursor } }", "INVALID_QUERY"),
    ("subscription { commentAdded { cursor } }", "INVALID_QUERY"),
    ("subscription {" + " ".join(f"a{n}: postAdded {{ cursor }}" for n in range(1_000)) + "}", "OVER_LIMIT"),
]


@pytest.mark.parametrize(("query", "code"), HOSTILE)
async def test_an_operation_that_is_no_valid_subscription_is_refused(graph, query, code):
    answer = await started(graph, query)

    assert {error["extensions"]["code"] for error in answer.body["errors"]} == {code}


@pytest.mark.parametrize("post", ["", "x", "UG9zdCNub25l", "VXNlciNpZC1hZGE"])
async def test_an_unknown_parent_is_an_error(graph, post):
    code, message = await refusal(graph, COMMENTS, post=post)

    assert (code, message) == ("NOT_FOUND", "there is no such post") or code == "INVALID"


async def test_a_viewer_of_nothing_is_refused(graph):
    viewer = Viewer("id-nobody")

    assert (await refusal(graph, HOME, viewer))[0] == "NOT_FOUND"
